"""People, records and a browser-like client for the tests of pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from memoryapp.access import Access, Role
from memoryapp.models import Person
from memoryapp.services import images, memories, messages, threads
from tests.sdk.images.pictures import picture

OPERATOR = Access.of_command("test")


@pytest.fixture
def make_client(db: None) -> Callable[..., Client]:
    """Sign in a new person of a role, limited to users when told so."""

    def make(role: Role = Role.REVIEWER, user_ids: list[str] | None = None, **more: Any) -> Client:
        name = f"{role}{Person.objects.count()}"
        person = Person.objects.create_user(name, role=role, user_ids=user_ids, **more)
        client = Client()
        client.force_login(person)
        return client

    return make


@pytest.fixture
def client(make_client: Callable[..., Client]) -> Client:
    """A reviewer who sees all users."""
    return make_client()


@pytest.fixture
def reader(make_client: Callable[..., Client]) -> Client:
    """A reader who sees all users."""
    return make_client(Role.READER)


@pytest.fixture
def limited(make_client: Callable[..., Client]) -> Client:
    """A reviewer who sees user ``ada`` only."""
    return make_client(Role.REVIEWER, user_ids=["ada"])


@pytest.fixture
def anonymous(db: None) -> Client:
    """Nobody."""
    return Client()


@pytest.fixture
def memory(db: None) -> str:
    """A memory of user ``ada``."""
    return add_memory("Ada likes the window seat", memory_id="mem-1")


@pytest.fixture
def foreign(db: None) -> str:
    """A memory of user ``bob``."""
    return add_memory("Bob likes the aisle seat", memory_id="mem-2", user_id="bob")


@pytest.fixture
def thread(db: None) -> str:
    """A thread of user ``ada`` with two messages, ``m-1`` and ``m-2``."""
    return add_thread("t-1", ["I fly to Lisbon", "Window or aisle?"])


def add_memory(content: str, *, user_id: str | None = "ada", **more: Any) -> str:
    """Store a memory as the operator."""
    return memories.add(OPERATOR, content=content, user_id=user_id, **more)


def add_thread(thread_id: str, texts: list[str], *, user_id: str = "ada", **more: Any) -> str:
    """Store a thread with messages ``<id of the thread without t>m-1`` and so on."""
    threads.create(OPERATOR, thread_id=thread_id, user_id=user_id, agent_id="travel", **more)
    if texts:
        prefix = thread_id.replace("t-1", "m")
        messages.add(
            OPERATOR,
            thread_id,
            [
                {"role": ("user", "assistant")[n % 2], "content": text, "id": f"{prefix}-{n + 1}"}
                for n, text in enumerate(texts)
            ],
        )
    return thread_id


def add_image(image_id: str, *, data: bytes = b"", **more: Any) -> str:
    """Store a small PNG image as the operator, of user ``ada`` unless a thread owns it."""
    owner = {} if "thread_id" in more else {"user_id": "ada"}
    data = data or picture("PNG")
    return images.add(OPERATOR, image_id=image_id, data=data, **{**owner, **more})


def text_of(response: Any) -> str:
    """The page as text."""
    return response.content.decode()
