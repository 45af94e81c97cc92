"""Construction, connections, closing, prepared changes, async twins, and what is not there yet."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.core import (
    MemoryRetentionConfig,
    OracleAgentMemory,
    OracleThread,
    SearchIndexSyncMode,
    SearchStrategy,
    SQLiteMemoryStore,
    TopKMemorySearchConfig,
)
from oracleagentmemory.errors import StateError
from tests.sdk.client.conftest import EXTRACTION_OFF, SilentLlm, WordEmbedder

OFF: dict[str, Any] = {"memory_extraction_config": EXTRACTION_OFF}


def test_a_client_needs_one_of_store_and_connection(store: SQLiteMemoryStore) -> None:
    with pytest.raises(ValueError, match="a store or a connection"):
        OracleAgentMemory()
    with pytest.raises(ValueError, match="not both"):
        OracleAgentMemory(store=store, connection="x.sqlite3")


@pytest.mark.parametrize(
    "option",
    [
        {"schema_policy": "require_existing"},
        {"memory_store_id": "DOCS"},
        {"table_name_prefix": "DOCS_"},
        {"schema_owner": "OWNER"},
        {"search_strategy": SearchStrategy.VECTOR},
        {"search_index_sync": SearchIndexSyncMode.AUTO},
        {"memory_retention_config": MemoryRetentionConfig()},
    ],
    ids=lambda option: next(iter(option)),
)
def test_options_of_a_connection_are_refused_with_a_store(
    store: SQLiteMemoryStore, option: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=next(iter(option))):
        OracleAgentMemory(store=store, **option)


def test_an_embedder_and_no_model_are_fine_with_a_store(
    store: SQLiteMemoryStore, embedder: WordEmbedder, llm: SilentLlm
) -> None:
    OracleAgentMemory(store=store, embedder=embedder)
    with pytest.raises(ValueError, match="not both"):
        OracleAgentMemory(store=store, pruner_llm=llm, search_config=TopKMemorySearchConfig())
    with pytest.raises(TypeError):
        OracleAgentMemory(store=store, colour="red")  # type: ignore[call-arg]


@pytest.mark.parametrize("form", ["path", "text", "url", "odd url"])
def test_a_connection_may_be_a_path_or_a_url(
    tmp_path: Path, embedder: WordEmbedder, form: str
) -> None:
    path = tmp_path / "a b.sqlite3"
    connection = {
        "path": path,
        "text": str(path),
        "url": f"sqlite:///{path}",
        "odd url": f"SQLite:///{path}".replace(" ", "%20"),
    }[form]
    client = OracleAgentMemory(connection=connection, embedder=embedder, **OFF)
    client.add_memory("pizza", memory_id="m", user_id="u1")
    client.close()
    assert path.exists()
    again = OracleAgentMemory(connection=path, embedder=embedder, **OFF)
    assert [result.id for result in again.search("pizza", user_id="u1")] == ["m"]
    again.close()


@pytest.mark.parametrize("connection", [":memory:", "sqlite:///:memory:"])
def test_a_store_may_live_in_memory(embedder: WordEmbedder, connection: str) -> None:
    client = OracleAgentMemory(connection=connection, embedder=embedder, **OFF)
    client.add_memory("pizza", memory_id="m", user_id="u1")
    found = asyncio.run(client.search_async("pizza", user_id="u1"))
    assert [result.id for result in found] == ["m"]


def test_a_sqlite_connection_bound_to_one_thread_is_refused(tmp_path: Path) -> None:
    raw = sqlite3.connect(tmp_path / "raw.sqlite3")
    with pytest.raises(RuntimeError, match="check_same_thread=False"):
        OracleAgentMemory(connection=raw)
    raw.close()


def test_a_connection_may_be_a_sqlite_connection_that_stays_the_callers(
    tmp_path: Path, embedder: WordEmbedder
) -> None:
    raw = sqlite3.connect(tmp_path / "raw.sqlite3", check_same_thread=False)
    client = OracleAgentMemory(connection=raw, embedder=embedder, **OFF)
    client.add_memory("pizza", memory_id="m")
    client.close()
    assert raw.execute("SELECT record_id FROM memory").fetchall() == [("m",)]
    raw.close()


@pytest.mark.parametrize(
    ("connection", "error"),
    [
        ("", ValueError),
        ("oracle://user:secret@host/service", ValueError),
        ("postgresql://host/db", ValueError),
        ("sqlite://", ValueError),
        ("sqlite://host/file", ValueError),
        ("sqlite:///", ValueError),
        ("sqlite:///file.sqlite3?mode=ro", ValueError),
        (5, TypeError),
        (None, TypeError),
        (object(), TypeError),
    ],
)
def test_what_cannot_be_opened_is_refused_without_its_secrets(
    connection: Any, error: type[Exception]
) -> None:
    with pytest.raises(error) as caught:
        OracleAgentMemory(connection=connection)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["schema_owner", "table_name_prefix"])
@pytest.mark.filterwarnings("ignore:table_name_prefix:DeprecationWarning")
def test_options_of_oracle_are_refused_with_a_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        OracleAgentMemory(connection=tmp_path / "x.sqlite3", **{name: "DOCS"})
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_embed_is_refused_as_embedder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="LiteLLM model"):
        OracleAgentMemory(connection=tmp_path / "x.sqlite3", embedder="")
    with pytest.raises(TypeError, match="IEmbedder"):
        OracleAgentMemory(connection=tmp_path / "x.sqlite3", embedder=5)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_bad_configuration_opens_no_file(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        OracleAgentMemory(connection=tmp_path / "x.sqlite3", search_config="top_k")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_r131_closing_twice_is_fine_and_reading_goes_on(
    client: OracleAgentMemory, thread: OracleThread
) -> None:
    thread.add_memory("pizza", memory_id="m")
    client.close()
    client.close(timeout=1)
    asyncio.run(client.close_async())
    assert [result.id for result in client.search("pizza", user_id="u1")] == ["m"]
    found = asyncio.run(client.search_async("pizza", user_id="u1"))
    assert [result.id for result in found] == ["m"]
    for wait in (client.wait_for_memory_extraction, thread.wait_for_memory_extraction):
        with pytest.raises(RuntimeError, match="closed"):
            wait(timeout=1)


def test_r128_a_thread_checks_its_timeout_and_an_idle_client_does_not(
    client: OracleAgentMemory, thread: OracleThread
) -> None:
    for timeout in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="above 0"):
            thread.wait_for_memory_extraction(timeout=timeout)
    with pytest.raises(TypeError, match="seconds"):
        thread.wait_for_memory_extraction(timeout="soon")  # type: ignore[arg-type]
    for idle in (0, -1, None, 5):
        client.wait_for_memory_extraction(timeout=idle)
    thread.wait_for_memory_extraction(timeout=None)


def test_a_closed_client_that_opened_a_file_reads_on(
    tmp_path: Path, embedder: WordEmbedder
) -> None:
    client = OracleAgentMemory(connection=tmp_path / "x.sqlite3", embedder=embedder, **OFF)
    client.add_memory("pizza", memory_id="m", user_id="u1")
    client.close()
    assert [result.id for result in client.search("pizza", user_id="u1")] == ["m"]
    client.close()


def test_prepared_changes_write_nothing_until_they_are_written(
    client: OracleAgentMemory, store: SQLiteMemoryStore, rows: Callable[[], list[str]]
) -> None:
    before = rows()
    creation = client.prepare_create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    profile = client.prepare_add_user("u1", "Likes pizza")
    memory = client.prepare_add_memory("pizza", memory_id="m", thread_id="t1", user_id="u1")
    assert rows() == before
    thread, user_id, memory_id = store.write_all([creation, profile, memory])
    assert (thread.thread_id, user_id, memory_id) == ("t1", "u1", "m")
    messages = thread.prepare_add_messages([{"role": "user", "content": "hi", "id": "n"}])
    assert thread.get_messages() == []
    assert thread.write(messages) == ["n"]


def test_prepared_changes_of_one_transaction_are_all_undone_together(
    client: OracleAgentMemory, store: SQLiteMemoryStore, rows: Callable[[], list[str]]
) -> None:
    client.add_memory("x", memory_id="taken")
    before = rows()
    changes = [
        client.prepare_add_memory("y", memory_id="new"),
        client.prepare_add_memory("z", memory_id="taken"),
    ]
    with pytest.raises(ValueError, match="'taken'"):
        store.write_all(changes)
    assert rows() == before


def test_preparing_embeds_and_writing_does_not(
    client: OracleAgentMemory, embedder: WordEmbedder
) -> None:
    prepared = client.prepare_add_memory("pizza", memory_id="m")
    assert embedder.texts == ["pizza"]
    client.write(prepared)
    assert embedder.texts == ["pizza"]


def test_r162_twins_give_the_same_results_and_errors(
    client: OracleAgentMemory, embedder: WordEmbedder
) -> None:
    async def main() -> None:
        thread = await client.create_thread_async(thread_id="t", user_id="u1", agent_id="a1")
        ids = await thread.add_messages_async([{"role": "user", "content": "pizza", "id": "n"}])
        assert ids == ["n"]
        assert await thread.update_message_async("n", content="pasta") == "n"
        assert (await thread.get_messages_async())[0].content == "pasta"
        await client.add_memory_async("pizza", memory_id="m", user_id="u1")
        await client.update_memory_async("m", content="pizza again")
        found = await asyncio.gather(
            *(client.search_async("pizza", user_id="u1", max_results=1) for _ in range(20))
        )
        assert {results[0].id for results in found} == {"m"}
        opened = await client.get_thread_async("t", max_message_token_length=5)
        assert opened.max_message_token_length == 5
        assert (await client.update_thread_async("t", metadata={"a": 1})).metadata == {"a": 1}
        with pytest.raises(KeyError):
            await client.get_thread_async("nobody")
        with pytest.raises(ValueError, match="blank"):
            await client.search_async(" ", user_id="u1")
        assert await client.delete_thread_async("t") == 1

    asyncio.run(main())


def test_a_model_call_inside_an_open_write_transaction_is_refused(
    client: OracleAgentMemory, store: SQLiteMemoryStore
) -> None:
    with store.engine.write(), pytest.raises(StateError, match="embedding"):
        client.add_memory("pizza")


def test_r155_a_client_that_may_not_create_a_store_creates_none(
    tmp_path: Path, embedder: WordEmbedder
) -> None:
    path = tmp_path / "x.sqlite3"
    with pytest.raises(RuntimeError):
        OracleAgentMemory(connection=path, embedder=embedder, schema_policy="require_existing")
    OracleAgentMemory(connection=path, embedder=embedder).close()
    OracleAgentMemory(connection=path, schema_policy="require_existing").close()


@pytest.mark.parametrize("name", ["", "1DOCS", "DO-CS", "D" * 17, 'D"'])
def test_r157_a_bad_store_id_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="memory_store_id"):
        OracleAgentMemory(connection=tmp_path / "x.sqlite3", memory_store_id=name)
    assert list(tmp_path.iterdir()) == []


def test_r157_stores_of_one_file_are_told_apart_by_id_and_case_does_not_count(
    tmp_path: Path, embedder: WordEmbedder
) -> None:
    def opened(name: str) -> OracleAgentMemory:
        path = tmp_path / "x.sqlite3"
        return OracleAgentMemory(connection=path, embedder=embedder, memory_store_id=name, **OFF)

    first, second, again = opened("One"), opened("Two"), opened("ONE")
    first.add_memory("pizza", memory_id="m")
    assert [memory.id for memory in again.list_memories()] == ["m"]
    assert second.list_memories() == []
