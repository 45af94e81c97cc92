"""Profiles: what is known of a user or an agent. Both nouns share this one writer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from django.db import transaction

from memoryapp.access import Access
from memoryapp.memory import client, store
from memoryapp.services import audit, revisions
from oracleagentmemory.errors import InvalidInputError

if TYPE_CHECKING:
    from oracleagentmemory.storage.writes import Prepared

Noun = Literal["user", "agent"]


def fingerprint(noun: Noun, record_id: str) -> str:
    """Return the state of a stored profile; empty when there is none."""
    return store().fingerprint(f"{noun}_profile", record_id) or ""


def put(
    access: Access,
    noun: Noun,
    record_id: str,
    information: str,
    *,
    metadata: dict[str, Any] | None = None,
    if_fingerprint: str | None = None,
    reason: str = "",
) -> None:
    """Add the profile, or replace text and metadata of the one that is there."""
    access.require_write()
    if not information.strip():
        raise InvalidInputError("information is blank; a profile needs some text")
    kind = f"{noun}_profile"
    before = store().get(kind, record_id)
    if before is None:
        adding = client().prepare_add_user if noun == "user" else client().prepare_add_agent
        prepared: Prepared[Any] = adding(record_id, information, metadata)
    else:
        prepared = store().prepare_update(
            kind, record_id, content=information, metadata=metadata, if_fingerprint=if_fingerprint
        )
    with transaction.atomic():
        store().write(prepared)
        entry = audit.record(
            access,
            "add" if before is None else "update",
            kind,
            record_id,
            user_id=record_id if noun == "user" else None,
            reason=reason,
        )
        if before is not None:
            revisions.record(entry, kind, before, store().get(kind, record_id))
