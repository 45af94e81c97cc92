"""Words of the pages of changes."""

from __future__ import annotations

from django import template
from django.urls import reverse

from oracleagentmemory.inspection import Change

register = template.Library()

OPERATIONS = {"add": "Added", "update": "Changed", "delete": "Deleted"}


@register.filter
def what_happened(change: Change) -> str:
    """An operation as a word or two."""
    if change.record_kind == "store":
        return "Restored"
    return OPERATIONS.get(change.operation, "Deleted with its records")


@register.filter
def kind_name(record_kind: str) -> str:
    """A kind of record as a person says it."""
    return (
        "Relation" if record_kind == "memory_link" else record_kind.replace("_", " ").capitalize()
    )


@register.simple_tag
def profile_url(change: Change) -> str:
    """Where the user or agent of a profile is shown; a user's profile is the user's own."""
    noun = "user" if change.user_id == change.record_id else "agent"
    return reverse(f"{noun}-detail", args=(change.record_id,))
