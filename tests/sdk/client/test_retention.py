"""How long records live: defaults, maxima and anchors, seen through client and thread."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.apis import TimeToLiveAnchor
from oracleagentmemory.core import MemoryRetentionConfig, OracleAgentMemory
from tests.sdk.client.conftest import EXTRACTION_OFF, WordEmbedder

CREATED, EVENT = TimeToLiveAnchor.CREATED_AT, TimeToLiveAnchor.TIMESTAMP
Days = Callable[[str], float | None]


@pytest.fixture
def open_client(tmp_path: Path, embedder: WordEmbedder) -> Callable[..., OracleAgentMemory]:
    """Open a client on one file with a retention config."""

    def build(**days: Any) -> OracleAgentMemory:
        options = {"memory_retention_config": MemoryRetentionConfig(**days)} if days else {}
        return OracleAgentMemory(
            connection=tmp_path / "kept.sqlite3",
            embedder=embedder,
            memory_extraction_config=EXTRACTION_OFF,
            **options,
        )

    return build


@pytest.fixture
def lifetime(tmp_path: Path) -> Days:
    """Days from now until a memory expires, None when it never does."""

    def read(memory_id: str) -> float | None:
        with sqlite3.connect(tmp_path / "kept.sqlite3") as connection:
            query = "SELECT expires_at FROM memory WHERE record_id = ?"
            [text] = connection.execute(query, (memory_id,)).fetchone()
        if text is None:
            return None
        ends = datetime.fromisoformat(text)
        ends = ends if ends.tzinfo else ends.replace(tzinfo=UTC)
        return round((ends - datetime.now(UTC)) / timedelta(days=1), 1)

    return read


Open = Callable[..., OracleAgentMemory]


def test_r112_omitted_means_the_default_and_none_the_maximum(
    open_client: Open, lifetime: Days
) -> None:
    client = open_client(default_ttl_days=3, max_ttl_days=9)
    client.add_memory("x", memory_id="omitted")
    client.add_memory("x", memory_id="none", ttl_days=None)
    client.add_memory("x", memory_id="given", ttl_days=5)
    assert [lifetime(one) for one in ("omitted", "none", "given")] == [3.0, 9.0, 5.0]


def test_r112_without_a_config_nothing_expires(open_client: Open, lifetime: Days) -> None:
    client = open_client()
    client.add_memory("x", memory_id="omitted")
    client.add_memory("x", memory_id="none", ttl_days=None)
    assert [lifetime(one) for one in ("omitted", "none")] == [None, None]


def test_r113_longer_lives_are_cut_with_a_warning(open_client: Open, lifetime: Days) -> None:
    client = open_client(max_ttl_days=9)
    with pytest.warns(UserWarning, match="9"):
        client.add_memory("x", memory_id="m", ttl_days=10)
    assert lifetime("m") == 9.0
    with pytest.warns(UserWarning, match="9"):
        client.update_memory("m", ttl_days=99)
    assert lifetime("m") == 9.0


@pytest.mark.parametrize(
    "form", ["{:%Y-%m-%dT%H:%M:%S}", "{:%Y-%m-%dT%H:%M:%SZ}", "{:%Y-%m-%dT%H:%M:%S+00:00}"]
)
def test_r114_an_anchor_counts_from_the_event_and_naive_means_utc(
    open_client: Open, lifetime: Days, form: str
) -> None:
    event = form.format(datetime.now(UTC) - timedelta(days=2))
    client = open_client()
    client.add_memory("x", memory_id="event", timestamp=event, ttl_days=5, ttl_anchor=EVENT)
    client.add_memory("x", memory_id="created", timestamp=event, ttl_days=5, ttl_anchor=CREATED)
    client.add_memory("x", memory_id="omitted", timestamp=event, ttl_days=5)
    assert [lifetime(one) for one in ("event", "created", "omitted")] == [3.0, 5.0, 5.0]


def test_r116_a_refresh_by_event_takes_the_new_time_or_the_stored_one(
    open_client: Open, lifetime: Days
) -> None:
    first = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    second = (datetime.now(UTC) - timedelta(days=2)).isoformat()
    client = open_client()
    client.add_memory("x", memory_id="m", timestamp=first)
    client.update_memory("m", ttl_days=5, ttl_anchor=EVENT)
    assert lifetime("m") == 4.0
    client.update_memory("m", timestamp=second, ttl_days=5, ttl_anchor=EVENT)
    assert lifetime("m") == 3.0


def test_r115_an_update_of_other_fields_keeps_the_expiry(open_client: Open, lifetime: Days) -> None:
    client = open_client(default_ttl_days=3)
    client.add_memory("x", memory_id="m", ttl_days=7)
    client.update_memory("m", content="y", metadata={"a": 1})
    assert lifetime("m") == 7.0
    client.update_memory("m", ttl_anchor=CREATED)
    assert lifetime("m") == 3.0
    client.update_memory("m", ttl_days=None)
    assert lifetime("m") is None


def test_r119_expired_rows_are_hidden_before_any_purge(open_client: Open, tmp_path: Path) -> None:
    client = open_client()
    client.add_memory("pizza", memory_id="m", user_id="u1", ttl_days=0)
    with sqlite3.connect(tmp_path / "kept.sqlite3") as connection:
        assert connection.execute("SELECT count(*) FROM memory").fetchone() == (1,)
    assert client.list_memories() == []
    assert client.search("pizza", user_id="u1") == []


def test_r120_a_new_config_moves_no_date_and_an_omitted_one_keeps_the_stored(
    open_client: Open, lifetime: Days
) -> None:
    open_client(default_ttl_days=3).add_memory("x", memory_id="first")
    open_client().add_memory("x", memory_id="second")
    open_client(default_ttl_days=8).add_memory("x", memory_id="third")
    open_client(max_ttl_days=99).add_memory("x", memory_id="fourth")
    days = [lifetime(one) for one in ("first", "second", "third", "fourth")]
    assert days == [3.0, 3.0, 8.0, 99.0]


def test_r121_profiles_never_expire(open_client: Open, tmp_path: Path) -> None:
    client = open_client(default_ttl_days=0)
    client.add_user("u1", "likes pizza")
    client.add_memory("x", memory_id="m")
    assert [user.id for user in client.list_users()] == ["u1"]
    assert client.list_memories() == []
    with pytest.raises(ValueError, match="time to live"):
        client._store.update("user_profile", "u1", ttl_days=5)


@pytest.mark.parametrize(
    "days",
    [
        {"default_ttl_days": -1},
        {"max_ttl_days": 1.5},
        {"max_ttl_days": True},
        {"max_ttl_days": "3"},
        {"default_ttl_days": 9, "max_ttl_days": 3},
    ],
)
def test_a_bad_retention_config_opens_nothing(
    open_client: Open, tmp_path: Path, days: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match="ttl_days"):
        open_client(**days)
    assert list(tmp_path.iterdir()) == []
