"""Images of messages, when those change: they come, go, and share the message's life and status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from oracleagentmemory.apis.message import ImageContent
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.kinds import IMAGE, MESSAGE
from oracleagentmemory.storage.statements import bind, changeable, columns_of
from oracleagentmemory.storage.store.chunks import ChunkRows
from oracleagentmemory.storage.store.drafts import Draft, Life, attached_draft
from oracleagentmemory.storage.store.images import image_columns
from oracleagentmemory.storage.store.inserting import Inserting
from oracleagentmemory.storage.store.retrieval_text import RetrievalText, plan_text


@dataclass(frozen=True, slots=True)
class WantedImage:
    """An image part of new content, with the retrieval rows of its description."""

    part: ImageContent
    chunks: ChunkRows | None

    @property
    def says_description(self) -> bool:
        """Whether the description becomes the part's own; new bytes do not keep the old one."""
        return self.part.description is not None or self.part.bytes is not None


class Attaching(Inserting):
    """Makes a message's images those of its new content."""

    def _wanted_images(self, parts: Sequence[ImageContent]) -> list[WantedImage]:
        """Check the image parts of new content and prepare what is searched for them.

        Raises:
            InvalidInputError: If two have the same id, or bytes that cannot be stored.
        """
        ids = [part.id for part in parts]
        twice = next((one for one in ids if ids.count(one) > 1), None)
        if twice is not None:
            raise InvalidInputError(f"the image parts hold the id {twice!r} twice")
        for part in parts:
            if part.bytes is not None:
                what = f"image part {part.id!r}"
                self._check_picture(part.id, image_columns(part.bytes, part.mime_type, what))
        drafts = [_described(part.id, part.description or "") for part in parts]
        chunks = self._prepare_chunks(drafts) if drafts else []
        return [WantedImage(*both) for both in zip(parts, chunks, strict=True)]

    def _settle_images(
        self,
        transaction: WriteTransaction,
        message: Any,
        values: Mapping[str, Any],
        wanted: Sequence[WantedImage] | None,
    ) -> None:
        """Give a message's images its new life and status, and make them those of new content.

        Args:
            message: The message's row before the change.
            values: Its changeable columns after it.
            wanted: The parts of new content; None leaves the parts as they are.

        Raises:
            InvalidInputError: If a part without bytes is not attached to the message.
        """
        rows = transaction.execute(self._built("attached", self._select_images),
                                   {"message_id": message.record_id}).all()  # fmt: skip
        attached = {row.record_id: row for row in rows}
        if wanted is None:
            for row in rows:
                self._change_image(transaction, row, values, None)
            return
        by_id = {one.part.id: one for one in wanted}
        gone = [image_id for image_id in attached if image_id not in by_id]
        if gone:
            self._detach(transaction, gone)
        for image_id, one in by_id.items():
            if image_id in attached:
                self._change_image(transaction, attached[image_id], values, one)
        new = [one for image_id, one in by_id.items() if image_id not in attached]
        if new:
            self._attach(transaction, message, values, new)

    def _select_images(self) -> sa.Select[Any]:
        table = self.tables.document
        mine = table.c.message_id == bind("message_id", table.c.message_id)
        columns = columns_of(IMAGE, table, with_bytes=False)
        return sa.select(*columns).where(mine).order_by(table.c.order_seq).with_for_update()

    def _detach(self, transaction: WriteTransaction, image_ids: list[str]) -> None:
        gone = self._remove(transaction, IMAGE, "records", image_ids)
        self._reserve(transaction, len(gone))
        changes = [self._change(one.user_id, IMAGE, one.id, "delete", None) for one in gone]
        self._record_changes(transaction, changes)

    def _attach(
        self,
        transaction: WriteTransaction,
        message: Any,
        values: Mapping[str, Any],
        new: Sequence[WantedImage],
    ) -> None:
        for one in new:
            if one.part.bytes is None:
                raise InvalidInputError(
                    f"image part {one.part.id!r} is not attached to this message: give its bytes"
                )
        scope = {name: getattr(message, name) for name in ("thread_id", "user_id", "agent_id")}
        owner = Draft(
            kind=MESSAGE,
            record_type="message",
            record_id=message.record_id,
            user_id=message.user_id,
            columns={**scope, "status": values["status"]},
            content_text="",
            text=RetrievalText([]),
            life=Life(expires_at=values["expires_at"]),
        )
        drafts = [attached_draft(one.part, owner) for one in new]
        chunks = [
            one.chunks and self._placed(one.chunks, IMAGE, message, values["status"]) for one in new
        ]
        self._insert_drafts(transaction, drafts, chunks)

    def _change_image(
        self,
        transaction: WriteTransaction,
        image: Any,
        message_values: Mapping[str, Any],
        wanted: WantedImage | None,
    ) -> None:
        """Write what differs of an image that stays attached."""
        before = changeable(IMAGE, image)
        after = {**before, **{name: message_values[name] for name in ("expires_at", "status")}}
        if wanted is not None:
            after |= _part_columns(wanted)
        # New bytes are written without looking at the old ones.
        differing = {name for name in after if name == "blob" or after[name] != before[name]}
        if not differing:
            return
        chunks = wanted.chunks if wanted else None
        self._reserve(transaction, 1 + (len(chunks.columns) if chunks else 0))
        update = self.statements.update(IMAGE, with_bytes="blob" in after)
        transaction.execute(update, {"id_": image.record_id, **after})
        self._note_update(transaction, IMAGE, image, after, image.user_id)
        if "description" in differing:
            self._rewrite_chunks(transaction, IMAGE, image, after["status"], chunks)
        elif "status" in differing:
            source = {"of_source_id": image.record_id, "source_type": "image"}
            status = {"new_status": after["status"], **source}
            transaction.execute(self.statements.set_chunk_status, status)


def _described(image_id: str, description: str) -> Draft:
    text = plan_text(IMAGE, description, None, None)
    return Draft(IMAGE, "image", image_id, None, {"status": None}, description, text)


def _part_columns(wanted: WantedImage) -> dict[str, Any]:
    """Return the columns that a part sets of an image that is attached already."""
    part = wanted.part
    columns: dict[str, Any] = {}
    if part.bytes is not None:
        columns |= image_columns(part.bytes, part.mime_type)
    if wanted.says_description:
        columns["description"] = part.description or ""
    if part.timestamp:
        columns["timestamp"] = part.timestamp
    return columns
