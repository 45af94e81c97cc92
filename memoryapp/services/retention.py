"""Deletion of what has expired."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction

from memoryapp.access import Access
from memoryapp.memory import store
from memoryapp.services import audit


def count_expired(access: Access) -> int:
    """How many records :func:`purge` would delete now."""
    access.require_admin()
    return store().count_expired()


def purge(
    access: Access, *, reason: str = "", progress: Callable[[int], object] = lambda _: None
) -> int:
    """Delete every expired record for good, and return their number.

    Works in batches, each with an audit entry in its transaction, so that no other writer waits
    long and an interruption loses nothing. Searches and lists have hidden these records since
    they expired; this frees their space.

    Args:
        progress: Called after each batch with its number of records.
    """
    access.require_admin()
    total = 0
    while count := _purge_batch(access, reason):
        total += count
        progress(count)
    return total


def _purge_batch(access: Access, reason: str) -> int:
    with transaction.atomic():
        count = store().write(store().prepare_purge())
        if count:
            audit.record(access, "purge", "memory", reason=reason, detail={"count": count})
    return count
