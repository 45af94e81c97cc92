"""Messages of a thread: adding, reading, changing, deleting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from oracleagentmemory.apis import Message, TextContent, TimeToLiveAnchor
from oracleagentmemory.core import MemoryExtractionConfig, OracleAgentMemory, SQLiteMemoryStore
from oracleagentmemory.core.thread import OracleThread
from tests.sdk.client.conftest import SilentLlm
from tests.sdk.client.jobs import LONG_S

MORNING = "2024-05-01T10:00:00+00:00"


def said(text: Any, **more: Any) -> dict[str, Any]:
    """A user's message as a mapping."""
    return {"role": "user", "content": text, **more}


def texts(thread: OracleThread, **window: Any) -> list[Any]:
    """The contents of a window of messages."""
    return [message.content for message in thread.get_messages(**window)]


def part_texts(message: Message) -> list[str]:
    """The texts of a message's parts."""
    return [part.text for part in message.content if isinstance(part, TextContent)]


def test_r001_every_message_is_one_record(thread: OracleThread, client: OracleAgentMemory) -> None:
    ids = thread.add_messages([said("a"), said("b"), said("c")])
    assert [record.id for record in client.list_messages(thread_id="t1")] == ids
    assert len(set(ids)) == 3


def test_r022_messages_are_stored_when_extraction_is_on_and_a_model_is_there(
    store: SQLiteMemoryStore, llm: SilentLlm
) -> None:
    client = OracleAgentMemory(store=store, llm=llm)
    thread = client.create_thread(user_id="u1")
    thread.add_messages([said("one")])
    thread.add_messages([said("two")])
    assert texts(thread) == ["one", "two"]
    client.close(LONG_S)
    # The model was asked, and answered nothing that can be read.
    assert llm.calls > 0
    assert texts(thread) == ["one", "two"]
    assert store.list_memories(limit=None) == []


def test_r023_ids_come_back_in_order(thread: OracleThread) -> None:
    assert thread.add_messages([said("a", id="z"), said("b", id="y")]) == ["z", "y"]
    assert [message.id for message in thread.get_messages()] == ["z", "y"]


def test_r024_metadata_is_shared_listed_or_the_messages_own(thread: OracleThread) -> None:
    thread.add_messages([said("a", metadata={"own": 1}), said("b")])
    thread.add_messages([said("c", metadata={"own": 1}), said("d")], metadata={"all": True})
    thread.add_messages([said("e", metadata={"own": 1}), said("f")], metadata=[{"n": 1}, None])
    assert [message.metadata for message in thread.get_messages()] == [
        {"own": 1},
        None,
        {"all": True},
        {"all": True},
        {"n": 1},
        None,
    ]


def test_r025_time_to_live_may_be_one_value_or_one_a_message(thread: OracleThread) -> None:
    anchor = TimeToLiveAnchor.TIMESTAMP
    thread.add_messages(
        [said("a", timestamp=MORNING), said("b")],
        ttl_days=[5, None],
        ttl_anchor=[anchor, TimeToLiveAnchor.CREATED_AT],
    )
    assert texts(thread) == ["b"]
    thread.add_messages([said("c"), said("d")], ttl_days=0)
    assert texts(thread) == ["b"]


def test_message_objects_tuples_and_unknown_keys_are_taken(thread: OracleThread) -> None:
    thread.add_messages(
        (
            Message("assistant", "hi", metadata={"k": 1}, timestamp="notadate"),
            said("x", colour="red"),
            said([{"type": "text", "text": "one part"}]),
            Message("user", [TextContent("two"), TextContent("parts")]),
        )
    )
    first, second, third, fourth = thread.get_messages()
    assert (first.role, first.metadata, first.timestamp) == ("assistant", {"k": 1}, "notadate")
    assert (second.content, third.content) == ("x", "one part")
    assert [part.text for part in fourth.content if isinstance(part, TextContent)] == [
        "two",
        "parts",
    ]


def test_empty_texts_and_roles_are_kept(thread: OracleThread) -> None:
    thread.add_messages([said(""), {"role": "", "content": "nobody"}])
    assert [(message.role, message.content) for message in thread.get_messages()] == [
        ("user", ""),
        ("", "nobody"),
    ]


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ("hello", ValueError),
        (said("x"), ValueError),
        (None, TypeError),
        (5, TypeError),
        (["hello"], ValueError),
        ([None], ValueError),
        ([{"content": "x"}], KeyError),
        ([{"role": "user"}], KeyError),
        ([said(None)], ValueError),
        ([said(5)], TypeError),
        ([said([])], ValueError),
        ([said(["x"])], TypeError),
        ([said([{"type": "text", "text": 5}])], TypeError),
        ([said([{"type": "image_url", "image_url": {"url": "https://x.example"}}])], ValueError),
        ([said([{"type": "image", "mime_type": "image/png", "bytes": "aGVsbG8="}])], TypeError),
        ([said([{"type": "image", "mime_type": "image/gif", "bytes": b"GIF89a"}])], ValueError),
        ([{"role": 5, "content": "x"}], TypeError),
        ([{"role": "r" * 31, "content": "x"}], ValueError),
        ([said("x", timestamp=5)], TypeError),
        ([said("x", timestamp="t" * 65)], ValueError),
        ([said("x", metadata="m")], ValueError),
        ([said("x", metadata={"a": float("nan")})], ValueError),
        ([said("a\0b")], ValueError),
        ([said("\ud800")], ValueError),
        ([{"role": "a\0", "content": "x"}], ValueError),
    ],
)
def test_a_bad_message_stores_nothing_of_its_call(
    thread: OracleThread, rows: Callable[[], list[str]], messages: Any, error: type[Exception]
) -> None:
    before = rows()
    if isinstance(messages, list):
        messages = [said("good"), *messages]
    with pytest.raises(error):
        thread.add_messages(messages)
    assert rows() == before


@pytest.mark.parametrize(
    "ids", [("m1", None), ("m1", "m1"), ("", ""), ("", None), ("m1", "x" * 129), ("m1", "a\0")]
)
def test_ids_that_do_not_fit_together_store_nothing(thread: OracleThread, ids: Any) -> None:
    with pytest.raises(ValueError, match="id"):
        thread.add_messages([said(text, id=one) for text, one in zip("ab", ids, strict=True)])
    assert thread.get_messages() == []


def test_a_taken_id_stores_nothing(thread: OracleThread) -> None:
    thread.add_messages([said("first", id="m")])
    with pytest.raises(ValueError, match="exists already"):
        thread.add_messages([said("new", id="n"), said("second", id="m")])
    assert texts(thread) == ["first"]


@pytest.mark.parametrize("metadata", ["m", [{}], [{}, {}, {}], ["m", None], [{}, {1: 2}]])
def test_a_metadata_argument_that_does_not_fit_stores_nothing(
    thread: OracleThread, metadata: Any
) -> None:
    with pytest.raises(ValueError, match="metadata"):
        thread.add_messages([said("a"), said("b")], metadata=metadata)
    assert thread.get_messages() == []


@pytest.mark.parametrize(
    "options", [{"ttl_days": [1]}, {"ttl_days": -1}, {"ttl_days": 1, "ttl_anchor": "timestamp"}]
)
def test_a_bad_time_to_live_stores_nothing(thread: OracleThread, options: Any) -> None:
    with pytest.raises(ValueError, match="ttl"):
        thread.add_messages([said("a"), said("b")], **options)
    assert thread.get_messages() == []


def test_no_messages_add_nothing(thread: OracleThread) -> None:
    assert thread.add_messages([]) == []


def test_r026_deleting_a_message_keeps_other_records(
    thread: OracleThread, client: OracleAgentMemory
) -> None:
    message_id = thread.add_messages([said("I love pizza")])[0]
    thread.add_memory("Loves pizza", memory_id="m")
    assert thread.delete_message(message_id) == 1
    assert [result.id for result in client.search("pizza", user_id="u1")] == ["m"]
    assert thread.get_messages() == []


def test_r027_a_thread_deletes_only_its_own_records(
    thread: OracleThread, client: OracleAgentMemory
) -> None:
    other = client.create_thread(thread_id="t2", user_id="u1", agent_id="a1")
    thread.add_messages([said("x", id="message")])
    thread.add_memory("y", memory_id="memory")
    assert [other.delete_message("message"), other.delete_memory("memory")] == [0, 0]
    assert [thread.delete_message("memory"), thread.delete_memory("message")] == [0, 0]
    assert [thread.delete_message("message"), thread.delete_memory("memory")] == [1, 1]
    assert [thread.delete_message("message"), thread.delete_memory("memory")] == [0, 0]


def test_r028_an_update_keeps_role_and_time_and_replaces_metadata(thread: OracleThread) -> None:
    thread.add_messages([said("first", id="m", timestamp=MORNING, metadata={"a": {"b": 1}})])
    assert thread.update_message("m", content="second", metadata={"c": 2}) == "m"
    assert thread.get_message("m") == Message("user", "second", MORNING, {"c": 2})
    thread.update_message("m", metadata=None)
    assert thread.get_message("m") == Message("user", "second", MORNING, None)


def test_r029_an_empty_string_is_content_and_none_is_not(thread: OracleThread) -> None:
    thread.add_messages([said("first", id="m")])
    thread.update_message("m", content="")
    assert thread.get_message("m").content == ""
    with pytest.raises(ValueError, match="None"):
        thread.update_message("m", content=None)  # type: ignore[arg-type]


def test_an_update_to_parts_is_read_back_as_parts(thread: OracleThread) -> None:
    thread.add_messages([said("first", id="m")])
    thread.update_message(
        "m", content=[{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    )
    assert part_texts(thread.get_message("m")) == ["one", "two"]


def test_an_update_of_nothing_writes_nothing(
    thread: OracleThread, rows: Callable[[], list[str]]
) -> None:
    thread.add_messages([said("first", id="m")])
    before = rows()
    assert thread.update_message("m") == "m"
    assert rows() == before


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"content": []}, ValueError),
        ({"content": 5}, TypeError),
        ({"content": "a\0"}, ValueError),
        ({"metadata": [1]}, ValueError),
        ({"role": "assistant"}, TypeError),
        ({"timestamp": MORNING}, TypeError),
        ({"ttl_days": "soon"}, ValueError),
    ],
)
def test_a_bad_update_changes_nothing(
    thread: OracleThread, rows: Callable[[], list[str]], change: Any, error: type[Exception]
) -> None:
    thread.add_messages([said("first", id="m")])
    before = rows()
    with pytest.raises(error):
        thread.update_message("m", **change)
    assert rows() == before


def test_an_edited_message_is_found_by_its_new_text(
    thread: OracleThread, client: OracleAgentMemory
) -> None:
    thread.add_messages([said("apples", id="m"), said("pears", id="n")])
    thread.update_message("m", content="bananas")
    assert client.search("bananas", user_id="u1")[0].id == "m"
    assert client.search("apples", user_id="u1", max_results=1)[0].distance > 0.9


@pytest.fixture
def hundred_and_fifty(thread: OracleThread) -> OracleThread:
    """The thread with the messages n0 to n149."""
    thread.add_messages([said(f"n{number}") for number in range(150)])
    return thread


@pytest.mark.parametrize(
    ("window", "first", "last"),
    [
        ({}, 50, 149),
        ({"start": 0}, 0, 99),
        ({"start": 20}, 20, 119),
        ({"start": 120}, 120, 149),
        ({"start": -5}, 145, 149),
        ({"start": -5, "end": None}, 145, 149),
        ({"end": None}, 0, 149),
        ({"end": -1}, 0, 149),
        ({"end": 5}, 0, 4),
        ({"start": None, "end": 2}, 0, 1),
        ({"start": 140, "end": -1}, 140, 149),
        ({"start": 10, "end": 140}, 10, 139),
        ({"start": 0, "end": -2}, 0, 147),
        ({"start": -10, "end": -5}, 140, 144),
        ({"start": -999, "end": 2}, 0, 1),
        ({"start": 148, "end": 999}, 148, 149),
        ({"start": 148, "end": 10**30}, 148, 149),
    ],
)
def test_r034_windows_are_bounded_unless_an_end_is_asked_for(
    hundred_and_fifty: OracleThread, window: Any, first: int, last: int
) -> None:
    wanted = [f"n{number}" for number in range(first, last + 1)]
    assert texts(hundred_and_fifty, **window) == wanted


@pytest.mark.parametrize(
    "window",
    [
        {"start": 150},
        {"start": 10**30},
        {"start": 12, "end": 10},
        {"start": 0, "end": -999},
        {"end": 0},
    ],
)
def test_windows_outside_the_thread_are_empty(hundred_and_fifty: OracleThread, window: Any) -> None:
    assert texts(hundred_and_fifty, **window) == []


@pytest.mark.parametrize("bound", ["1", 1.5, True])
def test_a_window_bound_must_be_an_int(thread: OracleThread, bound: Any) -> None:
    with pytest.raises(TypeError, match="start"):
        thread.get_messages(start=bound)


def test_r035_foreign_and_missing_messages_are_key_errors(
    thread: OracleThread, client: OracleAgentMemory
) -> None:
    other = client.create_thread(thread_id="t2")
    thread.add_messages([said("x", id="m")])
    for call in (
        lambda: other.get_message("m"),
        lambda: thread.get_message("nobody"),
        lambda: other.update_message("m", content="y"),
        lambda: thread.update_message("nobody", content="y"),
        lambda: thread.update_message("nobody"),
    ):
        with pytest.raises(KeyError, match="no message"):
            call()
    assert thread.get_message("m").content == "x"


def test_r036_unknown_image_ids_are_ignored(thread: OracleThread) -> None:
    thread.add_messages([said("x", id="m")])
    assert thread.get_message("m", included_image_ids=["nothing"]).content == "x"
    with pytest.raises(ValueError, match="list"):
        thread.get_message("m", included_image_ids="nothing")  # type: ignore[arg-type]


def test_r117_an_expired_message_is_gone_for_its_thread(thread: OracleThread) -> None:
    thread.add_messages([said("x", id="m")])
    assert thread.update_message("m", ttl_days=0) == "m"
    assert thread.get_messages() == []
    for call in (
        lambda: thread.get_message("m"),
        lambda: thread.update_message("m", ttl_days=5),
        lambda: thread.update_message("m", content="y"),
    ):
        with pytest.raises(KeyError):
            call()
    assert thread.delete_message("m") == 0


def test_a_fingerprint_guards_an_update_and_a_delete(
    thread: OracleThread, store: SQLiteMemoryStore
) -> None:
    thread.add_messages([said("x", id="m")])
    seen = store.fingerprint("message", "m")
    thread.update_message("m", content="y", if_fingerprint=seen)
    for call in (
        lambda: thread.update_message("m", content="z", if_fingerprint=seen),
        lambda: thread.delete_message("m", if_fingerprint=seen),
    ):
        with pytest.raises(ValueError, match="has changed"):
            call()
    assert thread.get_message("m").content == "y"
    assert thread.delete_message("m", if_fingerprint=store.fingerprint("message", "m")) == 1


def test_no_message_is_stored_after_close(store: SQLiteMemoryStore, llm: SilentLlm) -> None:
    client = OracleAgentMemory(
        store=store, memory_extraction_config=MemoryExtractionConfig(extract_memories=False)
    )
    thread = client.create_thread(thread_id="t1", user_id="u1")
    thread.add_messages([said("kept")])
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        thread.add_messages([said("late")])
    assert texts(thread) == ["kept"]
