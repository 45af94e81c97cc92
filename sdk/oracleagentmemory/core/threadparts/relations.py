"""Relations in a thread. Their methods are documented; this version stores no relations."""

from __future__ import annotations

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe
from oracleagentmemory.apis.records import MetadataValue
from oracleagentmemory.core.client.relations import NO_RELATIONS
from oracleagentmemory.core.threadparts.part import ThreadPart
from oracleagentmemory.errors import NotYetError


class ThreadRelations(ThreadPart):
    """Relations between memories of exactly this thread."""

    def link_records(
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
    ) -> str:
        """Not supported by this version: raises ``NotImplementedError``."""
        raise NotYetError(NO_RELATIONS)

    def update_record_link(
        self,
        relation_id: str,
        relation_type: Maybe[str] = NOT_SET_MARKER,
        opposite_relation_type: Maybe[str] = NOT_SET_MARKER,
        timestamp: Maybe[str | None] = NOT_SET_MARKER,
        metadata: Maybe[MetadataValue] = NOT_SET_MARKER,
    ) -> int:
        """Not supported by this version: raises ``NotImplementedError``."""
        raise NotYetError(NO_RELATIONS)

    def delete_record_link(
        self,
        source_record_id: Maybe[str] = NOT_SET_MARKER,
        source_record_type: Maybe[str] = NOT_SET_MARKER,
        target_record_id: Maybe[str] = NOT_SET_MARKER,
        target_record_type: Maybe[str] = NOT_SET_MARKER,
        relation_type: Maybe[str] = NOT_SET_MARKER,
        relation_id: Maybe[str] = NOT_SET_MARKER,
    ) -> int:
        """Not supported by this version: raises ``NotImplementedError``."""
        raise NotYetError(NO_RELATIONS)
