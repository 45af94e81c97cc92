"""Words of the stages of a search."""

from __future__ import annotations

from django import template

register = template.Library()

NAMES = {
    "vector": "Meaning",
    "vector_neighbours": "Meaning with neighbours",
    "keyword": "Words",
    "keyword_neighbours": "Words with neighbours",
    "fusion": "Together",
}


@register.filter
def stage_name(stage: str) -> str:
    """A stage as a person says it; pieces of a long query keep their name."""
    return NAMES.get(stage, stage.capitalize())
