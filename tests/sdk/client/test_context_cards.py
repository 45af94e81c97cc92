"""Context cards: what they find, what they leave out, and how they are written."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from oracleagentmemory.apis import RecordStatus
from oracleagentmemory.core import (
    OracleAgentMemory,
    OracleContextCard,
    OracleThread,
    SearchStrategy,
    SQLiteMemoryStore,
    TopKMemorySearchConfig,
)
from oracleagentmemory.errors import StateError
from tests.sdk.client.conftest import WordEmbedder
from tests.sdk.client.models import ListedLlm

Golden = Callable[[str, str], None]
MORNING = "2024-05-01T10:0{}:00+00:00"
FRUIT = {"summary": "apple pear plum", "topics": ["fruit"]}

pytestmark = pytest.mark.filterwarnings("ignore:context cards of a thread:DeprecationWarning")


def says(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


@pytest.fixture
def llm() -> ListedLlm:
    return ListedLlm(FRUIT)


@pytest.fixture
def orchard(client: OracleAgentMemory, llm: ListedLlm) -> OracleThread:
    """A thread with four messages and four memories, ever farther from `apple pear plum`."""
    thread = client.create_thread(thread_id="t1", user_id="u1", agent_id="a1", llm=llm)
    texts = ["apple pear", "pear jam", "plum cake again with cream", "nothing more to say"]
    thread.add_messages(
        [says(text, id=f"m{n}", timestamp=MORNING.format(n)) for n, text in enumerate(texts)]
    )
    memories = [
        ("memory", "apple pear plum"),
        ("fact", "apple pear grows wild here"),
        ("preference", "likes apple juice very much"),
        ("guideline", "store each apple where mice never come near them"),
    ]
    for number, (kind, text) in enumerate(memories):
        thread.add_memory(
            text,
            memory_id=f"r{number}",
            memory_type=kind,  # type: ignore[arg-type]
            timestamp=MORNING.format(4 + number),
            metadata={"n": number},
            autonomous_linking=False,
        )
    return thread


def ids(card: OracleContextCard) -> list[str | None]:
    return [result.id for result in card.relevant_results or ()]


# -- what is in it ---------------------------------------------------------------------------------


def test_r099_by_default_five_relevant_results_and_no_recent_message(orchard: OracleThread) -> None:
    card = orchard.get_context_card()
    assert ids(card) == ["r0", "m0", "r1", "m1", "r2"]
    assert card.recent_messages == []
    assert "<recent_messages>" not in card.content
    assert (card.summary, card.topics) == ("apple pear plum", ["fruit"])


def test_r099_without_a_model_the_newest_five_messages_stand_for_the_summary(
    client: OracleAgentMemory,
) -> None:
    thread = client.create_thread()
    thread.add_messages([says(f"word{n}", timestamp=MORNING.format(n)) for n in range(7)])
    card = thread.get_context_card()
    assert card.summary == "\n- ".join(f"user ({MORNING.format(n)}): word{n}" for n in range(2, 7))
    assert card.topics is None
    two = thread.get_context_card(fallback_message_count=2, max_relevant_results=0)
    assert two.summary.count("word") == 2
    assert thread.get_context_card(fallback_message_count=0).content == ""


def test_r100_the_most_is_the_greater_of_itself_and_the_least_by_type(
    orchard: OracleThread,
) -> None:
    least: Any = {"memory": 3, "fact": 4}
    assert ids(orchard.get_context_card(min_relevant_results_by_type=least)) == [
        "r0", "r1", "m0", "m1", "r2", "m2", "r3",
    ]  # fmt: skip
    # Given and smaller, it is raised to the sum.
    card = orchard.get_context_card(min_relevant_results_by_type=least, max_relevant_results=2)
    assert len(ids(card)) == 7
    assert len(ids(orchard.get_context_card(max_relevant_results=6))) == 6


@pytest.mark.parametrize(
    ("least", "most", "found"),
    [
        ({"fact": 1}, 2, ["r1", "r0"]),
        ({"guideline": 1, "message": 1}, 3, ["r3", "m0", "r0"]),
        ({"message": 2, "fact": 1}, 3, ["m0", "m1", "r1"]),
        ({"preference": 1}, 9, ["r2", "r0", "m0", "r1", "m1", "m2", "r3", "m3"]),
        (None, 2, ["r0", "m0"]),
        ({}, 2, ["r0", "m0"]),
    ],
)
def test_r101_the_types_asked_for_come_first_and_the_nearest_fill_up(
    orchard: OracleThread, least: Any, most: int, found: list[str]
) -> None:
    card = orchard.get_context_card(min_relevant_results_by_type=least, max_relevant_results=most)
    assert ids(card) == found


def test_r101_r103_memories_of_other_threads_come_along_and_their_messages_do_not(
    client: OracleAgentMemory, orchard: OracleThread
) -> None:
    for user_id, agent_id in (("u1", "a1"), ("u1", "a2"), ("u2", "a1")):
        name = f"{user_id}{agent_id}"
        other = client.create_thread(thread_id=name, user_id=user_id, agent_id=agent_id)
        other.add_memory("apple pear plum", memory_id=f"memory-{name}")
        other.add_messages([says("apple pear plum", id=f"message-{name}")])
    least: Any = {"message": 9}
    for options in ({"max_relevant_results": 30}, {"min_relevant_results_by_type": least}):
        found = ids(orchard.get_context_card(**options))
        assert [one for one in found if one and "-" in one] in ([], ["memory-u1a1"])
    assert "memory-u1a1" in ids(orchard.get_context_card())


def test_r102_the_newest_messages_stay_out_of_summary_and_search(
    orchard: OracleThread, llm: ListedLlm
) -> None:
    card = orchard.get_context_card(except_last_messages=3, max_relevant_results=9)
    assert ids(card) == ["r0", "m0", "r1", "r2", "r3"]
    assert "apple pear" in llm.told()
    assert "pear jam" not in llm.told()
    same = orchard.get_context_card(except_last_messages=3, max_recent_messages=3)
    assert [message.id for message in same.recent_messages or ()] == ["m1", "m2", "m3"]
    # Places that they take in the search, being nearer, are filled by others.
    orchard.add_messages([says("apple pear plum", id=f"near{n}") for n in range(3)])
    least: Any = {"message": 1}
    first = orchard.get_context_card(except_last_messages=3, min_relevant_results_by_type=least)
    assert ids(first) == ["m0", "r0", "r1", "m1", "r2"]


def test_r102_the_saved_summary_is_no_part_of_a_card_that_leaves_messages_out(
    orchard: OracleThread, llm: ListedLlm
) -> None:
    orchard.get_summary()
    llm.answers = [{"summary": "only the first", "topics": []}]
    assert orchard.get_context_card(except_last_messages=3).summary == "only the first"
    assert orchard.get_context_card().summary == "apple pear plum"


def test_r102_more_than_there_are_leaves_nothing_but_the_messages_asked_for(
    orchard: OracleThread, caplog: pytest.LogCaptureFixture
) -> None:
    assert orchard.get_context_card(except_last_messages=9).content == ""
    assert "leaves out 9 messages" in caplog.text
    card = orchard.get_context_card(except_last_messages=4, max_recent_messages=4)
    assert card.content.count("<message>") == 4
    assert ids(card) == []


@pytest.mark.parametrize(
    ("budgets", "found"),
    [
        ({"token_budget": 1}, []),
        ({"token_budget": 110}, ["r0", "m0"]),
        ({"soft_token_budget": 60}, ["r0", "m0"]),
        ({"soft_token_budget": 100, "token_budget": 80}, ["r0"]),
        ({"token_budget": 0}, ["r0", "m0", "r1", "m1", "r2"]),
        ({"soft_token_budget": -1}, ["r0", "m0", "r1", "m1", "r2"]),
    ],
)
def test_r104_budgets_count_the_relevant_results_only(
    orchard: OracleThread, budgets: dict[str, int], found: list[str]
) -> None:
    assert ids(orchard.get_context_card(max_recent_messages=4, **budgets)) == found


@pytest.mark.filterwarnings("ignore:token_budget")
def test_r104_omitted_budgets_are_those_of_the_threads_search_config(
    client: OracleAgentMemory, orchard: OracleThread, llm: ListedLlm
) -> None:
    client.update_thread("t1", search_config=TopKMemorySearchConfig(token_budget=110))
    opened = client.get_thread("t1", llm=llm)
    assert ids(opened.get_context_card()) == ["r0", "m0"]
    assert len(ids(opened.get_context_card(token_budget=0))) == 5
    client.update_thread("t1", search_config=TopKMemorySearchConfig(soft_token_budget=1))
    assert ids(client.get_thread("t1", llm=llm).get_context_card()) == ["r0"]


def test_r105_invalid_memories_are_in_unless_excluded(
    client: OracleAgentMemory, orchard: OracleThread
) -> None:
    client.update_memory("r0", status=RecordStatus.INVALID)
    assert ids(orchard.get_context_card())[0] == "r0"
    assert "r0" in ids(orchard.get_context_card(include_invalid_results=True))
    without = orchard.get_context_card(include_invalid_results=False)
    assert ids(without) == ["m0", "r1", "m1", "r2", "m2"]
    assert "invalid" not in without.content
    least: Any = {"memory": 1}
    assert "r0" not in ids(
        orchard.get_context_card(include_invalid_results=False, min_relevant_results_by_type=least)
    )


def test_a_filter_applies_to_every_search(orchard: OracleThread) -> None:
    assert ids(orchard.get_context_card(metadata_filter={"n": 2})) == ["r2"]
    least: Any = {"fact": 2, "message": 1}
    card = orchard.get_context_card(metadata_filter={"n": 1}, min_relevant_results_by_type=least)
    assert ids(card) == ["r1"]


def test_r107_a_thread_without_messages_has_an_empty_card(
    client: OracleAgentMemory, llm: ListedLlm
) -> None:
    thread = client.create_thread(llm=llm)
    thread.add_memory("apple")
    assert thread.get_context_card(max_recent_messages=3).content == ""
    assert llm.calls == 0


def test_the_query_is_the_summary_and_the_topics(
    client: OracleAgentMemory, embedder: WordEmbedder
) -> None:
    llm = ListedLlm({"summary": "On fruit.", "topics": ["apple", "red pears"]})
    thread = client.create_thread(llm=llm)
    thread.add_messages([says("x")])
    thread.add_memory("y")
    embedder.texts.clear()
    thread.get_context_card()
    assert set(embedder.texts) == {"On fruit.\napple; red pears"}


# -- without a model, and with one that fails ------------------------------------------------------


@pytest.mark.filterwarnings("default:context cards of a thread:DeprecationWarning")
def test_a_card_without_a_model_warns_at_every_call(
    client: OracleAgentMemory, orchard: OracleThread, recwarn: pytest.WarningsRecorder
) -> None:
    thread = client.get_thread("t1")
    for _ in range(2):
        with pytest.warns(DeprecationWarning, match=r"27\.2\.0"):
            thread.get_context_card()
    recwarn.clear()
    orchard.get_context_card()
    assert not list(recwarn)


def test_a_failing_model_leaves_the_saved_summary_else_the_newest_messages(
    client: OracleAgentMemory,
) -> None:
    llm = ListedLlm(RuntimeError("down"), FRUIT, RuntimeError("down"))
    thread = client.create_thread(thread_id="t", llm=llm)
    thread.add_messages([says("one", timestamp=MORNING.format(1))])
    card = thread.get_context_card()
    assert (card.summary, card.topics) == (f"user ({MORNING.format(1)}): one", [])
    assert thread.get_context_card().summary == "apple pear plum"
    thread.add_messages([says("two")])
    card = thread.get_context_card()
    assert (card.summary, card.topics) == ("apple pear plum", ["fruit"])
    assert client.get_thread("t").get_context_card().topics == ["fruit"]


# -- arguments -------------------------------------------------------------------------------------

BAD: list[dict[str, Any]] = [
    {"except_last_messages": 1, "max_recent_messages": 2},
    {"except_last_messages": -1},
    {"except_last_messages": "few"},
    {"max_recent_messages": -1},
    {"max_recent_messages": None},
    {"fallback_message_count": -1},
    {"max_relevant_results": -1},
    {"max_relevant_results": "many"},
    {"max_relevant_results": 1001},
    {"min_relevant_results_by_type": ["fact"]},
    {"min_relevant_results_by_type": {"idea": 1}},
    {"min_relevant_results_by_type": {"user_profile": 1}},
    {"min_relevant_results_by_type": {"fact": 0}},
    {"min_relevant_results_by_type": {"fact": True}},
    {"min_relevant_results_by_type": {"fact": "1"}},
    {"min_relevant_results_by_type": {"fact": 600, "memory": 600}},
    {"metadata_filter": [1]},
    {"metadata_filter": {"a": {"$array_contains": []}}},
    {"token_budget": "many"},
    {"soft_token_budget": "many"},
]


@pytest.mark.parametrize("options", BAD, ids=str)
def test_a_bad_argument_is_refused_before_anything_happens(
    orchard: OracleThread,
    llm: ListedLlm,
    embedder: WordEmbedder,
    rows: Callable[[], list[str]],
    options: dict[str, Any],
) -> None:
    before = rows()
    embedder.texts.clear()
    with pytest.raises(ValueError, match=r"\w"):
        orchard.get_context_card(**options)
    assert (llm.calls, embedder.texts, rows()) == (0, [], before)


def test_r106_unknown_options_are_refused(orchard: OracleThread) -> None:
    with pytest.raises(TypeError, match="colour"):
        orchard.get_context_card(colour="red")
    with pytest.raises(TypeError, match="colour"):
        asyncio.run(orchard.get_context_card_async(colour="red"))


def test_the_twin_gives_the_same_card(orchard: OracleThread) -> None:
    least: Any = {"fact": 1, "message": 1}
    options: dict[str, Any] = {"min_relevant_results_by_type": least, "max_recent_messages": 2}
    one = orchard.get_context_card(**options)
    other = asyncio.run(orchard.get_context_card_async(**options))
    assert one.content == other.content != ""


# -- how it searches -------------------------------------------------------------------------------


@contextmanager
def watched(store: SQLiteMemoryStore, parties: int) -> Iterator[list[str]]:
    """Hold searches until so many run at the same time; tell their threads."""
    names: list[str] = []
    together = threading.Barrier(parties, timeout=20)
    search = store.search

    def held(*arguments: Any, **options: Any) -> Any:
        names.append(threading.current_thread().name)
        if len(options["record_types"]) == 1 and parties > 1:
            together.wait()
        return search(*arguments, **options)

    store.search = held  # type: ignore[method-assign]
    try:
        yield names
    finally:
        del store.search


def test_r018_searches_for_types_run_at_the_same_time_as_many_as_the_handle_says(
    client: OracleAgentMemory, orchard: OracleThread, store: SQLiteMemoryStore, llm: ListedLlm
) -> None:
    least: Any = {"fact": 1, "memory": 1, "guideline": 1, "preference": 1}
    options: dict[str, Any] = {"min_relevant_results_by_type": least, "max_relevant_results": 4}
    with watched(store, 4) as names:
        card = orchard.get_context_card(**options)
    assert ids(card) == ["r1", "r0", "r3", "r2"]
    assert all(name.startswith("oracleagentmemory-read") for name in names)
    alone = client.get_thread("t1", llm=llm, context_card_type_search_concurrency=1)
    with watched(store, 1) as names:
        assert ids(alone.get_context_card(**options)) == ids(card)
    assert names == [threading.current_thread().name] * 4
    # Nothing was left to fill up.
    assert len(names) == 4


def test_inside_a_transaction_searches_run_one_after_another_on_its_own_thread(
    orchard: OracleThread, store: SQLiteMemoryStore
) -> None:
    keyword = SQLiteMemoryStore(
        store.engine.engine.url.database, search_strategy=SearchStrategy.KEYWORD
    )
    client = OracleAgentMemory(store=keyword)
    thread = client.get_thread("t1", llm=ListedLlm(FRUIT))
    thread.get_summary()
    least: Any = {"fact": 1, "memory": 1}
    with keyword.engine.write(), watched(keyword, 1) as names:
        card = thread.get_context_card(min_relevant_results_by_type=least)
    assert ids(card)[:2] == ["r1", "r0"]
    assert set(names) == {threading.current_thread().name}
    client.close()
    keyword.close()


def test_inside_a_write_transaction_a_card_that_needs_a_model_raises(
    orchard: OracleThread, store: SQLiteMemoryStore, llm: ListedLlm
) -> None:
    with store.engine.write(), pytest.raises(StateError, match="summing up"):
        orchard.get_context_card()
    assert llm.calls == 0


# -- how it is written -----------------------------------------------------------------------------

CARDS: dict[str, dict[str, Any]] = {
    "default": {},
    "recent": {"max_recent_messages": 2, "max_relevant_results": 1},
    "nothing relevant": {"max_relevant_results": 0},
}


def test_cards_are_written_as_before(
    client: OracleAgentMemory, orchard: OracleThread, golden: Golden
) -> None:
    orchard.add_memory("<b>two</b>\n  lines & more", memory_id="r<4>", timestamp=MORNING.format(8))
    orchard.add_messages([says('</content> "1 < 2"\n\tso', id="m4", timestamp=MORNING.format(9))])
    texts = [f"== {name}\n{orchard.get_context_card(**CARDS[name]).content}" for name in CARDS]
    texts.append(f"== all\n{orchard.get_context_card(max_relevant_results=20).content}")
    quiet = client.get_thread("t1")
    client.update_memory("r0", status=RecordStatus.INVALID)
    orchard.add_messages([says("later", timestamp=MORNING.format(9))])
    card = quiet.get_context_card(max_relevant_results=2, include_invalid_results=False)
    texts.append(f"== saved summary\n{card.content}")
    golden("context_cards.txt", "\n\n".join(texts) + "\n")


def test_the_prompt_of_a_summary_is_as_before(
    orchard: OracleThread, llm: ListedLlm, golden: Golden
) -> None:
    orchard.get_summary()
    orchard.add_messages([says("<b> & more\nlines", timestamp=MORNING.format(8))])
    orchard.get_summary()
    parts = [f"== {one['role']}\n{one['content']}" for prompt in llm.prompts for one in prompt]
    golden("summary_prompts.txt", "\n\n".join(parts) + "\n")
