"""What goes wrong below the routes, as problems. Input and secrets are never echoed."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from memoryapp.api.problems import NO_SUCH_PATH, problem
from oracleagentmemory.errors import (
    AccessDeniedError,
    AgentMemoryError,
    ConflictError,
    DuplicateIdError,
    InvalidInputError,
    MissingFieldError,
    ModelAnswerError,
    ModelError,
    NotFoundError,
    NotYetError,
    RetryableError,
    StateError,
    StoreUnavailableError,
    WaitTimeoutError,
    WrongTypeError,
)

logger = logging.getLogger(__name__)

NO_KEY = "Send a valid key as 'Authorization: Bearer mk_…'."
_BAD_JSON = "The body is not valid JSON in UTF-8, or an object in it holds a name twice."
_RETRY = {"Retry-After": "1"}

#: An SDK error's status; the nearest class in its ancestry decides.
_STATUS: dict[type[AgentMemoryError], int] = {
    NotFoundError: 404,
    AccessDeniedError: 403,
    DuplicateIdError: 409,
    StateError: 409,
    ConflictError: 412,
    InvalidInputError: 422,
    WrongTypeError: 422,
    MissingFieldError: 422,
    ModelAnswerError: 502,
    ModelError: 502,
    NotYetError: 501,
    RetryableError: 503,
    StoreUnavailableError: 503,
    WaitTimeoutError: 503,
}


def add_handlers(api: NinjaAPI) -> None:
    """Give the API one handler for each kind of error."""
    handlers: dict[type[Exception], Callable[[HttpRequest, Any], HttpResponse]] = {
        AuthenticationError: _unauthenticated,
        ValidationError: _invalid,
        HttpError: _http_error,
        Http404: lambda request, error: problem(404, NO_SUCH_PATH),
        AgentMemoryError: _sdk_error,
        RequestDataTooBig: _too_big,
        SuspiciousOperation: lambda request, error: problem(400, "The request is malformed."),
        OperationalError: _database_error,
        Exception: _failed,
    }
    for kind, handler in handlers.items():
        api.add_exception_handler(kind, handler)


def _unauthenticated(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return problem(401, NO_KEY, code="unauthorized", headers={"WWW-Authenticate": "Bearer"})


def _invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    errors = [_field_error(found) for found in error.errors]
    detail = "; ".join(f"{found['field'] or found['in']}: {found['message']}" for found in errors)
    return problem(422, detail[:2000], code="invalid_input", errors=errors[:100])


def _field_error(found: dict[str, Any]) -> dict[str, str]:
    """Name the field as a caller writes it, such as ``messages[2].role``."""
    place, *loc = found["loc"]
    if place == "body" or loc == ["query"]:
        loc = loc[1:]  # the name of the handler's own parameter
    # Which of several forms was read, such as "(parts)", is no part of the field's name.
    loc = [part for part in loc if not str(part).startswith("(")]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    return {"in": place, "field": field.lstrip("."), "message": str(found["msg"])[:500]}


def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    if error.status_code == 400:
        return problem(400, _BAD_JSON, code="bad_json")
    return problem(error.status_code, str(error))


def _sdk_error(request: HttpRequest, error: AgentMemoryError) -> HttpResponse:
    status = next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), 500)
    if status == 500:
        return _failed(request, error)
    if status == 503:
        logger.warning("%s: %s", error.code, error)
    headers = _RETRY if status == 503 else None
    if isinstance(error, RetryableError) and error.retry_after is not None:
        headers = {"Retry-After": str(math.ceil(error.retry_after))}
    return problem(status, str(error), code=error.code, headers=headers)


def _too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return problem(
        413,
        f"The body has more than the {limit:,} bytes that this server accepts; send it in smaller "
        "parts. An image travels as base64, which takes a third more bytes than its file.",
    )


def _database_error(request: HttpRequest, error: OperationalError) -> HttpResponse:
    logger.exception("database error")
    return problem(503, "The database is busy or away; try again.", headers=_RETRY)


def _failed(request: HttpRequest, error: Exception) -> HttpResponse:
    logger.exception("unexpected error in %s %s", request.method, request.path)
    return problem(500, "The server failed; the reason is in its log.")
