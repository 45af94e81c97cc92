"""Relations between memories of any scope."""

from __future__ import annotations

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe
from oracleagentmemory.apis.records import MetadataValue
from oracleagentmemory.apis.validation import check_id
from oracleagentmemory.core.client.part import ClientPart
from oracleagentmemory.core.prepared import written
from oracleagentmemory.storage.writes import Prepared, prepared_value


class ClientRelations(ClientPart):
    """Linking memories, changing links and removing them."""

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
        """Store a relation from one memory to another; return its id.

        ``supersedes``, ``refines`` and ``duplicates`` make the target invalid as long as the
        relation exists. A pair of memories has relations in one direction only.

        Args:
            source_record_type: ``memory``, ``guideline``, ``fact`` or ``preference``, as stored.
            target_record_type: As stored.
            relation_type: ``supersedes``, ``contradicts``, ``refines``, ``supports``,
                ``duplicates``, or a type of your own.
            opposite_relation_type: How a type of your own reads from the target; the same when
                omitted. The built-in types have fixed labels.
            relation_id: Generated when omitted.

        Raises:
            ValueError: If an argument cannot be stored, an end is no memory, the relation is
                there already, or the pair has one in the other direction.
            KeyError: If there is no memory of that id and type.
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
        return prepared.map(lambda ids: ids[0])

    def prepare_update_record_link(
        self,
        relation_id: str,
        relation_type: Maybe[str] = NOT_SET_MARKER,
        opposite_relation_type: Maybe[str] = NOT_SET_MARKER,
        timestamp: Maybe[str | None] = NOT_SET_MARKER,
        metadata: Maybe[MetadataValue] = NOT_SET_MARKER,
    ) -> Prepared[int]:
        """Change a relation; return 1, or 0 when there is none.

        Omitted values stay; a built-in type brings its fixed opposite label.

        Args:
            timestamp: ``None`` clears it.
            metadata: Replaces the whole metadata; ``None`` clears it.

        Raises:
            ValueError: If nothing would change, or the pair has a relation of that type already.
        """
        prepared = self._store.prepare_update_relations(
            [check_id(relation_id, "relation_id")],
            relation_type,
            opposite_relation_type,
            timestamp,
            metadata,
        )
        return prepared.map(len)

    def prepare_delete_record_link(
        self,
        source_record_id: Maybe[str] = NOT_SET_MARKER,
        source_record_type: Maybe[str] = NOT_SET_MARKER,
        target_record_id: Maybe[str] = NOT_SET_MARKER,
        target_record_type: Maybe[str] = NOT_SET_MARKER,
        relation_type: Maybe[str] = NOT_SET_MARKER,
        relation_id: Maybe[str] = NOT_SET_MARKER,
    ) -> Prepared[int]:
        """Remove a relation named by its id alone or by the five others; return 0 or 1.

        The five have to follow the stored direction.

        Raises:
            ValueError: If the five are incomplete or stand beside an id.
        """
        stored = self._store.get_relation(
            source_record_id,
            source_record_type,
            target_record_id,
            target_record_type,
            relation_type,
            relation_id,
        )
        if stored is None:
            return prepared_value(0)
        return self._store.prepare_delete_relations([stored.id])

    link_records = written(prepare_link_records)
    update_record_link = written(prepare_update_record_link)
    delete_record_link = written(prepare_delete_record_link)
