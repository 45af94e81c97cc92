"""Threads: made with their first summary, changed by their own method."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from oracleagentmemory._notset import NOT_SET_MARKER, _NotSetMarker
from oracleagentmemory.apis.records import MetadataValue, RecordStatus
from oracleagentmemory.apis.validation import RESERVED_KEY, check_id, check_json, check_metadata
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.fingerprints import row_fingerprint
from oracleagentmemory.storage.kinds import SUMMARY, THREAD, can_exist
from oracleagentmemory.storage.statements import CHANGEABLE
from oracleagentmemory.storage.store.adding import Adding
from oracleagentmemory.storage.store.drafts import Draft, keep_reserved
from oracleagentmemory.storage.store.retrieval_text import RetrievalText
from oracleagentmemory.storage.writes import Prepared, prepared_value


class Threading(Adding):
    """The prepared changes of threads; `delete_thread` is with the other deletes."""

    def prepare_create_thread(
        self,
        thread_id: str,
        *,
        user_id: str | None,
        agent_id: str | None,
        metadata: MetadataValue = None,
        runtime_config: Mapping[str, Any] | None = None,
        runtime_state: Mapping[str, Any] | None = None,
    ) -> Prepared[str]:
        """Prepare a new thread with the empty summary that every thread starts with.

        Raises:
            InvalidInputError: If an id or the metadata cannot be stored.
        """
        columns: dict[str, Any] = {
            "record_id": check_id(thread_id, "thread_id"),
            "user_id": None if user_id is None else check_id(user_id, "user_id"),
            "agent_id": None if agent_id is None else check_id(agent_id, "agent_id"),
            "space_id": None,
            "metadata": check_metadata(metadata),
        }
        check_json(runtime_config, "runtime_config")
        check_json(runtime_state, "runtime_state")
        columns |= {"runtime_config": runtime_config, "runtime_state": runtime_state}
        scope = {name: columns[name] for name in ("user_id", "agent_id", "space_id")}
        reserved = {"revision": 1, "summary_last_message_order_seq": 0}
        summary = {
            **scope,
            "record_id": str(uuid.uuid4()),
            "thread_id": thread_id,
            "content": {"text": "", "topics": []},
            "metadata": {RESERVED_KEY: reserved},
            "status": RecordStatus.INVALID.value,
        }
        drafts = [
            Draft(THREAD, "thread", thread_id, user_id, columns, "", RetrievalText([])),
            Draft(
                SUMMARY,
                "thread_summary",
                summary["record_id"],
                user_id,
                summary,
                "",
                RetrievalText([]),
            ),
        ]

        def apply(transaction: WriteTransaction) -> str:
            self._insert_drafts(transaction, drafts, [None, None])
            return thread_id

        return Prepared(apply)

    def prepare_update_thread(
        self,
        thread_id: str,
        *,
        metadata: Any = NOT_SET_MARKER,
        runtime_config: Any = NOT_SET_MARKER,
        runtime_state: Any = NOT_SET_MARKER,
        if_fingerprint: str | None = None,
    ) -> Prepared[int]:
        """Prepare a change of a thread; gives 1, or 0 when there is no such thread.

        Args:
            metadata: Replaces the metadata; None clears it.
            runtime_config: Replaces the saved configuration; a function gets the stored one and
                returns the new one, under the write lock.
            runtime_state: Likewise, for the state of the extraction.
        """
        metadata = metadata if isinstance(metadata, _NotSetMarker) else check_metadata(metadata)
        parts = {"runtime_config": runtime_config, "runtime_state": runtime_state}
        for name, value in parts.items():
            if not callable(value) and not isinstance(value, _NotSetMarker):
                check_json(value, name)
        if not can_exist(thread_id):
            return prepared_value(0)
        statement = self.statements.select_one(THREAD, locked=True)

        def apply(transaction: WriteTransaction) -> int:
            row = transaction.execute(statement, {"id": thread_id}).first()
            if row is None:
                return 0
            self._check_fingerprint(if_fingerprint, row_fingerprint(THREAD, row), thread_id)
            values = {name: row._mapping[name] for name in CHANGEABLE[THREAD.name]}
            if not isinstance(metadata, _NotSetMarker):
                values["metadata"] = keep_reserved(metadata, row.metadata)
            for name, value in parts.items():
                if not isinstance(value, _NotSetMarker):
                    values[name] = value(values[name]) if callable(value) else value
            self._reserve(transaction, 1)
            transaction.execute(self.statements.update(THREAD), {"id_": thread_id, **values})
            self._note_update(transaction, THREAD, row, values, row.user_id)
            return 1

        return Prepared(apply)
