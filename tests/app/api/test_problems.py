"""Every error under ``/api/`` is a problem, whoever answers it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from memoryapp.services import memories
from oracleagentmemory.errors import ModelError, RetryableError
from tests.app.api.conftest import Api, assert_problem
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "path", ["/api/", "/api/v2/memories", "/api/v1/nothing", "/api/v1/threads/"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PUT"])
def test_unknown_path_is_a_404_problem(path: str, method: str) -> None:
    # enforce_csrf_checks: a POST to an unknown path must not become a CSRF failure.
    response = Client(enforce_csrf_checks=True).generic(method, path)
    assert response.status_code == 404
    assert_problem(response)
    assert "base64url" in response.json()["detail"]


def test_wrong_method_is_a_405_problem_that_names_the_right_ones(api: Api) -> None:
    response = api.call("PUT", "/threads")
    assert response.status_code == 405
    assert {"GET", "POST"} <= {name.strip() for name in response["Allow"].split(",")}


def test_bad_host_is_a_400_problem(api: Api) -> None:
    assert api.get("/threads", headers={"Host": "evil.example"}).status_code == 400


def test_body_over_the_limit_is_a_413_problem(api: Api, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    with nothing_changes():
        response = api.post("/memories", {"content": "x" * 1000, "user_id": "ada"})
    assert response.status_code == 413


@pytest.mark.parametrize(
    "data",
    [b"{", b"hello", b"\xff", b'{"content": NaN}', b"[" * 200_000, b'{"a": ' + b"9" * 5000 + b"}"],
)
def test_body_that_is_no_json_is_a_400_problem(api: Api, data: bytes) -> None:
    with nothing_changes():
        response = api.post("/memories", data=data)
    assert response.status_code == 400
    assert response.json()["code"] == "bad_json"


def test_unexpected_error_is_a_500_problem_without_its_text(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("password=swordfish")

    monkeypatch.setattr(memories, "get", fail)
    response = api.get("/memories/mem-1")
    assert response.status_code == 500
    assert b"swordfish" not in response.content


def test_busy_database_is_a_503_problem_that_says_when_to_come_back(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(memories, "get", fail)
    response = api.get("/memories/mem-1")
    assert response.status_code == 503
    assert response["Retry-After"] == "1"


@pytest.mark.parametrize(
    ("error", "status", "wait"),
    [
        (RetryableError("openai/x is busy", retry_after=6.2), 503, "7"),
        (RetryableError("openai/x is busy"), 503, "1"),
        (ModelError("openai/x refuses the key"), 502, None),
    ],
    ids=["waits", "busy", "refused"],
)
def test_a_model_that_does_not_answer_is_told_by_api_and_page(
    api: Api,
    admin_client: Client,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    status: int,
    wait: str | None,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(memories, "get", fail)
    response = api.get("/memories/mem-1")
    assert (response.status_code, response.get("Retry-After")) == (status, wait)
    assert response.json()["detail"] == str(error)
    page = admin_client.get("/memories/mem-1/")
    assert page.status_code == status
    assert str(error)[1:] in page.content.decode()


def test_error_outside_the_api_stays_a_page(client: Client) -> None:
    response = client.get("/nothing-here")
    assert response.status_code == 404
    assert response["Content-Type"].startswith("text/html")


def test_problem_keeps_the_security_headers() -> None:
    response = Client().get("/api/nothing")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert int(response.get("Content-Length", len(response.content))) == len(response.content)
