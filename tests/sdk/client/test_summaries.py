"""Summaries of threads: reuse and refresh, the model's answers, transcripts, budgets."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, cast

import pytest

from oracleagentmemory.apis.records import RecordStatus, ThreadSummaryRecord
from oracleagentmemory.core import (
    MemoryExtractionConfig,
    MemoryExtractionMode,
    OracleAgentMemory,
    OracleThread,
    SQLiteMemoryStore,
)
from oracleagentmemory.core.llms import Llm
from oracleagentmemory.core.summaries import ThreadSummaries
from oracleagentmemory.errors import StateError
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.sdk.client.models import ListedLlm

NOON = "2024-05-01T12:{:02d}:00+00:00"


def says(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def numbered(*summaries: str) -> ListedLlm:
    return ListedLlm(*({"summary": one, "topics": []} for one in summaries))


def with_model(client: OracleAgentMemory, llm: Any, **options: Any) -> OracleThread:
    return client.create_thread(thread_id="t", user_id="u", agent_id="a", llm=llm, **options)


def rows_of(store: SQLiteMemoryStore, thread_id: str = "t") -> list[ThreadSummaryRecord]:
    found = store.list("thread_summary", thread_id=thread_id, limit=None)
    return cast("list[ThreadSummaryRecord]", found)


def valid_texts(store: SQLiteMemoryStore, thread_id: str = "t") -> list[str]:
    rows = [one for one in rows_of(store, thread_id) if one.status is RecordStatus.VALID]
    return [cast("dict[str, Any]", one.content)["text"] for one in rows]


def reserved(record: ThreadSummaryRecord) -> dict[str, Any]:
    return cast("dict[str, Any]", record.metadata)["$agent_memory"]


# -- reuse and refresh ---------------------------------------------------------------------------


def test_r108_the_saved_summary_is_used_until_a_message_comes(
    client: OracleAgentMemory, store: SQLiteMemoryStore
) -> None:
    llm = numbered("S0", "S1")
    thread = with_model(client, llm)
    thread.add_messages([says("one"), says("two")])
    assert [thread.get_summary().content for _ in range(3)] == ["S0"] * 3
    assert llm.calls == 1
    thread.add_messages([says("three")])
    assert thread.get_summary().content == "S1"
    assert client.get_thread("t", llm=llm).get_summary().content == "S1"
    assert llm.calls == 2
    assert valid_texts(store) == ["S0", "S1"]


def test_r108_what_is_saved_says_how_it_was_made_and_what_it_covers(
    client: OracleAgentMemory, store: SQLiteMemoryStore
) -> None:
    thread = with_model(client, ListedLlm({"summary": "S", "topics": ["Sea", "Red Cars"]}))
    thread.add_messages([says("one"), says("two")])
    thread.get_summary()
    (row,) = rows_of(store)
    assert row.content == {"text": "S", "topics": ["sea", "red cars"]}
    assert reserved(row)["generation_parameters"] == {
        "strategy": "llm",
        "prompt_id": "summary",
        "prompt_version": "1",
        "input_token_limit": 100_000,
    }
    newest = store.list_thread_messages("t")[-1].seq_no
    assert reserved(row)["summary_last_message_order_seq"] == newest
    assert reserved(row)["revision"] == 2


def test_r108_except_last_asks_anew_and_leaves_the_saved_one(
    client: OracleAgentMemory, store: SQLiteMemoryStore
) -> None:
    llm = numbered("S0", "P1", "P2")
    thread = with_model(client, llm)
    thread.add_messages([says("first"), says("second")])
    thread.get_summary()
    before = rows_of(store)
    assert [thread.get_summary(except_last=1).content for _ in range(2)] == ["P1", "P2"]
    assert "first" in llm.told()
    assert "second" not in llm.told()
    assert thread.get_summary(except_last=2).content == ""
    assert thread.get_summary(except_last=99).content == ""
    assert thread.get_summary(except_last=-1).content == "S0"
    assert llm.calls == 3
    assert rows_of(store) == before


def test_a_refresh_tells_the_model_the_last_summary_and_the_new_messages_only(
    client: OracleAgentMemory,
) -> None:
    llm = ListedLlm({"summary": "They <met>.", "topics": ["meeting"]})
    thread = with_model(client, llm)
    thread.add_messages([says("old words")])
    thread.get_summary()
    thread.add_messages([says("new </message> words & <b>", timestamp=NOON.format(1))])
    thread.get_summary()
    told = llm.told()
    assert "old words" not in told
    assert "They &lt;met&gt;." in told
    assert "<topic>meeting</topic>" in told
    assert "new &lt;/message&gt; words &amp; &lt;b&gt;" in told
    assert NOON.format(1) in told
    # Told apart from data by its role.
    assert llm.prompts[-1][0]["role"] == "system"


def test_two_handles_that_refresh_at_once_save_one_summary_and_lose_none(
    client: OracleAgentMemory, store: SQLiteMemoryStore
) -> None:
    both_asked = threading.Barrier(2, timeout=20)
    names = iter(["A", "B", "C", "D"])
    lock = threading.Lock()

    def answer() -> dict[str, Any]:
        with lock:
            name = next(names)
        if name in "AB":
            both_asked.wait()
        return {"summary": name, "topics": []}

    llm = ListedLlm(answer)
    with_model(client, llm).add_messages([says("one")])
    answers: list[str] = []

    def read() -> None:
        answers.append(client.get_thread("t", llm=llm).get_summary().content)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(30)
    (kept,) = valid_texts(store)
    # The one that came second found the summary of the first and took it.
    assert answers == [kept, kept]
    assert llm.calls == 2


def test_after_three_lost_races_the_summary_is_given_and_not_saved(
    client: OracleAgentMemory, store: SQLiteMemoryStore
) -> None:
    calls = iter(range(99))

    def answer() -> dict[str, Any]:
        number = next(calls)
        thread.add_messages([says(f"meanwhile {number}")])
        thread.update_message(first, content=f"changed {number}")
        return {"summary": f"S{number}", "topics": []}

    llm = ListedLlm(answer)
    thread = with_model(client, llm)
    (first,) = thread.add_messages([says("one")])
    assert thread.get_summary().content == "S2"
    assert llm.calls == 3
    assert valid_texts(store) == []


# -- deleted, changed, expired messages ------------------------------------------------------------


@pytest.mark.parametrize("how", ["delete", "edit"])
def test_a_summary_does_not_outlive_what_it_repeats(
    client: OracleAgentMemory, store: SQLiteMemoryStore, rows: Callable[[], list[str]], how: str
) -> None:
    llm = numbered("nothing yet", "Her password is swordfish.", "Nothing secret.")
    thread = with_model(client, llm)
    thread.add_messages([says("hello")])
    thread.get_summary()
    (secret,) = thread.add_messages([says("my password is swordfish")])
    assert "swordfish" in thread.get_summary().content
    if how == "delete":
        thread.delete_message(secret)
    else:
        thread.update_message(secret, content="never mind")
    assert not [line for line in rows() if "swordfish" in line]
    # What was summed up before the message is still good: nothing is asked after a deletion.
    wanted = "nothing yet" if how == "delete" else "Nothing secret."
    assert thread.get_summary().content == wanted
    assert "swordfish" not in thread.get_context_card().content
    thread.add_messages([says("bye")])
    thread.get_summary()
    assert "swordfish" not in llm.told()


def test_an_expired_message_is_in_no_summary(
    client: OracleAgentMemory, store: SQLiteMemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm = numbered("brief was here", "only long")
    thread = with_model(client, llm)
    thread.add_messages([says("brief")], ttl_days=1)
    thread.add_messages([says("long")])
    assert thread.get_summary().content == "brief was here"
    clock = store.engine.clock
    monkeypatch.setattr(store.engine, "clock", lambda: clock() + timedelta(days=2))
    assert thread.get_summary().content == "only long"
    assert "brief" not in llm.told()
    assert thread.get_summary().content == "only long"
    assert llm.calls == 2


# -- what models answer --------------------------------------------------------------------------

ANSWERS: dict[str, tuple[Any, str, list[str]]] = {
    "as asked": ({"summary": "S", "topics": ["sea"]}, "S", ["sea"]),
    "topics in order, cleaned": (
        {"summary": "S", "topics": ["  Two ", "", " ", "one", "TWO", 7, None]},
        "S",
        ["two", "one"],
    ),
    "topics as a text": ({"summary": "S", "topics": "sea, Red  cars"}, "S", ["sea", "red cars"]),
    "no topics": ({"summary": "S"}, "S", []),
    "topics of nonsense": ({"summary": "S", "topics": {"a": 1}}, "S", []),
    "plain text": ("They  met\n\tand left.", "They met and left.", []),
    "plain text with brackets": ('They said {"a": 1} twice.', 'They said {"a": 1} twice.', []),
    "fenced": ('Here:\n```json\n{"summary": "S", "topics": ["sea"]}\n```\nBye', "S", ["sea"]),
    "broken": ('{"summary": "S", "topics": ["sea",', "S", ["sea"]),
    "a list": ([{"summary": "S", "topics": ["sea"]}], "S", ["sea"]),
    "other case": ({"Summary": "S", "Topics": ["sea"]}, "S", ["sea"]),
    "thinking": ('<think>{"summary": "no"}</think>\n{"summary": "S"}', "S", []),
    "lone surrogate": ('{"summary": "a\\ud83d", "topics": []}', "a�", []),
    "white space": ({"summary": " a\n\n  b\t c ", "topics": []}, "a b c", []),
    "too long": ({"summary": "x" * 5000, "topics": []}, "x" * 4000, []),
    "too many topics": ({"summary": "S", "topics": [f"t{n}" for n in range(99)]}, "S",
                        [f"t{n}" for n in range(50)]),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_what_becomes_of_an_answer(
    client: OracleAgentMemory, store: SQLiteMemoryStore, name: str
) -> None:
    answer, text, topics = ANSWERS[name]
    thread = with_model(client, ListedLlm(answer))
    thread.add_messages([says("hello", timestamp=NOON.format(1))])
    assert thread.get_summary(token_budget=0).content == text
    (row,) = rows_of(store)
    assert row.content == {"text": text, "topics": topics}


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "  ",
        {"summary": ""},
        {"summary": None},
        {"other": "x"},
        "{",
        [1, 2],
        '<think>hm</think> {"other": 1}',
        "<think>hm</think>",
    ],
)
def test_an_empty_answer_warns_and_the_transcript_stands_in(
    client: OracleAgentMemory, store: SQLiteMemoryStore, answer: Any
) -> None:
    thread = with_model(client, ListedLlm(answer, {"summary": "S"}))
    thread.add_messages([says("hello", timestamp=NOON.format(1))])
    with pytest.warns(RuntimeWarning, match="empty"):
        summary = thread.get_summary()
    assert summary.content == f"user ({NOON.format(1)}): hello"
    assert valid_texts(store) == []
    # It only stood in: the model is asked again.
    assert thread.get_summary().content == "S"


def test_a_model_that_fails_is_logged_and_the_transcript_stands_in(
    client: OracleAgentMemory, store: SQLiteMemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    thread = with_model(client, ListedLlm(RuntimeError("key sk-123 refused"), {"summary": "S"}))
    thread.add_messages([says("hello", timestamp=NOON.format(1))])
    assert thread.get_summary().content == f"user ({NOON.format(1)}): hello"
    assert "RuntimeError" in caplog.text
    assert "sk-123" not in caplog.text
    assert valid_texts(store) == []
    assert thread.get_summary().content == "S"


# -- transcripts ----------------------------------------------------------------------------------


def test_r109_a_transcript_has_a_line_a_message_and_at_most_4000_characters(
    client: OracleAgentMemory, thread: OracleThread
) -> None:
    assert thread.get_summary().content == ""
    thread.add_messages(
        [
            says("first <b>", timestamp=NOON.format(1)),
            {"role": "critic", "content": "second\n\t line", "timestamp": NOON.format(2)},
        ]
    )
    assert thread.get_summary().content == (
        f"user ({NOON.format(1)}): first <b>\n- critic ({NOON.format(2)}): second line"
    )
    assert thread.get_summary(except_last=1).content == f"user ({NOON.format(1)}): first <b>"
    thread.add_messages([says("word " * 40) for _ in range(40)])
    whole = thread.get_summary(token_budget=0).content
    assert len(whole) == 4000
    assert whole.startswith("user (2024-05-01T12:01:00+00:00): first <b>\n- critic")


def test_r109_short_lines_fill_a_transcript_too(thread: OracleThread) -> None:
    thread.add_messages([{"role": "", "content": "", "timestamp": "1"} for _ in range(700)])
    assert len(thread.get_summary(token_budget=0).content) == 4000


def test_r108_a_transcript_is_saved_and_replaced(
    thread: OracleThread, store: SQLiteMemoryStore
) -> None:
    thread.add_messages([says("one", timestamp=NOON.format(1))])
    first = thread.get_summary().content
    (row,) = rows_of(store, "t1")
    assert row.content == {"text": first, "topics": []}
    assert reserved(row)["generation_parameters"] == {"strategy": "transcript_fallback"}
    thread.add_messages([says("two", timestamp=NOON.format(2))])
    second = thread.get_summary().content
    assert valid_texts(store, "t1") == [second]
    assert second == f"{first}\n- user ({NOON.format(2)}): two"


def test_a_model_does_not_take_a_transcript_for_a_summary(
    client: OracleAgentMemory, thread: OracleThread
) -> None:
    thread.add_messages([says("one")])
    thread.get_summary()
    llm = numbered("S")
    opened = client.get_thread("t1", llm=llm)
    assert opened.get_summary().content == "S"
    assert "previous_summary" not in llm.told()
    # And without one the model's summary is still good.
    assert client.get_thread("t1").get_summary().content == "S"


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        (1, "(tr"),
        (5, "(truncated)\nuser "),
        (10, "(truncated)\nuser (2024-05-01T12:01:"),
        (1000, "user (2024-05-01T12:01:00+00:00): hello there"),
        (0, "user (2024-05-01T12:01:00+00:00): hello there"),
        (-3, "user (2024-05-01T12:01:00+00:00): hello there"),
        ("10", "(truncated)\nuser (2024-05-01T12:01:"),
        (10**400, "user (2024-05-01T12:01:00+00:00): hello there"),
    ],
)
def test_r109_a_budget_cuts_only_what_exceeds_it(
    thread: OracleThread, budget: Any, text: str
) -> None:
    thread.add_messages([says("hello there", timestamp=NOON.format(1))])
    assert thread.get_summary(token_budget=budget).content == text


def test_r109_the_default_budget_is_1000_tokens(client: OracleAgentMemory) -> None:
    thread = with_model(client, numbered("x" * 3501, "y" * 3500))
    thread.add_messages([says("one")])
    assert thread.get_summary().content == "(truncated)\n" + "x" * 3488
    thread.add_messages([says("two")])
    assert thread.get_summary().content == "y" * 3500


@pytest.mark.parametrize("arguments", [{"except_last": "many"}, {"token_budget": "many"},
                                       {"except_last": None}, {"token_budget": None}])  # fmt: skip
def test_a_bad_number_is_refused_before_anything_happens(
    thread: OracleThread, rows: Callable[[], list[str]], arguments: dict[str, Any]
) -> None:
    thread.add_messages([says("one")])
    before = rows()
    with pytest.raises(ValueError, match=next(iter(arguments))):
        thread.get_summary(**arguments)
    assert rows() == before


def test_r106_unknown_options_are_refused(thread: OracleThread) -> None:
    with pytest.raises(TypeError, match="colour"):
        thread.get_summary(colour="red")
    with pytest.raises(TypeError, match="colour"):
        asyncio.run(thread.get_summary_async(colour="red"))


def test_the_twin_gives_the_same(client: OracleAgentMemory) -> None:
    thread = with_model(client, numbered("S"))
    thread.add_messages([says("one")])
    assert asyncio.run(thread.get_summary_async()).content == "S"
    assert asyncio.run(thread.get_summary_async(1)).content == ""


# -- the prompt's bounds ---------------------------------------------------------------------------


def test_r018_the_prompt_holds_the_newest_messages_that_fit(client: OracleAgentMemory) -> None:
    llm = numbered("S")
    thread = with_model(client, llm, context_card_token_limit=1000)
    thread.add_messages([says(f"number{n} " + "<&> " * 40) for n in range(20)])
    thread.get_summary()
    size = sum(len(part["content"]) for part in llm.prompts[0])
    assert 2500 < size <= 3500
    assert "number19" in llm.told()
    assert "number0 " not in llm.told()
    assert "<left_out>" in llm.told()


def test_r018_a_message_that_is_too_long_alone_is_cut(client: OracleAgentMemory) -> None:
    llm = numbered("S")
    thread = with_model(client, llm, context_card_token_limit=1000)
    thread.add_messages([says("start " + "<&>\n" * 5000)])
    thread.get_summary()
    assert 2500 < sum(len(part["content"]) for part in llm.prompts[0]) <= 3500
    assert "start &lt;&amp;&gt;" in llm.told()


@pytest.mark.parametrize("limit", [0, -1])
def test_r018_without_a_limit_every_message_is_told(client: OracleAgentMemory, limit: int) -> None:
    llm = numbered("S")
    thread = with_model(client, llm, context_card_token_limit=limit)
    thread.add_messages([says(f"number{n} " + "word " * 9000) for n in range(10)])
    thread.get_summary()
    assert all(f"number{n} " in llm.told() for n in range(10))


def test_a_limit_without_room_for_any_message_asks_nothing(
    client: OracleAgentMemory, caplog: pytest.LogCaptureFixture
) -> None:
    llm = numbered("S")
    thread = with_model(client, llm, context_card_token_limit=10)
    thread.add_messages([says("one", timestamp=NOON.format(1))])
    assert thread.get_summary().content == f"user ({NOON.format(1)}): one"
    assert llm.calls == 0
    assert "context_card_token_limit=10" in caplog.text


def test_r019_r020_a_long_message_is_shortened_for_the_prompt_only(
    client: OracleAgentMemory,
) -> None:
    llm = ListedLlm("[short]", {"summary": "S"})
    thread = with_model(
        client, llm, max_message_token_length=10, message_shortening_input_token_limit=20
    )
    long = "word " * 50
    (message_id,) = thread.add_messages([says(long)])
    assert thread.get_summary().content == "S"
    asked, told = llm.told(0), llm.told(1)
    assert asked.count("word") == 14  # 20 tokens of 3.5 characters
    assert llm.schemas[0] is None
    assert "<content>[short]</content>" in told
    assert thread.get_message(message_id).content == long


def test_r020_a_message_that_no_model_shortens_is_cut(client: OracleAgentMemory) -> None:
    llm = ListedLlm(RuntimeError("down"), {"summary": "S"})
    thread = with_model(client, llm, max_message_token_length=10)
    thread.add_messages([says("word " * 50)])
    assert thread.get_summary().content == "S"
    assert llm.told(1).count("word") == 7


# -- transactions ----------------------------------------------------------------------------------


def test_inside_a_write_transaction_no_model_is_asked_and_nothing_is_saved(
    client: OracleAgentMemory, store: SQLiteMemoryStore
) -> None:
    llm = numbered("S")
    thread = with_model(client, llm)
    thread.add_messages([says("one")])
    with store.engine.write(), pytest.raises(StateError, match="summing up"):
        thread.get_summary()
    assert llm.calls == 0
    thread.get_summary()
    with store.engine.write():
        assert thread.get_summary().content == "S"
    thread.add_messages([says("two")])
    with store.engine.write():
        quiet = client.get_thread("t")
        assert quiet.get_summary().content.endswith("two")
    assert valid_texts(store) == ["S"]


# -- what extraction uses --------------------------------------------------------------------------


def summaries(store: SQLiteMemoryStore, thread: OracleThread, llm: Any) -> ThreadSummaries:
    return ThreadSummaries(store, "t", thread._settings, llm)


def test_a_refresh_comes_when_enough_messages_have(client: OracleAgentMemory) -> None:
    def run(frequency: int, enabled: bool = True) -> list[int]:
        llm = numbered("S")
        config = MemoryExtractionConfig(
            extract_memories=False,
            enable_context_summary=enabled,
            context_summary_update_frequency=frequency,
            extraction_mode=MemoryExtractionMode.INLINE,
        )
        thread = with_model(client, llm, memory_extraction_config=config)
        done = []
        for number in range(5):
            thread.add_messages([says(f"q{number}")])
            done.append(llm.calls)
        client.delete_thread("t")
        return done

    assert run(-1) == run(0) == run(1) == [1, 2, 3, 4, 5]
    assert run(3) == [0, 0, 1, 1, 1]
    assert run(1, enabled=False) == [0] * 5


def test_what_was_summed_up_before_a_message_is_read_without_a_model(
    client: OracleAgentMemory, store: SQLiteMemoryStore
) -> None:
    llm = numbered("S1", "S2")
    thread = with_model(client, llm)
    reader = summaries(store, thread, llm)
    for text in ("one", "two"):
        thread.add_messages([says(text)])
        thread.get_summary()
    first, second = (message.seq_no for message in store.list_thread_messages("t"))
    before = [reader.before(seq) for seq in (first, second, second + 1)]
    assert [None if one is None else one.text for one in before] == [None, "S1", "S2"]
    assert llm.calls == 2


# -- a real adapter --------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as running:
        yield running


def test_a_model_behind_litellm_sums_up_and_its_failure_is_survived(
    client: OracleAgentMemory, server: ScriptedModelServer
) -> None:
    llm = Llm("openai/scripted", api_base=server.api_base, api_key="none", max_retries=0)
    thread = with_model(client, llm)
    server.add(
        ScriptedAnswer(json={"summary": "They greeted.", "topics": ["Greeting"]}),
        ScriptedAnswer(status=500, text="down", repeat=True),
    )
    thread.add_messages([says("hello there")])
    assert thread.get_summary().content == "They greeted."
    (request,) = server.requests
    assert "hello there" in str(request.body["messages"])
    assert request.body["response_format"]["json_schema"]["strict"] is True
    thread.add_messages([says("bye", timestamp=NOON.format(1))])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert thread.get_summary().content.endswith(f"user ({NOON.format(1)}): bye")
