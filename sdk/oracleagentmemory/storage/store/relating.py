"""Relations between records: documented, and not in this version."""

from __future__ import annotations

import builtins
from typing import Any, NoReturn

from oracleagentmemory._notset import NOT_SET_MARKER
from oracleagentmemory.apis.relations import RecordRelation
from oracleagentmemory.errors import NotYetError
from oracleagentmemory.storage.store.base import StoreParts


def _not_yet() -> NoReturn:
    raise NotYetError("relations between records are not stored by this version")


class Relating(StoreParts):
    """The relation methods, each of which says that it is not there yet."""

    def add_relations(
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
    ) -> builtins.list[str]:
        """Raise `NotYetError`."""
        _not_yet()

    def get_relation(
        self,
        source_record_id: Any = NOT_SET_MARKER,
        source_record_type: Any = NOT_SET_MARKER,
        target_record_id: Any = NOT_SET_MARKER,
        target_record_type: Any = NOT_SET_MARKER,
        relation_type: Any = NOT_SET_MARKER,
        relation_id: Any = NOT_SET_MARKER,
    ) -> RecordRelation | None:
        """Raise `NotYetError`."""
        _not_yet()

    def list_relations(
        self,
        relation_type: Any = NOT_SET_MARKER,
        source_record_id: Any = NOT_SET_MARKER,
        source_record_type: Any = NOT_SET_MARKER,
        target_record_id: Any = NOT_SET_MARKER,
        target_record_type: Any = NOT_SET_MARKER,
        limit: Any = NOT_SET_MARKER,
        metadata_filter: Any = NOT_SET_MARKER,
        relation_id: Any = NOT_SET_MARKER,
    ) -> builtins.list[RecordRelation]:
        """Raise `NotYetError`."""
        _not_yet()

    def update_relations(
        self,
        relation_ids: Any,
        relation_types: Any = NOT_SET_MARKER,
        opposite_relation_types: Any = NOT_SET_MARKER,
        timestamps: Any = NOT_SET_MARKER,
        metadata: Any = NOT_SET_MARKER,
    ) -> builtins.list[str]:
        """Raise `NotYetError`."""
        _not_yet()

    def delete_relations(self, relation_ids: Any) -> int:
        """Raise `NotYetError`."""
        _not_yet()
