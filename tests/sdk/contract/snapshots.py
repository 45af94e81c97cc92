"""What a store's tables hold, and whether the SDK-only tables agree with the records."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.storage.fingerprints import (
    UNKNOWN_BYTES,
    ImageMark,
    fingerprint,
    marked_image,
)
from oracleagentmemory.storage.kinds import IMAGE, KINDS
from oracleagentmemory.storage.textsearch import index_text, scope_token


def rows_of(store: SQLMemoryStore, table: sa.TableClause) -> list[Any]:
    with store.engine.read() as connection:
        return list(connection.execute(sa.select(table)).all())


def everything(store: SQLMemoryStore) -> dict[str, list[str]]:
    """Every row of every table, as text; numbers that were only reserved do not count."""
    tables: list[sa.TableClause] = list(store.tables.metadata.sorted_tables)
    tables = [one for one in tables if one.name != store.extras.sequence.name]
    if has_texts(store):
        tables.append(store.extras.text)
    # Rows of one store's tables only: the registry is compared too.
    return {table.name: sorted(map(repr, rows_of(store, table))) for table in tables}


def has_texts(store: SQLMemoryStore) -> bool:
    return store.engine.dialect_name == "sqlite"


def check_agreement(store: SQLMemoryStore, *, with_changes: bool = True) -> None:
    """Assert that states, changes, tokens and texts say what the records say."""
    records = check_states(store)
    if with_changes:
        _check_changes(store, records)
    check_chunks(store, records)


def check_states(store: SQLMemoryStore) -> dict[tuple[str, str], str]:
    """Assert that every record has a state that shows its row; return the fingerprints."""
    states = {
        (row.record_kind, row.record_id): row for row in rows_of(store, store.extras.record_state)
    }
    records = {}
    for kind in KINDS:
        for row in rows_of(store, kind.table(store.tables)):
            key = (kind.name, row._mapping[kind.key])
            hashed = dict(row._mapping)
            if kind is IMAGE:
                noted = states[key].content_hash
                assert noted in (UNKNOWN_BYTES, ImageMark.of(row.blob).digest)
                hashed = marked_image(hashed, noted)
            records[key] = fingerprint(kind.name, hashed)
    assert {key: row.fingerprint for key, row in states.items()} == records
    return records


def _check_changes(store: SQLMemoryStore, records: dict[tuple[str, str], str]) -> None:
    changes = sorted(rows_of(store, store.extras.change), key=lambda one: one.change_id)
    newest = {
        (one.record_kind, one.record_id): one
        for one in changes
        if one.operation in ("add", "update")
    }
    for key, digest in records.items():
        assert newest[key].fingerprint == digest, f"the newest change of {key} shows another row"


def check_chunks(store: SQLMemoryStore, records: dict[tuple[str, str], str]) -> None:
    chunks = rows_of(store, store.tables.record_chunks)
    kinds = {record_type: kind.name for kind in KINDS for record_type in kind.types}
    for chunk in chunks:
        assert (kinds[chunk.source_record_type], chunk.source_id) in records, "an orphan chunk"
    tokens = {row.chunk_id for row in rows_of(store, store.extras.chunk_token)}
    assert tokens <= {chunk.chunk_id for chunk in chunks}, "orphan tokens"
    if has_texts(store):
        found = {row.rowid: (row.scope, row.body) for row in rows_of(store, store.extras.text)}
        assert found == {
            chunk.chunk_id: (scope_token(_scope_of(chunk)), index_text(chunk.chunk_text))
            for chunk in chunks
        }


def _scope_of(chunk: Any) -> str | None:
    if chunk.source_record_type == "user_profile":
        return str(chunk.source_id)
    user_id: str | None = chunk.user_id
    return user_id
