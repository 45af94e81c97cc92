"""The Django admin of the app's own tables; a module a noun, as everywhere."""

from __future__ import annotations

from memoryapp.admin import audit, keys, logins, people, revisions

__all__ = ["audit", "keys", "logins", "people", "revisions"]
