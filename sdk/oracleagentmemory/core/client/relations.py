"""Relations. Their methods are documented; this version does not store relations."""

from __future__ import annotations

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe
from oracleagentmemory.apis.records import MetadataValue
from oracleagentmemory.core.client.part import ClientPart
from oracleagentmemory.errors import NotYetError

NO_RELATIONS = "relations between memories are not supported by this version"


class ClientRelations(ClientPart):
    """Relations between memories of any scope."""

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
