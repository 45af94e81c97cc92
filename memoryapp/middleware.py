"""What every page has in common: forms, sign-in, language and zone, error pages, no caching."""

from __future__ import annotations

import codecs
import zoneinfo
from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone, translation

from memoryapp.access import Access
from oracleagentmemory.errors import (
    AccessDeniedError,
    AgentMemoryError,
    ConflictError,
    InvalidInputError,
    ModelAnswerError,
    ModelError,
    NotFoundError,
    RetryableError,
    StoreUnavailableError,
)

GetResponse = Callable[[HttpRequest], HttpResponseBase]

#: The first class that fits decides; order matters, for a conflict is also an invalid input.
STATUS_BY_ERROR: Final[tuple[tuple[type[AgentMemoryError], int], ...]] = (
    (NotFoundError, 404),
    (AccessDeniedError, 403),
    (ConflictError, 409),
    (InvalidInputError, 422),
    (ModelAnswerError, 502),
    (ModelError, 502),
    (RetryableError, 503),
    (StoreUnavailableError, 503),
)

_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class FormEncodingMiddleware:
    """Refuse forms that call themselves anything but UTF-8.

    Django's own refusal reads the form again to show its page, and so ends without an answer.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.encoding is None or request.content_type not in _FORMS:
            return self.get_response(request)
        if codecs.lookup(request.encoding).name != "utf-8":
            return HttpResponse(render_to_string("400.html"), status=400)
        request.encoding = "utf-8"  # Django knows no other spelling of it
        return self.get_response(request)


class SignInMiddleware(LoginRequiredMiddleware):
    """Every page asks for a sign-in unless its view says otherwise; the API has keys."""

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        view_args: tuple[Any, ...],
        view_kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        """Send a stranger to the sign-in page."""
        if request.path_info.startswith("/api/"):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)


class PersonMiddleware:
    """Give the request its access, and the page the person's language and time zone."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        person = request.user
        if not person.is_authenticated:
            return self.get_response(request)
        request.access = Access.of_person(person)  # type: ignore[attr-defined]
        zone = _zone(person.time_zone)
        language = person.language or settings.LANGUAGE_CODE
        with timezone.override(zone), translation.override(language):
            return self.get_response(request)


def _zone(name: str) -> zoneinfo.ZoneInfo:
    """A person's zone; the server's when they chose none, or one that is no longer known."""
    try:
        return zoneinfo.ZoneInfo(name or settings.TIME_ZONE)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return zoneinfo.ZoneInfo(settings.TIME_ZONE)


class ErrorPageMiddleware:
    """Turn the errors that services raise into pages."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return the page of an SDK error; anything else is a 500."""
        if request.path_info.startswith("/api/"):
            return None
        for kind, status in STATUS_BY_ERROR:
            if isinstance(error, kind):
                context = {"reason": str(error)}
                return render(request, f"{status}.html", context, status=status)
        return None


class NoStoreMiddleware:
    """Keep people's data, pages and API answers alike, out of every cache.

    Only a file may be kept: whitenoise says for how long.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        if is_page or "Cache-Control" not in response.headers:
            response.headers["Cache-Control"] = "private, no-store"
        return response
