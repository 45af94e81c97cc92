"""Relations between memories."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from oracleagentmemory._notset import NOT_SET_MARKER, _NotSetMarker
from oracleagentmemory.apis.memorystore import MetadataFilter
from oracleagentmemory.apis.records import MetadataValue
from oracleagentmemory.apis.relations import RecordRelation, RelationType
from oracleagentmemory.errors import DuplicateIdError, InvalidInputError, NotFoundError
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.filters import metadata_matches, parse_filter
from oracleagentmemory.storage.fingerprints import row_fingerprint
from oracleagentmemory.storage.kinds import RELATION, can_exist
from oracleagentmemory.storage.lifecycle import LIFECYCLE_REASONS
from oracleagentmemory.storage.relations import (
    RelationDraft,
    checked_ids,
    opposite_label,
    refuse_conflict,
    relation_changes,
    relation_drafts,
    selection,
    to_relation,
)
from oracleagentmemory.storage.statements import in_lists
from oracleagentmemory.storage.store.lifecycle import Lifecycle
from oracleagentmemory.storage.store.reading import Reading
from oracleagentmemory.storage.writes import Prepared, prepared_value


class Relating(Reading, Lifecycle):
    """The relation methods.

    A relation whose type is `supersedes`, `refines` or `duplicates` makes its target invalid as
    long as it exists; what a caller made invalid stays so.
    """

    def add_relations(
        self,
        source_record_ids: str | builtins.list[str],
        source_record_types: str | builtins.list[str],
        target_record_ids: str | builtins.list[str],
        target_record_types: str | builtins.list[str],
        relation_types: RelationType | builtins.list[RelationType],
        opposite_relation_types: RelationType
        | builtins.list[RelationType]
        | _NotSetMarker = NOT_SET_MARKER,
        relation_ids: str | builtins.list[str | None] | _NotSetMarker | None = NOT_SET_MARKER,
        timestamps: str | builtins.list[str | None] | _NotSetMarker | None = NOT_SET_MARKER,
        metadata: MetadataValue | builtins.list[MetadataValue] | _NotSetMarker = NOT_SET_MARKER,
    ) -> builtins.list[str]:
        """Store relations between memories, all or none; scalars apply to every relation.

        Args:
            source_record_ids: The memories that the relations start from.
            source_record_types: `memory`, `guideline`, `fact` or `preference`, as stored.
            target_record_ids: The memories that they point to.
            target_record_types: As stored.
            relation_types: `supersedes`, `contradicts`, `refines`, `supports`, `duplicates` or
                a type of the caller's own.
            opposite_relation_types: How own types read from the target, as the type itself when
                omitted. The built-in types have fixed labels.
            relation_ids: The caller's ids; None, or omitted, generates one.
            timestamps: Times of the relations, kept as given.
            metadata: Metadata of the relations.

        Returns:
            The ids, in order.

        Raises:
            InvalidInputError: If an argument cannot be stored, the relation is there already, or
                the pair has one in the other direction.
            NotFoundError: If there is no memory of that id and type.
            DuplicateIdError: If an id is taken.
        """
        return self.write(
            self.prepare_add_relations(
                source_record_ids,
                source_record_types,
                target_record_ids,
                target_record_types,
                relation_types,
                opposite_relation_types,
                relation_ids,
                timestamps,
                metadata,
            )
        )

    def prepare_add_relations(
        self,
        source_record_ids: Any,
        source_record_types: Any,
        target_record_ids: Any,
        target_record_types: Any,
        relation_types: Any,
        opposite_relation_types: Any = NOT_SET_MARKER,
        relation_ids: Any = NOT_SET_MARKER,
        timestamps: Any = NOT_SET_MARKER,
        metadata: Any = NOT_SET_MARKER,
    ) -> Prepared[builtins.list[str]]:
        """Prepare what `add_relations` writes."""
        drafts = relation_drafts(
            source_record_ids,
            source_record_types,
            target_record_ids,
            target_record_types,
            relation_types,
            opposite_relation_types,
            relation_ids,
            timestamps,
            metadata,
        )
        if not drafts:
            return prepared_value([])
        return Prepared(lambda transaction: self._add_relations(transaction, drafts))

    def _add_relations(
        self, transaction: WriteTransaction, drafts: Sequence[RelationDraft]
    ) -> builtins.list[str]:
        ends = {end for draft in drafts for end in draft.ends}
        memories = self._lock_memories(transaction, [one for one, _ in ends], expired=False)
        for record_id, record_type in sorted(ends):
            if record_id not in memories or memories[record_id].memory_type != record_type:
                raise NotFoundError(f"there is no {record_type} with the id {record_id!r}")
        self._refuse_stored(transaction, drafts)
        rows = [_row(draft, memories, transaction.now) for draft in drafts]
        links = self.tables.memory_link
        try:
            transaction.execute(self.statements.insert(links), rows)
        except sa.exc.IntegrityError as error:
            raise DuplicateIdError("a relation with one of these ids exists already") from error
        ended = {one.target_id for one in drafts if one.relation_type in LIFECYCLE_REASONS}
        self._settle(transaction, [memories[one] for one in sorted(ended)])
        ids = [draft.relation_id for draft in drafts]
        self._note_relations(transaction, self._relations(transaction, ids), "add")
        return ids

    def _refuse_stored(
        self, transaction: WriteTransaction, drafts: Sequence[RelationDraft]
    ) -> None:
        """Refuse ids that are taken, and relations that contradict the stored ones."""
        taken = self._relations(transaction, [draft.relation_id for draft in drafts])
        if taken:
            raise DuplicateIdError(
                f"a relation with the id {taken[0].relation_id!r} exists already"
            )
        ids = sorted({record_id for draft in drafts for record_id, _ in draft.ends})
        links = [
            link
            for sources in in_lists(ids)
            for targets in in_lists(ids)
            for link in transaction.execute(
                self._relation_statements.between, {"sources": sources, "targets": targets}
            )
        ]
        pairs = {(one.source_memory_id, one.target_memory_id) for one in links}
        stored = {(one.source_memory_id, one.target_memory_id, one.relation_type) for one in links}
        for draft in drafts:
            refuse_conflict(draft, pairs, stored)

    def _relations(self, transaction: WriteTransaction, ids: Sequence[str]) -> builtins.list[Any]:
        """Return the relations among some ids."""
        statement = self._relation_statements.by_ids
        return [
            row for part in in_lists(ids) for row in transaction.execute(statement, {"ids": part})
        ]

    # -- reading ------------------------------------------------------------------------------

    def get_relation(
        self,
        source_record_id: str | _NotSetMarker = NOT_SET_MARKER,
        source_record_type: str | _NotSetMarker = NOT_SET_MARKER,
        target_record_id: str | _NotSetMarker = NOT_SET_MARKER,
        target_record_type: str | _NotSetMarker = NOT_SET_MARKER,
        relation_type: RelationType | _NotSetMarker = NOT_SET_MARKER,
        relation_id: str | _NotSetMarker = NOT_SET_MARKER,
    ) -> RecordRelation | None:
        """Return a relation by its id alone, or by the five others in its stored direction.

        Returns:
            None when there is none, or one of its memories has expired.

        Raises:
            InvalidInputError: If the five are incomplete or stand beside an id.
        """
        named = selection(
            relation_id,
            {
                "source_record_id": source_record_id,
                "source_record_type": source_record_type,
                "target_record_id": target_record_id,
                "target_record_type": target_record_type,
                "relation_type": relation_type,
            },
        )
        found = self._select_relations(named, None, None)
        return found[0] if found else None

    def list_relations(
        self,
        relation_type: str | _NotSetMarker = NOT_SET_MARKER,
        source_record_id: str | _NotSetMarker = NOT_SET_MARKER,
        source_record_type: str | _NotSetMarker = NOT_SET_MARKER,
        target_record_id: str | _NotSetMarker = NOT_SET_MARKER,
        target_record_type: str | _NotSetMarker = NOT_SET_MARKER,
        limit: int | _NotSetMarker | None = NOT_SET_MARKER,
        metadata_filter: MetadataFilter | _NotSetMarker = NOT_SET_MARKER,
        relation_id: str | _NotSetMarker = NOT_SET_MARKER,
    ) -> builtins.list[RecordRelation]:
        """Return the newest `limit` relations that fulfil all arguments, oldest first.

        Relations made together are ordered by id. One of an expired memory is not listed.

        Args:
            limit: At most so many, 10,000 when omitted; None returns all.
            metadata_filter: Only relations that fulfil it; None: only those without metadata.
        """
        asked = {
            "relation_type": relation_type,
            "source_record_id": source_record_id,
            "source_record_type": source_record_type,
            "target_record_id": target_record_id,
            "target_record_type": target_record_type,
            "relation_id": relation_id,
        }
        given = {name: one for name, one in asked.items() if not isinstance(one, _NotSetMarker)}
        condition = None
        if not isinstance(metadata_filter, _NotSetMarker):
            column = self.tables.memory_link.c.metadata
            condition = metadata_matches(column, parse_filter(metadata_filter))
        return self._select_relations(given, self._limit(limit), condition)

    def _select_relations(
        self, given: Mapping[str, Any], most: int | None, condition: Any
    ) -> builtins.list[RecordRelation]:
        if not all(can_exist(value) for value in given.values()):
            return []
        if most is not None and most <= 0:
            return []
        names, limited = frozenset(given), most is not None
        statement = self._built(
            ("relations", names, limited),
            lambda: self._relation_statements.select(names, limited=limited),
        )
        if condition is not None:
            statement = statement.where(condition)
        parameters = {**given, **({} if most is None else {"most": most})}
        with self.engine.read() as connection:
            rows = connection.execute(statement, parameters).all()
        return [to_relation(row) for row in reversed(rows)]

    # -- changing -----------------------------------------------------------------------------

    def update_relations(
        self,
        relation_ids: str | builtins.list[str],
        relation_types: RelationType | builtins.list[RelationType] | _NotSetMarker = NOT_SET_MARKER,
        opposite_relation_types: RelationType
        | builtins.list[RelationType]
        | _NotSetMarker = NOT_SET_MARKER,
        timestamps: str | builtins.list[str | None] | _NotSetMarker | None = NOT_SET_MARKER,
        metadata: MetadataValue | builtins.list[MetadataValue] | _NotSetMarker = NOT_SET_MARKER,
    ) -> builtins.list[str]:
        """Change relations, all or none; omitted arguments leave what they name as it is.

        Args:
            relation_ids: The relations; unknown ones are left out.
            relation_types: New types; a built-in one brings its fixed opposite label.
            opposite_relation_types: New labels as seen from the target.
            timestamps: New times; None clears.
            metadata: Replaces the whole metadata; None clears.

        Returns:
            The ids of those that are there, in order.

        Raises:
            InvalidInputError: If nothing would change, or the pair has a relation of the new
                type already.
        """
        return self.write(
            self.prepare_update_relations(
                relation_ids, relation_types, opposite_relation_types, timestamps, metadata
            )
        )

    def prepare_update_relations(
        self,
        relation_ids: Any,
        relation_types: Any = NOT_SET_MARKER,
        opposite_relation_types: Any = NOT_SET_MARKER,
        timestamps: Any = NOT_SET_MARKER,
        metadata: Any = NOT_SET_MARKER,
        *,
        if_fingerprint: str | None = None,
    ) -> Prepared[builtins.list[str]]:
        """Prepare what `update_relations` writes.

        Args:
            if_fingerprint: Change them only while each of them has this fingerprint.
        """
        changes = relation_changes(
            relation_ids, relation_types, opposite_relation_types, timestamps, metadata
        )
        if not changes:
            return prepared_value([])
        return Prepared(
            lambda transaction: self._update_relations(transaction, changes, if_fingerprint)
        )

    def _update_relations(
        self,
        transaction: WriteTransaction,
        changes: Mapping[str, Mapping[str, Any]],
        if_fingerprint: str | None,
    ) -> builtins.list[str]:
        links, memories = self._locked_relations(transaction, list(changes))
        if not links:
            return []
        for link in links:
            current = row_fingerprint(RELATION, link)
            self._check_fingerprint(if_fingerprint, current, link.relation_id)
        rows = [_changed(link, changes[link.relation_id]) for link in links]
        try:
            transaction.execute(self._relation_statements.update, rows)
        except sa.exc.IntegrityError as error:
            raise InvalidInputError("a pair cannot have two relations of one type") from error
        settled = {
            link.target_memory_id
            for link, row in zip(links, rows, strict=True)
            if not LIFECYCLE_REASONS.keys().isdisjoint(
                {link.relation_type, row["new_relation_type"]}
            )
        }
        self._settle(transaction, [memories[one] for one in sorted(settled)])
        self._note_relations(transaction, links, "update")
        found = {link.relation_id for link in links}
        return [one for one in changes if one in found]

    def delete_relations(self, relation_ids: str | builtins.list[str]) -> int:
        """Delete relations, all or none; memories that nothing ends any more are valid again.

        Returns:
            How many there were.
        """
        return self.write(self.prepare_delete_relations(relation_ids))

    def prepare_delete_relations(
        self, relation_ids: Any, *, if_fingerprint: str | None = None
    ) -> Prepared[int]:
        """Prepare what `delete_relations` writes.

        Args:
            if_fingerprint: Delete them only while each of them has this fingerprint.
        """
        ids = sorted(set(checked_ids(relation_ids)))
        if not ids:
            return prepared_value(0)

        def apply(transaction: WriteTransaction) -> int:
            links, _ = self._locked_relations(transaction, ids)
            for link in links:
                current = row_fingerprint(RELATION, link)
                self._check_fingerprint(if_fingerprint, current, link.relation_id)
            if links:
                self._unlink(transaction, links)
            return len(links)

        return Prepared(apply)

    def _locked_relations(
        self, transaction: WriteTransaction, ids: Sequence[str]
    ) -> tuple[builtins.list[Any], dict[str, Any]]:
        """Lock the memories of relations, and read both; nobody changes them now."""
        ends = [
            end
            for link in self._relations(transaction, ids)
            for end in (link.source_memory_id, link.target_memory_id)
        ]
        if not ends:
            return [], {}
        memories = self._lock_memories(transaction, ends)
        # Another transaction may have changed them before the memories were locked.
        return self._relations(transaction, ids), memories


def _row(draft: RelationDraft, memories: Mapping[str, Any], now: Any) -> dict[str, Any]:
    return {
        "relation_id": draft.relation_id,
        "source_memory_id": draft.source_id,
        "source_memory_user_id": memories[draft.source_id].user_id,
        "target_memory_id": draft.target_id,
        "target_memory_user_id": memories[draft.target_id].user_id,
        "relation_type": draft.relation_type,
        "opposite_relation_type": draft.opposite_type,
        "metadata": draft.metadata,
        "timestamp": draft.timestamp,
        "created_at": now,
    }


def _changed(link: Any, change: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that give a relation its new values."""
    names = ("relation_type", "opposite_relation_type", "timestamp", "metadata")
    values = {name: change.get(name, link._mapping[name]) for name in names}
    label = opposite_label(values["relation_type"], values["opposite_relation_type"])
    values["opposite_relation_type"] = label
    return {"id_": link.relation_id, **{f"new_{name}": one for name, one in values.items()}}
