"""Metadata filters: parsed once, matched in memory and, by the same rules, in SQL.

A filter is a mapping whose entries all have to hold. An entry is an exact value, a nested mapping
(a subset test) or a mapping of the operators `$not`, `$array_contains`, `$array_contains_any`.
SQLite calls the matcher itself (`oam_match`); Oracle gets a tree of JSON_EXISTS conditions.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.visitors import InternalTraversal

from oracleagentmemory.apis.validation import RESERVED_KEY, check_json
from oracleagentmemory.errors import InvalidInputError

NOT, CONTAINS, CONTAINS_ANY = "$not", "$array_contains", "$array_contains_any"
OPERATORS = frozenset((NOT, CONTAINS, CONTAINS_ANY))
_MISSING = object()


@dataclass(frozen=True)
class Equals:
    """The value is this one, by Python's equality (1 equals 1.0 and true)."""

    value: Any


@dataclass(frozen=True)
class Contains:
    """The value is a list that holds all (or any) of these scalars; 1 is not true here."""

    values: tuple[Any, ...]
    any_of: bool


@dataclass(frozen=True)
class Not:
    """The inner condition fails; a missing key fails every condition."""

    inner: Condition


@dataclass(frozen=True)
class AllOf:
    """Every condition holds for the same value."""

    inner: tuple[Condition, ...]


@dataclass(frozen=True)
class Fields:
    """The value is an object whose fields fulfil these conditions."""

    fields: tuple[tuple[str, Condition], ...]


Condition = Equals | Contains | Not | AllOf | Fields


@dataclass(frozen=True)
class Filter:
    """A checked metadata filter.

    Attributes:
        condition: What must hold; None asks for records without metadata.
        text: Its canonical JSON: two equal texts are the same filter.
    """

    condition: Fields | None
    text: str


def parse_filter(value: Mapping[str, Any] | None) -> Filter:
    """Check a metadata filter.

    Args:
        value: The filter; None asks for records without metadata (`list` only: in a search an
            omitted filter and None are no filter at all).

    Raises:
        InvalidInputError: If it is no mapping, holds a value that JSON lacks, mixes operators with
            keys, or gives an operator an operand it cannot take.
    """
    if value is None:
        return Filter(None, "null")
    if not isinstance(value, dict):
        kind = type(value).__name__
        raise InvalidInputError(f"metadata_filter must be a dict or None, not {kind}")
    check_json(value, "metadata_filter")  # also bounds the depth, for every walk that follows
    _refuse_tuples(value)
    condition = _fields(value)
    return Filter(condition, json.dumps(value, sort_keys=True, ensure_ascii=False))


def refuse_unknown_operators(value: object) -> None:
    """Raise for a key that looks like an operator and is none.

    The SDK itself takes such a key literally, as documented; an interface for people does better
    to name the typing error.

    Raises:
        InvalidInputError: If a key below the top level starts with `$` and is no operator.
    """
    if isinstance(value, dict):
        check_json(value, "metadata_filter")
        _refuse_unknown(value)


def _refuse_unknown(value: dict[str, Any]) -> None:
    for inner in value.values():
        if isinstance(inner, dict):
            unknown = [key for key in inner if str(key).startswith("$") and key not in OPERATORS]
            if unknown:
                known = ", ".join(sorted(OPERATORS))
                raise InvalidInputError(
                    f"metadata_filter has the unknown operator {unknown[0]!r}; known are {known}"
                )
            _refuse_unknown(inner)


def matches(filter_: Filter, metadata: Mapping[str, Any] | None) -> bool:
    """Tell whether a record with this metadata fulfils the filter."""
    if filter_.condition is None:
        return metadata is None or set(metadata) == {RESERVED_KEY}
    return _holds(filter_.condition, {} if metadata is None else metadata)


def matches_text(metadata_text: str | None, filter_text: str) -> int:
    """Match stored JSON text; the SQL function `oam_match`."""
    metadata = None if metadata_text is None else json.loads(metadata_text)
    return int(matches(_parse_text(filter_text), metadata))


@functools.lru_cache(maxsize=256)
def _parse_text(text: str) -> Filter:
    return parse_filter(json.loads(text))


def _refuse_tuples(value: object) -> None:
    # Metadata may hold a tuple (JSON stores a list); as a filter the reference refuses it.
    if isinstance(value, tuple):
        raise InvalidInputError("metadata_filter holds a tuple; use a list")
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in inner:
        _refuse_tuples(part)


def _fields(value: Mapping[str, Any]) -> Fields:
    return Fields(tuple((key, _field(key, inner)) for key, inner in value.items()))


def _field(key: str, value: Any) -> Condition:
    if not isinstance(value, dict):
        return Equals(value)
    used = OPERATORS & value.keys()
    if not used:
        return _fields(value)
    if len(used) < len(value):
        raise InvalidInputError(f"metadata_filter[{key!r:.80}] mixes operators with plain keys")
    return AllOf(tuple(_operator(key, name, operand) for name, operand in value.items()))


def _operator(key: str, name: str, operand: Any) -> Condition:
    if name == NOT:
        return Not(_field(key, operand))
    if name == CONTAINS and not isinstance(operand, list):
        operand = [operand]
    if not isinstance(operand, list) or not operand:
        raise InvalidInputError(f"{name} of metadata_filter[{key!r:.80}] needs a non-empty list")
    if any(isinstance(value, dict | list) for value in operand):
        raise InvalidInputError(f"{name} of metadata_filter[{key!r:.80}] takes scalars only")
    return Contains(tuple(operand), any_of=name == CONTAINS_ANY)


def _holds(condition: Condition, value: Any) -> bool:
    if value is _MISSING:
        # A missing key fails every condition; only an odd number of negations turns that round.
        return _holds_for_missing(condition)
    match condition:
        case Equals(wanted):
            return bool(value == wanted)
        case Contains(values, any_of):
            return isinstance(value, list) and _contains(value, values, any_of)
        case Not(inner):
            return not _holds(inner, value)
        case AllOf(inner):
            return all(_holds(part, value) for part in inner)
        case Fields(fields):
            return isinstance(value, Mapping) and all(
                _holds(part, value.get(key, _MISSING)) for key, part in fields
            )


def _holds_for_missing(condition: Condition) -> bool:
    match condition:
        case Not(inner):
            return not _holds_for_missing(inner)
        case AllOf(inner):
            return all(_holds_for_missing(part) for part in inner)
    return False


def _contains(stored: list[Any], wanted: tuple[Any, ...], any_of: bool) -> bool:
    found = (any(_same_scalar(value, one) for value in stored) for one in wanted)
    return any(found) if any_of else all(found)


def _same_scalar(left: Any, right: Any) -> bool:
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


class metadata_matches(ColumnElement[bool]):
    """The condition that a JSON column fulfils a filter; compiled once for each filter."""

    inherit_cache = True
    type: Any = sa.Integer()
    # No _: SQLAlchemy reads these names as the parts of the cache key.
    _traverse_internals = [  # noqa: RUF012
        ("column", InternalTraversal.dp_clauseelement),
        ("text", InternalTraversal.dp_string),
    ]

    def __init__(self, column: ColumnElement[Any], filter_: Filter) -> None:
        self.column = column
        self.filter = filter_
        self.text = filter_.text

    def self_group(self, against: Any = None) -> metadata_matches:
        """Return itself: both spellings bind as tightly as a call."""
        return self

    @property
    def _from_objects(self) -> list[Any]:
        return self.column._from_objects


@compiles(metadata_matches)
def _matches_sqlite(element: metadata_matches, compiler: SQLCompiler, **kw: Any) -> str:
    column = compiler.process(element.column, **kw)
    text = compiler.process(sa.bindparam(None, element.text, sa.Text(), unique=True), **kw)
    return f"oam_match({column}, {text})"


@compiles(metadata_matches, "oracle")
def _matches_oracle(element: metadata_matches, compiler: SQLCompiler, **kw: Any) -> str:
    from oracleagentmemory.storage.filters_oracle import oracle_condition

    return oracle_condition(element.filter.condition, element.column, compiler, kw)
