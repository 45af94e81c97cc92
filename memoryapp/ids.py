"""How ids travel in URL paths: plain where that is safe, else ``~`` and base64url.

A caller's id may hold any character. Both forms are read; ``to_url`` writes the plain one
only when it can be mistaken neither for a route word nor for anything a client resolves.
"""

from __future__ import annotations

import base64
import binascii
import functools
import re
from collections.abc import Iterable, Iterator

from django.urls import URLPattern, URLResolver, get_resolver, register_converter
from django.urls.resolvers import RegexPattern, RoutePattern

MAX_ID_BYTES = 128
PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:@-]*\Z")


def encode(record_id: str) -> str:
    """Return the path form of an id."""
    if PLAIN.match(record_id) and record_id not in route_words():
        return record_id
    return encode_tilde(record_id)


def encode_tilde(record_id: str) -> str:
    """Return the ``~`` form, which is safe in a path and as an HTML id."""
    return "~" + base64.urlsafe_b64encode(record_id.encode()).rstrip(b"=").decode()


def decode(path_part: str) -> str:
    """Return the id of a path part.

    Raises: ValueError, if a ``~`` form is not the one way to write its id or is too long.
    """
    if not path_part.startswith("~"):
        return path_part
    body = path_part[1:]
    try:
        raw = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
    except binascii.Error as exc:
        raise ValueError("not base64url") from exc
    record_id = raw.decode()
    if encode_tilde(record_id) != path_part or len(raw) > MAX_ID_BYTES:
        raise ValueError("not the canonical form of an id")
    return record_id


@functools.cache
def route_words() -> frozenset[str]:
    """Return every literal path part of the URLconf, at any depth; call it late, not at import."""
    return frozenset(_words(get_resolver().url_patterns))


def _words(patterns: Iterable[URLPattern | URLResolver]) -> Iterator[str]:
    for pattern in patterns:
        route = pattern.pattern
        if isinstance(route, RoutePattern | RegexPattern):
            yield from re.findall(r"[A-Za-z0-9_][\w.:@-]*", re.sub(r"<[^>]*>", "/", str(route)))
        if isinstance(pattern, URLResolver):
            yield from _words(pattern.url_patterns)


class IdConverter:
    """The path converter ``<id:…>``."""

    regex = r"(?:~[A-Za-z0-9_-]{1,172}|[A-Za-z0-9_][A-Za-z0-9._:@-]{0,127})"
    to_python = staticmethod(decode)
    to_url = staticmethod(encode)


register_converter(IdConverter, "id")
