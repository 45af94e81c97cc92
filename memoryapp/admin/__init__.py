"""The Django admin of the app's own tables; a module a noun, as everywhere."""

from __future__ import annotations

from memoryapp.admin import audit, keys, people, revisions

__all__ = ["audit", "keys", "people", "revisions"]
