"""Words for the keyword index: the text that the full-text table stores, and its scope words.

Text and query go through `index_text` alike, so the index needs no tokeniser beyond the
`porter unicode61` that every SQLite has, and no user text can act as query syntax.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

__all__ = ["index_text", "scope_token"]

#: Scripts written without spaces between words (and Hangul, whose particles cling to the word):
#: Thai, Lao, Tibetan, Myanmar, Khmer, kana, Bopomofo, Han, Hangul.
_UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fff\u3005-\u3007"
    "\u3021-\u3029\u3031-\u3035\u3038-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00016fe0-\U00018dff\U0001aff0-\U0001b2ff"
    "\U00020000-\U0003ffff"
)
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_ZERO_WIDTH_SPACE = 0x200B
#: Hostile text may hold every character there is; the table of known ones stays this small.
_KNOWN_CHARACTERS = 65_536


class _Characters(dict[int, str]):
    """What becomes of each character, learnt as characters are met."""

    def __missing__(self, code: int) -> str:
        replacement = _replacement(code)
        if len(self) < _KNOWN_CHARACTERS:
            self[code] = replacement
        return replacement


def _replacement(code: int) -> str:
    category = unicodedata.category(chr(code))
    if category[0] in "LN":
        return chr(code)
    if category[0] == "S" or category == "Co":
        return f" zz{code:x} "
    # A mark or an invisible joiner must not cut its word in two: unicode61 would.
    if category[0] == "M" or (category == "Cf" and code != _ZERO_WIDTH_SPACE):
        return ""
    return " "


_characters = _Characters()


def index_text(text: str) -> str:
    """Return the words of a text as `porter unicode61` should see them.

    The text is NFKC-normalised and case-folded. Runs of scripts without spaces become their
    single characters and pairs, so that a word of one or two characters is found inside a
    sentence; symbols and emoji become words such as `zz1f600`; marks are dropped.

    Args:
        text: Any text, of a record or of a query.

    Returns:
        Words joined by single spaces; empty when the text has none.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    words = folded.translate(_characters)
    if not words.isascii():
        words = _UNSPACED_RUN.sub(_grams, words)
    return " ".join(words.split())


def _grams(run: re.Match[str]) -> str:
    characters = run.group()
    pairs = (characters[i : i + 2] for i in range(len(characters) - 1))
    return f" {' '.join(characters)} {' '.join(pairs)} "


def scope_token(user_id: str | None) -> str:
    """Return the one word that stands for a user's scope inside the keyword index.

    Args:
        user_id: A user id with any characters, or `None` for records of no user.

    Returns:
        A word of `[a-z0-9]`. It ends in a digit, which the stemmer leaves alone.
    """
    if user_id is None:
        return "unone0"
    digest = hashlib.blake2b(user_id.encode(), digest_size=16).hexdigest()
    return f"u{digest}0"
