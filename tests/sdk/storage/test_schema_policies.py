"""What each schema policy makes, repairs, upgrades, drops and refuses in a SQLite file."""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oracleagentmemory.core import SchemaPolicy, SQLiteMemoryStore
from oracleagentmemory.errors import StateError
from oracleagentmemory.storage import upgrades
from oracleagentmemory.storage.upgrades import Upgrade
from tests.sdk.contract.snapshots import check_agreement
from tests.sdk.contract.test_adding import make_thread
from tests.sdk.search.stores import ScopedWordEmbedder, WordEmbedder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.sqlite3"


@contextmanager
def opened(path: Path, **options: Any) -> Iterator[SQLiteMemoryStore]:
    store = SQLiteMemoryStore(path, **options)
    try:
        yield store
    finally:
        store.close()


def sql(path: Path, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements as somebody else would; return the rows of the last."""
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        rows: list[tuple[Any, ...]] = []
        for statement in statements:
            rows = raw.execute(statement).fetchall()
        return rows


def things_of(path: Path) -> dict[str, str]:
    """Every table and index with the statement that made it."""
    rows = sql(path, "SELECT name, sql FROM sqlite_master")
    return {name: text for name, text in rows if not name.startswith("x_text_")}


def fill(path: Path) -> dict[str, str]:
    """Make a store with records of every kind; return its tables and indexes."""
    with opened(path, embedder=ScopedWordEmbedder()) as store:
        store.add_user("ann", "likes red")
        make_thread(store)
        store.add(["red car"], "message", record_ids="m", roles="user", thread_ids="t1",
                  user_ids="ann")  # fmt: skip
        store.add(["blue boat"], "fact", record_ids="f", user_ids="ann")
    return things_of(path)


def test_require_existing_makes_nothing_and_names_what_lacks(path: Path) -> None:
    with pytest.raises(StateError, match="CREATE_IF_NECESSARY") as caught:
        SQLiteMemoryStore(path, schema_policy="require_existing")
    assert "registry row" in str(caught.value)
    assert "table memory" in str(caught.value)
    assert things_of(path) == {}


def test_create_if_empty_opens_a_whole_store_and_completes_none(path: Path) -> None:
    with opened(path, schema_policy="create_if_empty") as first:
        first.add(["red"], "memory", record_ids="m", embeddings=[[1.0] * 4])
    with opened(path, schema_policy=SchemaPolicy.CREATE_IF_EMPTY) as again:
        assert [one.id for one in again.list("memory")] == ["m"]
    sql(path, "DROP TABLE x_source")
    before = things_of(path)
    with pytest.raises(StateError, match=r"x_source.*CREATE_IF_EMPTY"):
        SQLiteMemoryStore(path, schema_policy="create_if_empty")
    assert things_of(path) == before


def test_an_unknown_policy_is_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="schema_policy"):
        SQLiteMemoryStore(path, schema_policy="whatever")
    with pytest.raises(RuntimeError, match="NO_CHECK"):
        SQLiteMemoryStore(path, schema_policy="no_check")


LOSSES = {
    "index x_memory_user_i": "DROP INDEX x_memory_user_i",
    "index message_thread_order_i": "DROP INDEX message_thread_order_i",
    "table x_text": "DROP TABLE x_text",
    "table x_record_state": "DROP TABLE x_record_state",
    "table x_chunk_token": "DROP TABLE x_chunk_token",
    "table x_source": "DROP TABLE x_source",
    "table x_sequence": "DROP TABLE x_sequence",
    "the row of its sequence": "DELETE FROM x_sequence",
    "table document": "DROP TABLE document",
}


@pytest.mark.parametrize("lost", LOSSES)
def test_a_lost_part_is_named_then_made_again_and_filled(
    path: Path, lost: str, caplog: pytest.LogCaptureFixture
) -> None:
    whole = fill(path)
    numbers = sql(path, "SELECT max(order_seq) FROM memory")[0][0]
    sql(path, LOSSES[lost])
    with pytest.raises(StateError, match=lost):
        SQLiteMemoryStore(path, schema_policy="require_existing")

    with (
        caplog.at_level(logging.WARNING, "oracleagentmemory"),
        opened(path, embedder=ScopedWordEmbedder()) as store,
    ):
        assert f"made again: {lost}" in store.repairs
        assert f"made again: {lost}" in caplog.text
        check_agreement(store)
        store.add(["green tree"], "fact", record_ids="new", user_ids="ann")
        assert store.search("boat", 1, user_id="ann", exact_user_match=True)[0][0].id == "f"
    assert things_of(path) == whole
    assert sql(path, "SELECT order_seq FROM memory WHERE record_id = 'new'")[0][0] > numbers
    with opened(path, schema_policy="require_existing") as again:
        assert again.repairs == ()


def test_an_index_on_other_columns_is_made_anew(path: Path) -> None:
    whole = fill(path)
    sql(path, "DROP INDEX x_memory_user_i", "CREATE INDEX x_memory_user_i ON memory (user_id)")
    with opened(path) as store:
        assert store.repairs == ("made again: index x_memory_user_i",)
    assert things_of(path) == whole


@pytest.mark.parametrize("lost", ["memory", "message", "thread", "record_chunks", "actor_profile"])
def test_a_lost_table_that_held_records_is_not_replaced_by_an_empty_one(
    path: Path, lost: str
) -> None:
    fill(path)
    sql(path, "PRAGMA foreign_keys = OFF", f"DROP TABLE {lost}")
    before = things_of(path)
    with pytest.raises(StateError, match=f"the table {lost} is gone.*backup.*RECREATE"):
        SQLiteMemoryStore(path)
    assert things_of(path) == before


def test_a_lost_registry_row_comes_back_with_the_dimension_of_the_vectors(path: Path) -> None:
    fill(path)
    sql(path, "DELETE FROM agent_memory_stores")
    with opened(path, embedder=WordEmbedder()) as store:
        assert store.repairs == ("made again: its registry row",)
        assert store.current_config().dimension == WordEmbedder.embedding_dimension
        assert store.search("boat", 1)[0][0].id == "f"


def test_a_neighbours_table_of_our_name_is_neither_used_nor_dropped(path: Path) -> None:
    sql(path, "CREATE TABLE message (body TEXT)", "INSERT INTO message VALUES ('theirs')")
    for policy in SchemaPolicy:
        with pytest.raises(StateError):
            SQLiteMemoryStore(path, schema_policy=policy)
    assert sql(path, "SELECT body FROM message") == [("theirs",)]
    assert list(things_of(path)) == ["message"]
    with opened(path, memory_store_id="ours") as store:
        assert store.list("message") == []


def test_recreate_drops_this_store_and_nothing_of_its_neighbours(path: Path) -> None:
    fill(path)
    sql(path, "CREATE TABLE people (name TEXT)", "INSERT INTO people VALUES ('Ada')",
        "CREATE TABLE x_files (name TEXT)", "CREATE TABLE memory_notes (name TEXT)")  # fmt: skip
    with opened(path, memory_store_id="Acme", vector_dim=4) as neighbour:
        neighbour.add(["kept"], "memory", record_ids="k", embeddings=[[1.0] * 4])
    before = things_of(path)
    with opened(path) as old, opened(path, schema_policy="recreate", vector_dim=3) as new:
        assert new.list("memory") == []
        assert new.list("user_profile") == []
        assert new.current_config().dimension == 3
        assert old.incarnation == new.incarnation, "an open handle sees the new store"
        assert old.search(None, 1, query_vector=[1.0, 0.0, 0.0]) == []
    assert things_of(path) == before
    assert sql(path, "SELECT name FROM people") == [("Ada",)]
    with opened(path, memory_store_id="acme", schema_policy="require_existing") as neighbour:
        assert [one.id for one in neighbour.list("memory")] == ["k"]
    assert len(sql(path, "SELECT * FROM agent_memory_stores")) == 2


def test_recreate_is_refused_where_a_neighbour_refers_to_the_store(path: Path) -> None:
    fill(path)
    sql(path, "CREATE TABLE notes (memory_id REFERENCES memory (record_id) ON DELETE CASCADE)",
        "INSERT INTO notes VALUES ('f')")  # fmt: skip
    with pytest.raises(StateError, match="notes refers to this store"):
        SQLiteMemoryStore(path, schema_policy="recreate")
    assert sql(path, "SELECT memory_id FROM notes") == [("f",)]
    with opened(path) as store:
        assert store.get_memory("f") is not None


READ_ON = """
import sys
from oracleagentmemory.core import SQLiteMemoryStore
store = SQLiteMemoryStore(sys.argv[1])
for line in sys.stdin:
    found = store.search(None, 9, query_vector=[float(n) for n in line.split()],
                         user_id="ann", exact_user_match=True)
    print(*[record.id for record, _ in found], flush=True)
store.close()
"""


def test_another_process_sees_the_store_that_was_made_anew(path: Path) -> None:
    with opened(path) as store:
        store.add(["red"], "memory", record_ids="old", user_ids="ann", embeddings=[[1.0, 0.0]])
        reader = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", READ_ON, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert reader.stdin is not None
        assert reader.stdout is not None

        def ask(vector: str) -> str:
            assert reader.stdin is not None
            assert reader.stdout is not None
            reader.stdin.write(vector + "\n")
            reader.stdin.flush()
            return reader.stdout.readline().strip()

        assert ask("1 0") == "old"
        with opened(path, schema_policy="recreate") as new:
            new.add(["red"], "memory", record_ids="new", user_ids="ann",
                    embeddings=[[1.0, 0.0, 0.0]])  # fmt: skip
        assert ask("1 0 0") == "new"
        store.add(["red"], "memory", record_ids="third", embeddings=[[1.0, 0.0, 0.0]])
        reader.stdin.close()
        assert reader.wait(timeout=60) == 0
        reader.stdout.close()


# -- versions ---------------------------------------------------------------------------------


def as_layout_1(path: Path) -> None:
    """Make a store as the first release made it."""
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA journal_mode = WAL")
        raw.executescript(Path(__file__).with_name("layout_1.sql").read_text())


def test_an_older_layout_is_named_and_then_upgraded(path: Path) -> None:
    as_layout_1(path)
    before = things_of(path)
    for policy in ("require_existing", "create_if_empty"):
        with pytest.raises(StateError, match="from layout 1 to 2"):
            SQLiteMemoryStore(path, schema_policy=policy)
    assert things_of(path) == before
    with opened(path) as store:
        assert store.repairs == (
            "upgraded to layout 2: a table for the vectors of a re-embedding",
            *(f"made again: index x_document_{name}_i"
              for name in ("agent", "order", "thread", "user")),
            "made again: index x_memory_link_created_i",
        )  # fmt: skip
        assert store.current_config().extras_version == 2
        found = store.search(None, 1, query_vector=[0, 1, 0, 0], user_id="ann",
                             exact_user_match=True)  # fmt: skip
        assert found[0][0].metadata == {"k": [1, "é"]}
        check_agreement(store)
        store.add(["new"], "memory", record_ids="m2")
    with opened(path, schema_policy="require_existing") as again:
        assert again.repairs == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("schema_version = '14'", "schema version 14.*update the software"),
        ("schema_version = '12'", "schema version 12.*upgrade-memory-store"),
        ("store_config = json_set(store_config, '$.attributes.sdk_tables_version', 9)",
         "layout 9.*update the software"),
        ("lifecycle_state = 'DROPPING'", "state DROPPING"),
    ],
)  # fmt: skip
def test_a_store_of_another_version_or_state_is_refused(
    path: Path, change: str, words: str
) -> None:
    fill(path)
    sql(path, f"UPDATE agent_memory_stores SET {change}")
    before = things_of(path)
    for policy in ("require_existing", "create_if_empty", "create_if_necessary"):
        with pytest.raises(StateError, match=words):
            SQLiteMemoryStore(path, schema_policy=policy)
    assert things_of(path) == before


def test_a_failing_step_leaves_the_steps_before_it_with_their_number(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_layout_1(path)
    step = Upgrade(3, "half of it", lambda _: [sa.text("CREATE TABLE x_three (a)"), sa.text("oh")])
    monkeypatch.setattr(upgrades, "UPGRADES", (*upgrades.UPGRADES, step))
    with pytest.raises(Exception, match="syntax error"):
        SQLiteMemoryStore(path)
    assert "x_new_vector" in things_of(path)
    assert "x_three" not in things_of(path)
    version = "SELECT json_extract(store_config, '$.attributes.sdk_tables_version')"
    assert sql(path, f"{version} FROM agent_memory_stores") == [(2,)]


UPGRADE = """
import sys
from oracleagentmemory.core import SQLiteMemoryStore
sys.stdin.readline()
store = SQLiteMemoryStore(sys.argv[1])
print(store.current_config().extras_version, store.get_memory("f1").id)
store.close()
"""


def test_four_processes_may_upgrade_and_repair_at_once(path: Path) -> None:
    as_layout_1(path)
    sql(path, "DROP TABLE x_text", "DROP INDEX x_memory_user_i")
    children = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", UPGRADE, str(path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(4)
    ]  # fmt: skip
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    answers = [child.communicate(timeout=120) for child in children]
    assert [text for text, _ in answers] == ["2 f1\n"] * 4, [errors for _, errors in answers]
    with opened(path, schema_policy="require_existing", embedder=ScopedWordEmbedder()) as store:
        check_agreement(store)
