"""Two processes with several threads each write to one file: no error, no lost or double row."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from oracleagentmemory.core import SQLiteMemoryStore
from tests.sdk.contract.snapshots import check_agreement, rows_of
from tests.sdk.search.stores import WordEmbedder

THREADS, ROUNDS = 4, 12
WRITER = """
import json, sys, threading
from oracleagentmemory.core import SQLiteMemoryStore
from tests.sdk.search.stores import WordEmbedder

path, name, thread_count, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
store = SQLiteMemoryStore(path, embedder=WordEmbedder())
problems = []

def work(number):
    try:
        for at in range(rounds):
            ids = [f"{name}-{number}-{at}-{part}" for part in ("keep", "drop")]
            store.add(["red car", "blue"], "memory", record_ids=ids, user_ids="u1")
            store.update("memory", ids[0], content="sea")
            store.delete("memory", ids[1])
            found = store.search("sea", 1, user_id="u1", exact_user_match=True)
            assert found and found[0][0].content == "sea", found
    except BaseException as problem:
        problems.append(repr(problem))

print("ready", flush=True)
sys.stdin.readline()
threads = [threading.Thread(target=work, args=(number,)) for number in range(thread_count)]
for thread in threads: thread.start()
for thread in threads: thread.join()
store.close()
print(json.dumps(problems))
"""


def test_processes_and_threads_write_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    store = SQLiteMemoryStore(path, embedder=WordEmbedder())
    children = [
        subprocess.Popen(
            [
                sys.executable,
                "-W",
                "error",
                "-c",
                WRITER,
                str(path),
                name,
                str(THREADS),
                str(ROUNDS),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b")
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    outputs = []
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        output, _ = child.communicate(timeout=180)
        assert child.returncode == 0
        outputs.append(json.loads(output))

    assert outputs == [[], []]
    check_agreement(store)
    kept = rows_of(store, store.tables.memory)
    assert {row.record_id for row in kept} == {
        f"{name}-{number}-{at}-keep"
        for name in ("a", "b")
        for number in range(THREADS)
        for at in range(ROUNDS)
    }
    numbers = [row.order_seq for row in kept]
    numbers += [row.chunk_id for row in rows_of(store, store.tables.record_chunks)]
    numbers += [row.change_id for row in rows_of(store, store.extras.change)]
    assert len(set(numbers)) == len(numbers), "a number was given twice"
    (last,) = rows_of(store, store.extras.sequence)
    assert max(numbers) <= last.last
    found = store.search("sea", 1000, user_id="u1", exact_user_match=True)
    assert len(found) == 2 * THREADS * ROUNDS
    store.close()
