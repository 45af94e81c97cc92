"""What CONTAINS and SCORE answer: a stand-in for Oracle Text that knows words, AND and ACCUM."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"[^\W_]+")
_WANTED = re.compile(r"\{([^}]+)\}")


def text_score(text: str | None, query: str) -> int:
    """Score a text for a query of words in braces: 0, or up to 100 when all words are there."""
    folded = unicodedata.normalize("NFKC", text or "").casefold()
    words = set(_WORD.findall(folded))
    wanted = _WANTED.findall(query)
    # The world lexer finds words inside texts without spaces.
    found = [word in words or (not word.isascii() and word in folded) for word in wanted]
    if " AND " in query and not all(found):
        return 0
    return round(100 * sum(found) / len(found))
