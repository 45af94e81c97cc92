"""Images over HTTP: bytes of anybody's making, sent so that a browser can only show them."""

from __future__ import annotations

import re

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response

from memoryapp.services.images import Picture

_SUFFIXES = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp"}
_ODD = re.compile(r"[^A-Za-z0-9_-]+")
_HEADERS = {
    # Only a stored format is ever named, and no browser looks for another in the bytes.
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Kept, but asked for each time: what was deleted, or is seen no longer, is not shown.
    "Cache-Control": "private, no-cache",
}


def known_picture(request: HttpRequest, etag: str | None) -> HttpResponseBase | None:
    """Return a 304 when the caller has these bytes already; None when they must be read."""
    if etag is None or request.method not in ("GET", "HEAD"):
        return None
    answer = get_conditional_response(request, etag=_quoted(etag))
    return answer if answer is None else _with_headers(answer, etag)


def picture_response(picture: Picture, image_id: str) -> HttpResponse:
    """Return an image as an answer that is shown where it is asked for."""
    response = HttpResponse(picture.data, content_type=picture.mime_type)
    name = _ODD.sub("-", image_id).strip("-")[:80] or "image"
    suffix = _SUFFIXES[picture.mime_type]
    response.headers["Content-Disposition"] = f'inline; filename="{name}.{suffix}"'
    _with_headers(response, picture.etag)
    return response


def _with_headers(response: HttpResponseBase, etag: str | None) -> HttpResponseBase:
    for name, value in _HEADERS.items():
        response.headers[name] = value
    if etag is not None:
        response.headers["ETag"] = _quoted(etag)
    return response


def _quoted(etag: str) -> str:
    return f'"{etag}"'
