"""A store of the reference that may not be altered: every method works, nothing is noted beside."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oracleagentmemory.core import OracleDBMemoryStore
from oracleagentmemory.errors import DuplicateIdError, InvalidInputError
from oracleagentmemory.inspection import StoreInspector
from tests.oracle import stores
from tests.sdk.search.stores import DIMENSION, ScopedWordEmbedder


@pytest.fixture
def store(tmp_path: Path) -> Any:
    embedder = ScopedWordEmbedder()
    made = stores.open_recorded(tmp_path, vector_dim=DIMENSION, embedder=embedder)
    recorder = stores._recorders[tmp_path]
    with recorder.sqlite.begin() as connection:
        for table in made.extras.tables:
            connection.execute(sa.text(f"DROP TABLE {table.name}"))
    made.close()
    opened = stores.open_on(
        recorder, vector_dim=DIMENSION, embedder=embedder, schema_policy="require_existing"
    )
    yield opened
    opened.close()
    stores.forget_recorded(tmp_path)


def test_every_change_works_without_the_sdk_only_tables(store: OracleDBMemoryStore) -> None:
    assert not store.has_extras
    store.write(store.prepare_create_thread("t1", user_id="u1", agent_id="a1"))
    store.add(["red car"], "memory", record_ids="m1", thread_ids="t1", user_ids="u1")
    store.add(["hello"], "message", record_ids="n1", thread_ids="t1", roles="user", ttl_days=0)
    with pytest.raises(DuplicateIdError, match="'m1'"):
        store.add(["red"], "memory", record_ids="m1")
    seen = store.fingerprint("memory", "m1")
    assert store.update("memory", "m1", content="blue boat", if_fingerprint=seen) == 1
    assert store.write(store.prepare_update_thread("t1", metadata={"a": 1})) == 1
    assert [one.id for one, _ in store.search("boat", 1)] == ["m1"]
    assert store.purge_expired() == 1
    assert store.delete("memory", "m1") == 1
    assert store.delete_thread("t1") == 1
    assert store.delete("user_profile", "u1", cascade=True) == 0


def test_the_inspector_says_what_is_not_recorded(store: OracleDBMemoryStore) -> None:
    store.add(["red car"], "memory", record_ids="m1", user_ids="u1")
    inspector = StoreInspector(store)
    (row,) = inspector.page("memory", since=datetime(2000, 1, 1, tzinfo=UTC)).rows
    assert (row.id, row.version, row.updated_at) == ("m1", None, None)
    assert row.effective_at == row.created_at
    with pytest.raises(InvalidInputError, match="indexed for vector search alone"):
        inspector.page("memory", text="car")
    assert inspector.facets("memory").values["user_id"][0].count == 1
    assert not inspector.changes().is_recorded
    assert not inspector.changed_outside("memory").is_recorded
    assert [user.id for user in inspector.users().actors] == ["u1"]
