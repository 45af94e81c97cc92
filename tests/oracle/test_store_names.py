"""Requirements 155 to 161 where only an Oracle store has the argument."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.core import OracleAgentMemory, SchemaPolicy
from oracleagentmemory.errors import InvalidInputError, StateError
from oracleagentmemory.storage.schema_oracle import OWNED_NAMES
from tests.oracle.driver import Connection, Recorder
from tests.oracle.replay import Answer
from tests.oracle.stores import new_recorder, open_on
from tests.oracle.test_schema import MANAGED
from tests.sdk.search.stores import DIMENSION, WordEmbedder


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    recorder = new_recorder(tmp_path, DIMENSION)
    yield recorder
    recorder.sqlite.dispose()


def changes(recorder: Recorder) -> list[str]:
    """The statements that were sent and may change something."""
    sent = [" ".join(each.sql.split()) for each in recorder.statements]
    # The last is SQLAlchemy's own question about isolation, which reads.
    reads = ("SELECT", "select", "begin :trans_id := dbms_transaction.local_transaction_id")
    return [sql for sql in sent if not sql.startswith(reads)]


def missing(recorder: Recorder, **options: str) -> str:
    """Return what opening a store that is not there says, with its name in the registry."""
    with pytest.raises(StateError, match="no complete, up-to-date memory store") as caught:
        open_on(recorder, schema_policy=SchemaPolicy.REQUIRE_EXISTING, **options)
    return str(caught.value)


def test_r155_the_default_policy_changes_nothing(recorder: Recorder) -> None:
    with pytest.raises(RuntimeError, match="no complete"):
        OracleAgentMemory(connection=Pool(recorder), embedder=WordEmbedder())
    assert changes(recorder) == []


class Pool:
    """What oracledb's pool has of an interface."""

    def __init__(self, recorder: Recorder) -> None:
        self.acquire = recorder.connect


@pytest.mark.parametrize(
    ("owner", "policy", "words"),
    [
        ("app", "create_if_necessary", "REQUIRE_EXISTING"),
        ("app", "recreate", "REQUIRE_EXISTING"),
        ('"App"', "require_existing", "unquoted"),
        ("", "require_existing", "unquoted"),
    ],
)
def test_r156_an_owner_is_unquoted_and_its_schema_is_left_alone(
    recorder: Recorder, owner: str, policy: str, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        open_on(recorder, schema_owner=owner, schema_policy=policy)
    assert recorder.statements == []


def test_r156_another_users_store_is_named_with_its_owner_and_can_be_written(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_on(recorder, embedder=WordEmbedder()).close()
    names = [(table.name.upper(),) for table in (*MANAGED.metadata.sorted_tables,)]
    asked: list[dict[str, object]] = []

    def owned(session: Connection, binds: Any) -> Answer:
        asked.append(dict(binds))
        return Answer([("TABLE_NAME", None)], [names])

    recorder.handle(OWNED_NAMES, owned)
    # The checks know the connected user's tables: they get the texts without the owner.
    check = recorder.checker.check

    def check_owned(sql: str, rows: Any) -> None:
        assert not re.search(r"(FROM|JOIN|INTO|UPDATE) (memory|record_chunks|agent_)", sql), sql
        assert '"APP".' in sql or sql.endswith("FROM DUAL"), sql
        check(sql.replace('"APP".', ""), rows)

    monkeypatch.setattr(recorder.checker, "check", check_owned)
    recorder.statements.clear()
    store = open_on(
        recorder, embedder=WordEmbedder(), schema_owner="app", schema_policy="require_existing"
    )
    assert asked[0] == {"owner": "APP"}
    store.add(["red car"], "memory", record_ids=["m1"], user_ids="ann")
    assert [one.id for one, _ in store.search("red car", 3)] == ["m1"]
    assert store.update("memory", "m1", content="blue boat") == 1
    assert store.delete("memory", "m1") == 1
    assert not any(sql.startswith("CREATE") for sql in changes(recorder))


def test_r157_an_id_names_the_store_and_its_tables_in_upper_case(recorder: Recorder) -> None:
    for given in ("acme_1", "ACME_1"):
        text = missing(recorder, memory_store_id=given)
        assert "'ACME_1'" in text
        assert "table acme_1_memory" in text
    for bad in ("1acme", "a-b", "a" * 17, "é", 'a"'):
        with pytest.raises(ValueError, match="memory_store_id"):
            open_on(recorder, memory_store_id=bad)
    assert changes(recorder) == []


def test_r161_a_prefix_still_works_and_names_its_replacement(recorder: Recorder) -> None:
    with pytest.warns(DeprecationWarning, match=r"removed in 27\.1; use memory_store_id"):
        text = missing(recorder, table_name_prefix="sales_")
    assert "'SALES'" in text
    assert "table sales_memory" in text
    digest = hashlib.sha1(b"SALES", usedforsecurity=False).hexdigest().upper()
    with pytest.warns(DeprecationWarning, match="table_name_prefix"):
        text = missing(recorder, table_name_prefix="Sales")
    assert f"'__LEGACY_PREFIX_{digest}'" in text
    assert "table salesmemory" in text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with pytest.raises(InvalidInputError, match="not both"):
            open_on(recorder, table_name_prefix="SALES_", memory_store_id="SALES")
        with pytest.raises(InvalidInputError, match="table_name_prefix"):
            open_on(recorder, table_name_prefix='X"; DROP TABLE memory --')
    assert changes(recorder) == []
