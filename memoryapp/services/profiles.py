"""Profiles: what is known of a user or an agent. Both nouns share this one writer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from django.db import transaction

from memoryapp.access import Access
from memoryapp.memory import client, store
from memoryapp.services import audit, revisions
from memoryapp.services.metadata import given_metadata
from oracleagentmemory.errors import ConflictError, InvalidInputError

if TYPE_CHECKING:
    from oracleagentmemory.storage.writes import Prepared

Noun = Literal["user", "agent"]
#: The fingerprint of a profile that does not exist.
NO_PROFILE = ""


def fingerprint(noun: Noun, record_id: str) -> str:
    """Return the state of a stored profile; empty when there is none."""
    return store().fingerprint(f"{noun}_profile", record_id) or NO_PROFILE


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
    """Add the profile, or replace text and metadata of the one that is there.

    Raises: ConflictError, if the profile is no longer the one of ``if_fingerprint``, or there is
    one where ``NO_PROFILE`` says that there was none.
    """
    access.require_write()
    if not information.strip():
        raise InvalidInputError("information is blank; a profile needs some text")
    kind = f"{noun}_profile"
    stored = store().get(kind, record_id)
    metadata = given_metadata(metadata, None if stored is None else stored.metadata)
    if stored is None:
        adding = client().prepare_add_user if noun == "user" else client().prepare_add_agent
        prepared: Prepared[Any] = adding(record_id, information, metadata)
    else:
        prepared = store().prepare_update(
            kind, record_id, content=information, metadata=metadata, if_fingerprint=if_fingerprint
        )
    with transaction.atomic():
        before = store().get(kind, record_id)
        if (before is None) is not (stored is None) or (before and if_fingerprint == NO_PROFILE):
            raise ConflictError(f"the profile of {noun} {record_id!r} was changed meanwhile")
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
