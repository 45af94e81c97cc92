"""Memories through the client and through a thread."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.apis import RecordStatus, TimeToLiveAnchor
from oracleagentmemory.core import OracleAgentMemory, OracleThread, SQLiteMemoryStore

MORNING = "2024-05-01T10:00:00+00:00"


def ids(records: Any) -> list[str]:
    """Sorted ids."""
    return sorted(record.id for record in records)


def test_r039_an_omitted_type_stores_a_memory(
    client: OracleAgentMemory, store: SQLiteMemoryStore
) -> None:
    memory_id = client.add_memory("Likes pizza")
    record = store.get("memory", memory_id)
    assert record is not None
    assert (record.record_type, record.content, record.metadata) == ("memory", "Likes pizza", None)


@pytest.mark.parametrize("kind", ["memory", "guideline", "fact", "preference"])
def test_each_of_the_four_types_is_stored_as_such(
    client: OracleAgentMemory, store: SQLiteMemoryStore, kind: Any
) -> None:
    client.add_memory("x", memory_id="m", memory_type=kind, metadata={"a": [1]}, timestamp=MORNING)
    record = store.get(kind, "m")
    assert record is not None
    assert (record.record_type, record.metadata, record.timestamp) == (kind, {"a": [1]}, MORNING)


def test_r040_a_client_stores_without_scope_and_a_thread_with_its_own(
    client: OracleAgentMemory, thread: OracleThread
) -> None:
    client.add_memory("x", memory_id="free")
    thread.add_memory("x", memory_id="own")
    thread.add_memory("x", memory_id="other", user_id="u9", agent_id="a9")
    client.add_memory("x", memory_id="in thread", thread_id="t1")
    scopes = {
        memory.id: (memory.thread_id, memory.user_id, memory.agent_id)
        for memory in client.list_memories()
    }
    assert scopes == {
        "free": (None, None, None),
        "own": ("t1", "u1", "a1"),
        "other": ("t1", "u9", "a9"),
        "in thread": ("t1", None, None),
    }


def test_an_initial_status_is_kept(client: OracleAgentMemory, store: SQLiteMemoryStore) -> None:
    client.add_memory("x", memory_id="m", status=RecordStatus.INVALID)
    record = store.get("memory", "m")
    assert record is not None
    assert record.status is RecordStatus.INVALID


def test_an_empty_memory_is_kept_and_none_takes_the_metadatas_content(
    client: OracleAgentMemory, store: SQLiteMemoryStore
) -> None:
    client.add_memory("", memory_id="empty")
    client.add_memory(None, memory_id="none", metadata={"content": "from metadata"})  # type: ignore[arg-type]
    contents = [record.content for record in client.list_memories()]
    assert contents == ["", "from metadata"]


BAD_MEMORIES: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"memory_type": "idea"}, ValueError),
    ({"memory_type": "message"}, ValueError),
    ({"memory_type": None}, ValueError),
    ({"content": 5}, TypeError),
    ({"content": "a\0"}, ValueError),
    ({"content": "\udfff"}, ValueError),
    ({"memory_id": ""}, ValueError),
    ({"memory_id": "x" * 129}, ValueError),
    ({"user_id": "é" * 65}, ValueError),
    ({"metadata": [1]}, ValueError),
    ({"metadata": {"a": float("inf")}}, ValueError),
    ({"timestamp": 5}, TypeError),
    ({"timestamp": "t" * 65}, ValueError),
    ({"status": "invalid"}, (ValueError, TypeError)),
    ({"ttl_days": -1}, ValueError),
    ({"ttl_days": "soon"}, ValueError),
    ({"ttl_days": 3, "ttl_anchor": "timestamp"}, ValueError),
    ({"ttl_days": 3, "ttl_anchor": TimeToLiveAnchor.TIMESTAMP}, ValueError),
    ({"memory_id_to_link": "lone"}, ValueError),
    ({"link_type": "supports"}, ValueError),
    ({"link_id": "l1"}, ValueError),
    ({"link_timestamp": MORNING}, ValueError),
    ({"link_metadata": {}}, ValueError),
    ({"memory_id_to_link": "lone", "link_type": "likes"}, ValueError),
    ({"memory_id_to_link": "nobody", "link_type": "supports"}, KeyError),
    ({"thread_id": "nobody"}, KeyError),
    ({"colour": "red"}, TypeError),
]


@pytest.mark.parametrize("through", ["client", "thread"])
@pytest.mark.parametrize(("fields", "error"), BAD_MEMORIES)
def test_a_bad_memory_stores_nothing(
    client: OracleAgentMemory,
    thread: OracleThread,
    rows: Callable[[], list[str]],
    through: str,
    fields: dict[str, Any],
    error: Any,
) -> None:
    client.add_memory("lone", memory_id="lone", thread_id="t1")
    before = rows()
    owner = client if through == "client" else thread
    fields = dict(fields)
    with pytest.raises(error):
        owner.add_memory(fields.pop("content", "x"), **fields)
    assert rows() == before


def test_a_taken_id_is_refused(client: OracleAgentMemory) -> None:
    client.add_memory("x", memory_id="m")
    with pytest.raises(ValueError, match="'m' exists"):
        client.add_memory("y", memory_id="m", memory_type="fact")
    assert [memory.content for memory in client.list_memories()] == ["x"]


def test_r043_the_client_links_across_scopes_and_a_thread_its_own_memories(
    client: OracleAgentMemory, thread: OracleThread, rows: Callable[[], list[str]]
) -> None:
    thread.add_memory("pizza", memory_id="target")
    other = client.create_thread(thread_id="t-other", user_id="u1", agent_id="a1")
    link: dict[str, Any] = {"memory_id_to_link": "target", "link_type": "supports"}
    before = rows()
    with pytest.raises(KeyError):
        other.add_memory("x", **link)
    assert rows() == before
    client.add_memory("x", memory_id="far", user_id="u9", **link)
    thread.add_memory("x", memory_id="near", **link)
    linked = client._store.list_relations(target_record_id="target", limit=None)
    assert {one.source_record_id for one in linked} == {"far", "near"}


def test_the_old_name_of_timestamp_works_with_a_warning(
    client: OracleAgentMemory, store: SQLiteMemoryStore
) -> None:
    with pytest.warns(DeprecationWarning, match="timestamp=") as caught:
        client.add_memory("x", memory_id="m", timestamps=MORNING)
    assert caught[0].filename == __file__
    record = store.get("memory", "m")
    assert record is not None
    assert record.timestamp == MORNING
    with pytest.raises(ValueError, match="not both"):
        client.add_memory("x", timestamp=MORNING, timestamps=MORNING)


def test_options_of_the_store_are_passed_on(
    client: OracleAgentMemory, thread: OracleThread
) -> None:
    client.add_memory("shown text", memory_id="m", user_id="u1", index_texts=["searched words"])
    found = client.search("searched words", user_id="u1")[0]
    assert (found.id, found.content) == ("m", "shown text")
    assert found.distance == pytest.approx(0, abs=1e-3)


@pytest.fixture
def kept(thread: OracleThread) -> OracleThread:
    """The thread with the fact kept."""
    thread.add_memory(
        "kept", memory_id="kept", memory_type="fact", metadata={"a": 1}, timestamp=MORNING
    )
    return thread


@pytest.mark.parametrize("through", ["client", "thread"])
def test_r045_omitted_fields_of_an_update_stay(
    client: OracleAgentMemory, kept: OracleThread, store: SQLiteMemoryStore, through: str
) -> None:
    owner = client if through == "client" else kept
    before = store.get("fact", "kept")
    assert owner.update_memory("kept", content="changed") == "kept"
    after = store.get("fact", "kept")
    assert before is not None
    assert after is not None
    assert (after.content, after.metadata, after.timestamp) == ("changed", {"a": 1}, MORNING)
    owner.update_memory("kept", metadata={"b": 2})
    changed = store.get("fact", "kept")
    assert changed is not None
    assert (changed.content, changed.metadata) == ("changed", {"b": 2})
    owner.update_memory("kept", content="", metadata=None)
    cleared = store.get("fact", "kept")
    assert cleared is not None
    assert (cleared.content, cleared.metadata) == ("", None)


def test_a_status_set_by_hand_is_marked_as_the_callers_and_survives_new_metadata(
    client: OracleAgentMemory, kept: OracleThread, store: SQLiteMemoryStore
) -> None:
    mark = {"$agent_memory": {"invalidated_by": "caller"}}
    client.update_memory("kept", status=RecordStatus.INVALID)
    client.update_memory("kept", metadata={"b": 2})
    record = store.get("fact", "kept")
    assert record is not None
    assert (record.status, record.metadata) == (RecordStatus.INVALID, {"b": 2, **mark})
    client.update_memory("kept", status=RecordStatus.VALID)
    record = store.get("fact", "kept")
    assert record is not None
    assert (record.status, record.metadata) == (RecordStatus.VALID, {"b": 2})


def test_r046_a_cleared_time_shows_the_time_of_creation(
    client: OracleAgentMemory, kept: OracleThread, store: SQLiteMemoryStore, tmp_path: Path
) -> None:
    client.update_memory("kept", timestamp=None)
    with closing(sqlite3.connect(tmp_path / "memory.sqlite3")) as raw:
        rows = raw.execute("SELECT timestamp, created_at FROM memory").fetchall()
    [(stored, created)] = rows
    assert stored is None
    record = store.get("fact", "kept")
    assert record is not None
    assert record.timestamp is not None
    shown = datetime.fromisoformat(record.timestamp)
    assert shown.replace(tzinfo=None) == datetime.fromisoformat(created).replace(tzinfo=None)


@pytest.mark.parametrize("through", ["client", "thread"])
@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"content": None}, ValueError),
        ({"content": 5}, TypeError),
        ({"content": "a\0"}, ValueError),
        ({"metadata": "x"}, ValueError),
        ({"metadata": {"a": {1}}}, ValueError),
        ({"timestamp": 5}, TypeError),
        ({"ttl_days": -1}, ValueError),
        ({"memory_type": "memory"}, TypeError),
        ({"text": "x"}, TypeError),
        ({"user_id": "u2"}, TypeError),
    ],
)
def test_r047_a_bad_update_changes_nothing(
    client: OracleAgentMemory,
    kept: OracleThread,
    rows: Callable[[], list[str]],
    through: str,
    change: dict[str, Any],
    error: type[Exception],
) -> None:
    owner = client if through == "client" else kept
    before = rows()
    with pytest.raises(error):
        owner.update_memory("kept", **change)
    assert rows() == before


def test_r047_every_update_refuses_what_it_does_not_know(
    client: OracleAgentMemory, kept: OracleThread, rows: Callable[[], list[str]]
) -> None:
    kept.add_messages([{"role": "user", "content": "x", "id": "message"}])
    kept.add_memory("y", memory_id="other")
    kept.link_records("kept", "fact", "other", "memory", "supports", relation_id="link")
    before = rows()
    for update, unknown in (
        (lambda **more: client.update_memory("kept", **more), "memory_type"),
        (lambda **more: kept.update_memory("kept", **more), "thread_id"),
        (lambda **more: kept.update_message("message", **more), "role"),
        (lambda **more: kept.update_message("message", **more), "timestamp"),
        (lambda **more: client.update_thread("t1", **more), "user_id"),
        (lambda **more: client.update_record_link("link", **more), "target_record_id"),
        (lambda **more: kept.update_record_link("link", **more), "source_record_id"),
        (lambda **more: client.update_image("image", **more), "caption"),
        (lambda **more: kept.update_image("image", **more), "user_id"),
    ):
        with pytest.raises(TypeError, match=unknown):
            update(**{unknown: "x"})
    assert rows() == before


def test_an_update_of_nothing_writes_nothing(
    client: OracleAgentMemory, kept: OracleThread, rows: Callable[[], list[str]]
) -> None:
    before = rows()
    assert [client.update_memory("kept"), kept.update_memory("kept")] == ["kept", "kept"]
    assert rows() == before


def test_an_unknown_memory_is_a_key_error_or_nothing_to_delete(
    client: OracleAgentMemory, kept: OracleThread
) -> None:
    kept.add_messages([{"role": "user", "content": "x", "id": "message"}])
    for memory_id in ("nobody", "message"):
        for owner in (client, kept):
            with pytest.raises(KeyError, match=memory_id):
                owner.update_memory(memory_id, content="x")
            assert owner.delete_memory(memory_id) == 0


def test_a_thread_changes_only_its_own_memories(
    client: OracleAgentMemory, kept: OracleThread
) -> None:
    other = client.create_thread(thread_id="t2", user_id="u1", agent_id="a1")
    client.add_memory("free", memory_id="free")
    for owner, memory_id in ((other, "kept"), (kept, "free")):
        with pytest.raises(KeyError, match="this thread"):
            owner.update_memory(memory_id, content="x")
        assert owner.delete_memory(memory_id) == 0
    assert ids(client.list_memories()) == ["free", "kept"]


def test_r048_a_client_deletes_a_memory_of_any_type_by_its_id(client: OracleAgentMemory) -> None:
    kinds: Any = ["memory", "guideline", "fact", "preference"]
    for kind in kinds:
        client.add_memory("x", memory_id=kind, memory_type=kind)
    assert [client.delete_memory(kind) for kind in kinds] == [1, 1, 1, 1]
    assert client.list_memories() == []
    assert client.delete_memory("memory") == 0


def test_r049_a_list_covers_the_four_types_in_order(client: OracleAgentMemory) -> None:
    kinds: Any = ["fact", "memory", "preference", "guideline"]
    for number, kind in enumerate(kinds):
        client.add_memory("x", memory_id=f"m{number}", memory_type=kind, user_id="u1")
    listed = client.list_memories(user_id="u1")
    assert [(memory.id, memory.record_type) for memory in listed] == [
        (f"m{number}", kind) for number, kind in enumerate(kinds)
    ]
    assert [memory.id for memory in client.list_memories(limit=2)] == ["m2", "m3"]
    assert client.list_memories(limit=0) == []
    assert len(client.list_memories(limit=None)) == 4


def test_r061_none_in_a_list_means_without_and_omitted_means_any(
    client: OracleAgentMemory, thread: OracleThread
) -> None:
    client.add_memory("x", memory_id="free")
    client.add_memory("x", memory_id="user", user_id="u1", metadata={})
    client.add_memory("x", memory_id="agent", agent_id="a1", metadata={"k": 1})
    thread.add_memory("x", memory_id="thread")
    assert ids(client.list_memories(user_id="u1")) == ["thread", "user"]
    assert ids(client.list_memories(user_id=None)) == ["agent", "free"]
    assert ids(client.list_memories(agent_id="a1")) == ["agent", "thread"]
    assert ids(client.list_memories(thread_id=None)) == ["agent", "free", "user"]
    nothing = client.list_memories(user_id=None, agent_id=None, thread_id=None)
    assert ids(nothing) == ["free"]
    assert ids(client.list_memories(metadata_filter=None)) == ["free", "thread"]
    assert ids(client.list_memories(metadata_filter={"k": 1})) == ["agent"]


@pytest.mark.parametrize(
    "bad",
    [[1], "x", {"a": float("nan")}, {"a": {"$array_contains": []}}, {"a": {"$not": 1, "b": 2}}],
)
def test_a_bad_filter_is_refused_by_lists_and_search(client: OracleAgentMemory, bad: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the store's own words
        client.list_memories(metadata_filter=bad)
    with pytest.raises(ValueError):  # noqa: PT011
        client.search("x", user_id="u1", metadata_filter=bad)


@pytest.mark.parametrize(
    "options",
    [{"limit": "many"}, {"limit": float("inf")}, {"user_id": "a\0"}, {"user_id": "\ud800"}],
)
def test_a_list_refuses_what_cannot_be_stored(client: OracleAgentMemory, options: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        client.list_memories(**options)


def test_a_bad_id_is_named_as_the_caller_wrote_it(client: OracleAgentMemory) -> None:
    with pytest.raises(TypeError, match="memory_id must be a str"):
        client.add_memory("x", memory_id=5)  # type: ignore[arg-type]


def test_r117_an_expired_memory_is_gone_for_client_and_thread(
    client: OracleAgentMemory, thread: OracleThread, store: SQLiteMemoryStore
) -> None:
    anchor = TimeToLiveAnchor.TIMESTAMP
    thread.add_memory("old pizza", memory_id="m", ttl_days=5, timestamp=MORNING, ttl_anchor=anchor)
    assert client.list_memories() == []
    assert client.search("pizza", user_id="u1") == []
    for owner in (client, thread):
        with pytest.raises(KeyError):
            owner.update_memory("m", ttl_days=None)
        assert owner.delete_memory("m") == 0


def test_r118_the_store_may_make_an_expired_memory_visible_again(
    client: OracleAgentMemory, store: SQLiteMemoryStore
) -> None:
    client.add_memory("x", memory_id="m", ttl_days=0)
    assert store.get("memory", "m") is None
    assert store.update("memory", "m", ttl_days=5) == 1
    assert store.get("memory", "m") is not None


def test_r115_an_anchor_alone_refreshes_with_the_default_and_nothing_keeps_the_expiry(
    client: OracleAgentMemory,
) -> None:
    client.add_memory("x", memory_id="m", ttl_days=5)
    client.update_memory("m", content="y")
    client.update_memory("m", ttl_anchor=TimeToLiveAnchor.CREATED_AT)
    assert ids(client.list_memories()) == ["m"]
    client.update_memory("m", ttl_days=1, timestamp=MORNING, ttl_anchor=TimeToLiveAnchor.TIMESTAMP)
    assert client.list_memories() == []


def test_a_fingerprint_guards_an_update_and_a_delete(
    client: OracleAgentMemory, kept: OracleThread, store: SQLiteMemoryStore
) -> None:
    seen = store.fingerprint("fact", "kept")
    client.update_memory("kept", content="first", if_fingerprint=seen)
    for owner in (client, kept):
        with pytest.raises(ValueError, match="has changed"):
            owner.update_memory("kept", content="second", if_fingerprint=seen)
        with pytest.raises(ValueError, match="has changed"):
            owner.delete_memory("kept", if_fingerprint=seen)
    assert [memory.content for memory in client.list_memories()] == ["first"]
