"""Oracle 23ai syntax rewritten to a neutral form that sqlglot reads.

Every identifier and bind is kept, so that the names inside are still checked. What is rewritten
is thereby not checked: JSON paths and the like are pinned as golden text where they are made.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_QUOTED_BIND = re.compile(r':"([^"]+)"')
_PASSING_NAME = re.compile(r"\s+AS\s+\"?\w+\"?$", re.IGNORECASE)
_CALL_TAIL = re.compile(
    r"\s+(?:RETURNING|ERROR|NULL|REMOVE|SET|IGNORE)\b.*$", re.IGNORECASE | re.DOTALL
)


def normalise(sql: str) -> str:
    """Return ``sql`` in the form that ``sqlglot`` can parse and qualify."""
    sql = _QUOTED_BIND.sub(r":\1_", sql)
    sql = re.sub(r"\bFETCH\s+(?:APPROX|APPROXIMATE)\s+FIRST\b", "FETCH FIRST", sql)
    sql = sql.replace("<=>", "-").replace("<->", "-").replace("<#>", "-")
    sql = _rewrite_calls(sql, "VECTOR_DISTANCE", _vector_distance)
    sql = _rewrite_calls(sql, "JSON_EXISTS", _json_exists)
    sql = _rewrite_calls(sql, "JSON_EQUAL", lambda inside: f"(JSON_EQUAL_({inside}) = 1)")
    for name in ("JSON_SERIALIZE", "JSON_VALUE", "JSON_QUERY", "JSON_TRANSFORM"):
        sql = _rewrite_calls(sql, name, _json_function)
    return _rewrite_calls(sql, "CONTAINS", lambda inside: f"(CONTAINS_({inside}))")


def split_arguments(inside: str) -> list[str]:
    """Split at the commas that stand in no parenthesis and no string."""
    parts, depth, quoted, start = [], 0, False, 0
    for position, letter in enumerate(inside):
        if letter == "'":
            quoted = not quoted
        elif not quoted:
            depth += {"(": 1, ")": -1}.get(letter, 0)
            if letter == "," and depth == 0:
                parts.append(inside[start:position].strip())
                start = position + 1
    return [*parts, inside[start:].strip()]


def closing(sql: str, opened: int) -> int:
    """Return the position of the parenthesis that closes the one at ``opened``."""
    depth, quoted = 0, False
    for position in range(opened, len(sql)):
        letter = sql[position]
        if letter == "'":
            quoted = not quoted
        elif not quoted:
            depth += {"(": 1, ")": -1}.get(letter, 0)
            if depth == 0:
                return position
    raise ValueError(f"unclosed parenthesis in {sql!r}")


def _rewrite_calls(sql: str, name: str, rewrite: Callable[[str], str]) -> str:
    pattern = re.compile(rf"\b{name}\(")
    start = 0
    while match := pattern.search(sql, start):
        end = closing(sql, match.end() - 1)
        neutral = rewrite(sql[match.end() : end])
        sql = sql[: match.start()] + neutral + sql[end + 1 :]
        start = match.start() + len(name)
    return sql


def _vector_distance(inside: str) -> str:
    parts = split_arguments(inside)
    if len(parts) == 3 and parts[2] == "COSINE":
        parts.pop()
    # Any other metric stays as an argument, and qualifying takes it for an unknown column.
    return f"VECTOR_DISTANCE_({', '.join(parts)})"


def _json_exists(inside: str) -> str:
    column, path = split_arguments(inside)[0], inside.split(",", 1)[1]
    _, passing, bound = path.partition(" PASSING ")
    values = []
    if passing:
        bound = _CALL_TAIL.sub("", bound)
        values = [_PASSING_NAME.sub("", part) for part in split_arguments(bound)]
    return f"(JSON_EXISTS_({', '.join([column, *values])}) = 1)"


def _json_function(inside: str) -> str:
    return f"TO_CHAR({_CALL_TAIL.sub('', split_arguments(inside)[0])})"
