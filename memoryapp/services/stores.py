"""Upkeep of the store that holds all memory data."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from memoryapp.access import Access
from memoryapp.memory import store
from memoryapp.services import audit
from oracleagentmemory.apis.upkeep import CheckReport


def check(access: Access) -> CheckReport:
    """Compare everything that stands beside the records with them; changes nothing."""
    access.require_admin()
    return store().check()


def repair(access: Access, report: CheckReport, *, reason: str = "") -> Mapping[str, int]:
    """Put right what :func:`check` found, with one audit entry; return the rows by fault."""
    access.require_admin()
    prepared = store().prepare_repair(report)
    with transaction.atomic():
        repaired = store().write(prepared)
        if repaired:
            audit.record(access, "repair", "store", reason=reason, detail=dict(repaired))
    return repaired
