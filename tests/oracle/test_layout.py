"""Our tables compile to the managed layout of the reference SDK: nothing missing, nothing extra.

Compared as text, since no server is here. Whether the reference SDK opens such a store needs one
run against a live database.
"""

from __future__ import annotations

import dataclasses

import pytest
import sqlalchemy as sa

from oracleagentmemory.storage.extras import ExtraTables
from oracleagentmemory.storage.layout import ManagedTables
from tests.oracle import facts
from tests.oracle.ddl import read_index, read_table
from tests.oracle.facts import TABLES, Check, Column, Index, Table

PREFIXES = ["", "acme_"]


def managed(prefix: str = "") -> ManagedTables:
    return ManagedTables(prefix, sa.MetaData(), dimension=facts.DIMENSION)


def by_base_name(prefix: str) -> dict[str, sa.Table]:
    """Return the managed tables by their name in the facts; the registry never has a prefix."""
    tables = managed(prefix).metadata.tables
    return {
        name if name == facts.REGISTRY else name.removeprefix(prefix): table
        for name, table in tables.items()
    }


def renamed(table: Table, prefix: str) -> Table:
    """Return the fact under a store's prefix."""
    if table.name == facts.REGISTRY or not prefix:
        return table
    return dataclasses.replace(
        table,
        name=prefix + table.name,
        checks=frozenset(
            Check(check.condition, check.name and prefix + check.name) for check in table.checks
        ),
        unique_keys=frozenset(
            dataclasses.replace(key, name=key.name and prefix + key.name)
            for key in table.unique_keys
        ),
        foreign_keys=frozenset(
            dataclasses.replace(key, name=prefix + key.name, table=prefix + key.table)
            for key in table.foreign_keys
        ),
    )


def indexes(prefix: str, *, extra: bool) -> set[Index]:
    """Return the indexes of the managed tables: the layout's own, or those we add."""
    tables = managed(prefix)
    managed_names = set(tables.metadata.tables)
    ExtraTables(tables)
    return {
        read_index(index)
        for name in managed_names
        for index in tables.metadata.tables[name].indexes
        if str(index.name).startswith(f"{prefix}x_") is extra
    }


@pytest.mark.parametrize("prefix", PREFIXES)
def test_the_layout_has_exactly_the_managed_tables(prefix: str) -> None:
    assert set(by_base_name(prefix)) == set(TABLES)


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("name", sorted(TABLES))
def test_a_table_compiles_to_the_managed_layout(name: str, prefix: str) -> None:
    ours = read_table(by_base_name(prefix)[name])
    fact = renamed(TABLES[name], prefix)
    assert {column.name: column for column in ours.columns} == {
        column.name: column for column in fact.columns
    }
    assert ours == fact


@pytest.mark.parametrize("prefix", PREFIXES)
def test_the_layout_has_exactly_the_managed_indexes(prefix: str) -> None:
    wanted = {
        Index(prefix + index.name, prefix + index.table, index.columns) for index in facts.INDEXES
    }
    assert indexes(prefix, extra=False) == wanted


def test_the_indexes_that_the_layout_lacks_are_added_under_names_of_their_own() -> None:
    added = indexes("", extra=True)
    columns = {(index.table, index.columns) for index in added | facts.INDEXES}
    lacking = {
        (table, wanted)
        for table, wanted in facts.EXTRA_INDEXES
        if not any(
            table == other and set(names[: len(wanted)]) == set(wanted) for other, names in columns
        )
    }
    assert not lacking


def test_a_store_without_vectors_has_no_embedding_column() -> None:
    tables = ManagedTables("", sa.MetaData(), with_embedding=False)
    names = [column.name for column in read_table(tables.record_chunks).columns]
    assert names == [column.name for column in TABLES["record_chunks"].columns[:-1]]


def test_the_sdk_only_tables_stand_apart_and_compile() -> None:
    tables = managed("acme_")
    extra = ExtraTables(tables)
    added = {name for name in tables.metadata.tables if name.startswith("acme_x_")}
    assert {table.name for table in extra.tables} | {extra.sequence.name} == added
    for table in extra.tables:
        assert not read_table(table).foreign_keys


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.c.status.server_default.arg.__setattr__("text", "'val'"),
        lambda table: setattr(table.c.user_id, "nullable", False),
        lambda table: setattr(table.c.content, "type", sa.String(10)),
        lambda table: table.append_column(sa.Column("summary", sa.String(10))),
        lambda table: table.append_constraint(sa.UniqueConstraint("thread_id")),
        lambda table: table.append_constraint(sa.CheckConstraint("user_id <> 'x'")),
        lambda table: setattr(next(iter(table.foreign_key_constraints)), "ondelete", "SET NULL"),
    ],
)
def test_a_planted_difference_is_seen(change) -> None:  # type: ignore[no-untyped-def]
    table = by_base_name("")["message"]
    assert read_table(table) == TABLES["message"]
    change(table)
    assert read_table(table) != TABLES["message"]


def test_a_column_is_read_with_type_nullability_and_default() -> None:
    table = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("a", sa.Integer, sa.Identity(always=True), primary_key=True),
        sa.Column("b", sa.String(3), nullable=False, server_default=sa.text("'x, y'")),
    )
    assert read_table(table).columns == (
        Column("a", "INTEGER GENERATED ALWAYS AS IDENTITY", nullable=True),
        Column("b", "VARCHAR2(3 CHAR)", nullable=False, default="'x, y'"),
    )
