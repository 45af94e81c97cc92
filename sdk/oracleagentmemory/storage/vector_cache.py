"""Each user's vectors as a matrix in memory, brought up to date before every search.

The newest number in `x_change` is a scope's version: when it has moved, whoever wrote, the changed
records alone are read again. A scope is read anew only after a change of the scope as a whole.
"""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict
from dataclasses import dataclass, field

import sqlalchemy as sa

from oracleagentmemory.storage.vector_block import Block
from oracleagentmemory.storage.vector_reads import ScopeVersion, VectorReads

__all__ = ["DEFAULT_BUDGET_BYTES", "VectorCache"]

#: Memory that one process may keep for vectors unless it is told otherwise.
DEFAULT_BUDGET_BYTES = 256 * 2**20
#: Memory beside its vector that a chunk takes, for telling whether a scope fits.
_ROW_BYTES = 512
#: What a scope takes beside its rows, so that a million empty scopes do not fit either.
_SCOPE_BYTES = 8_192
#: Changes worth following one by one in a small scope; in a large one, a quarter of its size.
_FEW_CHANGES = 1_000


@dataclass(frozen=True, slots=True)
class _State:
    version: ScopeVersion
    block: Block

    @property
    def byte_count(self) -> int:
        return self.block.byte_count + _SCOPE_BYTES


@dataclass(eq=False)
class _Scope:
    """One kept scope: its present state is replaced, never altered, so readers take no lock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    state: _State | None = None
    byte_count: int = 0


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a search asks for, and the version its connection saw."""

    connection: sa.Connection
    user_id: str | None
    version: ScopeVersion
    dimension: int


class VectorCache:
    """Keeps the blocks of the scopes searched last, within a budget of memory. Thread-safe.

    Args:
        reads: The store's statements.
        budget_bytes: For this process. Divide a machine's budget by its processes.
    """

    def __init__(self, reads: VectorReads, *, budget_bytes: int = DEFAULT_BUDGET_BYTES) -> None:
        self._reads = reads
        self._budget_bytes = budget_bytes
        self._lock = threading.Lock()
        self._scopes: OrderedDict[str | None, _Scope] = OrderedDict()
        self._byte_count = 0

    @property
    def budget_bytes(self) -> int:
        """How much memory the kept scopes may take together."""
        return self._budget_bytes

    @budget_bytes.setter
    def budget_bytes(self, value: int) -> None:
        with self._lock:
            self._budget_bytes = value
            self._evict()

    @property
    def byte_count(self) -> int:
        """How much memory the kept scopes take."""
        return self._byte_count

    def version(self, connection: sa.Connection, user_id: str | None) -> ScopeVersion:
        """Return the present version of a user's scope, for `block`."""
        return self._reads.version(connection, user_id)

    def block(
        self,
        connection: sa.Connection,
        user_id: str | None,
        *,
        dimension: int,
        version: ScopeVersion | None = None,
    ) -> Block | None:
        """Return the chunks of a user's scope as the connection sees them now.

        Inside a caller's transaction the block may hold rows that are rolled back later: it is
        then made for this call alone.

        Args:
            user_id: The scope; None for records of no user.
            dimension: Numbers per vector, for telling a scope's size before reading it.
            version: What `version` returned on this connection a moment ago.

        Returns:
            None when the scope is too big to keep: read it as a stream.
        """
        with self._lock:
            scope = self._scopes.get(user_id)
            if scope is not None:
                self._scopes.move_to_end(user_id)
        state = None if scope is None else scope.state
        # The version is read before the rows: a change in between is applied a second time.
        version = version or self._reads.version(connection, user_id)
        if state is not None and state.version == version:
            return state.block
        asked = _Asked(connection, user_id, version, dimension)
        if _in_transaction(connection):
            fresh = self._fresh(asked, state, private=True)
        else:
            fresh = self._published(asked, state)
        return None if fresh is None else fresh.block

    def _published(self, asked: _Asked, seen: _State | None) -> _State | None:
        user_id = asked.user_id
        with self._lock:
            scope = self._scopes.setdefault(user_id, _Scope())
        with scope.lock:
            state, fresh = scope.state, None
            if state is not seen:
                # Another thread was here first, and may have seen more than this one.
                version = self._reads.version(asked.connection, user_id)
                asked = dataclasses.replace(asked, version=version)
            try:
                fresh = self._fresh(asked, state, private=False)
            finally:
                # Also after an error, which may have left the old block's arrays half written.
                scope.state = fresh
                with self._lock:
                    self._account(user_id, scope, fresh)
        return fresh

    def _account(self, user_id: str | None, scope: _Scope, fresh: _State | None) -> None:
        if self._scopes.get(user_id) is not scope:
            return  # evicted while it was read: whoever holds its block may finish
        self._byte_count -= scope.byte_count
        scope.byte_count = 0 if fresh is None else fresh.byte_count
        self._byte_count += scope.byte_count
        if fresh is None:
            del self._scopes[user_id]
        self._evict()

    def _evict(self) -> None:
        while self._byte_count > self._budget_bytes:
            _, scope = self._scopes.popitem(last=False)
            self._byte_count -= scope.byte_count

    def _fresh(self, asked: _Asked, state: _State | None, *, private: bool) -> _State | None:
        connection, user_id, version = asked.connection, asked.user_id, asked.version
        if state is not None and state.version == version:
            return state
        if state is not None and state.version.incarnation == version.incarnation:
            followed = self._followed(asked, state, private=private)
            if followed is not None:
                return followed
        rows = self._reads.size(connection, user_id)
        if rows * (4 * asked.dimension + _ROW_BYTES) > self._budget_bytes:
            return None
        return _State(version, Block.build(self._reads.scope(connection, user_id)))

    def _followed(self, asked: _Asked, state: _State, *, private: bool) -> _State | None:
        block, since = state.block, state.version.change_id
        if not block.count:
            return None
        most = max(_FEW_CHANGES, block.alive_count // 4)
        changes = self._reads.changed_records(asked.connection, asked.user_id, since, most)
        if changes is None:
            return None
        newest, record_ids = changes
        chunks = self._reads.records(asked.connection, asked.user_id, record_ids)
        dead_count = block.count - block.alive_count
        if private or dead_count > max(_FEW_CHANGES, block.alive_count):
            block = block.copied()
        block = block.replaced(record_ids, chunks)
        return _State(ScopeVersion(asked.version.incarnation, newest), block)


def _in_transaction(connection: sa.Connection) -> bool:
    """Say whether the connection sees rows that may be rolled back."""
    raw = connection.connection.driver_connection
    return raw is not None and bool(raw.in_transaction)
