"""Writing with embedding, and pages of a long list: first and deepest."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.floors import Timing, interleaved, primary_key_read, ratio, raw_insert, timed
from benchmarks.texts import messages
from oracleagentmemory.apis.embedders import IEmbedder
from oracleagentmemory.core import SQLiteMemoryStore
from oracleagentmemory.core.embedders import LocalEmbedder
from oracleagentmemory.inspection import StoreInspector

USERS = 100
BATCH = 256
PAGE = 50
#: Processor time of adding a batch, all rows of ours included, against the same rows inserted bare.
ADD_LIMIT = 3.5
DEEPEST_LIMIT = 2.0


def run(*, added: int = 5_120, listed: int = 100_000) -> dict[str, Any]:
    """Measure adding `added` messages and paging through `listed`.

    Returns:
        Rates and medians, floors of the same run, and ratios.
    """
    with tempfile.TemporaryDirectory() as folder:
        adding = _adding(Path(folder), added)
        listing = _listing(Path(folder), listed)
    ratios = adding.pop("ratios") | listing.pop("ratios")
    return adding | listing | {"ratios": ratios}


def checks(results: dict[str, Any]) -> dict[str, bool]:
    """Return what must hold of the figures."""
    ratios = results["ratios"]
    return {
        "the deepest page holds the oldest rows": results["deepest_page_is_right"],
        "the deepest page takes at most twice the first": ratios["deepest_to_first_page"]
        <= DEEPEST_LIMIT,
        f"adding takes at most {ADD_LIMIT} times the bare driver's inserts": ratios[
            "batch_add_to_raw_insert"
        ]
        <= ADD_LIMIT,
    }


class ReadyEmbedder(IEmbedder):
    """Knows the vectors and tokens of its texts, so that writing is measured and not embedding."""

    embedder_id = LocalEmbedder.embedder_id
    embedding_dimension = 256

    def __init__(self, texts: list[str]) -> None:
        embedder = LocalEmbedder()
        self._vectors = dict(zip(texts, embedder.embed(texts), strict=True))
        self._tokens = dict(zip(texts, embedder.token_ids(texts), strict=True))

    def embed(self, texts: list[str], *, is_query: bool = False) -> NDArray[np.float32]:
        return np.stack([self._vectors[text] for text in texts])

    def token_ids(self, texts: Sequence[str]) -> list[NDArray[np.uint32]]:
        return [self._tokens[text] for text in texts]

    def embed_in_scope(
        self, text: str, frequencies: NDArray[np.int64], chunk_count: int
    ) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._vectors[text]
        return vector


def _adding(folder: Path, rows: int) -> dict[str, Any]:
    texts = messages(rows)
    with_embedding = _add(folder / "embedded.sqlite3", LocalEmbedder(), texts)
    added = _add(folder / "added.sqlite3", ReadyEmbedder(texts), texts)
    SQLiteMemoryStore(folder / "raw.sqlite3", embedder=LocalEmbedder()).close()
    floor = raw_insert(folder / "added.sqlite3", folder / "raw.sqlite3", rows=rows, batch=BATCH)
    store = SQLiteMemoryStore(folder / "embedded.sqlite3", embedder=LocalEmbedder())
    try:
        text = itertools.cycle(texts)
        single = timed(
            lambda: store.add([next(text)], "message", user_ids="user-0", roles="user"), calls=100
        )
    finally:
        store.close()
    return {
        "added": rows,
        "batch_add_with_embedding_per_cpu_s": round(rows / with_embedding),
        "batch_add_per_cpu_s": round(rows / added),
        "raw_insert_per_cpu_s": round(rows / floor),
        **single.figures("single_add"),
        "ratios": {"batch_add_to_raw_insert": round(added / floor, 2)},
    }


def _add(file: Path, embedder: IEmbedder, texts: list[str]) -> float:
    """Add messages of many users in batches and return the processor seconds it took."""
    store = SQLiteMemoryStore(file, embedder=embedder)
    try:
        store.add(texts[:1], "message", record_ids=["first"], user_ids="user-0", roles="user")
        store.delete("message", "first")
        started = time.process_time()
        for at in range(0, len(texts), BATCH):
            part = texts[at : at + BATCH]
            users = [f"user-{(at + n) % USERS}" for n in range(len(part))]
            store.add(list(part), "message", user_ids=list(users), roles="user")
        return time.process_time() - started
    finally:
        store.close()


def _listing(folder: Path, rows: int) -> dict[str, Any]:
    file = folder / "listed.sqlite3"
    store = SQLiteMemoryStore(file)
    try:
        ids = [f"message-{n}" for n in range(rows)]
        for at in range(0, rows, BATCH):
            part = ids[at : at + BATCH]
            # Lists do not read what is searched, so nothing is indexed.
            store.add(
                [f"text of {one}" for one in part],
                "message",
                index_texts=[[] for _ in part],
                record_ids=list(part),
                user_ids=[f"user-{(at + n) % USERS}" for n in range(len(part))],
                roles="user",
            )
        inspector = StoreInspector(store)
        last = inspector.record("message", ids[PAGE])
        before = None if last is None else last.seq

        def deepest() -> Any:
            return inspector.page("message", before=before, limit=PAGE)

        pages: dict[str, Callable[[], Any]] = {
            "first_page": lambda: inspector.page("message", limit=PAGE),
            "deepest_page": deepest,
            "user_page": lambda: inspector.page("message", user_id="user-7", limit=PAGE),
        }
        with primary_key_read(store.engine.engine, store.tables.message, ids[-102:]) as read_row:
            laps = interleaved(pages | {"list_primary_key_read": read_row}, rounds=50)
        right = [row.record.id for row in deepest().rows] == ids[PAGE - 1 :: -1]
    finally:
        store.close()
    figures: dict[str, Any] = {"listed": rows, "deepest_page_is_right": right}
    for name, values in laps.items():
        figures |= Timing.of(values).figures(name)
    depth = ratio(laps, "deepest_page", {"first_page": 1})
    return figures | {"ratios": {"deepest_to_first_page": round(depth, 2)}}
