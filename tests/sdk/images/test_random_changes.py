"""Random changes of images and of messages with images, against plain dictionaries."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from oracleagentmemory.apis import ImageContent, ImageMimeType, Message
from oracleagentmemory.core import OracleAgentMemory
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.core.thread import OracleThread
from tests.sdk.contract.snapshots import check_agreement
from tests.sdk.images.conftest import OpenClient
from tests.sdk.images.pictures import FORMATS, picture
from tests.sdk.search.stores import VOCABULARY, Clock

PICTURES = [(picture(kind), ImageMimeType[kind]) for kind in FORMATS]


@dataclass
class Kept:
    """What is kept of an image, and of the message that it belongs to."""

    description: str
    picture: tuple[bytes, ImageMimeType]
    thread_id: str | None
    metadata: dict[str, Any] | None = None
    message_id: str | None = None
    end: datetime | None = None


@dataclass
class Model:
    """Takes steps on threads and a client, and on what they should hold."""

    dice: random.Random
    clock: Clock
    client: OracleAgentMemory
    threads: list[OracleThread]
    images: dict[str, Kept] = field(default_factory=dict)
    messages: dict[str, tuple[OracleThread, list[str]]] = field(default_factory=dict)
    #: When messages expire.
    ends: dict[str, datetime | None] = field(default_factory=dict)
    count: int = 0

    def step(self) -> None:
        """Take one step."""
        often = [self.add, self.add_message, self.update, self.update, self.update_message]
        self.dice.choice([*often, *often, self.delete, self.delete_message, self.wait])()
        ends = {**self.ends, **{key: one.end for key, one in self.images.items()}}
        for key, end in ends.items():
            if end is not None and end <= self.clock.now:
                self.images.pop(key, None)
                self.messages.pop(key, None)

    def name(self) -> str:
        self.count += 1
        return f"x{self.count}"

    def text(self) -> str:
        return " ".join(self.dice.choices(VOCABULARY, k=self.dice.randint(0, 3)))

    def end(self, days: int | None) -> datetime | None:
        return None if days is None else self.clock.now + timedelta(days=days)

    def add(self) -> None:
        owner: Any = self.dice.choice([self.client, *self.threads])
        days, metadata = self.dice.choice((None, 1, 3)), self.dice.choice((None, {"a": 1}))
        thread_id = owner.thread_id if isinstance(owner, OracleThread) else None
        one = Kept(self.text(), self.dice.choice(PICTURES), thread_id, metadata, end=self.end(days))
        image_id = self.name()
        owner.add_image(one.picture[0], one.description, image_id=image_id, user_id="u1",
                        metadata=metadata, ttl_days=days)  # fmt: skip
        self.images[image_id] = one

    def parts(self, message_id: str, thread: OracleThread, end: datetime | None) -> list[str]:
        """Make images for a message, known from now on."""
        ids = [self.name() for _ in range(self.dice.randint(1, 3))]
        for image_id in ids:
            picture = self.dice.choice(PICTURES)
            self.images[image_id] = Kept(
                self.text(), picture, thread.thread_id, message_id=message_id, end=end
            )
        return ids

    def content(self, image_id: str, *, whole: bool) -> ImageContent:
        one = self.images[image_id]
        data, mime_type = one.picture
        described = one.description if whole else None
        return ImageContent(data if whole else None, mime_type, described, id=image_id)

    def add_message(self) -> None:
        thread, message_id = self.dice.choice(self.threads), self.name()
        days = self.dice.choice((None, 2))
        self.ends[message_id] = self.end(days)
        ids = self.parts(message_id, thread, self.ends[message_id])
        content = [self.content(one, whole=True) for one in ids]
        thread.add_messages([Message("user", content, id=message_id)], ttl_days=days)
        self.messages[message_id] = (thread, ids)

    def update(self) -> None:
        if not self.images:
            return
        image_id = self.dice.choice(list(self.images))
        one = self.images[image_id]
        changes: dict[str, Any] = {"description": self.text()}
        one.description = changes["description"]
        if self.dice.random() < 0.4:
            one.picture = self.dice.choice(PICTURES)
            changes["image"], changes["mime_type"] = one.picture
        if self.dice.random() < 0.4:
            one.metadata = changes["metadata"] = self.dice.choice((None, {"b": self.count}))
        owners = [thread for thread in self.threads if thread.thread_id == one.thread_id]
        owner: Any = self.dice.choice([self.client, *owners])
        owner.update_image(image_id, **changes)

    def update_message(self) -> None:
        if not self.messages:
            return
        message_id = self.dice.choice(list(self.messages))
        thread, ids = self.messages[message_id]
        kept = [one for one in ids if self.dice.random() < 0.6]
        new = self.parts(message_id, thread, self.ends[message_id])
        content: Any = [self.content(one, whole=False) for one in kept]
        content += [self.content(one, whole=True) for one in new]
        thread.update_message(message_id, content or "nothing to see")
        for image_id in set(ids) - set(kept):
            del self.images[image_id]
        self.messages[message_id] = (thread, [*kept, *new])

    def delete(self) -> None:
        if not self.images:
            return
        image_id = self.dice.choice(list(self.images))
        if self.images[image_id].message_id is not None:
            with pytest.raises(ValueError, match="attached"):
                self.client.delete_image(image_id)
        else:
            assert self.client.delete_image(image_id) == 1
            del self.images[image_id]

    def delete_message(self) -> None:
        if self.messages:
            message_id = self.dice.choice(list(self.messages))
            thread, ids = self.messages.pop(message_id)
            assert thread.delete_message(message_id) == 1
            for image_id in ids:
                del self.images[image_id]

    def wait(self) -> None:
        self.clock.pass_days(0.7)

    def check(self, store: SQLMemoryStore) -> None:
        """Assert that the store shows exactly this."""
        listed = self.client.list_images(user_id="u1", limit=None)
        assert {one.id for one in listed} == self.images.keys()
        for record in listed:
            one = self.images[record.id]
            assert (record.content, record.metadata) == (one.description, one.metadata)
            assert (record.thread_id, record.message_id) == (one.thread_id, one.message_id)
            (whole,) = self.client.list_images(record.id, user_id="u1", include_bytes=True)
            assert (whole.bytes, whole.mime_type) == one.picture
        for message_id, (thread, ids) in self.messages.items():
            content = thread.get_message(message_id).content
            shown = [part.id for part in content if isinstance(part, ImageContent)]
            assert shown == ids
        check_agreement(store)


@pytest.mark.parametrize("seed", range(3))
def test_random_changes_agree_with_a_plain_model(
    open_client: OpenClient, store: SQLMemoryStore, clock: Clock, seed: int
) -> None:
    client = open_client()
    threads = [client.create_thread(thread_id=name, user_id="u1") for name in ("t1", "t2")]
    model = Model(random.Random(seed), clock, client, threads)
    for number in range(60):
        model.step()
        if number % 20 == 19:
            model.check(store)
    store.purge_expired()
    model.check(store)
    assert store.check().ok
