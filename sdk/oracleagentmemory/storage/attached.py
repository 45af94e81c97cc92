"""Messages with the images that are attached to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import sqlalchemy as sa

from oracleagentmemory.apis.message import ImageContent
from oracleagentmemory.apis.records import MessageRecord
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.rows import image_ids, message_content, mime_type_of
from oracleagentmemory.storage.statements import bind, in_lists

#: Which images come with their bytes: all, none, or those of some ids.
WithBytes = bool | Collection[str]
_Images = Mapping[tuple[str, str], ImageContent]


def with_attached(
    connection: sa.Connection,
    tables: ManagedTables,
    messages: Sequence[tuple[MessageRecord, Any]],
    with_bytes: WithBytes = False,
) -> list[MessageRecord]:
    """Return messages with their image parts; a part whose image is gone is left out.

    Args:
        messages: Records, and the stored content of each.
        with_bytes: Which images come with their bytes.
    """
    named = {record.id: image_ids(content) for record, content in messages}
    wanted = [image_id for ids in named.values() for image_id in ids]
    if not wanted:
        return [record for record, _ in messages]
    images = _attached(connection, tables, wanted, with_bytes)
    return [
        _with_images(record, content, images) if named[record.id] else record
        for record, content in messages
    ]


def _with_images(record: MessageRecord, content: Any, images: _Images) -> MessageRecord:
    own = {
        image_id: images[record.id, image_id]
        for image_id in image_ids(content)
        if (record.id, image_id) in images
    }
    return replace(record, content=message_content(content, own))


def _attached(
    connection: sa.Connection, tables: ManagedTables, wanted: list[str], with_bytes: WithBytes
) -> _Images:
    """Return image parts by the ids of their message and their own."""
    if isinstance(with_bytes, bool):
        whole, lean = (wanted, []) if with_bytes else ([], wanted)
    else:
        chosen = frozenset(with_bytes)
        whole = [one for one in wanted if one in chosen]
        lean = [one for one in wanted if one not in chosen]
    found: dict[tuple[str, str], ImageContent] = {}
    for ids, loads in ((whole, True), (lean, False)):
        statement = _select_attached(tables, with_bytes=loads)
        for part in in_lists(ids):
            for row in connection.execute(statement, {"ids": part}):
                found[row.message_id, row.record_id] = _part(row, loads=loads)
    return found


def _select_attached(tables: ManagedTables, *, with_bytes: bool) -> sa.Select[Any]:
    image = tables.document.c
    columns = [image.record_id, image.message_id, image.description, image.timestamp]
    columns += [image.document_metadata, *([image.blob] if with_bytes else [])]
    among = image.record_id.in_(bind("ids", image.record_id, expanding=True))
    return sa.select(*columns).where(among, image.message_id.is_not(None))


def _part(row: Any, *, loads: bool) -> ImageContent:
    return ImageContent(
        bytes(row.blob) if loads else None,
        mime_type_of(row.document_metadata),
        row.description or None,
        id=cast(str, row.record_id),
        timestamp=row.timestamp,
    )
