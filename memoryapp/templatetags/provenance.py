"""Words of where memories came from."""

from __future__ import annotations

from django import template

from memoryapp.models import AuditEntry

register = template.Library()

_BY = {
    "person": "Added by hand, by {}.",
    "key": "Added over the API, with key {}.",
    "command": "Added by the command {}.",
}


@register.filter
def how_added(entry: AuditEntry) -> str:
    """How a memory that no message taught came to be."""
    kind, _, name = entry.actor.partition(":")
    return _BY.get(kind, "Added by {}.").format(name or kind)
