"""Saved summaries of threads: written over what their maker has seen, gone with messages."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import sqlalchemy as sa

from oracleagentmemory.apis.records import MessageRecord, RecordStatus, ThreadSummaryRecord
from oracleagentmemory.apis.validation import RESERVED_KEY, check_json
from oracleagentmemory.storage.attached import with_attached
from oracleagentmemory.storage.constructs import utc_now
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.kinds import MESSAGE, SUMMARY, THREAD, can_exist
from oracleagentmemory.storage.retention import parse_time
from oracleagentmemory.storage.rows import to_record
from oracleagentmemory.storage.statements import bind, not_expired
from oracleagentmemory.storage.store.adding import Adding
from oracleagentmemory.storage.store.base import StoreParts
from oracleagentmemory.storage.store.drafts import Draft
from oracleagentmemory.storage.store.retrieval_text import RetrievalText
from oracleagentmemory.storage.writes import Prepared, prepared_value

#: Rows of one thread; the older ones are what an extraction reads as the summary before it.
KEPT_SUMMARIES = 50
#: The strategy of a text that repeats messages instead of summing them up.
TRANSCRIPT = "transcript_fallback"

_COVERS = "summary_last_message_order_seq"
_MADE_BY = "generation_parameters"
_SAVED_AT = "saved_at"


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryDraft:
    """A summary to be saved.

    Attributes:
        parameters: How it was made; ``strategy`` is ``llm`` or ``transcript_fallback``.
        messages: What it was made from, in order.
        covers: ``seq_no`` of the last message it covers.
        seen: The saved summaries that its maker knew, as `seen_summaries` tells them.
    """

    text: str
    topics: Sequence[str]
    parameters: Mapping[str, Any]
    messages: Sequence[MessageRecord]
    covers: int
    seen: frozenset[tuple[str, int]]


def seen_summaries(records: Iterable[ThreadSummaryRecord]) -> frozenset[tuple[str, int]]:
    """Return the summaries with their revisions, as a later save compares them."""
    return frozenset((record.id, _revision(record.metadata)) for record in records)


def summary_strategy(record: ThreadSummaryRecord) -> str:
    """Return how a summary was made; one that does not say was made by a model."""
    made_by = _reserved(record.metadata).get(_MADE_BY)
    return str(made_by.get("strategy", "llm")) if isinstance(made_by, Mapping) else "llm"


class SummaryUpkeep(StoreParts):
    """What a change of messages does to the summaries of their threads."""

    def _forget_in_summaries(
        self, transaction: WriteTransaction, thread_ids: Iterable[str | None], seq_no: int = 0
    ) -> None:
        """Empty the threads' summaries that cover the message ``seq_no``; 0 means all.

        What a deleted or changed message said must not live on in them.
        """
        ids = sorted({one for one in thread_ids if one is not None})
        if not ids:
            return
        select = self._built("summaries_of", self._summaries_of)
        rows = transaction.execute(select, {"ids": ids}).all()
        rows = [row for row in rows if _says_something(row) and _covers(row, seq_no)]
        self._reserve(transaction, len(rows))
        for row in rows:
            reserved = {**_reserved(row.metadata), "revision": _revision(row.metadata) + 1}
            for name in (_MADE_BY, _SAVED_AT):
                reserved.pop(name, None)
            if _COVERS in reserved:
                reserved[_COVERS] = 0
            metadata = {**(row.metadata or {}), RESERVED_KEY: reserved}
            self._change_summary(transaction, row, "", (), metadata, RecordStatus.INVALID)

    def _change_summary(
        self,
        transaction: WriteTransaction,
        row: Any,
        text: str,
        topics: Sequence[str],
        metadata: Mapping[str, Any],
        status: RecordStatus,
    ) -> None:
        content = {"text": text, "topics": list(topics)}
        values = {"content": content, "metadata": metadata, "status": status.value}
        transaction.execute(self.statements.update(SUMMARY), {"id_": row.record_id, **values})
        self._note_update(transaction, SUMMARY, row, values, row.user_id)

    def _summaries_of(self) -> sa.Select[Any]:
        """Select and lock the summaries of the threads `:ids`."""
        table = self.tables.thread_summary
        among = table.c.thread_id.in_(bind("ids", table.c.thread_id, expanding=True))
        return sa.select(table).where(among).with_for_update()


class Summarising(Adding, SummaryUpkeep):
    """Reading whether a summary still holds, and saving a new one."""

    def summary_holds(self, summary: ThreadSummaryRecord) -> bool:
        """Say whether no message that a summary covers has expired since it was saved."""
        since = parse_time(_reserved(summary.metadata).get(_SAVED_AT) or summary.timestamp)
        if not can_exist(summary.thread_id) or since is None:
            return False
        statement = self._built("expired_since", self._expired_since)
        chosen = {
            "thread_id": summary.thread_id,
            "seq": summary._covered_through_seq_no,
            "since": since,
        }
        with self.engine.read() as connection:
            return connection.execute(statement, chosen).first() is None

    def _expired_since(self) -> sa.Select[Any]:
        table = self.tables.message.c
        return (
            sa.select(table.order_seq)
            .where(
                table.thread_id == bind("thread_id", table.thread_id),
                table.order_seq <= bind("seq", table.order_seq),
                table.expires_at > bind("since", table.expires_at),
                table.expires_at <= utc_now(),
            )
            .limit(sa.literal(1))
        )

    def prepare_save_summary(self, thread_id: str, draft: SummaryDraft) -> Prepared[bool]:
        """Prepare the saving of a summary; gives whether it was saved.

        It is not when the thread is gone, another summary was saved or emptied since the draft's
        maker read them, or one of its messages has changed or gone.
        """
        check_json(dict(draft.parameters), "parameters")
        check_json({"text": draft.text, "topics": list(draft.topics)}, "content")
        if not can_exist(thread_id):
            return prepared_value(False)
        locked_thread = self.statements.select_one(THREAD, locked=True)

        def apply(transaction: WriteTransaction) -> bool:
            thread = transaction.execute(locked_thread, {"id": thread_id}).first()
            if thread is None or not self._still_read(transaction, thread_id, draft.messages):
                return False
            select = self._built("summaries_of", self._summaries_of)
            rows = transaction.execute(select, {"ids": [thread_id]}).all()
            if draft.seen != frozenset((row.record_id, _revision(row.metadata)) for row in rows):
                return False
            self._save(transaction, thread, rows, draft)
            return True

        return Prepared(apply)

    def _still_read(
        self, transaction: WriteTransaction, thread_id: str, messages: Sequence[MessageRecord]
    ) -> bool:
        """Lock the stretch that messages were read from and say whether it reads the same."""
        if not messages:
            return False
        statement = self._built("locked_messages", self._locked_messages)
        stretch = {
            "thread_id": thread_id,
            "least": messages[0].seq_no,
            "most": messages[-1].seq_no,
        }
        rows = transaction.execute(statement, stretch).all()
        found = [(cast(MessageRecord, to_record(MESSAGE, row)), row.content) for row in rows]
        records = with_attached(transaction.connection, self.tables, found)
        return [(one.id, one.content) for one in records] == [
            (one.id, one.content) for one in messages
        ]

    def _locked_messages(self) -> sa.Select[Any]:
        table = self.tables.message
        seq = table.c.order_seq
        conditions = (
            table.c.thread_id == bind("thread_id", table.c.thread_id),
            seq.between(bind("least", seq), bind("most", seq)),
            not_expired(table),
        )
        return sa.select(table).where(*conditions).order_by(seq).with_for_update()

    def _save(
        self, transaction: WriteTransaction, thread: Any, rows: Sequence[Any], draft: SummaryDraft
    ) -> None:
        """Write a summary into the newest row if that holds none, else into a row of its own."""
        reserved = {
            "revision": 1 + max((_revision(row.metadata) for row in rows), default=0),
            _COVERS: draft.covers,
            _SAVED_AT: transaction.now.isoformat(),
            _MADE_BY: dict(draft.parameters),
        }
        metadata = {RESERVED_KEY: reserved}
        old = sorted(rows, key=lambda row: (row.created_at, _revision(row.metadata)), reverse=True)
        if old and _replaceable(old[0]):
            row = old.pop(0)
            merged = {**(row.metadata or {}), **metadata}
            self._reserve(transaction, 1)
            self._change_summary(
                transaction, row, draft.text, draft.topics, merged, RecordStatus.VALID
            )
        else:
            self._insert_drafts(transaction, [_row_draft(thread, draft, metadata)], [None])
        unneeded = {row.record_id for row in old if _replaceable(row)}
        kept = [row for row in old if row.record_id not in unneeded]
        unneeded |= {row.record_id for row in kept[KEPT_SUMMARIES - 1 :]}
        self._drop_summaries(transaction, [row for row in old if row.record_id in unneeded])

    def _drop_summaries(self, transaction: WriteTransaction, rows: Sequence[Any]) -> None:
        if not rows:
            return
        self._remove(transaction, SUMMARY, "records", [row.record_id for row in rows])
        self._reserve(transaction, len(rows))
        changes = [
            self._change(row.user_id, SUMMARY, row.record_id, "delete", None) for row in rows
        ]
        self._record_changes(transaction, changes)


def _row_draft(thread: Any, draft: SummaryDraft, metadata: dict[str, Any]) -> Draft:
    columns = {
        "record_id": str(uuid.uuid4()),
        "thread_id": thread.record_id,
        **{name: getattr(thread, name) for name in ("user_id", "agent_id", "space_id")},
        "content": {"text": draft.text, "topics": list(draft.topics)},
        "metadata": metadata,
        "status": RecordStatus.VALID.value,
    }
    return Draft(
        SUMMARY,
        "thread_summary",
        columns["record_id"],
        thread.user_id,
        columns,
        "",
        RetrievalText([]),
    )


def _reserved(metadata: Any) -> Mapping[str, Any]:
    reserved = (metadata or {}).get(RESERVED_KEY)
    return reserved if isinstance(reserved, Mapping) else {}


def _revision(metadata: Any) -> int:
    revision = _reserved(metadata).get("revision", 0)
    return int(revision) if isinstance(revision, int | float) else 0


def _covers(row: Any, seq_no: int) -> bool:
    # A summary that does not say what it covers may cover anything.
    return seq_no <= int(_reserved(row.metadata).get(_COVERS, seq_no))


def _says_something(row: Any) -> bool:
    content = row.content if isinstance(row.content, Mapping) else {}
    return bool(content.get("text") or content.get("topics") or row.status == "valid")


def _replaceable(row: Any) -> bool:
    """Say whether a row holds nothing that its messages do not: none, or their transcript."""
    made_by = _reserved(row.metadata).get(_MADE_BY)
    strategy = made_by.get("strategy") if isinstance(made_by, Mapping) else None
    return not _says_something(row) or strategy == TRANSCRIPT
