"""API keys: made, found by their secret, revoked. Only a hash is stored."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from memoryapp.access import Access, Role
from memoryapp.models import Key
from memoryapp.services import audit
from oracleagentmemory.apis.validation import check_id, check_text
from oracleagentmemory.errors import InvalidInputError, NotFoundError

_SCHEME = "mk_"
_PREFIX_LENGTH = len(_SCHEME) + 8
# A write for each request would make every read a writer.
_LAST_USED_EVERY = timedelta(minutes=1)


def create(
    access: Access,
    *,
    name: str,
    role: Role = Role.AGENT,
    user_ids: Collection[str] | None = None,
    agent_id: str | None = None,
    expires_at: datetime | None = None,
    reason: str = "",
) -> tuple[Key, str]:
    """Make a key; the secret, second of the pair, cannot be read again."""
    access.require_admin()
    _check(name, user_ids, agent_id, expires_at)
    secret = _SCHEME + secrets.token_urlsafe(32)
    with transaction.atomic():
        key = Key.objects.create(
            name=name.strip(),
            prefix=secret[:_PREFIX_LENGTH],
            hash=_digest(secret),
            role=role,
            user_ids=None if user_ids is None else sorted(set(user_ids)),
            agent_id=agent_id or "",
            expires_at=expires_at,
        )
        detail = {
            "name": key.name,
            "role": str(role),
            "user_ids": key.user_ids,
            "agent_id": key.agent_id,
            "expires_at": None if expires_at is None else expires_at.isoformat(),
        }
        audit.record(access, "create", "key", key.prefix, reason=reason, detail=detail)
    return key, secret


def _check(
    name: str,
    user_ids: Collection[str] | None,
    agent_id: str | None,
    expires_at: datetime | None,
) -> None:
    if not check_text(name, "name", max_bytes=100).strip():
        raise InvalidInputError("name must not be blank")
    for user_id in user_ids or ():
        check_id(user_id, "user_id")
    if user_ids is not None and not user_ids:
        raise InvalidInputError("a key must see at least one user; leave users out to see all")
    if agent_id is not None:
        check_id(agent_id, "agent_id")
    if expires_at is not None and expires_at <= timezone.now():
        raise InvalidInputError("expires_at must lie in the future")


def find(secret: str) -> Key | None:
    """Return the key of a secret, or None when it is unknown, revoked or expired."""
    if not secret.startswith(_SCHEME):
        return None
    now = timezone.now()
    # One condition on the unique index, the rest here: building a longer query costs every
    # request more than running it.
    key = next(iter(Key.objects.filter(hash=_digest(secret)).order_by()), None)
    if key is None or key.revoked_at is not None:
        return None
    if key.expires_at is not None and key.expires_at <= now:
        return None
    if key.last_used_at is None or key.last_used_at < now - _LAST_USED_EVERY:
        Key.objects.filter(pk=key.pk).update(last_used_at=now)
    return key


def list_all(access: Access) -> list[Key]:
    """Return every key, newest first."""
    access.require_admin()
    return list(Key.objects.all())


def revoke(access: Access, prefix: str, *, reason: str = "") -> Key:
    """Make a key useless from now on; a second time changes nothing."""
    access.require_admin()
    with transaction.atomic():
        key = Key.objects.filter(prefix=prefix).first()
        if key is None:
            raise NotFoundError(f"there is no key {prefix!r}")
        if key.revoked_at is None:
            key.revoked_at = timezone.now()
            key.save(update_fields=["revoked_at"])
            audit.record(access, "revoke", "key", prefix, reason=reason, detail={"name": key.name})
    return key


def _digest(secret: str) -> str:
    # The secret is 256 random bits: a plain hash cannot be searched, and an index finds it.
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
