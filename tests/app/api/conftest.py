"""A caller of the API with a key, and a real server for what the test client cannot show."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from benchmarks.server import Server, serve
from memoryapp.access import Access, Role
from memoryapp.ids import encode_tilde
from memoryapp.services import keys
from tests.sdk.images.pictures import picture

BASE = "/api/v1"
OPERATOR = Access.of_command("test")


class Api:
    """The test client with a bearer key; every answer of an error must be a problem."""

    def __init__(self, secret: str | None) -> None:
        self._client = Client(raise_request_exception=False)
        self._headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        data: bytes | None = None,
        headers: dict[str, str] | None = None,
        query: dict[str, Any] | None = None,
    ) -> Any:
        """Send one request; ``body`` travels as JSON, ``data`` as it is."""
        content = data if data is not None else b"" if body is None else json.dumps(body).encode()
        response = self._client.generic(
            method,
            BASE + path,
            content,
            content_type="application/json",
            headers={**self._headers, **(headers or {})},
            query_params=query,
        )
        if response.status_code >= 400:
            assert_problem(response)
        return response

    def get(self, path: str, query: dict[str, Any] | None = None, **more: Any) -> Any:
        """GET."""
        return self.call("GET", path, query=query, **more)

    def post(self, path: str, body: object = None, **more: Any) -> Any:
        """POST."""
        return self.call("POST", path, body, **more)

    def patch(self, path: str, body: object = None, **more: Any) -> Any:
        """PATCH."""
        return self.call("PATCH", path, body, **more)

    def delete(self, path: str, **more: Any) -> Any:
        """DELETE."""
        return self.call("DELETE", path, **more)


def assert_problem(response: Any) -> None:
    """Every error is a problem whose parts agree with the answer's status."""
    assert response.headers["Content-Type"] == "application/problem+json", response.content
    body = json.loads(response.content)
    assert body["status"] == response.status_code
    assert body["type"] == "about:blank"
    assert all(isinstance(body[name], str) and body[name] for name in ("title", "detail", "code"))


@pytest.fixture
def make_api(db: None) -> Callable[..., Api]:
    """Make a caller whose key has these rights."""

    def make(role: Role = Role.AGENT, **rights: Any) -> Api:
        _, secret = keys.create(OPERATOR, name="test", role=role, **rights)
        return Api(secret)

    return make


@pytest.fixture
def api(make_api: Callable[..., Api]) -> Api:
    """A caller who may do everything that an agent may, for all users."""
    return make_api()


@pytest.fixture
def thread(api: Api) -> str:
    """The path of a thread of user ``ada`` with two messages."""
    created = api.post("/threads", {"id": "t-1", "user_id": "ada", "agent_id": "travel"})
    assert created.status_code == 201
    texts = [("user", "I fly to Lisbon in May", "m-1"), ("assistant", "Window or aisle?", "m-2")]
    messages = [{"role": role, "content": text, "id": name} for role, text, name in texts]
    assert api.post("/threads/t-1/messages", {"messages": messages}).status_code == 201
    return "/threads/t-1"


@pytest.fixture
def memory(api: Api) -> str:
    """The path of a memory of user ``ada``."""
    given = {"id": "mem-1", "content": "Ada likes the window", "user_id": "ada"}
    assert api.post("/memories", given).status_code == 201
    return "/memories/mem-1"


@pytest.fixture
def relation(api: Api, memory: str) -> str:
    """The path of a relation from ``mem-1`` to another memory of user ``ada``, ``mem-2``."""
    other = {"id": "mem-2", "content": "Ada likes the aisle", "user_id": "ada"}
    assert api.post("/memories", other).status_code == 201
    given = {"source_record_id": "mem-1", "target_record_id": "mem-2", "id": "r-1"}
    assert api.post("/relations", {**given, "relation_type": "supports"}).status_code == 201
    return "/relations/r-1"


@pytest.fixture
def image(api: Api) -> str:
    """The path of an image of user ``ada``."""
    given = {"id": "i-1", "bytes": base64_of(picture("PNG")), "user_id": "ada"}
    assert api.post("/images", {**given, "description": "a red car"}).status_code == 201
    return "/images/i-1"


def base64_of(data: bytes) -> str:
    """How bytes travel in a body."""
    return base64.b64encode(data).decode()


def path_id(record_id: str) -> str:
    """The form in which a client that knows no route words sends an id."""
    return encode_tilde(record_id)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Granian with the real settings, from an empty folder."""
    with serve(tmp_path_factory.mktemp("server")) as running:
        yield running
