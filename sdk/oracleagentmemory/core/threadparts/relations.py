"""Relations between memories of a thread."""

from __future__ import annotations

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe
from oracleagentmemory.apis.records import MetadataValue
from oracleagentmemory.apis.relations import RecordRelation
from oracleagentmemory.apis.validation import check_id
from oracleagentmemory.core.prepared import written
from oracleagentmemory.core.threadparts.part import ThreadPart
from oracleagentmemory.errors import NotFoundError
from oracleagentmemory.storage.writes import Prepared, prepared_value


class ThreadRelations(ThreadPart):
    """Linking memories of exactly this thread, changing links and removing them."""

    def prepare_link_records(
        self,
        source_record_id: str,
        source_record_type: str,
        target_record_id: str,
        target_record_type: str,
        relation_type: str,
        opposite_relation_type: Maybe[str] = NOT_SET_MARKER,
        relation_id: Maybe[str] = NOT_SET_MARKER,
        timestamp: Maybe[str | None] = NOT_SET_MARKER,
        metadata: Maybe[MetadataValue] = NOT_SET_MARKER,
    ) -> Prepared[str]:
        """Store a relation from one memory of this thread to another; return its id.

        The arguments are those of ``OracleAgentMemory.link_records``.

        Raises:
            ValueError: If an argument cannot be stored, an end is no memory, the relation is
                there already, or the pair has one in the other direction.
            KeyError: If this thread has no memory of that id and type.
        """
        prepared = self._store.prepare_add_relations(
            [source_record_id],
            [source_record_type],
            [target_record_id],
            [target_record_type],
            [relation_type],
            opposite_relation_type,
            relation_id,
            timestamp,
            metadata,
        )
        for record_id in (source_record_id, target_record_id):
            if not self._owns(record_id):
                raise NotFoundError(f"this thread has no memory with the id {record_id!r}")
        return prepared.map(lambda ids: ids[0])

    def prepare_update_record_link(
        self,
        relation_id: str,
        relation_type: Maybe[str] = NOT_SET_MARKER,
        opposite_relation_type: Maybe[str] = NOT_SET_MARKER,
        timestamp: Maybe[str | None] = NOT_SET_MARKER,
        metadata: Maybe[MetadataValue] = NOT_SET_MARKER,
    ) -> Prepared[int]:
        """Change a relation of this thread; return 1, or 0 when there is none.

        Omitted values stay; a built-in type brings its fixed opposite label.

        Args:
            timestamp: ``None`` clears it.
            metadata: Replaces the whole metadata; ``None`` clears it.

        Raises:
            ValueError: If nothing would change, or the pair has a relation of that type already.
            KeyError: If it is a relation of other threads.
        """
        prepared = self._store.prepare_update_relations(
            [check_id(relation_id, "relation_id")],
            relation_type,
            opposite_relation_type,
            timestamp,
            metadata,
        )
        stored = self._own_relation(self._store.get_relation(relation_id=relation_id))
        return prepared_value(0) if stored is None else prepared.map(len)

    def prepare_delete_record_link(
        self,
        source_record_id: Maybe[str] = NOT_SET_MARKER,
        source_record_type: Maybe[str] = NOT_SET_MARKER,
        target_record_id: Maybe[str] = NOT_SET_MARKER,
        target_record_type: Maybe[str] = NOT_SET_MARKER,
        relation_type: Maybe[str] = NOT_SET_MARKER,
        relation_id: Maybe[str] = NOT_SET_MARKER,
    ) -> Prepared[int]:
        """Remove a relation of this thread; return 0 or 1.

        It is named by its id alone or by the five others, which have to follow the stored
        direction.

        Raises:
            ValueError: If the five are incomplete or stand beside an id.
            KeyError: If it is a relation of other threads.
        """
        found = self._store.get_relation(
            source_record_id,
            source_record_type,
            target_record_id,
            target_record_type,
            relation_type,
            relation_id,
        )
        stored = self._own_relation(found)
        if stored is None:
            return prepared_value(0)
        return self._store.prepare_delete_relations([stored.id])

    link_records = written(prepare_link_records)
    update_record_link = written(prepare_update_record_link)
    delete_record_link = written(prepare_delete_record_link)

    def _owns(self, memory_id: str) -> bool:
        stored = self._store.get_memory(memory_id)
        return stored is not None and stored.thread_id == self._thread_id

    def _own_relation(self, stored: RecordRelation | None) -> RecordRelation | None:
        """Return a relation between memories of this thread; refuse one of others."""
        if stored is None:
            return None
        if not (self._owns(stored.source_record_id) and self._owns(stored.target_record_id)):
            raise NotFoundError(f"this thread has no relation with the id {stored.id!r}")
        return stored
