"""Upkeep of the store that holds all memory data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict

from django.db import transaction

from memoryapp.access import Access
from memoryapp.memory import store
from memoryapp.services import audit
from oracleagentmemory.apis.upkeep import CheckReport, ReembedProgress, ReembedReport
from oracleagentmemory.errors import InvalidInputError


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


def embedder_problem(access: Access) -> str | None:
    """Return why the embedder of the settings cannot search this store, None when it can."""
    access.require_admin()
    built = store()
    try:
        config = built.current_config()
        if built.embedder is not None and config.dimension is not None:
            config.check_vectors(built.embedder.embedding_dimension, built.embedder_id)
    except InvalidInputError as error:
        return str(error)
    return None


def reembed(
    access: Access, progress: Callable[[ReembedProgress], object], *, reason: str = ""
) -> ReembedReport:
    """Make every vector anew with the embedder of the settings, with one audit entry.

    Nothing else can be changed until it is finished; run again, it goes on where it was stopped.
    """
    access.require_admin()
    prepared = store().prepare_reembed(progress)
    with transaction.atomic():
        report = store().write(prepared)
        audit.record(access, "reembed", "store", reason=reason, detail=asdict(report))
    return report


def abort_reembedding(access: Access, *, reason: str = "") -> bool:
    """Give up a re-embedding that was stopped; return whether there was one."""
    access.require_admin()
    with transaction.atomic():
        aborted = store().abort_reembedding()
        if aborted:
            audit.record(access, "abort_reembedding", "store", reason=reason)
    return aborted


def extend(access: Access, *, reason: str = "") -> tuple[str, ...]:
    """Give a store of the reference the tables that it lacks; return what was made."""
    access.require_admin()
    # Making tables ends a transaction on Oracle, so the entry comes after it.
    made = store().extend()
    if made:
        with transaction.atomic():
            audit.record(access, "extend", "store", reason=reason, detail={"made": made})
    return made
