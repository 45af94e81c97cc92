"""Who asks, by which credential, and what that credential may see and change."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from oracleagentmemory.errors import AccessDeniedError

if TYPE_CHECKING:
    from memoryapp.models import Key, Person


class Role(StrEnum):
    """What a credential may do; ``agent`` is for keys only."""

    READER = "reader"
    REVIEWER = "reviewer"
    ADMIN = "admin"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One caller. Made at the edge (view, API, command); every service takes it."""

    actor: str
    role: Role
    user_ids: frozenset[str] | None = None
    agent_id: str | None = None

    @classmethod
    def of_person(cls, person: Person) -> Access:
        """The access of a browser account; a superuser is an admin who sees everything."""
        actor = f"person:{person.get_username()}"
        if person.is_superuser:
            return cls(actor=actor, role=Role.ADMIN)
        return cls(actor=actor, role=Role(person.role), user_ids=_user_ids(person.user_ids))

    @classmethod
    def of_key(cls, key: Key) -> Access:
        """The access of an API key."""
        return cls(
            actor=f"key:{key.prefix}",
            role=Role(key.role),
            user_ids=_user_ids(key.user_ids),
            agent_id=key.agent_id or None,
        )

    @classmethod
    def of_command(cls, name: str) -> Access:
        """The access of the operator who runs a management command."""
        return cls(actor=f"command:{name}", role=Role.ADMIN)

    @property
    def may_write(self) -> bool:
        """Whether this caller may change memory data at all."""
        return self.role is not Role.READER

    def may_see(self, user_id: str | None) -> bool:
        """Whether records of this user are visible; records of no user need full sight."""
        return self.user_ids is None or user_id in self.user_ids

    def require_write(self) -> None:
        """Raise AccessDeniedError for a caller who may only read."""
        if not self.may_write:
            raise AccessDeniedError("your role is reader; changing records needs reviewer or admin")

    def require_admin(self) -> None:
        """Raise AccessDeniedError for everybody but an admin."""
        if self.role is not Role.ADMIN:
            raise AccessDeniedError(f"your role is {self.role}; this needs admin")

    def require_scope(self, user_id: str | None, agent_id: str | None) -> None:
        """Raise AccessDeniedError when a new record would lie outside this caller's scope."""
        if not self.may_see(user_id):
            raise AccessDeniedError(f"you may not write records of user {user_id!r}")
        if self.agent_id is not None and agent_id != self.agent_id:
            raise AccessDeniedError(f"this key writes as agent {self.agent_id!r} only")


def _user_ids(value: list[str] | None) -> frozenset[str] | None:
    return None if value is None else frozenset(value)
