"""Search equals plain numpy over all rows, whatever was written and whatever is asked."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracleagentmemory.apis.records import RecordStatus
from oracleagentmemory.storage import retrieval, vector_reads
from tests.sdk.search.stores import (
    VOCABULARY,
    Clock,
    Model,
    Row,
    ScopedWordEmbedder,
    WordEmbedder,
    assert_same_ranking,
    open_store,
    weighted,
)

USERS = (None, "ann", 'b"o/b', "空")
AGENTS = (None, "helper", "planner")
THREADS = (None, "t1", "t2")
TYPES = ("message", "memory", "fact", "guideline", "preference")
PROFILES = ("user_profile", "agent_profile")
TINY_BUDGET = 20_000

texts = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=3).map(" ".join)
metadatas = st.sampled_from([None, {}, {"lang": "en"}, {"lang": "ja"}, {"lang": "en", "n": 1}])
scopes = st.fixed_dictionaries(
    {},
    optional={
        "user_id": st.sampled_from(USERS),
        "agent_id": st.sampled_from(AGENTS),
        "thread_id": st.sampled_from(THREADS),
    },
)
added = st.fixed_dictionaries(
    {
        "record_type": st.sampled_from(TYPES),
        "chunks": st.lists(texts, min_size=0, max_size=3),
        "user_id": st.sampled_from(USERS),
        "agent_id": st.sampled_from(AGENTS),
        "thread_id": st.sampled_from(THREADS),
        "status": st.sampled_from(["valid", "valid", "invalid"]),
        "metadata": metadatas,
        "ttl_days": st.sampled_from([None, None, 1, 3]),
    }
)
steps = st.one_of(
    st.tuples(st.just("add"), st.lists(added, min_size=1, max_size=6)),
    st.tuples(st.just("update"), st.tuples(st.integers(0, 50), texts)),
    st.tuples(st.just("invalidate"), st.integers(0, 50)),
    st.tuples(st.just("delete"), st.integers(0, 50)),
    st.tuples(st.just("pass_days"), st.sampled_from([0.5, 1, 2])),
)
searches = st.fixed_dictionaries(
    {
        "query": texts,
        "k": st.integers(1, 12),
        "scope": scopes,
        "record_types": st.none() | st.sets(st.sampled_from((*TYPES, *PROFILES)), min_size=1),
        "metadata_filter": st.sampled_from([None, {}, {"lang": "en"}, {"n": 1}, {"lang": "xx"}]),
        "include_invalid": st.booleans(),
    }
)


class Twins:
    """A store and its model, changed alike."""

    def __init__(self, folder: Path, embedder: WordEmbedder, budget_bytes: int | None) -> None:
        self.clock = Clock()
        self.embedder = embedder
        self.store = open_store(folder, embedder, self.clock)
        if budget_bytes is not None:
            self.store.vector_cache.budget_bytes = budget_bytes
        self.model = Model()
        self.count = 0
        for thread_id in THREADS[1:]:
            self.store.write(
                self.store.prepare_create_thread(thread_id, user_id=None, agent_id=None)
            )
        for number, user_id in enumerate(USERS[1:3]):
            self.store.add_user(user_id, VOCABULARY[number])
            self.model.rows.append(
                Row("user_profile", user_id, [VOCABULARY[number]], user_id=user_id)
            )
        self.store.add_agent("helper", "red boat")
        self.model.rows.append(Row("agent_profile", "helper", ["red boat"], agent_id="helper"))

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Store rows, those of one type by one call."""
        for record_type in TYPES:
            of_type = [row for row in rows if row["record_type"] == record_type]
            if of_type:
                self._add_of_type(record_type, of_type)

    def _add_of_type(self, record_type: str, rows: list[dict[str, Any]]) -> None:
        ids = [f"r{self.count + number}" for number in range(len(rows))]
        self.count += len(rows)
        self.store.add(
            ["content"] * len(rows),
            record_type,
            index_texts=[row["chunks"] for row in rows],
            record_ids=ids,
            user_ids=[row["user_id"] for row in rows],
            agent_ids=[row["agent_id"] for row in rows],
            thread_ids=[row["thread_id"] for row in rows],
            metadata=[row["metadata"] for row in rows],
            statuses=[RecordStatus(row["status"]) for row in rows],
            ttl_days=[row["ttl_days"] for row in rows],
            **({"roles": "user"} if record_type == "message" else {}),
        )
        for record_id, row in zip(ids, rows, strict=True):
            days = row["ttl_days"]
            ends = None if days is None else self.clock.now + timedelta(days=days)
            fields = {name: value for name, value in row.items() if name != "ttl_days"}
            self.model.rows.append(Row(**fields, record_id=record_id, expires_at=ends))

    def update(self, change: tuple[int, str]) -> None:
        self._with_row(change[0], lambda row: self._index_anew(row, change[1]))

    def _index_anew(self, row: Row, text: str) -> None:
        assert self.store.update(row.record_type, row.record_id, index_text=text) == 1
        row.chunks = [text]

    def invalidate(self, number: int) -> None:
        def change(row: Row) -> None:
            self.store.update(row.record_type, row.record_id, status=RecordStatus.INVALID)
            row.status = "invalid"

        self._with_row(number, change)

    def delete(self, number: int) -> None:
        def change(row: Row) -> None:
            self.store.delete(row.record_type, row.record_id)
            self.model.rows.remove(row)

        self._with_row(number, change)

    def pass_days(self, days: float) -> None:
        self.clock.pass_days(days)

    def _with_row(self, number: int, change: Callable[[Row], None]) -> None:
        now = self.clock.now
        rows = [row for row in self.model.rows if row.expires_at is None or row.expires_at > now]
        if number < len(rows):
            change(rows[number])

    def compare(self, search: dict[str, Any]) -> None:
        scope = search["scope"]
        found = self.store.search(
            search["query"],
            search["k"],
            record_types=search["record_types"],
            metadata_filter=search["metadata_filter"],
            include_invalid_results=search["include_invalid"],
            **scope,
            **{f"exact_{name.removesuffix('_id')}_match": True for name in scope},
        )
        expected = self.model.ranking(
            self._query(search["query"], scope),
            self.clock.now,
            scope=scope,
            record_types=search["record_types"],
            metadata_filter=search["metadata_filter"],
            include_invalid=search["include_invalid"],
        )
        assert_same_ranking(found, expected, search["k"])

    def _query(self, text: str, scope: dict[str, str | None]) -> Any:
        plain = WordEmbedder().embed([text])[0]
        if "user_id" not in scope or not isinstance(self.embedder, ScopedWordEmbedder):
            return plain
        rows = [row for row in self.model.rows if row.user_id == scope["user_id"]]
        chunks = [set(chunk.split()) for row in rows for chunk in row.chunks]
        if len(chunks) < 20:
            return plain
        counts = {word: sum(word in chunk for chunk in chunks) for word in text.split()}
        return weighted(text, counts, len(chunks))


@pytest.fixture(scope="module")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without records; copying it is faster than making it."""
    folder = tmp_path_factory.mktemp("empty")
    open_store(folder, WordEmbedder()).close()
    return folder / "memory.sqlite3"


@settings(max_examples=60, deadline=None)
@given(
    plan=st.lists(st.tuples(steps, st.lists(searches, max_size=3)), min_size=1, max_size=12),
    embedder=st.sampled_from([WordEmbedder, ScopedWordEmbedder]),
    budget_bytes=st.sampled_from([None, TINY_BUDGET, 0]),
)
def test_search_equals_numpy_over_all_rows(
    empty_file: Path, plan: list[Any], embedder: type[WordEmbedder], budget_bytes: int | None
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(empty_file, folder)
        twins = Twins(Path(folder), embedder(), budget_bytes)
        try:
            for (step, argument), asked in plan:
                getattr(twins, step)(argument)
                for search in asked:
                    twins.compare(search)
        finally:
            twins.store.close()


@pytest.mark.parametrize("budget_bytes", [None, 0])
def test_many_rows_with_few_texts_and_filters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget_bytes: int | None
) -> None:
    # So few that the chunks of one record come in different portions.
    monkeypatch.setattr(vector_reads, "STREAM_ROWS", 50)
    monkeypatch.setattr(retrieval, "_READ_BY_ID", 100)
    twins = Twins(tmp_path, ScopedWordEmbedder(), budget_bytes)
    random = np.random.default_rng(7)
    rows = [
        {
            "record_type": TYPES[random.integers(5)],
            "chunks": [
                " ".join(random.choice(VOCABULARY, 2)) for _ in range(random.integers(1, 4))
            ],
            "user_id": USERS[random.integers(4)],
            "agent_id": AGENTS[random.integers(3)],
            "thread_id": None,
            "status": "valid",
            "metadata": {"n": int(random.integers(50))},
            "ttl_days": [None, 1][random.integers(2)],
        }
        for _ in range(1_200)
    ]
    twins.add(rows)
    for day in range(2):
        for k, filter_ in ((1, None), (50, None), (400, {"n": 7}), (1, {"n": 7}), (5, {"n": 99})):
            for scope in ({}, {"user_id": "ann"}, {"user_id": None, "agent_id": "helper"}):
                search = {
                    "query": "red sea",
                    "k": k,
                    "scope": scope,
                    "record_types": None,
                    "metadata_filter": filter_,
                    "include_invalid": True,
                }
                twins.compare(search)
        twins.clock.pass_days(day + 1)
    twins.store.close()
