"""Every DDL text and the statements of a search on Oracle, as they are sent, to the letter.

No parser at hand reads 23ai's DDL, its JSON functions or Oracle Text: a change here is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects import oracle
from sqlalchemy.schema import CreateIndex, CreateTable

from oracleagentmemory.storage.extras import ExtraTables
from oracleagentmemory.storage.filters import parse_filter
from oracleagentmemory.storage.keyword_sql import matches_statement
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.retrieval import SearchRequest
from oracleagentmemory.storage.schema_oracle import drop_ddl, special_ddl
from oracleagentmemory.storage.upgrades import UPGRADES
from oracleagentmemory.storage.vector_sql import nearest
from tests.oracle.stores import GOLDEN

Golden = Callable[[str, str], None]
_DIALECT = oracle.oracledb.dialect()


def _tables(prefix: str) -> tuple[ManagedTables, ExtraTables]:
    tables = ManagedTables(prefix, sa.MetaData(), dimension=1024)
    return tables, ExtraTables(tables)


def _text(construct: Any) -> str:
    lines = str(construct.compile(dialect=_DIALECT)).strip().splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _ddl(prefix: str) -> Iterator[str]:
    tables, extras = _tables(prefix)
    own = [*tables.record_tables, *extras.tables]
    for table in [tables.stores, *own]:
        yield _text(CreateTable(table))
        for index in sorted(table.indexes, key=lambda one: str(one.name)):
            yield _text(CreateIndex(index))
    for sync in ("on_commit", "manual"):
        yield from special_ddl(prefix, with_embedding=True, index_sync=sync)
    for step in UPGRADES:
        yield from (_text(statement) for statement in step.statements(extras))
    yield from drop_ddl(prefix, [table.name for table in reversed(own)])


def test_the_ddl_of_a_store(golden: Golden) -> None:
    golden("oracle_ddl.sql", "\n\n".join(one.strip() for one in _ddl("acme_")) + "\n")


def test_a_store_without_a_name_differs_by_its_prefix_alone() -> None:
    plain = [" ".join(one.split()) for one in _ddl("")]
    named = [" ".join(one.split()).replace("acme_", "") for one in _ddl("acme_")]
    assert named == plain


def test_what_no_table_describes_is_what_the_recorder_answers() -> None:
    # The recorder answers these files and no other text; nothing in them may be forgotten.
    known = {" ".join(file.read_text().split()) for file in GOLDEN.glob("*.sql")}
    made = special_ddl("", with_embedding=True, index_sync="on_commit")
    assert {" ".join(text.split()) for text in made} == known


def test_the_statements_of_a_search(golden: Golden) -> None:
    tables, extras = _tables("")
    free = SearchRequest(k=5, text="red car", vector=np.ones(1024, np.float32))
    scoped = replace(
        free,
        user_id="ada",
        agent_id=None,
        record_types=frozenset({"fact", "memory"}),
        include_invalid=False,
    )
    filtered = replace(scoped, filter=parse_filter({"a": {"$not": 2}}))
    parts = []
    for name, request in (("free", free), ("scoped", scoped), ("filtered", filtered)):
        parts.append(f"-- vector, {name}\n{_text(nearest(tables, request)[0])}")
    for name, request in (("free", free), ("scoped", scoped)):
        statement = matches_statement(tables, extras, request, full_text=False)
        parts.append(f"-- keyword, {name}\n{_text(statement)}")
    golden("oracle_searches.sql", "\n".join(parts))
