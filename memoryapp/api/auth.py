"""Who calls the API: a bearer key becomes the access object that every service takes."""

from __future__ import annotations

from django.http import HttpRequest
from ninja.security import HttpBearer

from memoryapp.access import Access
from memoryapp.services import keys


class BearerKey(HttpBearer):
    """``Authorization: Bearer mk_…``."""

    openapi_description = "A key made by `python manage.py memory_key create`."

    def authenticate(self, request: HttpRequest, token: str) -> Access | None:
        """Return the access of a good key; None lets ninja answer 401, the same for every cause."""
        key = keys.find(token)
        return None if key is None else Access.of_key(key)
