"""The worker of the running product: it purges what has expired, whatever lies in the broker."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from tests.process.conftest import MakeProduct
from tests.process.product import Product, wait_until

ADD_EXPIRED = """
from oracleagentmemory.apis.ttl import TimeToLiveAnchor
from memoryapp.memory import client
client().add_memory("gone", user_id="u", memory_id="old", timestamp="2020-01-01T00:00:00Z",
                    ttl_days=1, ttl_anchor=TimeToLiveAnchor.TIMESTAMP)
client().add_memory("kept", user_id="u", memory_id="new")
"""


def stored_memories(product: Product) -> set[str]:
    with closing(product.database()) as connection:
        return {identifier for (identifier,) in connection.execute("SELECT record_id FROM memory")}


def leave_torn_files(broker: Path) -> None:
    """What a crash or a full disk leaves, and a file of somebody else."""
    messages, control = broker / "messages", broker / "control"
    for folder in (messages, control):
        folder.mkdir(parents=True, exist_ok=True)
    (messages / "0_empty.celery.msg").write_bytes(b"")
    (messages / "1_half.celery.msg").write_text('{"body": "W1tdLCB7fSwg')
    (messages / "2_binary.celery.msg").write_bytes(b"\x80\x04\xff\x00")
    (messages / "3_other.celery.msg").write_text("[1, 2, 3]")
    (control / "celery.exchange").write_text('[["celery", ')


def test_worker_purges_with_an_audit_entry_though_the_broker_holds_torn_files(
    make_product: MakeProduct,
) -> None:
    product = make_product(MEMORY_PURGE_INTERVAL_S="1")
    broker = product.var / "broker"
    leave_torn_files(broker)
    added = product.run("shell", "-c", ADD_EXPIRED)
    assert added.returncode == 0, added.stderr
    assert stored_memories(product) == {"old", "new"}

    product.start()
    wait_until(
        lambda: stored_memories(product) == {"new"}, within_s=30, what=f"purged\n{product.output}"
    )
    with closing(product.database()) as connection:
        entries = connection.execute(
            "SELECT actor, action, detail FROM memoryapp_auditentry WHERE action = 'purge'"
        ).fetchall()
    assert entries == [("command:purge_expired", "purge", '{"count": 1}')]
    assert not list((broker / "messages").glob("[0-3]_*"))
    assert len(list((broker / "taken").glob("*.bad"))) == 4
    assert product.output.count("put aside a broker file") >= 5
    assert "ended by itself" not in product.output
