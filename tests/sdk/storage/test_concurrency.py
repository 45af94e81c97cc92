"""Two processes with eight threads each write to one file: no error, no lost or double row."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.core import SQLiteMemoryStore
from tests.sdk.contract.snapshots import check_agreement, rows_of
from tests.sdk.search.stores import WordEmbedder

NAMES, THREADS = ("a", "b"), 8
#: Each round of a thread writes five times.
WRITER = """
import json, sys, threading
from oracleagentmemory.core import SQLiteMemoryStore
from tests.sdk.search.stores import WordEmbedder

path, name, thread_count, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
store = SQLiteMemoryStore(path, embedder=WordEmbedder())
problems, numbers = [], {}

def message(label):
    store.add(["sky"], "message", record_ids=label, thread_ids="t1", roles="user")
    return store.get("message", label).seq_no

def work(number):
    mine = numbers[number] = []
    try:
        for at in range(rounds):
            label = f"{name}-{number}-{at}"
            store.add(["red car"], "memory", record_ids=label, user_ids=name)
            mine.append(message(label))
            assert store.update("memory", label, content=f"sea {label}") == 1
            mine.append(message(f"{label}-drop"))
            assert store.delete("message", f"{label}-drop") == 1
            assert store.get("memory", label).content == f"sea {label}"
            found = store.search("sea", 1, user_id=name, exact_user_match=True)
            assert found[0][0].content.startswith("sea"), found
    except BaseException as problem:
        problems.append(repr(problem))

print("ready", flush=True)
sys.stdin.readline()
threads = [threading.Thread(target=work, args=(number,)) for number in range(thread_count)]
for thread in threads: thread.start()
for thread in threads: thread.join()
store.close()
print(json.dumps({"problems": problems, "numbers": list(numbers.values())}))
"""


def run_writers(path: Path, rounds: int) -> list[dict[str, Any]]:
    """Let both processes write at the same time; return what they say."""
    arguments = [str(THREADS), str(rounds)]
    children = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", WRITER, str(path), name, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in NAMES
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    outputs = [child.communicate(timeout=1200)[0] for child in children]
    assert [child.returncode for child in children] == [0, 0]
    return [json.loads(output) for output in outputs]


@pytest.mark.parametrize(
    "writes",
    [pytest.param(640, id="640"), pytest.param(20_000, id="20000", marks=pytest.mark.long)],
)
def test_processes_and_threads_write_to_one_file(tmp_path: Path, writes: int) -> None:
    path = tmp_path / "memory.sqlite3"
    rounds = writes // (len(NAMES) * THREADS * 5)
    with closing(SQLiteMemoryStore(path, embedder=WordEmbedder())) as store:
        store.write(store.prepare_create_thread("t1", user_id=None, agent_id=None))
        outputs = run_writers(path, rounds)

        assert [output["problems"] for output in outputs] == [[], []]
        wanted = {
            f"{name}-{number}-{at}"
            for name in NAMES
            for number in range(THREADS)
            for at in range(rounds)
        }
        kept = rows_of(store, store.tables.memory)
        assert sorted(row.record_id for row in kept) == sorted(wanted)
        assert all(row.content == f"sea {row.record_id}" for row in kept)
        check_numbers(store, [one for output in outputs for one in output["numbers"]], wanted)
        check_agreement(store)
        assert store.check().ok
        for name in NAMES:
            found = store.search("sea", 10**5, user_id=name, exact_user_match=True)
            assert len(found) == len(wanted) // len(NAMES)


def check_numbers(store: SQLiteMemoryStore, by_thread: list[list[int]], wanted: set[str]) -> None:
    """Order numbers rise in each thread, and none was ever given twice, deleted rows included."""
    assert all(one < other for numbers in by_thread for one, other in pairwise(numbers))
    seen = [number for numbers in by_thread for number in numbers]
    messages: list[Any] = store.list("message", thread_id="t1", limit=None)
    assert sorted(one.id for one in messages) == sorted(wanted)
    assert [one.seq_no for one in messages] == sorted(one.seq_no for one in messages)
    assert {one.seq_no for one in messages} <= set(seen)
    numbers = [
        *seen,
        *(row.order_seq for row in rows_of(store, store.tables.memory)),
        *(row.chunk_id for row in rows_of(store, store.tables.record_chunks)),
        *(row.change_id for row in rows_of(store, store.extras.change)),
    ]
    assert len(set(numbers)) == len(numbers), "a number was given twice"
    (last,) = rows_of(store, store.extras.sequence)
    assert max(numbers) <= last.last
