"""Errors of everything under ``/api/`` as ``application/problem+json`` (RFC 9457)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase

MEDIA_TYPE = "application/problem+json"

NO_SUCH_PATH = (
    "There is nothing at this path. An id that holds other characters than letters, digits and "
    "'_ . : @ -', or that is a word of our paths, travels as ~ and the base64url of its UTF-8."
)

_DETAILS = {
    400: "The server could not read this request; check its Host header, its path and its form.",
    403: "The server refuses this request.",
    404: NO_SUCH_PATH,
    405: "This path does not take that method; the Allow header names those it takes.",
    413: "The body is larger than this server accepts; send it in smaller parts.",
    500: "The server failed; the reason is in its log.",
}


def problem(
    status: int,
    detail: str,
    *,
    code: str = "",
    errors: Sequence[Mapping[str, object]] = (),
    headers: Mapping[str, str] | None = None,
) -> JsonResponse:
    """Build one problem answer; ``code`` is stable, ``errors`` names the fields at fault."""
    title = _title(status)
    body: dict[str, object] = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
        "code": code or title.lower().replace(" ", "_").replace("-", "_"),
    }
    if errors:
        body["errors"] = list(errors)
    return JsonResponse(body, status=status, content_type=MEDIA_TYPE, headers=headers)


class ProblemMiddleware:
    """Turn every error answer under ``/api/`` into a problem.

    First in the list, so that it also sees the answers of Django's own layers: an unknown path, a
    wrong method, a bad host, a failed CSRF check, an unhandled exception.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if response.status_code < 400 or not request.path_info.startswith("/api/"):
            return response
        if response.headers.get("Content-Type", "").startswith(MEDIA_TYPE):
            return response
        return _replaced(response)


def _replaced(response: HttpResponseBase) -> HttpResponseBase:
    status = response.status_code
    fresh = problem(status, _DETAILS.get(status, _title(status) + "."))
    if not isinstance(response, HttpResponse):
        response.close()
        return fresh
    # In place: the other middlewares' headers (Allow, Retry-After, security headers) stay.
    response.content = fresh.content
    for name in ("Content-Encoding", "ETag", "Last-Modified"):
        response.headers.pop(name, None)
    response.headers["Content-Type"] = MEDIA_TYPE
    response.headers["Content-Length"] = str(len(fresh.content))
    return response


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"
