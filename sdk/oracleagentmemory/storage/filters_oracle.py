"""Metadata filters in Oracle's SQL: a tree of JSON_EXISTS conditions.

Oracle's paths are lax: a filter step on a list looks at its elements, and `"1" == 1` may convert.
The matcher knows neither, so every condition asks for the type first, at a relative path inside
a filter of the whole object (`$?(@."a".type() == "array")`), where nothing is unwrapped.
Values travel as bound JSON. A path has to be a literal, so keys are escaped in it.

One thing paths cannot say: for `$array_contains`, a list inside the list counts with its elements.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ColumnElement

from oracleagentmemory.apis.validation import RESERVED_KEY
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.storage.filters import AllOf, Condition, Contains, Equals, Fields, Not
from oracleagentmemory.storage.types import LongText

Path = tuple[str | int, ...]
_LITERAL_MAX_BYTES = 4000
_PLAIN_IN_KEYS = frozenset("_$-. ")


def oracle_condition(
    condition: Fields | None,
    column: ColumnElement[Any],
    compiler: SQLCompiler,
    options: dict[str, Any],
) -> str:
    """Return the SQL of a filter's condition; None asks for rows without metadata."""
    writer = _Writer(compiler, compiler.process(column, **options), options)
    if condition is None:
        return writer.without_metadata()
    return writer.condition(condition, ()) if condition.fields else "(1 = 1)"


@dataclass(frozen=True)
class _Writer:
    """Writes conditions on one column."""

    compiler: SQLCompiler
    column: str
    options: dict[str, Any]
    negated: bool = False

    def without_metadata(self) -> str:
        """Accept no metadata, or none but the SDK's own."""
        rest = _without(self.column, [RESERVED_KEY])
        reserved = self._json_exists(_literal(_path((RESERVED_KEY,))))
        return f"({self.column} IS NULL OR ({reserved} AND {_is_empty(rest)}))"

    def condition(self, condition: Condition, path: Path) -> str:
        match condition:
            case Equals(value):
                return self._equals(value, path)
            case Contains(values, any_of):
                return self._contains(values, any_of, path)
            case Not(inner):
                return f"NOT {replace(self, negated=True).condition(inner, path)}"
            case AllOf(inner):
                return _joined(" AND ", [self.condition(part, path) for part in inner])
            case Fields(fields):
                parts = [self.condition(part, (*path, key)) for key, part in fields]
                return _joined(" AND ", [self._is(path, "object"), *parts] if path else parts)

    def _equals(self, value: Any, path: Path) -> str:
        """Compare by Python's equality, element by element: only scalars are bound."""
        if isinstance(value, list):
            size = self._test(f"{_at(path)}.size() == {len(value)}")
            parts = [self._equals(one, (*path, place)) for place, one in enumerate(value)]
            return _joined(" AND ", [self._is(path, "array"), size, *parts])
        if isinstance(value, dict):
            parts = [self._equals(one, (*path, key)) for key, one in value.items()]
            here = f"JSON_QUERY({self.column}, {_literal(_path(path))} RETURNING JSON)"
            nothing_else = _is_empty(_without(here, list(value)))
            return _joined(" AND ", [self._is(path, "object"), *parts, nothing_else])
        here, twins = _at(path), _twins(value)
        same = _joined(" || ", [f"{here} == $v{number}" for number in range(len(twins))])
        return self._test(f"{_has_type_of(value, here)} && {same}", twins)

    def _contains(self, values: tuple[Any, ...], any_of: bool, path: Path) -> str:
        members = [
            self._json_exists(
                _literal(f"{_path(path)}[*]?({_has_type_of(value, '@')} && @ == $v0)"), [value]
            )
            for value in values
        ]
        found = _joined(" OR " if any_of else " AND ", members)
        return _joined(" AND ", [self._is(path, "array"), found])

    def _is(self, path: Path, kind: str) -> str:
        return self._test(f'{_at(path)}.type() == "{kind}"')

    def _test(self, predicate: str, values: list[Any] | None = None) -> str:
        return self._json_exists(_literal(f"$?({predicate})"), values)

    def _json_exists(self, path: str, values: list[Any] | None = None) -> str:
        passing = ", ".join(
            f'JSON({self._bound(value)}) AS "v{number}"'
            for number, value in enumerate(values or [])
        )
        passing = f" PASSING {passing}" if passing else ""
        exists = f"JSON_EXISTS({self.column}, {path}{passing} ERROR ON ERROR)"
        # Of no metadata it is UNKNOWN, which NOT would leave UNKNOWN.
        return f"({self.column} IS NOT NULL AND {exists})" if self.negated else exists

    def _bound(self, value: Any) -> str:
        text = json.dumps(value, ensure_ascii=False)
        parameter = sa.bindparam(None, text, LongText(), unique=True)
        return str(self.compiler.process(parameter, **self.options))


def _joined(joint: str, parts: list[str]) -> str:
    return f"({joint.join(parts)})"


def _path(path: Path, start: str = "$") -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f'."{_key(step)}"' for step in path)
    return start + "".join(steps)


def _at(path: Path) -> str:
    return _path(path, "@")


def _key(key: str) -> str:
    """Write a key so that no character of it means anything to SQL, paths or SQLAlchemy."""
    return "".join(
        letter if letter.isalnum() or letter in _PLAIN_IN_KEYS else _escaped(letter)
        for letter in key
    )


def _escaped(letter: str) -> str:
    units = letter.encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def _literal(path: str) -> str:
    if (size := len(path.encode())) > _LITERAL_MAX_BYTES:
        raise InvalidInputError(
            f"the keys of metadata_filter need a path of {size} bytes; Oracle takes "
            f"{_LITERAL_MAX_BYTES}"
        )
    return f"'{path}'"


def _without(document: str, keys: list[str]) -> str:
    if not keys:
        return document
    removed = (f"REMOVE {_literal(_path((key,)))} IGNORE ON MISSING" for key in keys)
    return f"JSON_TRANSFORM({document}, {', '.join(removed)})"


def _is_empty(document: str) -> str:
    return f"JSON_EQUAL({document}, JSON('{{}}'))"


def _has_type_of(value: Any, here: str) -> str:
    """Keep lists out, and text apart from what Oracle would convert it to."""
    if isinstance(value, str):
        return f'{here}.type() == "string"'
    return f'{here}.type() != "string" && {here}.type() != "array"'


def _twins(value: Any) -> list[Any]:
    # Python's True equals 1 and False equals 0; Oracle's do not.
    if isinstance(value, bool):
        return [value, int(value)]
    if isinstance(value, int | float) and value in (0, 1):
        return [value, bool(value)]
    return [value]
