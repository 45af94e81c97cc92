"""Reading records: one, a list, or a window of a thread's messages."""

from __future__ import annotations

import builtins
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.sql.elements import ColumnElement

from oracleagentmemory._notset import NOT_SET_MARKER, _NotSetMarker
from oracleagentmemory.apis.memorystore import MetadataFilter
from oracleagentmemory.apis.records import MemoryRecord, MessageRecord, Record
from oracleagentmemory.apis.validation import check_text
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.storage.attached import WithBytes, with_attached
from oracleagentmemory.storage.filters import metadata_matches, parse_filter
from oracleagentmemory.storage.fingerprints import fingerprint
from oracleagentmemory.storage.kinds import (
    IMAGE,
    MEMORY,
    MESSAGE,
    PROFILE,
    SUMMARY,
    THREAD,
    Kind,
    can_exist,
    kind_of,
)
from oracleagentmemory.storage.rows import to_record
from oracleagentmemory.storage.statements import (
    bind,
    columns_of,
    not_expired,
    padded_lists,
    visible,
)
from oracleagentmemory.storage.store.base import StoreParts

logger = logging.getLogger(__name__)

MAX_LIST_LIMIT = 10_000
#: What both databases take as a number of rows.
LARGEST_LIMIT = 2**31 - 1


class Reading(StoreParts):
    """`get`, `list` and what the client and the thread read beside."""

    def get(
        self,
        record_type: str,
        record_id: str,
        include_bytes: bool | _NotSetMarker = NOT_SET_MARKER,
    ) -> Record | None:
        """Return a record, None when there is none of that type and id or it has expired.

        Args:
            include_bytes: Whether an image, or the images of a message, come with their bytes.
        """
        kind, with_bytes = kind_of(record_type), include_bytes is True
        if not can_exist(record_id):
            return None
        with self.engine.read() as connection:
            row = self._select_row(connection, kind, record_type, record_id, with_bytes=with_bytes)
            if row is not None and kind is MESSAGE:
                return self._message_records(connection, [row], with_bytes)[0]
        return None if row is None else to_record(kind, row)

    def messages(
        self,
        message_ids: Sequence[str],
        include_image_bytes: bool | Collection[str] = False,
    ) -> builtins.list[MessageRecord]:
        """Return messages in the order of their ids, without those that are not there or expired.

        Args:
            include_image_bytes: Whether their images come with their bytes; or the ids of those
                images that do.
        """
        ids = [one for one in message_ids if can_exist(one)]
        rows: builtins.list[Any] = []
        with self.engine.read() as connection:
            for part in padded_lists(ids):
                statement = self.statements.select_many(MESSAGE)
                rows += connection.execute(statement, {"ids": part}).all()
            records = self._message_records(connection, rows, include_image_bytes)
        by_id = {record.id: record for record in records}
        return [by_id[one] for one in ids if one in by_id]

    def _message_records(
        self, connection: sa.Connection, rows: Sequence[Any], with_bytes: WithBytes = False
    ) -> builtins.list[MessageRecord]:
        """Return the messages of rows that hold all columns, with their image parts."""
        found = [(cast(MessageRecord, to_record(MESSAGE, row)), row.content) for row in rows]
        return with_attached(connection, self.tables, found, with_bytes)

    def get_memory(self, memory_id: str) -> MemoryRecord | None:
        """Return the memory of any of the four types, None when there is none."""
        if not can_exist(memory_id):
            return None
        with self.engine.read() as connection:
            row = connection.execute(
                self.statements.select_many(MEMORY), {"ids": [memory_id]}
            ).first()
        return None if row is None else cast(MemoryRecord, to_record(MEMORY, row))

    def fingerprint(self, record_type: str, record_id: str) -> str | None:
        """Return the fingerprint of a record as `if_fingerprint=` takes it; None without one."""
        kind = kind_of(record_type)
        if not can_exist(record_id):
            return None
        with self.engine.read() as connection:
            row = self._select_row(connection, kind, record_type, record_id, with_bytes=False)
            if row is None:
                return None
            return fingerprint(kind.name, self._hashed(connection, kind, row))

    def _select_row(
        self,
        connection: sa.Connection,
        kind: Kind,
        record_type: str,
        record_id: str,
        *,
        with_bytes: bool,
    ) -> Any:
        parameters: dict[str, Any] = {"id": record_id}
        if kind.type_column is not None:
            parameters["type"] = kind.stored_type(record_type)
        statement = self.statements.select_one(kind, with_bytes=with_bytes)
        return connection.execute(statement, parameters).first()

    def list(
        self,
        record_type: str,
        limit: int | _NotSetMarker | None = NOT_SET_MARKER,
        thread_id: str | _NotSetMarker | None = NOT_SET_MARKER,
        user_id: str | _NotSetMarker | None = NOT_SET_MARKER,
        agent_id: str | _NotSetMarker | None = NOT_SET_MARKER,
        metadata_filter: MetadataFilter | _NotSetMarker = NOT_SET_MARKER,
        include_bytes: bool | _NotSetMarker = NOT_SET_MARKER,
        record_id: str | _NotSetMarker = NOT_SET_MARKER,
    ) -> builtins.list[Record]:
        """Return the newest `limit` records of a type, oldest first.

        Args:
            record_type: The type.
            limit: At most so many, 10,000 when omitted; None returns all.
            thread_id: Only records of this thread; None: only those of no thread.
            user_id: Likewise; profiles ignore the three.
            agent_id: Likewise.
            metadata_filter: Only records that fulfil it; None: only those without metadata.
            include_bytes: Whether images come with their bytes, also those of messages; for images
                themselves it needs `record_id` and a user, agent or thread.
            record_id: Only this record; applied before `limit`.

        Raises:
            InvalidInputError: If `record_type` is `thread` and `thread_id` is given, the filter
                is none, or bytes are asked for without record and scope.
        """
        kind = kind_of(record_type)
        with_bytes = include_bytes is True
        if with_bytes and kind is IMAGE:
            _check_bytes_asked(record_id, (thread_id, user_id, agent_id))
        return self._list(
            kind,
            (record_type,),
            limit,
            {"thread_id": thread_id, "user_id": user_id, "agent_id": agent_id},
            metadata_filter,
            record_id,
            with_bytes=with_bytes,
        )

    def list_memories(
        self,
        limit: int | _NotSetMarker | None = NOT_SET_MARKER,
        thread_id: str | _NotSetMarker | None = NOT_SET_MARKER,
        user_id: str | _NotSetMarker | None = NOT_SET_MARKER,
        agent_id: str | _NotSetMarker | None = NOT_SET_MARKER,
        metadata_filter: MetadataFilter | _NotSetMarker = NOT_SET_MARKER,
        record_id: str | _NotSetMarker = NOT_SET_MARKER,
    ) -> builtins.list[MemoryRecord]:
        """Return the newest memories of all four types, oldest first; arguments as in `list`."""
        scope = {"thread_id": thread_id, "user_id": user_id, "agent_id": agent_id}
        found = self._list(MEMORY, MEMORY.types, limit, scope, metadata_filter, record_id)
        return cast("builtins.list[MemoryRecord]", found)

    def _list(
        self,
        kind: Kind,
        record_types: Sequence[str],
        limit: Any,
        scope: Mapping[str, Any],
        metadata_filter: Any,
        record_id: Any,
        *,
        with_bytes: bool = False,
    ) -> builtins.list[Record]:
        if kind is THREAD and scope["thread_id"] is not NOT_SET_MARKER:
            raise InvalidInputError("select one thread by record_id, not by thread_id")
        condition = None
        if not isinstance(metadata_filter, _NotSetMarker):
            column = kind.table(self.tables).c.metadata
            condition = metadata_matches(column, parse_filter(metadata_filter))
        most = self._limit(limit)
        given = {} if kind is PROFILE else _given(scope)
        if not isinstance(record_id, _NotSetMarker):
            given[kind.key] = record_id
        findable = all(value is None or can_exist(value) for value in given.values())
        if not findable or (most is not None and most <= 0):
            return []
        all_types = len(record_types) == len(kind.types)
        nulls = tuple((name, value is None) for name, value in given.items())
        shape = (kind, all_types, nulls, with_bytes)
        limited = most is not None
        statement = self._built((shape, limited), lambda: self._build_list(shape, limited))
        if condition is not None:
            statement = statement.where(condition)
        parameters = {name: value for name, value in given.items() if value is not None}
        parameters |= {"most": most} if most is not None else {}
        parameters |= {} if all_types else {"type": kind.stored_type(record_types[0])}
        with self.engine.read() as connection:
            rows = connection.execute(statement, parameters).all()
            if kind is MESSAGE:
                messages = self._message_records(connection, rows[::-1], with_bytes)
                return cast("builtins.list[Record]", messages)
        return [to_record(kind, row) for row in reversed(rows)]

    def _limit(self, limit: Any) -> int | None:
        if isinstance(limit, _NotSetMarker):
            logger.warning("no limit given: at most %d records are listed", MAX_LIST_LIMIT)
            return MAX_LIST_LIMIT
        if limit is None:
            return None
        return _row_number(limit, "limit")

    def _build_list(self, shape: Any, limited: bool) -> sa.Select[Any]:
        kind, all_types, given, with_bytes = shape
        table = kind.table(self.tables)
        conditions: builtins.list[ColumnElement[bool]] = []
        if not all_types:
            column = table.c[kind.type_column]
            conditions.append(column == bind("type", column))
        for name, is_null in given:
            column = table.c[name]
            conditions.append(column.is_(None) if is_null else column == bind(name, column))
        if kind.expires:
            conditions.append(visible(kind, self.tables))
        order = [table.c[kind.order].desc()]
        if kind in (THREAD, SUMMARY):
            order.append(table.c.record_id.desc())
        columns = columns_of(kind, table, with_bytes=with_bytes)
        statement = sa.select(*columns).where(*conditions).order_by(*order)
        most = sa.bindparam("most", type_=sa.Integer())
        return statement.limit(most) if limited else statement

    def list_thread_messages(
        self,
        thread_id: str,
        last_n: int | None = None,
        range_start_seq_no: int | None = None,
        range_end_seq_no: int | None = None,
        include_bytes: bool | _NotSetMarker = NOT_SET_MARKER,
    ) -> builtins.list[MessageRecord]:
        """Return messages of a thread in order.

        Args:
            thread_id: The thread; an unknown one has no messages.
            last_n: Only the newest so many of the range.
            range_start_seq_no: Only messages whose `seq_no` is at least this.
            range_end_seq_no: Only messages whose `seq_no` is less than this.
            include_bytes: Whether their images come with their bytes.
        """
        if last_n is not None and _row_number(last_n, "last_n") <= 0:
            return []
        given = {
            "least": (range_start_seq_no, "range_start_seq_no"),
            "end": (range_end_seq_no, "range_end_seq_no"),
            "most": (last_n, "last_n"),
        }
        parameters = {
            name: _row_number(value, argument)
            for name, (value, argument) in given.items()
            if value is not None
        }
        names = frozenset(parameters)
        statement = self._built(("messages", names), lambda: self._build_messages(names))
        with_bytes = include_bytes is True
        return self._read_messages(statement, thread_id, parameters, with_bytes)[::-1]

    def _build_messages(self, names: frozenset[str]) -> sa.Select[Any]:
        """Select the messages of a thread, newest first."""
        seq = self.tables.message.c.order_seq
        statement = self._of_thread(sa.select(self.tables.message)).order_by(seq.desc())
        if "least" in names:
            statement = statement.where(seq >= bind("least", seq))
        if "end" in names:
            statement = statement.where(seq < bind("end", seq))
        if "most" in names:
            statement = statement.limit(sa.bindparam("most", type_=sa.Integer()))
        return statement

    def thread_window(
        self, thread_id: str, start: int, end: int | None, *, include_bytes: bool = False
    ) -> builtins.list[MessageRecord]:
        """Return the visible messages of a thread from position `start` to before `end`.

        Args:
            thread_id: The thread; an unknown one has no messages.
            start: First position, counted from 0.
            end: Position after the last, None for all.
            include_bytes: Whether their images come with their bytes.
        """
        if end is not None and end <= start:
            return []
        # SQLite knows OFFSET only after a LIMIT.
        most = LARGEST_LIMIT if end is None else min(end - start, LARGEST_LIMIT)
        start = max(0, min(start, LARGEST_LIMIT))
        statement = self._built("thread_window", self._build_window)
        limits = {"skip": start, "most": most}
        return self._read_messages(statement, thread_id, limits, include_bytes)

    def _build_window(self) -> sa.Select[Any]:
        statement = self._of_thread(sa.select(self.tables.message))
        return (
            statement.order_by(self.tables.message.c.order_seq)
            .limit(sa.bindparam("most", type_=sa.Integer()))
            .offset(sa.bindparam("skip", type_=sa.Integer()))
        )

    def count_thread_messages(self, thread_id: str) -> int:
        """Return how many visible messages a thread has."""
        count = sa.select(sa.func.count()).select_from(self.tables.message)
        statement = self._built("count_thread_messages", lambda: self._of_thread(count))
        if not can_exist(thread_id):
            return 0
        with self.engine.read() as connection:
            return int(connection.execute(statement, {"thread_id": thread_id}).scalar_one())

    def _of_thread(self, statement: sa.Select[Any]) -> sa.Select[Any]:
        table = self.tables.message
        same = table.c.thread_id == bind("thread_id", table.c.thread_id)
        return statement.where(same, not_expired(table))

    def _read_messages(
        self,
        statement: sa.Select[Any],
        thread_id: str,
        parameters: dict[str, Any],
        with_bytes: bool,
    ) -> builtins.list[MessageRecord]:
        if not can_exist(thread_id):
            return []
        with self.engine.read() as connection:
            rows = connection.execute(statement, {**parameters, "thread_id": thread_id}).all()
            return self._message_records(connection, rows, with_bytes)


def _check_bytes_asked(record_id: Any, scope: Sequence[Any]) -> None:
    """Refuse to load the bytes of more than one image, or of one whose owner is not named."""
    if isinstance(record_id, _NotSetMarker) or not any(isinstance(one, str) for one in scope):
        raise InvalidInputError(
            "image bytes are listed for one image of a known owner: give its record_id and its "
            "thread_id, user_id or agent_id"
        )


def _given(scope: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in scope.items() if not isinstance(value, _NotSetMarker)}
    for name, value in given.items():
        if value is not None:
            check_text(value, name)
    return given


def _row_number(value: Any, name: str) -> int:
    """Return a number of rows or of a row, no larger than databases take."""
    try:
        return min(int(value), LARGEST_LIMIT)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"{name} must be a whole number, not {value!r:.80}") from None
