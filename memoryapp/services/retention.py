"""Deletion of what has expired."""

from __future__ import annotations

from django.db import transaction

from memoryapp.access import Access
from memoryapp.memory import store
from memoryapp.services import audit


def count_expired(access: Access) -> int:
    """How many records :func:`purge` would delete now."""
    access.require_admin()
    return store().count_expired()


def purge(access: Access, *, reason: str = "") -> int:
    """Delete every expired record for good, with one audit entry for all; return their number.

    Searches and lists have hidden these records since they expired; this frees their space.
    """
    access.require_admin()
    with transaction.atomic():
        count = store().purge_expired()
        if count:
            audit.record(access, "purge", "memory", reason=reason, detail={"count": count})
    return count
