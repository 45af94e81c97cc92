"""A store with a row of every sort, among them those that other issues will write."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import sqlalchemy as sa

from oracleagentmemory.apis import RecordStatus, TextContent, TimeToLiveAnchor
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.kinds import IMAGE, SUMMARY
from oracleagentmemory.storage.statements import columns_of
from oracleagentmemory.storage.store.extending import state_row
from oracleagentmemory.storage.writes import Prepared
from tests.sdk.images.pictures import plain
from tests.sdk.search.stores import DIMENSION, Clock

NASTY = "空/%2F\"'<b>\u2028\n\\ é"
METADATA = {"z": 1, "a": [None, True, 2.5, {"k'\"$.": NASTY}], "": {}, "big": 2**53 + 1}


def fill(store: SQLMemoryStore, clock: Clock) -> None:
    """Write threads of two users, and everything that can hang on them or on nothing."""
    for thread_id, user_id in (("t1", "ann"), (NASTY, "bob"), ("t3", None)):
        thread = store.prepare_create_thread(
            thread_id, user_id=user_id, agent_id="a1", metadata=METADATA,
            runtime_config={"x": [1]}, runtime_state={"y": {}},
        )  # fmt: skip
        store.write(thread)
        parts = [TextContent("red"), TextContent(NASTY, timestamp="2025-01-01")]
        contents: list[Any] = ["red car", "", parts]
        ids = [f"{thread_id}-{n}" for n in range(3)]
        store.add(contents, "message", record_ids=ids, thread_ids=thread_id,
                  user_ids=["ann", user_id, None], roles=["user", "", "tool"])  # fmt: skip
        clock.pass_days(1 / 24)
    store.add(["sea"], "message", record_ids="lone", user_ids="bob", roles="user")
    for record_type in ("memory", "fact", "guideline", "preference"):
        store.add([f"blue {record_type}", ""], record_type, user_ids=["ann", None],
                  record_ids=[f"{record_type}-1", f"{record_type}-2"], metadata=METADATA,
                  timestamps=["2024-05-01T10:00:00+02:00", "once"])  # fmt: skip
    _add_odd_memories(store, clock)
    store.add_user("ann", "likes the sea", {"a": 1})
    store.add_user("bob", "")
    store.add_agent("a1", "drives a red car")
    store.add([{"text": "older", "topics": []}, None], "thread_summary", thread_ids="t1")
    store.write(Prepared(lambda transaction: _add_rows(store, transaction)))


def _add_odd_memories(store: SQLMemoryStore, clock: Clock) -> None:
    store.add(["in a thread"], "memory", record_ids="m1", thread_ids="t1", user_ids="bob")
    store.add(["gone"], "memory", record_ids="expired", user_ids="ann", ttl_days=1,
              timestamps=(clock.now - timedelta(days=9)).isoformat(),
              ttl_anchor=TimeToLiveAnchor.TIMESTAMP)  # fmt: skip
    store.add(["chunks"], "memory", record_ids="m2", user_ids="ann", index_texts=[["sky", "tree"]],
              embeddings=[np.eye(2, DIMENSION)], ttl_days=9)  # fmt: skip
    store.add(["no words"], "memory", record_ids="m3", user_ids="ann", index_texts=[""],
              embeddings=[np.full(DIMENSION, 0.1)], statuses=RecordStatus.INVALID)  # fmt: skip
    store.update("memory", "m2", embedding=None)
    store.update("memory", "m1", content="boat", status=RecordStatus.INVALID)
    store.add(["bye"], "memory", record_ids="deleted", user_ids="ann")
    store.delete("memory", "deleted")


def _add_rows(store: SQLMemoryStore, transaction: WriteTransaction) -> None:
    """Write rows as another SDK does: a relation, an image, sources, a summary of two messages."""
    tables, now = store.tables, transaction.now
    store._reserve(transaction, 1)
    image = {
        "record_id": "i1", "message_id": "t1-0", "thread_id": "t1", "user_id": "ann",
        "agent_id": None, "space_id": None, "document_type": "image", "description": "",
        "blob": plain() + bytes(range(256)), "timestamp": None, "metadata": {"m": 1},
        "document_metadata": {"mime_type": "image/png"}, "created_at": now, "expires_at": None,
        "status": "valid",
    }  # fmt: skip
    images = [image]
    store._number(transaction, images, "order_seq")
    transaction.execute(sa.insert(tables.document), images)
    columns = columns_of(IMAGE, tables.document, with_bytes=False)
    row = transaction.execute(sa.select(*columns)).one()
    state = state_row(IMAGE, row)
    transaction.execute(sa.insert(store.extras.record_state), [state])
    change = store._change("ann", IMAGE, "i1", "add", state["fingerprint"])
    store._reserve(transaction, 1)
    store._record_changes(transaction, [change])
    relation = {
        "relation_id": "r1", "source_memory_id": "m1", "source_memory_user_id": "bob",
        "target_memory_id": "m2", "target_memory_user_id": "ann", "relation_type": "supports",
        "opposite_relation_type": "is_supported_by", "metadata": None, "timestamp": None,
        "created_at": now,
    }  # fmt: skip
    transaction.execute(sa.insert(tables.memory_link), [relation])
    source = {
        "memory_id": "m1", "job_id": None, "model": "llm", "prompt_version": "1",
        "recorded_at": now,
    }  # fmt: skip
    sources = [{**source, "message_id": message_id} for message_id in ("t1-1", "t1-0")]
    transaction.execute(sa.insert(store.extras.source), sources)
    table = tables.thread_summary
    mine = sa.select(table).where(table.c.thread_id == "t1").with_for_update()
    row = transaction.execute(mine.order_by(table.c.created_at, table.c.record_id)).first()
    assert row is not None
    metadata = {"$agent_memory": {"summary_last_message_order_seq": number_of(store, "t1-1")}}
    values = {"content": row.content, "metadata": metadata, "status": "valid"}
    transaction.execute(store.statements.update(SUMMARY), {"id_": row.record_id, **values})
    store._reserve(transaction, 1)
    store._note_update(transaction, SUMMARY, row, values, row.user_id)


def number_of(store: SQLMemoryStore, message_id: str) -> int:
    """Return the order number of a message."""
    message = store.tables.message.c
    with store.engine.read() as connection:
        found = connection.execute(
            sa.select(message.order_seq).where(message.record_id == message_id)
        )
        return int(found.scalar_one())
