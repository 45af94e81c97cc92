"""All vectors made anew by another embedder: who waits, who is answered, what a kill leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from oracleagentmemory.apis.upkeep import ReembedProgress, ReembedReport
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.errors import (
    DimensionMismatchError,
    EmbedderMismatchError,
    InvalidInputError,
    RetryableError,
    StateError,
)
from tests.sdk.contract.conftest import MakeStore
from tests.sdk.contract.snapshots import check_agreement, everything, rows_of
from tests.sdk.contract.test_adding import make_thread
from tests.sdk.search.stores import DIMENSION, Clock, ScopedWordEmbedder, WordEmbedder

EMBEDDED = ("record_chunks", "x_chunk_token", "agent_memory_stores", "x_change")


class OtherEmbedder(WordEmbedder):
    """The same words, each in the opposite direction: no vector of the two fits."""

    embedder_id = "test/other"

    def embed(self, texts: list[str], *, is_query: bool = False) -> NDArray[np.float32]:
        return -super().embed(texts, is_query=is_query)


class ScopedOtherEmbedder(OtherEmbedder, ScopedWordEmbedder):
    """The other one, with weighted queries and so with tokens."""

    def embed_in_scope(
        self, text: str, frequencies: NDArray[np.int64], chunk_count: int
    ) -> NDArray[np.float32]:
        return -super().embed_in_scope(text, frequencies, chunk_count)


class Interrupted(BaseException):
    """What stands for a kill between two batches."""


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oracleagentmemory.storage.store.reembedding.REEMBED_BATCH", 3)


@pytest.fixture
def store(make_store: MakeStore, embedder: WordEmbedder) -> SQLMemoryStore:
    """A store with nine chunks, by the first embedder."""
    made = make_store(embedder=embedder)
    made.add_user("ann", "likes red")
    make_thread(made)
    made.add(["red car", "blue boat"], "message", roles="user", record_ids=["m1", "m2"],
             thread_ids="t1", user_ids="ann")  # fmt: skip
    made.add(["green tree", "blue sea", "red sky"], "fact", record_ids=["f1", "f2", "f3"],
             user_ids="ann")  # fmt: skip
    made.add(["x"], "memory", record_ids=["many"], index_texts=[["red boat", "blue car"]])
    made.add(["nothing is searched"], "memory", record_ids=["none"], index_texts=[""])
    made.add(["sky"], "memory", record_ids=["gone"], ttl_days=0)
    return made


def found(store: SQLMemoryStore, query: str, **more: Any) -> str:
    return store.search(query, 1, **more)[0][0].id


def interrupted_after(batches: int, store: SQLMemoryStore) -> list[ReembedProgress]:
    """Re-embed and die after some batches."""
    seen: list[ReembedProgress] = []

    def progress(now: ReembedProgress) -> None:
        seen.append(now)
        if len(seen) > batches:
            raise Interrupted

    with pytest.raises(Interrupted):
        store.reembed(progress)
    return seen


def test_every_text_gets_a_new_vector_and_nothing_else_changes(
    store: SQLMemoryStore, make_store: MakeStore
) -> None:
    before = everything(store)
    other = make_store(embedder=OtherEmbedder())
    with pytest.raises(EmbedderMismatchError, match=r"manage\.py memory_reembed"):
        other.search("boat", 1)
    with pytest.raises(EmbedderMismatchError, match=r"manage\.py memory_reembed"):
        other.add(["red"], "memory")
    seen: list[ReembedProgress] = []

    report = other.reembed(seen.append)
    assert report == ReembedReport(9, 0, DIMENSION, "test/other")
    assert seen == [ReembedProgress(done, 9) for done in (0, 3, 6, 9)]
    after = everything(other)
    for name in before:
        if name not in EMBEDDED:
            assert after[name] == before[name], name
    assert other.current_config().embedder_id == "test/other"
    assert other.current_config().lifecycle_state == "CREATED"
    for query, record_id in (("red car", "m1"), ("green tree", "f1"), ("blue car", "many")):
        assert found(other, query) == record_id
        assert other.search(query, 1)[0][1] == pytest.approx(0, abs=1e-5)
    check_agreement(other)


def test_vectors_are_those_that_the_new_embedder_would_have_made_at_first(
    store: SQLMemoryStore, make_store: MakeStore
) -> None:
    embedder = ScopedOtherEmbedder()
    make_store(embedder=embedder).reembed()
    chunks = rows_of(store, store.tables.record_chunks)
    tokens = {row.chunk_id: row.token_ids for row in rows_of(store, store.extras.chunk_token)}
    assert len(chunks) == len(tokens) == 9
    for chunk in chunks:
        assert np.allclose(chunk.embedding, embedder.embed([chunk.chunk_text])[0], atol=1e-6)
        (ids,) = embedder.token_ids([chunk.chunk_text])
        assert tokens[chunk.chunk_id] == ids.astype("<u4").tobytes()


def test_tokens_go_when_the_new_embedder_has_none(make_store: MakeStore) -> None:
    first = make_store(embedder=ScopedWordEmbedder())
    first.add(["red car"], "memory", user_ids="ann")
    assert len(rows_of(first, first.extras.chunk_token)) == 1
    make_store(embedder=OtherEmbedder()).reembed()
    assert rows_of(first, first.extras.chunk_token) == []


def test_meanwhile_every_change_has_to_wait_and_searches_are_answered(
    store: SQLMemoryStore, make_store: MakeStore
) -> None:
    prepared = store.prepare_add(["prepared before"], "memory", user_ids="ann")
    explicit = store.prepare_update("fact", "f1", embedding=[1.0] * DIMENSION)
    interrupted_after(2, make_store(embedder=OtherEmbedder()))
    frozen = everything(store)
    dump = store.dump()
    changes: list[Any] = [
        lambda: store.add(["red"], "memory"),
        lambda: store.write(prepared),
        lambda: store.write(explicit),
        lambda: store.update("fact", "f1", content="blue"),
        lambda: store.delete("fact", "f1"),
        lambda: store.delete_thread("t1"),
        lambda: store.delete("user_profile", "ann", cascade=True),
        lambda: store.add_agent("bot", "helps"),
        lambda: store.write(store.prepare_create_thread("t2", user_id=None, agent_id=None)),
        lambda: store.write(store.prepare_update_thread("t1", metadata={"a": 1})),
        store.purge_expired,
        lambda: store.restore(dump, ids="new"),
    ]
    for change in changes:
        with pytest.raises(RetryableError, match=r"manage\.py memory_reembed.*--abort"):
            change()
    dump.close()
    assert everything(store) == frozen
    for handle in (store, make_store(embedder=WordEmbedder())):
        assert found(handle, "red car") == "m1"
        assert [one.id for one in handle.list("fact")] == ["f1", "f2", "f3"]
    with pytest.raises(EmbedderMismatchError):
        make_store(embedder=OtherEmbedder()).search("red", 1)


def test_what_was_prepared_before_does_not_mix_old_vectors_with_new_ones(
    store: SQLMemoryStore, make_store: MakeStore
) -> None:
    late = store.prepare_add(["late"], "memory")
    plain = store.prepare_update("fact", "f1", metadata={"a": 1})
    make_store(embedder=OtherEmbedder()).reembed()
    with pytest.raises(RetryableError, match="prepare it again"):
        store.write(late)
    with pytest.raises(EmbedderMismatchError, match="test/other"):
        store.prepare_add(["late"], "memory")
    assert store.write(plain) == 1


def test_an_open_handle_of_the_old_embedder_stops_searching_and_one_of_the_new_starts(
    store: SQLMemoryStore, make_store: MakeStore
) -> None:
    scope = {"user_id": "ann", "exact_user_match": True}
    waiting = make_store(embedder=OtherEmbedder())
    assert found(store, "blue boat", **scope) == "m2"
    make_store(embedder=OtherEmbedder()).reembed()
    with pytest.raises(EmbedderMismatchError):
        store.search("blue boat", 1, **scope)
    assert found(waiting, "blue boat", **scope) == "m2"
    waiting.add(["red car again"], "fact", record_ids=["new"], user_ids="ann")
    assert found(waiting, "red car again", **scope) == "new"


def test_a_run_goes_on_where_the_last_one_was_killed(
    store: SQLMemoryStore, make_store: MakeStore
) -> None:
    assert interrupted_after(2, make_store(embedder=OtherEmbedder()))[-1].done == 6
    embedder = OtherEmbedder()
    again = make_store(embedder=embedder)
    seen: list[ReembedProgress] = []
    embedder.embedded.clear()
    assert again.reembed(seen.append).chunks == 9
    assert [one.done for one in seen] == [6, 9]
    assert len([text for text in embedder.embedded if text != "dimension"]) <= 3
    assert found(again, "blue car") == "many"
    assert rows_of(again, again.extras.new_vector) == []


def test_another_embedder_does_not_go_on_with_vectors_of_the_first(
    store: SQLMemoryStore, make_store: MakeStore
) -> None:
    interrupted_after(2, make_store(embedder=OtherEmbedder()))

    class Third(OtherEmbedder):
        embedder_id = "test/third"

    seen: list[ReembedProgress] = []
    assert make_store(embedder=Third()).reembed(seen.append).embedder_id == "test/third"
    assert [one.done for one in seen] == [0, 3, 6, 9]


def test_an_embedder_without_a_name_begins_anew_each_time(
    store: SQLMemoryStore, make_store: MakeStore
) -> None:
    class Unnamed(OtherEmbedder):
        embedder_id = None  # type: ignore[assignment]

    interrupted_after(2, make_store(embedder=Unnamed()))
    seen: list[ReembedProgress] = []
    assert make_store(embedder=Unnamed()).reembed(seen.append).embedder_id is None
    assert [one.done for one in seen] == [0, 3, 6, 9]
    assert store.current_config().embedder_id is None


def test_a_second_run_takes_over_and_the_first_one_stops(
    store: SQLMemoryStore, make_store: MakeStore
) -> None:
    first, second = (make_store(embedder=OtherEmbedder()) for _ in range(2))

    def overtaken(now: ReembedProgress) -> None:
        if now.done == 3:
            assert second.reembed().chunks == 9

    with pytest.raises(RetryableError, match="another process"):
        first.reembed(overtaken)
    assert found(second, "green tree") == "f1"
    assert store.current_config().reembedding is None


def test_giving_up_keeps_the_old_vectors_and_allows_changes_again(
    store: SQLMemoryStore, make_store: MakeStore
) -> None:
    before = everything(store)
    assert not store.abort_reembedding()
    interrupted_after(2, make_store(embedder=OtherEmbedder()))
    assert store.abort_reembedding()
    after = everything(store)
    del before["agent_memory_stores"], after["agent_memory_stores"]
    assert after == before
    store.add(["red tree"], "memory", record_ids=["new"])
    assert found(store, "red tree") == "new"


def test_a_swap_that_fails_changes_nothing(
    store: SQLMemoryStore, make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_store(embedder=OtherEmbedder())
    prepared = other.prepare_reembed()
    before = everything(store)
    with monkeypatch.context() as patch:

        def fail(*_: object) -> None:
            raise RuntimeError("no")

        patch.setattr(other.registry, "rename", fail)
        with pytest.raises(RuntimeError, match="no"):
            other.write(prepared)
    assert everything(store) == before
    assert found(store, "red car") == "m1"
    assert other.write(prepared).chunks == 9
    with pytest.raises(RetryableError, match="finished it"):
        other.write(prepared)


def test_vectors_without_a_text_are_cleared_and_counted(
    store: SQLMemoryStore, make_store: MakeStore
) -> None:
    store.add([""], "memory", record_ids=["vector"], embeddings=[[1.0] * DIMENSION])
    report = make_store(embedder=OtherEmbedder()).reembed()
    assert (report.chunks, report.cleared) == (9, 1)
    chunks = {row.source_id: row for row in rows_of(store, store.tables.record_chunks)}
    assert chunks["vector"].embedding is None
    assert store.get_memory("vector") is not None


def test_a_store_filled_without_an_embedder_gets_its_vectors(
    make_store: MakeStore, clock: Clock
) -> None:
    plain = make_store()
    plain.add(["red car", "blue sea"], "memory", record_ids=["a", "b"])
    assert make_store(embedder=OtherEmbedder()).reembed().chunks == 2
    assert found(make_store(embedder=OtherEmbedder()), "sea") == "b"


def test_an_empty_store_takes_the_new_embedder(make_store: MakeStore) -> None:
    make_store(embedder=WordEmbedder())
    report = make_store(embedder=OtherEmbedder()).reembed()
    assert (report.chunks, report.embedder_id) == (0, "test/other")


def test_re_embedding_needs_an_embedder_and_no_open_transaction(
    store: SQLMemoryStore, make_store: MakeStore
) -> None:
    with pytest.raises(InvalidInputError, match="embedder"):
        make_store().reembed()
    with store.engine.write(), pytest.raises(StateError, match="transaction"):
        store.reembed()
    assert store.current_config().reembedding is None


def test_a_failing_embedder_leaves_the_old_vectors_at_work(
    store: SQLMemoryStore, make_store: MakeStore
) -> None:
    class Failing(OtherEmbedder):
        def embed(self, texts: list[str], *, is_query: bool = False) -> NDArray[np.float32]:
            if "blue sea" in texts:
                raise ConnectionError("the model is away")
            return super().embed(texts, is_query=is_query)

    with pytest.raises(ConnectionError):
        make_store(embedder=Failing()).reembed()
    assert found(store, "blue sea") == "f2"
    assert make_store(embedder=OtherEmbedder()).reembed().chunks == 9


def test_another_dimension_replaces_the_first_where_the_column_allows(
    store: SQLMemoryStore, make_store: MakeStore, backend: str
) -> None:
    class Wide(OtherEmbedder):
        embedder_id = "test/wide"
        embedding_dimension = 2 * DIMENSION

        def embed(self, texts: list[str], *, is_query: bool = False) -> NDArray[np.float32]:
            return np.repeat(super().embed(texts), 2, axis=1)

    wide = make_store(embedder=Wide(), vector_dim=None)
    with pytest.raises((DimensionMismatchError, EmbedderMismatchError), match="memory_reembed"):
        wide.search("red", 1)
    if backend != "sqlite":
        with pytest.raises(StateError, match="dump and restore"):
            wide.reembed()
        assert store.current_config().reembedding is None
        return
    assert wide.reembed().dimension == 2 * DIMENSION
    assert found(wide, "green tree") == "f1"
    assert found(wide, "blue boat", user_id="ann", exact_user_match=True) == "m2"
    with pytest.raises(DimensionMismatchError):
        store.search(None, 1, query_vector=[1.0] * DIMENSION)
