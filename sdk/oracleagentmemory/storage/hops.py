"""Following relations from memories that were found: one statement a hop, both ways.

Every memory on the way has to be one that the search may find, so that a path shows nothing of
another scope. A memory is attached once to each result, where the fewest hops lead to it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from oracleagentmemory._notset import _NotSetMarker
from oracleagentmemory.apis.records import Record
from oracleagentmemory.apis.relations import RecordRelation
from oracleagentmemory.errors import WaitTimeoutError
from oracleagentmemory.storage.filters import metadata_matches
from oracleagentmemory.storage.kinds import MEMORY
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.relations import relation_of
from oracleagentmemory.storage.retrieval import SearchRequest
from oracleagentmemory.storage.rows import RECORD_COLUMNS, to_record
from oracleagentmemory.storage.statements import bind, in_lists, not_expired

R = TypeVar("R", bound=Record)


class _Step(NamedTuple):
    """A relation and the memory that it leads to, from the memory `near_id`."""

    near_id: str
    relation: RecordRelation
    record: Record


@dataclass
class _Tree:
    """What has been attached to one result so far."""

    edge: list[str]
    seen: set[str]
    steps: dict[str, list[_Step]] = field(default_factory=dict)

    def grow(self, steps: Mapping[str, list[_Step]], most: int) -> None:
        """Attach what the newest memories lead to, at most so many memories in all."""
        edge, self.edge = self.edge, []
        for near_id in edge:
            for step in steps.get(near_id, ()):
                if step.record.id not in self.seen and len(self.seen) <= most:
                    self.seen.add(step.record.id)
                    self.edge.append(step.record.id)
                    self.steps.setdefault(near_id, []).append(step)

    def attached(self, record: R) -> R:
        """Return a record with its relations and what stands at their other ends."""
        steps = self.steps.get(record.id, ())
        linked = tuple((one.relation, self.attached(one.record)) for one in steps)
        return replace(record, linked_results=linked) if linked else record


class Hops:
    """Follows relations for one search.

    Args:
        seconds: After so long it gives up.
    """

    def __init__(
        self,
        connection: sa.Connection,
        tables: ManagedTables,
        request: SearchRequest,
        seconds: float,
    ) -> None:
        self._connection = connection
        self._statement, self._parameters = _statement(tables, request)
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def follow(self, roots: Sequence[Record], num_hops: int, most: int) -> list[Record]:
        """Return memories with at most `most` related ones each.

        Raises:
            WaitTimeoutError: If it takes too long.
        """
        trees = [_Tree([root.id], {root.id}) for root in roots]
        known = {root.id: root for root in roots}
        for _ in range(num_hops):
            ids = sorted({one for tree in trees for one in tree.edge if len(tree.seen) <= most})
            if not ids:
                break
            steps: dict[str, list[_Step]] = {}
            for step in self._steps(ids, known):
                steps.setdefault(step.near_id, []).append(step)
            for tree in trees:
                tree.grow(steps, most)
            for found in steps.values():
                known |= {step.record.id: step.record for step in found}
        return [tree.attached(root) for tree, root in zip(trees, roots, strict=True)]

    def _steps(self, ids: Sequence[str], known: Mapping[str, Record]) -> Iterator[_Step]:
        for part in in_lists(ids):
            with self._connection.execute(
                self._statement, {**self._parameters, "ids": part}
            ) as rows:
                for row in rows:
                    self._check_time()
                    yield _step(row, known[row.near_id].record_type)
        self._check_time()

    def _check_time(self) -> None:
        if time.monotonic() >= self._end:
            raise WaitTimeoutError(
                f"following relations took more than {self._seconds:g} seconds; "
                "ask for fewer num_hops, or search in a narrower scope"
            )


def _step(row: Any, near_type: str) -> _Step:
    record = to_record(MEMORY, row)
    ends = (near_type, row.memory_type)
    source_type, target_type = ends if row.link_source_memory_id == row.near_id else ends[::-1]
    relation = relation_of(row._mapping, source_type, target_type, prefix="link_")
    return _Step(row.near_id, relation, record)


def _statement(
    tables: ManagedTables, request: SearchRequest
) -> tuple[sa.Select[Any], dict[str, Any]]:
    """Select what relations lead to from the memories `:ids`, in the order of their making."""
    link, memory = tables.memory_link, tables.memory
    source, target = link.c.source_memory_id, link.c.target_memory_id

    def ends(near: sa.Column[Any], far: sa.Column[Any]) -> sa.Select[Any]:
        among = near.in_(bind("ids", near, expanding=True))
        key = link.c.relation_id.label("link_id")
        return sa.select(key, near.label("near_id"), far.label("far_id")).where(among)

    edge = sa.union_all(ends(source, target), ends(target, source)).subquery("edge")
    conditions, parameters = _findable(memory, request)
    statement = (
        sa.select(
            edge.c.near_id,
            *(column.label(f"link_{column.name}") for column in link.c),
            *(memory.c[name] for name in RECORD_COLUMNS[MEMORY.name]),
        )
        .where(
            link.c.relation_id == edge.c.link_id,
            memory.c.record_id == edge.c.far_id,
            *conditions,
        )
        .order_by(link.c.created_at, link.c.relation_id)
    )
    return statement, parameters


def _findable(
    memory: sa.Table, request: SearchRequest
) -> tuple[list[sa.ColumnElement[bool]], dict[str, Any]]:
    """Return the conditions of the request, and their parameters."""
    conditions: list[sa.ColumnElement[bool]] = [not_expired(memory)]
    parameters: dict[str, Any] = {}
    for name in ("user_id", "agent_id", "thread_id"):
        value, column = getattr(request, name), memory.c[name]
        if isinstance(value, _NotSetMarker):
            continue
        # Out of reach of its index: SQLite would start from all memories of the user, for each
        # of many ids, instead of from the relations.
        own = sa.func.coalesce(column, column)
        conditions.append(own.is_(None) if value is None else own == bind(name, column))
        parameters |= {} if value is None else {name: value}
    if request.record_types is not None:
        wanted = request.record_types.intersection(MEMORY.types)
        conditions.append(memory.c.memory_type.in_(sorted(wanted)))
    if not request.include_invalid:
        conditions.append(memory.c.status != "invalid")
    if request.filter is not None:
        conditions.append(metadata_matches(memory.c.metadata, request.filter))
    return conditions, parameters
