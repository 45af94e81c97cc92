"""The chunks of a scope as one matrix with the columns that searches filter by.

A block never changes what it shows: bringing it up to date gives another block. Both share their
arrays, since the new one only writes behind the rows that the old one shows.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from oracleagentmemory.storage.turns import Turns

__all__ = ["NEVER", "Block", "ChunkRow", "add_token_counts"]

T = TypeVar("T", bound=Hashable)

#: The expiry, in microseconds since 1970, of what does not expire.
NEVER = np.iinfo(np.int64).max
#: Memory for a row beside its arrays: its id, its place in the lists, the tokens' wrapper, and its
#: numbers in `turns`.
_ROW_OVERHEAD_BYTES = 360


class ChunkRow(NamedTuple):
    """One chunk as the database has it.

    Attributes:
        expires_at: Microseconds since 1970.
        vector: Little-endian float32 of length one (or zero), as the store writes them.
        order: Of a message in a thread, its number in the order of creation; else 0.
    """

    record_type: str
    record_id: str
    agent_id: str | None
    thread_id: str | None
    invalid: bool
    expires_at: int
    vector: bytes
    tokens: bytes | None
    order: int = 0


class Codes(Generic[T]):
    """Small numbers for repeated values, so that a filter is one comparison of arrays."""

    def __init__(self) -> None:
        self.values: list[T] = []
        self._numbers: dict[T, int] = {}

    def numbers(self, values: Sequence[T]) -> list[int]:
        """Return the numbers of values, new ones for those met first."""
        for value in dict.fromkeys(values):
            if value not in self._numbers:
                self._numbers[value] = len(self.values)
                self.values.append(value)
        return [self._numbers[value] for value in values]

    def find(self, value: T) -> int:
        """Return the number of a value, -1 when no row has it."""
        return self._numbers.get(value, -1)


class _Columns:
    """Growing arrays, one place a chunk, and what is looked up by record."""

    ARRAYS = ("vectors", "types", "agents", "threads", "invalid", "expires_at", "orders")

    def __init__(self, dimension: int, capacity: int) -> None:
        self.vectors = np.empty((capacity, dimension), np.float32)
        self.types = np.empty(capacity, np.int16)
        self.agents = np.empty(capacity, np.int32)
        self.threads = np.empty(capacity, np.int32)
        self.invalid = np.empty(capacity, np.bool_)
        self.expires_at = np.empty(capacity, np.int64)
        self.orders = np.empty(capacity, np.int64)
        self.record_ids: list[str] = []
        self.tokens: list[bytes | None] = []
        self.token_bytes = 0
        self.rows_of: dict[str, list[int]] = {}
        self.type_codes: Codes[str] = Codes()
        self.agent_codes: Codes[str | None] = Codes()
        self.thread_codes: Codes[str | None] = Codes()

    def reserve(self, rows: int) -> None:
        if rows <= len(self.types):
            return
        for name in self.ARRAYS:
            old = getattr(self, name)
            new = np.empty((rows + rows // 2, *old.shape[1:]), old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)

    def append(self, chunks: Sequence[ChunkRow]) -> None:
        if not chunks:
            return
        start = len(self.record_ids)
        end = start + len(chunks)
        self.reserve(end)
        vectors = np.frombuffer(b"".join(chunk.vector for chunk in chunks), "<f4")
        self.vectors[start:end] = vectors.reshape(len(chunks), -1)
        self.types[start:end] = self.type_codes.numbers([c.record_type for c in chunks])
        self.agents[start:end] = self.agent_codes.numbers([c.agent_id for c in chunks])
        self.threads[start:end] = self.thread_codes.numbers([c.thread_id for c in chunks])
        self.invalid[start:end] = [chunk.invalid for chunk in chunks]
        self.expires_at[start:end] = [chunk.expires_at for chunk in chunks]
        self.orders[start:end] = [chunk.order for chunk in chunks]
        self.record_ids.extend(chunk.record_id for chunk in chunks)
        self.tokens.extend(chunk.tokens for chunk in chunks)
        self.token_bytes += sum(len(chunk.tokens) for chunk in chunks if chunk.tokens)
        for row, chunk in enumerate(chunks, start):
            self.rows_of.setdefault(chunk.record_id, []).append(row)

    @property
    def byte_count(self) -> int:
        arrays = sum(int(getattr(self, name).nbytes) for name in self.ARRAYS)
        return arrays + self.token_bytes + len(self.record_ids) * _ROW_OVERHEAD_BYTES


def add_token_counts(
    frequencies: NDArray[np.int64], tokens: Iterable[bytes | None], sign: int = 1
) -> NDArray[np.int64]:
    """Return new frequencies that count these chunks' tokens too (or, by sign -1, no more)."""
    counts = np.bincount(np.frombuffer(b"".join(one for one in tokens if one), "<u4"))
    total = np.zeros(max(frequencies.size, counts.size), np.int64)
    total[: frequencies.size] = frequencies
    total[: counts.size] += sign * counts
    return total


@dataclass(frozen=True, eq=False)
class Block:
    """What one search sees of a scope.

    Attributes:
        columns: Arrays of at least `count` places; later places belong to later blocks.
        count: How many places this block shows.
        alive: Which of them hold the present chunks of their record; None means all.
        alive_count: How many do.
        frequencies: By token id, in how many present chunks the token stands.
    """

    columns: _Columns
    count: int
    alive: NDArray[np.bool_] | None
    alive_count: int
    frequencies: NDArray[np.int64]

    @classmethod
    def build(cls, chunks: Sequence[ChunkRow]) -> Block:
        """Return a block of these chunks, with some room behind them."""
        dimension = len(chunks[0].vector) // 4 if chunks else 0
        columns = _Columns(dimension, len(chunks) + len(chunks) // 8)
        columns.append(chunks)
        frequencies = add_token_counts(np.zeros(0, np.int64), columns.tokens)
        return cls(columns, len(chunks), None, len(chunks), frequencies)

    def replaced(self, record_ids: Collection[str], chunks: Sequence[ChunkRow]) -> Block:
        """Return a block where these chunks are all that the records have.

        Only the newest block of its arrays may be asked, by one thread at a time.
        """
        columns, count = self.columns, self.count
        gone = [row for record_id in record_ids for row in columns.rows_of.pop(record_id, ())]
        columns.append(chunks)
        new_count = count + len(chunks)
        alive = self.alive
        if gone or alive is not None:
            alive = np.ones(new_count, np.bool_)
            if self.alive is not None:
                alive[:count] = self.alive
            alive[gone] = False
        frequencies = self.frequencies
        if gone:
            frequencies = add_token_counts(frequencies, (columns.tokens[row] for row in gone), -1)
        if chunks:
            frequencies = add_token_counts(frequencies, columns.tokens[count:])
        alive_count = self.alive_count - len(gone) + len(chunks)
        return Block(columns, new_count, alive, alive_count, frequencies)

    def copied(self) -> Block:
        """Return an equal block with arrays of its own and no dead places."""
        rows = np.arange(self.count) if self.alive is None else np.flatnonzero(self.alive)
        old = self.columns
        new = _Columns(old.vectors.shape[1], len(rows) + len(rows) // 8)
        for name in _Columns.ARRAYS:
            getattr(new, name)[: len(rows)] = getattr(old, name)[rows]
        for place, row in enumerate(rows.tolist()):
            record_id = old.record_ids[row]
            new.record_ids.append(record_id)
            new.tokens.append(old.tokens[row])
            new.token_bytes += len(old.tokens[row] or b"")
            new.rows_of.setdefault(record_id, []).append(place)
        for codes in ("type_codes", "agent_codes", "thread_codes"):
            getattr(new, codes).numbers(getattr(old, codes).values)
        return dataclasses.replace(self, columns=new, count=len(rows), alive=None)

    @property
    def vectors(self) -> NDArray[np.float32]:
        """The matrix, shape `(count, D)`, of unit (or zero) rows."""
        return self.columns.vectors[: self.count]

    @property
    def byte_count(self) -> int:
        """About how much memory the block keeps in use."""
        return self.columns.byte_count + self.frequencies.nbytes

    @functools.cached_property
    def first_expiry(self) -> int:
        """When the first of the chunks expires, in microseconds since 1970."""
        return int(self.columns.expires_at[: self.count].min()) if self.count else NEVER

    @functools.cached_property
    def turns(self) -> Turns:
        """The block's messages in the order of their threads."""
        columns, count = self.columns, self.count
        return Turns.of(columns.orders[:count], columns.threads[:count], self.alive)

    def message_row(self, record_id: str) -> int | None:
        """Return a row of a message that stands in a thread, None when the block has none."""
        rows = self.columns.rows_of.get(record_id, ())
        return next((row for row in rows if row < self.count and self.columns.orders[row]), None)

    def token_counts(self) -> tuple[NDArray[np.int64], int]:
        """Return in how many chunks each token stands, by token id, and how many chunks are."""
        return self.frequencies, self.alive_count

    def records(self, rows: NDArray[np.intp]) -> list[tuple[str, str]]:
        """Return types and ids of the records that rows belong to."""
        names, ids = self.columns.type_codes.values, self.columns.record_ids
        types = self.columns.types[rows].tolist()
        return [(names[code], ids[row]) for code, row in zip(types, rows.tolist(), strict=True)]

    def mask(
        self,
        *,
        now: int,
        scope: Mapping[str, str | None],
        record_types: Collection[str] | None,
        include_invalid: bool,
    ) -> NDArray[np.bool_] | None:
        """Return which rows a search may find, None when all.

        Args:
            now: Microseconds since 1970; what has expired by then is left out.
            scope: The exact `agent_id` and `thread_id`, where the search names them.
            record_types: The types it asks for; None asks for all.
            include_invalid: Whether invalid records are wanted.
        """
        columns, count = self.columns, self.count
        parts: list[NDArray[Any]] = [] if self.alive is None else [self.alive]
        if self.first_expiry <= now:
            parts.append(columns.expires_at[:count] > now)
        if "agent_id" in scope:
            parts.append(columns.agents[:count] == columns.agent_codes.find(scope["agent_id"]))
        if "thread_id" in scope:
            parts.append(columns.threads[:count] == columns.thread_codes.find(scope["thread_id"]))
        if record_types is not None:
            wanted = [columns.type_codes.find(record_type) for record_type in record_types]
            if len(wanted) < len(columns.type_codes.values) or -1 in wanted:
                parts.append(np.isin(columns.types[:count], wanted))
        if not include_invalid and columns.invalid[:count].any():
            parts.append(~columns.invalid[:count])
        if not parts:
            return None
        mask: NDArray[np.bool_] = np.logical_and.reduce(parts) if len(parts) > 1 else parts[0]
        return mask
