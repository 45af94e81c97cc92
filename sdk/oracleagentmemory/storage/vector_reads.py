"""What vector search reads from a SQLite store: chunks of a scope, its changes, its version.

Statements are built once per store. Vectors, tokens and times are read as SQLite has them: Core's
result types would cost more than the search itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.sql.elements import ColumnElement

from oracleagentmemory._notset import Maybe, _NotSetMarker
from oracleagentmemory.storage.constructs import unindexed
from oracleagentmemory.storage.extras import ExtraTables, scope_key
from oracleagentmemory.storage.filters import Filter, metadata_matches
from oracleagentmemory.storage.kinds import KINDS, Kind, kind_of
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.ready_select import ReadySelect
from oracleagentmemory.storage.vector_block import NEVER, ChunkRow, add_token_counts

__all__ = ["STREAM_ROWS", "ScopeVersion", "VectorReads", "microseconds"]

T = TypeVar("T")
_Key = tuple[str, str]
_Statement = sa.CompoundSelect[Any]

#: Chunks that a search over all users, or over a scope too big to keep, holds at a time.
STREAM_ROWS = 8_192
#: Ids in one statement; SQLite takes 32,766 parameters.
_IDS_AT_A_TIME = 8_192
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RECORD_OPERATIONS = frozenset(("add", "update", "delete"))


def microseconds(time: datetime) -> int:
    """Return a time as whole microseconds since 1970."""
    return (time - _EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class ScopeVersion:
    """Which store it is, and how far the changes of one scope have gone (0: none yet)."""

    incarnation: bytes | None
    change_id: int

    @property
    def name(self) -> str | None:
        """The store's random name in hexadecimal digits."""
        return None if self.incarnation is None else self.incarnation.hex()


def _raw(column: ColumnElement[Any]) -> ColumnElement[Any]:
    return sa.type_coerce(column, sa.types.NullType())


def _slices(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


class VectorReads:
    """The statements of vector search over one store's tables.

    Args:
        store_name: The store's name in the registry, whose row holds its random incarnation.
    """

    def __init__(self, tables: ManagedTables, extras: ExtraTables, store_name: str) -> None:
        self._keys = {kind: kind.table(tables).c[kind.key] for kind in KINDS if kind.text}
        self._metadata = {
            kind: sa.select(_raw(key), key.table.c.metadata).where(_among(key))
            for kind, key in self._keys.items()
        }
        self._build_version(tables, extras, store_name)
        self._build_chunks(tables, extras)
        self._build_expiries()
        self._build_orders(tables)

    def _build_version(self, tables: ManagedTables, extras: ExtraTables, store_name: str) -> None:
        stores, change = tables.stores.c, extras.change.c
        uid = sa.select(_raw(stores.memory_store_uid)).where(
            stores.memory_store_name == sa.literal(store_name, stores.memory_store_name.type)
        )
        of_scope = change.scope_key == sa.bindparam("scope_key")
        newest = sa.select(sa.func.max(_raw(change.change_id))).where(of_scope)
        self._version = ReadySelect(sa.select(uid.scalar_subquery(), newest.scalar_subquery()))
        self._changes = (
            sa.select(_raw(change.change_id), _raw(change.record_id), _raw(change.operation))
            .where(of_scope, change.change_id >= sa.bindparam("since"))
            .order_by(change.change_id)
            .limit(sa.bindparam("most", type_=sa.Integer()))
        )

    def _build_chunks(self, tables: ManagedTables, extras: ExtraTables) -> None:
        chunk, token = tables.record_chunks.c, extras.chunk_token.c
        of_user = chunk.user_id == sa.bindparam("user_id")
        # A profile's chunks carry no scope: its actor is the scope.
        is_user_profile = chunk.source_record_type == "user_profile"
        of_nobody = chunk.user_id.is_(None) & ~is_user_profile
        of_profile = is_user_profile & (chunk.source_id == sa.bindparam("user_id"))
        with_tokens = tables.record_chunks.outerjoin(
            extras.chunk_token, token.chunk_id == chunk.chunk_id
        )
        fields = _chunk_fields(tables)
        embedded = chunk.embedding.is_not(None)
        all_chunks = sa.select(*fields, sa.null()).where(embedded)
        tokens = _raw(token.token_ids)
        with_token_ids = sa.select(*fields, tokens).select_from(with_tokens).where(embedded)
        self._of_user = [with_token_ids.where(of_user), with_token_ids.where(of_profile)]
        self._of_nobody = [with_token_ids.where(of_nobody)]
        # The planner must start at the few ids, not at the user's many chunks.
        records = with_token_ids.where(_among(chunk.source_id))
        same_user = unindexed(chunk.user_id) == sa.bindparam("user_id")
        self._records_of_user = records.where(same_user | of_profile)
        no_user = unindexed(chunk.user_id).is_(None)
        self._records_of_nobody = records.where(no_user & ~is_user_profile)
        self._tokens_of_user = [one.with_only_columns(tokens) for one in self._of_user]
        self._tokens_of_nobody = [one.with_only_columns(tokens) for one in self._of_nobody]
        self._of_all = [all_chunks]
        self._of_thread = [all_chunks.where(chunk.thread_id == sa.bindparam("thread_id"))]
        self._size_of_user = sa.select(sa.func.count()).where(of_user)
        self._size_of_nobody = sa.select(sa.func.count()).where(of_nobody)

    def _build_expiries(self) -> None:
        keys = {kind: key for kind, key in self._keys.items() if kind.expires}

        def expiries(chosen: Callable[[ColumnElement[Any]], ColumnElement[bool]]) -> _Statement:
            return sa.union_all(
                *(
                    sa.select(
                        sa.literal_column(f"'{kind.name}'"), _raw(key), _raw(key.table.c.expires_at)
                    ).where(key.table.c.expires_at.is_not(None), chosen(key))
                    for kind, key in keys.items()
                )
            )

        self._expiries_of_user = expiries(
            lambda key: key.table.c.user_id == sa.bindparam("user_id")
        )
        self._expiries_of_nobody = expiries(lambda key: key.table.c.user_id.is_(None))
        self._expiries_of_ids = expiries(_among)

    def _build_orders(self, tables: ManagedTables) -> None:
        message = tables.message.c
        orders = sa.select(_raw(message.record_id), _raw(message.order_seq)).where(
            message.thread_id.is_not(None)
        )
        self._orders_of_user = orders.where(message.user_id == sa.bindparam("user_id"))
        self._orders_of_nobody = orders.where(message.user_id.is_(None))
        self._orders_of_ids = orders.where(_among(message.record_id))

    def version(self, connection: sa.Connection, user_id: str | None) -> ScopeVersion:
        """Return the present version of a user's scope."""
        rows = self._version.rows(connection, {"scope_key": scope_key(user_id)})
        return ScopeVersion(rows[0][0], rows[0][1] or 0)

    def changed_records(
        self, connection: sa.Connection, user_id: str | None, since: int, most: int
    ) -> tuple[int, set[str]] | None:
        """Return the newest change and the ids of the records changed after change `since`.

        Returns:
            None when the records cannot be told: the scope as a whole changed, more than `most`
            changes were made, or the change `since` is not there (removed, or never was).
        """
        bound = {"scope_key": scope_key(user_id), "since": since, "most": most + 1}
        changes = connection.execute(self._changes, bound).all()
        if not changes or changes[0][0] != since or len(changes) > most:
            return None
        later = changes[1:]
        if any(operation not in _RECORD_OPERATIONS for _, _, operation in later):
            return None
        return changes[-1][0], {record_id for _, record_id, _ in later}

    def size(self, connection: sa.Connection, user_id: str | None) -> int:
        """Return about how many chunks a scope has."""
        statement = self._size_of_nobody if user_id is None else self._size_of_user
        return int(connection.execute(statement, _bound(user_id)).scalar_one())

    def scope(self, connection: sa.Connection, user_id: str | None) -> list[ChunkRow]:
        """Return all chunks of a scope that have a vector."""
        unscoped = user_id is None
        expiries = connection.execute(
            self._expiries_of_nobody if unscoped else self._expiries_of_user, _bound(user_id)
        )
        expires_at = _expiry_map(expiries)
        ordered = self._orders_of_nobody if unscoped else self._orders_of_user
        orders = _order_map(connection.execute(ordered, _bound(user_id)))
        statements = self._of_nobody if unscoped else self._of_user
        chunks: list[ChunkRow] = []
        for statement in statements:
            rows = connection.execute(statement, _bound(user_id)).all()
            chunks += _chunk_rows(rows, expires_at, orders)
        return chunks

    def records(
        self, connection: sa.Connection, user_id: str | None, record_ids: Iterable[str]
    ) -> list[ChunkRow]:
        """Return the chunks of some records of a scope."""
        chunks: list[ChunkRow] = []
        statement = self._records_of_nobody if user_id is None else self._records_of_user
        for ids in _slices(sorted(record_ids), _IDS_AT_A_TIME):
            expires_at, orders = self._expiries(connection, ids), self._orders(connection, ids)
            rows = connection.execute(statement, {**_bound(user_id), "ids": ids})
            chunks += _chunk_rows(rows, expires_at, orders)
        return chunks

    def stream(
        self, connection: sa.Connection, user_id: Maybe[str | None], thread_id: Maybe[str | None]
    ) -> Iterator[list[ChunkRow]]:
        """Yield the chunks of all users, or of one scope, in portions that memory can take.

        Args:
            user_id: The scope; the marker means all.
            thread_id: A hint: chunks of other threads may be left out.
        """
        bound: dict[str, str] = {}
        if not isinstance(user_id, _NotSetMarker):
            statements = self._of_nobody if user_id is None else self._of_user
            bound = _bound(user_id)
        elif isinstance(thread_id, str):
            statements, bound = self._of_thread, {"thread_id": thread_id}
        else:
            statements = self._of_all
        for statement in statements:
            with connection.execute(statement, bound) as result:
                for rows in result.partitions(STREAM_ROWS):
                    ids = sorted({row[1] for row in rows})
                    expires_at = self._expiries(connection, ids)
                    yield _chunk_rows(rows, expires_at, self._orders(connection, ids))

    def frequencies(
        self, connection: sa.Connection, user_id: str | None
    ) -> tuple[NDArray[np.int64], int]:
        """Count the tokens of a scope that is too big to keep.

        Returns:
            By token id, in how many chunks it stands; and the number of chunks.
        """
        frequencies, chunk_count = np.zeros(0, np.int64), 0
        for statement in self._tokens_of_nobody if user_id is None else self._tokens_of_user:
            with connection.execute(statement, _bound(user_id)) as result:
                for rows in result.partitions(STREAM_ROWS):
                    frequencies = add_token_counts(frequencies, (row[0] for row in rows))
                    chunk_count += len(rows)
        return frequencies, chunk_count

    def metadata(
        self, connection: sa.Connection, kind: Kind, record_ids: Sequence[str]
    ) -> dict[str, Any]:
        """Return the metadata of records of one kind, by id."""
        found: dict[str, Any] = {}
        for ids in _slices(record_ids, _IDS_AT_A_TIME):
            rows = connection.execute(self._metadata[kind], {"ids": ids})
            found.update((record_id, metadata) for record_id, metadata in rows)
        return found

    def matching_ids(
        self, connection: sa.Connection, user_id: str | None, filter_: Filter
    ) -> dict[Kind, set[str]]:
        """Return, of the kinds that carry a user, the ids in a scope whose metadata matches."""
        found: dict[Kind, set[str]] = {}
        for kind, key in self._keys.items():
            if "user_id" not in key.table.c:
                continue
            owner = key.table.c.user_id
            scope = owner.is_(None) if user_id is None else owner == sa.bindparam("user_id")
            statement = sa.select(_raw(key)).where(
                scope, metadata_matches(key.table.c.metadata, filter_)
            )
            found[kind] = set(connection.execute(statement, _bound(user_id)).scalars())
        return found

    def _expiries(self, connection: sa.Connection, ids: Sequence[str]) -> Mapping[_Key, int]:
        return _expiry_map(connection.execute(self._expiries_of_ids, {"ids": ids}))

    def _orders(self, connection: sa.Connection, ids: Sequence[str]) -> Mapping[str, int]:
        return _order_map(connection.execute(self._orders_of_ids, {"ids": ids}))


def _chunk_fields(tables: ManagedTables) -> tuple[ColumnElement[Any], ...]:
    """Return the fields of `ChunkRow` but for expiry and tokens, in its order."""
    chunk = tables.record_chunks.c
    agent_id = sa.case(
        (chunk.source_record_type == "agent_profile", _raw(chunk.source_id)),
        else_=_raw(chunk.agent_id),
    )
    return (
        _raw(chunk.source_record_type),
        _raw(chunk.source_id),
        agent_id,
        _raw(chunk.thread_id),
        sa.case((chunk.status == "invalid", 1), else_=0),  # Oracle selects no conditions
        _raw(chunk.embedding),
    )


def _among(column: ColumnElement[Any]) -> ColumnElement[bool]:
    return column.in_(sa.bindparam("ids", expanding=True))


def _bound(user_id: str | None) -> dict[str, str]:
    return {} if user_id is None else {"user_id": user_id}


def _expiry_map(rows: Iterable[Sequence[Any]]) -> Mapping[_Key, int]:
    return {(kind, key): microseconds(datetime.fromisoformat(text)) for kind, key, text in rows}


def _order_map(rows: Iterable[Any]) -> Mapping[str, int]:
    return {record_id: order for record_id, order in rows}  # noqa: C416 - rows are no pairs


def _chunk_rows(
    rows: Iterable[Any], expires_at: Mapping[_Key, int], orders: Mapping[str, int]
) -> list[ChunkRow]:
    return [
        ChunkRow(
            record_type,
            record_id,
            agent_id,
            thread_id,
            bool(invalid),
            expires_at.get((kind_of(record_type).name, record_id), NEVER) if expires_at else NEVER,
            vector,
            tokens,
            orders.get(record_id, 0) if record_type == "message" else 0,
        )
        for record_type, record_id, agent_id, thread_id, invalid, vector, tokens in rows
    ]
