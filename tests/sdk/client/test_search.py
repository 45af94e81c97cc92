"""Search through the client and through a thread: arguments, scopes, budgets, reranking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.apis import (
    IReranker,
    RecordStatus,
    RerankResponse,
    RerankResponseResult,
    SearchScope,
)
from oracleagentmemory.core import (
    OracleAgentMemory,
    OracleThread,
    SearchStrategy,
    SQLiteMemoryStore,
    TopKMemorySearchConfig,
)
from tests.sdk.client.conftest import DIMENSION, EXTRACTION_OFF, WordEmbedder

TIME = "2024-05-01T10:00:00+00:00"


def ids(owner: OracleAgentMemory | OracleThread, *args: Any, **options: Any) -> list[str | None]:
    """Ids of a search, in rank order."""
    return [result.id for result in owner.search(*args, **options)]


@pytest.fixture
def fruit(client: OracleAgentMemory, thread: OracleThread) -> OracleAgentMemory:
    """Three memories: of the thread, of nobody, of its user."""
    thread.add_memory("apple pie", memory_id="pie")
    client.add_memory("apple", memory_id="free")
    client.add_memory("apple juice today", memory_id="juice", user_id="u1")
    return client


def test_r079_a_clients_search_needs_its_user_exactly(fruit: OracleAgentMemory) -> None:
    for options in (
        {},
        {"user_id": "u1", "exact_user_match": False},
        {"scope": SearchScope()},
        {"scope": SearchScope(user_id="u1", exact_user_match=False)},
    ):
        with pytest.raises(ValueError, match="user"):
            fruit.search("apple", **options)  # type: ignore[arg-type]
    assert ids(fruit, "apple", user_id="u1") == ["pie", "juice"]
    assert ids(fruit, "apple", user_id=None) == ["free"]
    assert ids(fruit, "apple", scope=SearchScope(user_id="u1")) == ["pie", "juice"]


def test_r080_a_scope_excludes_ids_and_flags(
    fruit: OracleAgentMemory, thread: OracleThread
) -> None:
    scope = SearchScope(user_id="u1")
    for options in ({"user_id": "u1"}, {"agent_id": None}, {"exact_agent_match": True}):
        for owner in (fruit, thread):
            with pytest.raises(ValueError, match="not both"):
                owner.search("apple", scope=scope, **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="SearchScope"):
        fruit.search("apple", scope={"user_id": "u1"})  # type: ignore[arg-type]


def test_r081_a_flag_of_false_frees_its_part_and_none_with_true_means_without(
    fruit: OracleAgentMemory,
) -> None:
    search: dict[str, Any] = {"query": "apple", "user_id": "u1"}
    assert ids(fruit, agent_id="a1", **search) == ["pie"]
    assert ids(fruit, agent_id=None, **search) == ["juice"]
    assert ids(fruit, agent_id="a1", exact_agent_match=False, **search) == ["pie", "juice"]
    assert ids(fruit, thread_id="t1", **search) == ["pie", "juice"]
    assert ids(fruit, thread_id="t1", exact_thread_match=True, **search) == ["pie"]
    assert ids(fruit, thread_id=None, exact_thread_match=True, **search) == ["juice"]


def test_r082_a_thread_sees_the_other_threads_of_its_user_and_agent(
    client: OracleAgentMemory, thread: OracleThread
) -> None:
    for name, agent_id in (("t2", "a1"), ("t3", "a2")):
        other = client.create_thread(thread_id=name, user_id="u1", agent_id=agent_id)
        other.add_memory("apple", memory_id=f"m-{name}")
    thread.add_memory("apple", memory_id="m-t1")
    client.add_memory("apple", memory_id="m-u2", user_id="u2")

    def found(**options: Any) -> list[Any]:
        return sorted(ids(thread, "apple", **options), key=str)

    assert found() == ["m-t1", "m-t2"]
    assert found(exact_thread_match=True) == ["m-t1"]
    assert found(exact_agent_match=False) == ["m-t1", "m-t2", "m-t3"]
    assert found(agent_id="a2") == ["m-t3"]
    assert found(thread_id=None) == ["m-t1", "m-t2"]
    assert found(user_id="u2", exact_agent_match=False) == ["m-u2"]
    assert found(scope=SearchScope(thread_id="t2", exact_thread_match=True)) == ["m-t2"]


def test_r083_max_results_is_an_upper_bound_of_ten_by_default(client: OracleAgentMemory) -> None:
    for number in range(12):
        client.add_memory("apple" + " pad" * number, memory_id=f"{number:02}", user_id="u1")
    assert len(ids(client, "apple", user_id="u1")) == 10
    assert ids(client, "apple", user_id="u1", max_results=2) == ["00", "01"]
    assert len(ids(client, "apple", user_id="u1", max_results="1000")) == 12
    assert len(ids(client, "apple", user_id="u1", max_results=None)) == 10


BAD_SEARCHES: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"query": " "}, ValueError),
    ({"query": ""}, ValueError),
    ({"query": None}, ValueError),
    ({"query": 5}, TypeError),
    ({"query": "a\0"}, ValueError),
    ({"max_results": 0}, ValueError),
    ({"max_results": -2}, ValueError),
    ({"max_results": 1001}, ValueError),
    ({"max_results": "many"}, ValueError),
    ({"metadata_filter": [1]}, ValueError),
    ({"metadata_filter": "x"}, ValueError),
    ({"token_budget": "many"}, ValueError),
    ({"soft_token_budget": "many"}, ValueError),
    ({"record_types": ["idea"]}, ValueError),
    ({"record_types": "idea"}, ValueError),
    ({"record_types": 5}, TypeError),
    ({"num_hops": 6}, ValueError),
    ({"num_hops": -1}, ValueError),
    ({"max_linked_results": -1}, ValueError),
    ({"colour": "red"}, TypeError),
    ({"agent_id": ""}, ValueError),
    ({"agent_id": "x" * 129}, ValueError),
    ({"agent_id": 5}, TypeError),
    ({"record_types": [["memory"]]}, ValueError),
    ({"exact_agent_match": "no"}, TypeError),
    ({"include_invalid_results": "no"}, TypeError),
]


@pytest.mark.parametrize("through", ["client", "thread"])
@pytest.mark.parametrize(("options", "error"), BAD_SEARCHES)
def test_a_bad_search_is_refused_before_anything_is_embedded(
    client: OracleAgentMemory,
    thread: OracleThread,
    embedder: WordEmbedder,
    through: str,
    options: dict[str, Any],
    error: type[Exception],
) -> None:
    owner = client if through == "client" else thread
    query = options.get("query", "apple")
    rest = {name: value for name, value in options.items() if name != "query"}
    with pytest.raises(error):
        owner.search(query, user_id="u1", **rest)
    assert embedder.texts == []


def test_r084_filters_apply_before_the_limit(client: OracleAgentMemory) -> None:
    client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    for number in range(30):
        client.add_memory(
            "apple" + " pad" * number,
            memory_id=f"{number:02}",
            user_id="u1",
            agent_id="a1" if number >= 27 else "a2",
            thread_id="t1" if number >= 26 else None,
            memory_type="fact" if number == 29 else "memory",
            metadata={"last": number >= 28},
            ttl_days=0 if number < 25 else None,
            status=RecordStatus.VALID if number >= 26 else RecordStatus.INVALID,
        )
    search: dict[str, Any] = {"query": "apple", "user_id": "u1", "max_results": 1}
    assert ids(client, record_types=["fact"], **search) == ["29"]
    assert ids(client, metadata_filter={"last": True}, **search) == ["28"]
    assert ids(client, agent_id="a1", **search) == ["27"]
    assert ids(client, thread_id="t1", exact_thread_match=True, **search) == ["26"]
    assert ids(client, include_invalid_results=False, **search) == ["26"]
    assert ids(client, **search) == ["25"], "the nearest that has not expired"


def test_a_type_given_as_text_is_one_type(fruit: OracleAgentMemory) -> None:
    assert ids(fruit, "apple", user_id="u1", record_types="memory") == ["pie", "juice"]
    assert ids(fruit, "apple", user_id="u1", record_types=["fact"]) == []


def test_r090_invalid_records_are_found_unless_they_are_excluded(
    client: OracleAgentMemory, thread: OracleThread
) -> None:
    client.add_memory("apple", memory_id="old", user_id="u1", status=RecordStatus.INVALID)
    client.add_memory("apple", memory_id="new", user_id="u1")
    assert sorted(ids(client, "apple", user_id="u1"), key=str) == ["new", "old"]
    assert ids(client, "apple", user_id="u1", include_invalid_results=False) == ["new"]


def test_r098_messages_memories_and_profiles_are_searched_by_default(
    client: OracleAgentMemory, thread: OracleThread
) -> None:
    kinds: Any = ["memory", "guideline", "fact", "preference"]
    for kind in kinds:
        thread.add_memory("apple", memory_id=kind, memory_type=kind)
    thread.add_messages([{"role": "user", "content": "apple", "id": "message"}])
    client.add_user("u1", "apple")
    assert sorted(ids(client, "apple", user_id="u1"), key=str) == sorted([*kinds, "message", "u1"])


@pytest.mark.parametrize(
    ("query", "vector", "reason"),
    [
        (None, None, "query"),
        ("apple", [1.0] * DIMENSION, "query"),
        ("", None, "query"),
        (" \n\t", None, "query"),
        (None, [], "embedding"),
        (None, [[1.0] * DIMENSION], "query_vector"),
        (None, [float("nan")] * DIMENSION, "finite"),
        (None, [float("inf")] * DIMENSION, "finite"),
    ],
)
def test_r092_a_search_takes_one_sound_query_or_vector(
    shelf: SQLiteMemoryStore, embedder: WordEmbedder, query: Any, vector: Any, reason: str
) -> None:
    embedder.texts.clear()
    with pytest.raises(ValueError, match=reason):
        shelf.search(query, 3, query_vector=vector)
    assert embedder.texts == []
    vector = [float(number) for number in embedder.embed(["apple"])[0]]
    assert [record.id for record, _ in shelf.search(None, 2, query_vector=vector)] == ["r0", "r1"]


def test_r093_keywords_take_no_vector_and_hybrid_needs_an_embedder(
    tmp_path: Path, shelf: SQLiteMemoryStore
) -> None:
    path = tmp_path / "memory.sqlite3"
    words = SQLiteMemoryStore(path, search_strategy=SearchStrategy.KEYWORD)
    with pytest.raises(ValueError, match="KEYWORD"):
        words.search(None, 3, query_vector=[1.0] * DIMENSION)
    assert len(words.search("apple", 3)) == 3
    words.close()
    with pytest.raises(ValueError, match="embedder"):
        SQLiteMemoryStore(path, search_strategy=SearchStrategy.HYBRID).search("apple", 3)


def test_r094_a_long_query_is_searched_in_pieces_whose_ranks_are_fused(
    shelf: SQLiteMemoryStore, embedder: WordEmbedder
) -> None:
    shelf.add(["walrus tusks"], "memory", record_ids=["walrus"], user_ids="u1")
    # Two pieces and more: each alone is below the size of a chunk.
    query = "apple " * 700 + "walrus tusks " * 400
    embedder.texts.clear()
    found = shelf.search(query, 6, user_id="u1", exact_user_match=True)
    assert len(embedder.texts) > 1
    assert {"r0", "walrus"} <= {record.id for record, _ in found}
    distances = [distance for _, distance in found]
    assert distances == sorted(distances)
    # Shares of the fused score: 1 - distance of all found records is 1 in sum.
    assert sum(1 - distance for distance in distances) == pytest.approx(1.0)


@pytest.fixture
def sized(client: OracleAgentMemory) -> OracleAgentMemory:
    """Four memories whose results have 46, 58, 71 and 83 estimated tokens."""
    for number in range(4):
        text = "apple" + " pad" * number + " " + "x" * (10 + 40 * number)
        client.add_memory(text, memory_id=f"r{number}", user_id="u1", timestamp=TIME)
    lengths = [len(result.formatted_content) for result in client.search("apple", user_id="u1")]
    assert lengths == [160, 204, 248, 292]
    return client


@pytest.mark.parametrize(
    ("budget", "count"),
    [(1, 0), (45, 0), (46, 1), (50, 1), (104, 2), (103, 1), (180, 3), (260, 4), (0, 4), (-5, 4)],
)
def test_r085_a_hard_budget_keeps_whole_results_that_fit(
    sized: OracleAgentMemory, budget: int, count: int
) -> None:
    wanted = ["r0", "r1", "r2", "r3"][:count]
    assert ids(sized, "apple", user_id="u1", token_budget=budget) == wanted


@pytest.mark.parametrize(
    ("budget", "count"), [(1, 1), (46, 1), (47, 2), (104, 2), (105, 3), (1000, 4), (0, 4)]
)
def test_r086_a_soft_budget_keeps_the_result_that_reaches_it(
    sized: OracleAgentMemory, budget: int, count: int
) -> None:
    wanted = ["r0", "r1", "r2", "r3"][:count]
    assert ids(sized, "apple", user_id="u1", soft_token_budget=budget) == wanted


def test_r086_a_hard_budget_caps_a_soft_one(sized: OracleAgentMemory) -> None:
    search: dict[str, Any] = {"query": "apple", "user_id": "u1"}
    assert ids(sized, soft_token_budget=180, token_budget=100, **search) == ["r0"]
    assert ids(sized, soft_token_budget=180, max_results=2, **search) == ["r0", "r1"]


@pytest.fixture
def shelf(store: SQLiteMemoryStore) -> SQLiteMemoryStore:
    """Five memories of u1 in a known order."""
    texts = ["apple" + " pad" * number for number in range(5)]
    store.add(texts, "memory", record_ids=[f"r{number}" for number in range(5)], user_ids="u1")
    return store


class Backwards(IReranker):
    """Turns the order around, or answers what it was given."""

    def __init__(self, order: list[int] | None = None) -> None:
        self.order = order
        self.asked: list[tuple[str, list[str]]] = []

    async def rerank_async(self, query: str, documents: list[str], **kwargs: Any) -> RerankResponse:
        """Return the order."""
        self.asked.append((query, documents))
        order = list(reversed(range(len(documents)))) if self.order is None else self.order
        return RerankResponse([RerankResponseResult(index, 1.0) for index in order])


def searched_by(store: SQLiteMemoryStore, config: Any, **options: Any) -> list[str | None]:
    """Ids that a client with a search config finds."""
    client = OracleAgentMemory(
        store=store, search_config=config, memory_extraction_config=EXTRACTION_OFF
    )
    return ids(client, "apple", user_id="u1", **options)


def test_a_config_sets_the_default_number_and_an_argument_wins(shelf: SQLiteMemoryStore) -> None:
    config = TopKMemorySearchConfig(max_results=3)
    assert searched_by(shelf, config) == ["r0", "r1", "r2"]
    assert len(searched_by(shelf, config, max_results=5)) == 5


def test_a_reranker_orders_the_candidates_it_may_see(shelf: SQLiteMemoryStore) -> None:
    reranker = Backwards()
    config = TopKMemorySearchConfig(reranker=reranker)
    assert searched_by(shelf, config) == ["r4", "r3", "r2", "r1", "r0"]
    assert reranker.asked[0][0] == "apple"
    assert reranker.asked[0][1][0] == "apple"
    few = TopKMemorySearchConfig(reranker=reranker, reranker_max_candidates=2)
    assert searched_by(shelf, few) == ["r1", "r0", "r2", "r3", "r4"]
    assert searched_by(shelf, few, record_types=["fact"]) == []


@pytest.mark.parametrize("order", [[0], [0, 0, 0, 0, 0], [1, 2, 3, 4, 5]])
def test_a_reranker_must_return_every_document_once(
    shelf: SQLiteMemoryStore, order: list[int]
) -> None:
    config = TopKMemorySearchConfig(reranker=Backwards(order))
    with pytest.raises(ValueError, match="exactly once"):
        searched_by(shelf, config)


def test_a_threads_search_uses_the_threads_config(shelf: SQLiteMemoryStore) -> None:
    client = OracleAgentMemory(store=shelf, memory_extraction_config=EXTRACTION_OFF)
    thread = client.create_thread(
        thread_id="t", user_id="u1", search_config=TopKMemorySearchConfig(max_results=2)
    )
    wanted = ["r0", "r1"]
    assert ids(thread, "apple", exact_agent_match=False) == wanted
    assert ids(client.get_thread("t"), "apple", exact_agent_match=False) == wanted


def test_another_clients_write_is_found_by_the_next_search(
    store: SQLiteMemoryStore, client: OracleAgentMemory, tmp_path: Any, embedder: WordEmbedder
) -> None:
    assert ids(client, "apple", user_id="u1") == []
    second = OracleAgentMemory(
        connection=tmp_path / "memory.sqlite3",
        embedder=embedder,
        memory_extraction_config=EXTRACTION_OFF,
    )
    second.add_memory("apple", memory_id="m", user_id="u1")
    second.close()
    assert ids(client, "apple", user_id="u1") == ["m"]


FILTERS: list[tuple[Any, str]] = [
    (None, "mixed none tags"),
    ({}, "mixed none tags"),
    ({"source": "crm"}, "mixed tags"),
    ({"source": "crm", "prefs": {"kind": "travel"}}, "mixed"),
    ({"tags": ["a", "b"]}, "tags"),
    ({"tags": ["b", "a"]}, ""),
    ({"tags": {"$array_contains": "a"}}, "tags"),
    ({"tags": {"$array_contains": ["a", "z"]}}, ""),
    ({"tags": {"$array_contains_any": ["a", "z"]}}, "tags"),
    ({"tags": {"$not": {"$array_contains": "a"}}}, "mixed none"),
    ({"tags": {"$array_contains": "b", "$not": {"$array_contains": "a"}}}, ""),
    ({"source": {"$not": "crm"}}, "none"),
    ({"missing": None}, ""),
]


@pytest.mark.parametrize(("metadata_filter", "wanted"), FILTERS)
def test_r096_r097_metadata_filters_combine_and_negate(
    client: OracleAgentMemory, metadata_filter: Any, wanted: str
) -> None:
    client.add_memory(
        "apple",
        memory_id="mixed",
        user_id="u1",
        metadata={"source": "crm", "prefs": {"kind": "travel", "more": 1}, "tags": "a"},
    )
    client.add_memory(
        "apple", memory_id="tags", user_id="u1", metadata={"source": "crm", "tags": ["a", "b"]}
    )
    client.add_memory("apple", memory_id="none", user_id="u1")
    found = ids(client, "apple", user_id="u1", metadata_filter=metadata_filter)
    assert sorted(found, key=str) == wanted.split()


def test_r088_linked_memories_count_over_all_hops_of_each_result(
    client: OracleAgentMemory,
) -> None:
    for name, text in (
        ("a", "apple"),
        ("b", "apple pad"),
        ("c", "sea"),
        ("d", "sky"),
        ("e", "fog"),
    ):
        client.add_memory(text, memory_id=name, user_id="u1")
    for source, target in ("ac", "cd", "de", "bc"):
        client.link_records(source, "memory", target, "memory", "supports")

    def linked(record: Any) -> int:
        return sum(1 + linked(found) for _, found in record.linked_results)

    def counts(**options: Any) -> list[int]:
        results = client.search("apple", user_id="u1", max_results=2, **options)
        assert [result.id for result in results] == ["a", "b"]
        return [linked(result) for result in results]

    assert counts() == [0, 0]
    assert counts(num_hops=1) == [1, 1]
    assert counts(num_hops=3) == [4, 4]
    assert counts(num_hops=3, max_linked_results=2) == [2, 2]
    assert counts(num_hops=3, max_linked_results=0) == [0, 0]
