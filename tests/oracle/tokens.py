"""Oracle SQL text cut into tokens, and what may not stand in it.

sqlglot reads LIMIT, ON CONFLICT, AS before a table alias and FETCH without ONLY as if Oracle knew
them, and takes any function name. These faults are found here, on the tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<string>'(?:[^']|'')*')
      | (?P<bind>:"[^"]+"|:[A-Za-z][A-Za-z0-9_]*)
      | (?P<name>"[^"]+"|[A-Za-z_][A-Za-z0-9_$\#]*)
      | (?P<number>\d+(?:\.\d+)?)
      | (?P<sign><=>|<->|<\#>|<>|!=|<=|>=|\|\||.)""",
    re.VERBOSE | re.DOTALL,
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_REFUSED_WORDS = {"LIMIT", "CONFLICT", "ILIKE", "GLOB", "TRUE", "FALSE", "PRAGMA", "RECURSIVE"}
# What stands before a parenthesis without being a function.
_WORDS_BEFORE_PARENTHESIS = _words(
    "IN AS VALUES AND OR NOT ON WHERE SELECT FROM JOIN EXISTS OVER BY ALL UNION WHEN THEN ELSE CASE"
    " SET LIKE BETWEEN USING WITHIN"
)
# What the store's statements may call. A name that is not here is not known to exist on Oracle.
_FUNCTIONS = _words(
    "COUNT MIN MAX SUM AVG ABS COALESCE NVL NULLIF LOWER UPPER SUBSTR LENGTH LENGTHB CAST TO_CHAR"
    " TRUNC EXTRACT ROW_NUMBER FROM_TZ SYS_EXTRACT_UTC NUMTODSINTERVAL SYS_GUID SYS_CONTEXT"
    " JSON JSON_EQUAL JSON_EXISTS JSON_QUERY JSON_SERIALIZE JSON_VALUE JSON_TRANSFORM"
    " VECTOR_DISTANCE CONTAINS SCORE ROWIDTOCHAR GREATEST LEAST FLOOR"
)
# Functions of packages that everybody may run, by package.
_PACKAGED = {("DBMS_LOB", "GETLENGTH")}
_TYPES = _words("VARCHAR2 NUMBER CHAR RAW VECTOR TIMESTAMP")
_CLAUSES = _words("SELECT WHERE GROUP ORDER HAVING ON SET FETCH FOR VALUES RETURNING")


@dataclass(frozen=True)
class Token:
    """One token; ``text`` is upper-case for plain names."""

    kind: str
    text: str


@lru_cache(maxsize=4096)
def tokens_of(sql: str) -> tuple[Token, ...]:
    """Cut ``sql`` into tokens, without the white space between them."""
    found = []
    for match in _TOKEN.finditer(sql):
        kind = match.lastgroup or "sign"
        if kind != "space":
            text = match.group()
            plain = kind == "name" and not text.startswith('"')
            found.append(Token(kind, text.upper() if plain else text))
    return tuple(found)


@lru_cache(maxsize=4096)
def bind_names(sql: str) -> frozenset[str]:
    """Return the names of the bind variables of ``sql`` as the driver is given them."""
    return frozenset(token.text[1:] for token in tokens_of(sql) if token.kind == "bind")


def token_faults(sql: str) -> list[str]:
    """Name every token of ``sql`` that Oracle refuses, though parsers let it pass."""
    tokens = tokens_of(sql)
    words = [token.text if token.kind == "name" else "" for token in tokens]
    faults = [f"{word} is not Oracle's" for word in words if word in _REFUSED_WORDS]
    faults += _unknown_functions(tokens)
    faults += _table_aliases(tokens)
    faults += _fetches(tokens)
    for position, word in enumerate(words):
        # JSON functions have a RETURNING of their own, always inside parentheses.
        if (
            word == "RETURNING"
            and _depth_at(tokens, position) == 0
            and "INTO" not in words[position:]
        ):
            faults.append("RETURNING without INTO")
    if "?" in {token.text for token in tokens if token.kind == "sign"}:
        faults.append("a positional bind")
    return faults


def _depth_at(tokens: Sequence[Token], position: int) -> int:
    texts = [token.text for token in tokens[:position] if token.kind == "sign"]
    return texts.count("(") - texts.count(")")


def _unknown_functions(tokens: Sequence[Token]) -> Iterator[str]:
    known = _WORDS_BEFORE_PARENTHESIS | _FUNCTIONS | _TYPES
    for position, (token, after) in enumerate(pairwise(tokens)):
        if token.kind != "name" or after.text != "(" or token.text in known:
            continue
        if _names_a_table(tokens, position) or _is_packaged(tokens, position):
            continue
        yield f"{token.text} is no function that Oracle is known to have"


def _is_packaged(tokens: Sequence[Token], position: int) -> bool:
    if position < 2 or tokens[position - 1].text != ".":
        return False
    return (tokens[position - 2].text, tokens[position].text) in _PACKAGED


def _names_a_table(tokens: Sequence[Token], position: int) -> bool:
    """``INSERT INTO memory (…)`` and ``WITH ranked (a, b) AS``: a name, not a call."""
    return position > 0 and tokens[position - 1].text in {"INTO", "WITH"}


def _table_aliases(tokens: Sequence[Token]) -> Iterator[str]:
    """Find AS between a table and its alias: right for a column, refused for a table."""
    clauses = [""]
    for token in tokens:
        if token.text == "(" and token.kind == "sign":
            clauses.append("")
        elif token.text == ")" and token.kind == "sign":
            if len(clauses) > 1:
                clauses.pop()
        elif token.kind != "name":
            continue
        elif token.text in {"FROM", "JOIN", "UPDATE"}:
            clauses[-1] = "FROM"
        elif token.text in _CLAUSES:
            clauses[-1] = token.text
        elif token.text == "AS" and clauses[-1] == "FROM":
            yield "AS before a table alias"


def _fetches(tokens: Sequence[Token]) -> Iterator[str]:
    for position, token in enumerate(tokens):
        if token.kind != "name" or token.text not in {"FETCH", "OFFSET"}:
            continue
        tail = [after.text for after in tokens[position + 1 : position + 7]]
        if token.text == "OFFSET":
            if len(tail) < 2 or tail[1] not in {"ROW", "ROWS"}:
                yield "OFFSET without ROWS"
        elif "ONLY" not in tail and "TIES" not in tail:
            yield "FETCH without ONLY"
