"""Random changes of messages with images agree with a plain model of what must be stored."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from oracleagentmemory.apis import ImageContent, ImageMimeType, RecordStatus, TextContent
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.errors import InvalidInputError
from tests.sdk.contract.snapshots import check_agreement, rows_of
from tests.sdk.images.pictures import plain

STEPS = 40
WORDS = ("red car", "blue boat", "green tree")


@dataclass
class Message:
    """What a message must hold: its parts, with the bytes of its images."""

    parts: list[TextContent | ImageContent]
    status: RecordStatus = RecordStatus.VALID


@dataclass
class Model:
    """The messages that must be there, and the random choices."""

    store: SQLMemoryStore
    choice: random.Random
    messages: dict[str, Message] = field(default_factory=dict)
    made: int = 0

    def new_id(self, prefix: str) -> str:
        self.made += 1
        return f"{prefix}{self.made}"

    def part(self) -> TextContent | ImageContent:
        if self.choice.random() < 0.3:
            return TextContent(self.choice.choice(WORDS), id=self.new_id("x"))
        mime_type = self.choice.choice(list(ImageMimeType))
        data = plain(mime_type, self.choice.randrange(200))
        words = self.choice.choice((*WORDS, None))
        return ImageContent(data, mime_type, words, id=self.new_id("i"))

    def parts(self) -> list[TextContent | ImageContent]:
        return [self.part() for _ in range(self.choice.randint(1, 3))]

    # -- steps ----------------------------------------------------------------------------------

    def add(self) -> None:
        message_id, parts = self.new_id("m"), self.parts()
        self.store.add([parts], "message", record_ids=message_id, roles="user", user_ids="u1")
        self.messages[message_id] = Message(parts)

    def rewrite(self, message_id: str) -> None:
        """Keep some parts, some of them without bytes or words, and bring new ones."""
        message = self.messages[message_id]
        given, stored = [], []
        for part in self.choice.sample(message.parts, self.choice.randint(0, len(message.parts))):
            stored.append(part)
            lean = isinstance(part, ImageContent) and self.choice.random() < 0.7
            given.append(ImageContent(None, part.mime_type, id=part.id) if lean else part)
        new = self.parts()
        self.store.update("message", message_id, content=[*given, *new])
        message.parts = [*stored, *new]

    def set_status(self, message_id: str) -> None:
        status = self.choice.choice(list(RecordStatus))
        self.store.update("message", message_id, status=status)
        self.messages[message_id].status = status

    def set_life(self, message_id: str) -> None:
        self.store.update("message", message_id, ttl_days=self.choice.choice((1, 3, None)))

    def describe(self, message_id: str) -> None:
        message = self.messages[message_id]
        for at, part in enumerate(message.parts):
            if isinstance(part, ImageContent):
                words = self.choice.choice(WORDS)
                self.store.update("image", part.id, index_text=words)
                message.parts[at] = ImageContent(part.bytes, part.mime_type, words, id=part.id)

    def drop(self, message_id: str) -> None:
        for part in self.messages[message_id].parts:
            if isinstance(part, ImageContent):
                with pytest.raises(InvalidInputError, match="attached"):
                    self.store.delete("image", part.id)
        self.store.delete("message", message_id)
        del self.messages[message_id]

    # -- what must be true ------------------------------------------------------------------------

    def compare(self) -> None:
        wanted = {key: one.parts for key, one in self.messages.items()}
        read = self.store.messages(list(wanted), include_image_bytes=True)
        assert {one.id: _shown(one.content) for one in read} == {
            key: _shown(parts) for key, parts in wanted.items()
        }
        images = {
            part.id: (key, part.bytes, part.description or "", self.messages[key].status.value)
            for key, parts in wanted.items()
            for part in parts
            if isinstance(part, ImageContent)
        }
        rows = rows_of(self.store, self.store.tables.document)
        assert images == {
            row.record_id: (row.message_id, row.blob, row.description, row.status) for row in rows
        }
        lives = {row.record_id: row.expires_at
                 for row in rows_of(self.store, self.store.tables.message)}  # fmt: skip
        assert {row.expires_at == lives[row.message_id] for row in rows} <= {True}


def _shown(content: Any) -> Any:
    """A single text part is read as its text."""
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], TextContent):
        return content[0].text
    return content


@pytest.mark.parametrize("seed", range(4))
def test_messages_and_their_images_agree_with_a_model(store: SQLMemoryStore, seed: int) -> None:
    model = Model(store, random.Random(seed))
    steps = (model.rewrite, model.set_status, model.set_life, model.describe, model.drop)
    model.add()
    for _ in range(STEPS):
        step = model.choice.choice((model.add, *steps))
        if step == model.add or not model.messages:
            model.add()
        else:
            step(model.choice.choice(list(model.messages)))  # type: ignore[call-arg]
        model.compare()
    check_agreement(store)
    assert store.check().ok
