"""Find in a Core statement what SQLite accepts and Oracle refuses.

Text checks cannot see types and groups; the tree can. ``watch`` runs the lint on every statement
of an engine, so a fault fails the test that executes it, on either database.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects import oracle
from sqlalchemy.exc import CompileError
from sqlalchemy.sql import operators, visitors
from sqlalchemy.sql.elements import (
    BinaryExpression,
    BindParameter,
    ClauseElement,
    ClauseList,
    ColumnClause,
    False_,
    Label,
    Null,
    Over,
    True_,
    Tuple,
    UnaryExpression,
)
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.selectable import CompoundSelect, Exists, ScalarSelect, Select, SelectBase
from sqlalchemy.types import Boolean, TupleType, TypeDecorator, TypeEngine

_ORACLE = oracle.oracledb.dialect()
_LARGE = ("CLOB", "NCLOB", "BLOB", "JSON", "VECTOR")
_AGGREGATES = {"count", "min", "max", "sum", "avg"}
_COMPARISONS = {
    operators.eq,
    operators.ne,
    operators.lt,
    operators.le,
    operators.gt,
    operators.ge,
    operators.in_op,
    operators.not_in_op,
}
_MEMBERSHIPS = {operators.in_op, operators.not_in_op}
Rows = Sequence[Mapping[str, Any]]


class LintFaultError(AssertionError):
    """A statement that runs on SQLite and not, or not with the same meaning, on Oracle."""

    def __init__(self, faults: Sequence[str], statement: object) -> None:
        super().__init__(f"{'; '.join(faults)}\n  in {statement}")
        self.faults = tuple(faults)


def watch(engine: sa.Engine) -> None:
    """Raise ``LintFaultError`` from every statement of ``engine`` that has a fault."""

    @event.listens_for(engine, "before_execute")
    def before_execute(
        connection: object, statement: object, multi: Any, single: Any, options: object
    ) -> None:
        if isinstance(statement, ClauseElement) and statement.supports_execution:
            rows = list(multi) or ([single] if single else [])
            if faults := faults_of(statement, rows):
                raise LintFaultError(faults, statement)


def faults_of(statement: ClauseElement, rows: Rows = ()) -> list[str]:
    """Name every fault of ``statement`` and of the rows that are bound to it."""
    faults = list(_row_faults(rows))
    bound = rows[0] if rows else {}
    for part in visitors.iterate(statement):
        if isinstance(part, Select):
            faults += _select_faults(part)
        elif isinstance(part, CompoundSelect):
            faults += _compound_faults(part)
        elif isinstance(part, BinaryExpression):
            faults += _comparison_faults(part, bound)
        elif isinstance(part, True_ | False_):
            faults.append("true() or false(): no such words")
        elif isinstance(part, FunctionElement) and _is_aggregate(part) and part.name != "count":
            faults += [
                f"ORA-00932: {part.name}() of a large type"
                for argument in part.clauses.clauses
                if _is_large(argument.type)
            ]
    return faults


def _row_faults(rows: Rows) -> Iterator[str]:
    if any(row.keys() != rows[0].keys() for row in rows):
        yield "rows of one executemany have different keys: the first row's decide"
    for name, value in ((name, value) for row in rows for name, value in row.items()):
        if isinstance(value, np.generic):
            yield f"{name} is a numpy scalar: sqlite3 binds it as BLOB"


def _select_faults(select: Select[Any]) -> Iterator[str]:
    grouped = _flat(select._group_by_clauses)
    aggregated = grouped or any(_holds_aggregate(column) for column in _selected(select))
    if select._for_update_arg is not None:
        paged = select._limit_clause, select._offset_clause, select._fetch_clause
        if select._distinct or aggregated or any(clause is not None for clause in paged):
            yield "ORA-02014: FOR UPDATE with a limit, DISTINCT, GROUP BY or an aggregate"
        if any(not isinstance(source, sa.Table) for source in select.get_final_froms()):
            yield "ORA-02014: FOR UPDATE of something that is no plain table"
    for column in _selected(select):
        if isinstance(_plain(column), Exists) or isinstance(column.type, Boolean):
            yield "a condition as a selected column"
        if select._distinct and _is_large(column.type):
            yield "ORA-00932: DISTINCT on a large type"
    for clause, word in ((grouped, "GROUP BY"), (select._order_by_clauses, "ORDER BY")):
        yield from (
            f"ORA-00932: {word} a large type" for part in _flat(clause) if _is_large(_type(part))
        )
    if aggregated:
        yield from _group_faults(select, grouped)


def _group_faults(select: Select[Any], grouped: Sequence[ClauseElement]) -> Iterator[str]:
    keys = [_plain(part) for part in grouped]
    labels = {column.name for column in _selected(select) if isinstance(column, Label)}
    ordered = [part for part in _flat(select._order_by_clauses) if _label_name(part) not in labels]
    for part in [*_selected(select), *ordered, *select._having_criteria]:
        for column in _outside_aggregates(part, keys):
            yield f"ORA-00979: {column} is selected or sorted by and not in GROUP BY"


def _compound_faults(compound: CompoundSelect[Any]) -> Iterator[str]:
    if compound._for_update_arg is not None:
        yield "ORA-02014: FOR UPDATE of a UNION"
    if not compound.keyword.name.endswith("ALL") and any(
        _is_large(column.type) for column in compound.exported_columns
    ):
        yield "ORA-00932: UNION of a large type; say UNION ALL"
    for part in compound._order_by_clauses:
        if _is_large(_type(part)):
            yield "ORA-00932: ORDER BY a large type"


def _comparison_faults(
    comparison: BinaryExpression[Any], bound: Mapping[str, Any]
) -> Iterator[str]:
    if comparison.operator not in _COMPARISONS:
        return
    sides = (comparison.left, comparison.right)
    membership = comparison.operator in _MEMBERSHIPS
    if any(isinstance(side, Tuple) for side in sides) and not membership:
        yield "row values compare only by IN"
    if any(_is_large(_type(side)) and not isinstance(side, BindParameter) for side in sides):
        yield "ORA-00932: a comparison of a large type"
    for side in sides:
        if isinstance(side, Null):
            yield "a comparison with NULL is never true"
        if isinstance(side, BindParameter):
            value = bound.get(side.key, side.effective_value)
            values = value if membership and isinstance(value, list | tuple) else [value]
            if any(isinstance(each, str) and each == "" for each in values):
                yield "a comparison with '', which is NULL on Oracle"
            given = side.key in bound or not (side.required or side.callable)
            if given and any(each is None for each in values):
                yield "a comparison with a bound NULL is never true"


def _selected(select: SelectBase) -> list[Any]:
    return list(select._all_selected_columns)


def _flat(clauses: Sequence[Any]) -> list[Any]:
    """Open the lists that SQLAlchemy wraps around a function in GROUP BY and ORDER BY."""
    nested = [part.clauses if isinstance(part, ClauseList) else [part] for part in clauses]
    return [part for parts in nested for part in parts]


def _plain(part: Any) -> Any:
    """Take off labels, sort directions and type coercions."""
    while True:
        if isinstance(part, Label | UnaryExpression):
            part = part.element
        elif isinstance(part, ScalarSelect):
            return part
        elif hasattr(part, "clause") and not isinstance(part, FunctionElement):
            part = part.clause
        else:
            return part


def _label_name(part: Any) -> str | None:
    element = getattr(part, "element", part)
    return getattr(element, "name", None) if not isinstance(element, sa.Column) else None


def _type(part: Any) -> TypeEngine[Any] | None:
    return getattr(_plain(part), "type", None)


def _is_aggregate(part: Any) -> bool:
    return isinstance(part, FunctionElement) and getattr(part, "name", "") in _AGGREGATES


def _holds_aggregate(part: Any) -> bool:
    if isinstance(part, Over | SelectBase | ScalarSelect | Exists):
        return False
    return _is_aggregate(part) or any(_holds_aggregate(child) for child in part.get_children())


def _outside_aggregates(part: Any, keys: Sequence[Any]) -> Iterator[ColumnClause[Any]]:
    """Yield the columns of ``part`` that stand in no aggregate and in no grouped expression."""
    if any(_plain(part).compare(key) for key in keys):
        return
    if _is_aggregate(part) or isinstance(part, SelectBase | ScalarSelect | Exists):
        return
    if isinstance(part, ColumnClause):
        if not part.is_literal:
            yield part
        return
    for child in part.get_children():
        yield from _outside_aggregates(child, keys)


def _is_large(type_: TypeEngine[Any] | None) -> bool:
    return (
        type_ is not None
        and not isinstance(type_, TupleType)
        and _spelling(type_).startswith(_LARGE)
    )


@lru_cache(maxsize=256)
def _spelling(type_: TypeEngine[Any]) -> str:
    inner = type_.load_dialect_impl(_ORACLE) if isinstance(type_, TypeDecorator) else type_
    try:
        return _ORACLE.type_compiler_instance.process(inner)
    except CompileError:
        return ""
