"""Words for keyword search: what the full-text table stores, its scope words, and queries.

Text and query are cut into words alike, so the index needs no tokeniser beyond the
`porter unicode61` that every SQLite has, and no user text can act as query syntax.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

__all__ = [
    "fts_query",
    "fts_query_of_all",
    "index_text",
    "oracle_query",
    "oracle_query_of_all",
    "query_words",
    "scope_token",
]

#: Scripts written without spaces between words (and Hangul, whose particles cling to the word):
#: Thai, Lao, Tibetan, Myanmar, Khmer, kana, Bopomofo, Han, Hangul.
_UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fff\u3005-\u3007"
    "\u3021-\u3029\u3031-\u3035\u3038-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00016fe0-\U00018dff\U0001aff0-\U0001b2ff"
    "\U00020000-\U0003ffff"
)
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(r"[^\W_]+")
_ZERO_WIDTH_SPACE = 0x200B
_STOP_TEXT = """
a about above after again against all am an and any are aren as at be because been before being
below between both but by can could couldn d did didn do does doesn doing don down during each few
for from further had hadn has hasn have haven having he her here hers herself him himself his how i
if in into is isn it its itself just ll m me might mightn more most must mustn my myself needn no
nor not now o of off on once only or other our ours ourselves out over own re s same shan she
should shouldn so some such t than that the their theirs them themselves then there these they this
those through to too under until up ve very was wasn we were weren what when where which while who
whom why will with won would wouldn y you your yours yourself yourselves
"""
#: English words that say nothing about what is asked, and what is left of "don't" or "we'll".
_STOP_WORDS = frozenset(_STOP_TEXT.split())
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
    words = _spaced(text)
    if not words.isascii():
        words = _UNSPACED_RUN.sub(_grams, words)
    return " ".join(words.split())


def query_words(text: str) -> list[str]:
    """Return what a query looks for, each word once.

    Of a run of a script without spaces the pairs are asked for, since single characters stand in
    too many texts. English stop words are left out unless nothing else is there.

    Args:
        text: The query.

    Returns:
        Words as `index_text` writes them; none for a query without letters, digits or symbols.
    """
    return _without_stop_words(_UNSPACED_RUN.sub(_pairs, _spaced(text)).split())


def fts_query(words: Iterable[str], scope: str | None) -> str:
    """Return the FTS5 query for texts with any of the words.

    Args:
        words: Of `query_words`, so that none can act as syntax.
        scope: The `scope_token` of the only user whose texts are wanted; None searches all.
    """
    quoted = " OR ".join(f'"{word}"' for word in words)
    body = f"body : ({quoted})"
    return body if scope is None else f"scope : {scope} AND {body}"


def oracle_query(text: str) -> str:
    """Return the Oracle Text query for texts with any of the words, best with many of them.

    The database cuts its texts into words itself, so these are plain words; in braces none of
    them is an operator.

    Returns:
        The empty text when the query has no words.
    """
    return " ACCUM ".join(_oracle_words(text))


def fts_query_of_all(words: Iterable[str], scopes: Iterable[str]) -> str:
    """Return the FTS5 query for texts with every one of the words.

    Args:
        words: Of `query_words`.
        scopes: The `scope_token`s of the only users whose texts are wanted; none searches all.
    """
    body = " AND ".join(f'body : "{word}"' for word in words)
    within = " OR ".join(scopes)
    return f"scope : ({within}) AND {body}" if within else body


def oracle_query_of_all(text: str) -> str:
    """Return the Oracle Text query for texts with every word; empty when there is none."""
    return " AND ".join(_oracle_words(text))


def _oracle_words(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return [f"{{{word}}}" for word in _without_stop_words(_WORD.findall(folded))]


def _without_stop_words(words: Iterable[str]) -> list[str]:
    once = list(dict.fromkeys(words))
    return [word for word in once if word not in _STOP_WORDS] or once


def _spaced(text: str) -> str:
    """Return a text folded, with spaces for all that stands between words."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return folded.translate(_characters)


def _grams(run: re.Match[str]) -> str:
    characters = run.group()
    pairs = _pairs(run) if len(characters) > 1 else ""
    return f" {' '.join(characters)} {pairs} "


def _pairs(run: re.Match[str]) -> str:
    characters = run.group()
    if len(characters) == 1:
        return f" {characters} "
    return f" {' '.join(characters[i : i + 2] for i in range(len(characters) - 1))} "


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
