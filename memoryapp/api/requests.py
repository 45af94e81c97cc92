"""What several routes read from a request: cursors, ETags, and the scope of a bound key."""

from __future__ import annotations

import base64
import re
from typing import TypedDict

from django.http import HttpRequest, HttpResponse

from memoryapp.access import Access
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.inspection import RelationRow, Row

_NEXT, _PREVIOUS = "n", "p"
_ETAG = re.compile(r'"([^"]+)"')


class ApiRequest(HttpRequest):
    """A request that has passed the bearer key."""

    auth: Access


class PageArguments(TypedDict, total=False):
    """What a service's ``list_page`` takes to choose a page."""

    before: str
    after: str
    limit: int


def next_cursor(older: str | None) -> str | None:
    """Return the cursor of the next page of a list that runs from new to old."""
    return None if older is None else _NEXT + _url_safe(older)


def previous_cursor(newer: str | None) -> str | None:
    """Return the cursor of the page before."""
    return None if newer is None else _PREVIOUS + _url_safe(newer)


def page_arguments(cursor: str | None, limit: int) -> PageArguments:
    """Turn a cursor back into what a service takes.

    Raises: InvalidInputError, if the cursor is none of ours.
    """
    if cursor is None:
        return {"limit": limit}
    direction, body = cursor[:1], cursor[1:]
    try:
        value = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode()
    except ValueError:
        value = ""
    if not value or direction not in (_NEXT, _PREVIOUS):
        raise InvalidInputError("cursor must be `next` or `previous` of an earlier answer")
    if direction == _NEXT:
        return {"before": value, "limit": limit}
    return {"after": value, "limit": limit}


def _url_safe(value: str) -> str:
    """A thread's cursor holds its id and a time with "+", which a query string would change."""
    return base64.urlsafe_b64encode(value.encode()).rstrip(b"=").decode()


def set_etag(response: HttpResponse, row: Row | RelationRow) -> None:
    """Answer the row's fingerprint as its ETag."""
    response["ETag"] = f'"{row.fingerprint}"'


def if_match(request: HttpRequest) -> str | None:
    """Return the fingerprint that the record must still have; None when any will do."""
    value = request.headers.get("If-Match", "*").strip()
    if value == "*":
        return None
    match = _ETAG.fullmatch(value)
    if match is None:
        raise InvalidInputError('If-Match must be one ETag as a GET answered it, such as "3f9a"')
    return match[1]


def own_user(access: Access, user_id: str | None) -> str | None:
    """Return the user named, else the only user that this key may see, if it is bound to one."""
    if user_id is None and access.user_ids is not None and len(access.user_ids) == 1:
        return next(iter(access.user_ids))
    return user_id


def own_agent(access: Access, agent_id: str | None) -> str | None:
    """Return the agent named, else the one that this key is bound to."""
    return access.agent_id if agent_id is None else agent_id
