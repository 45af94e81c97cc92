"""What lists offer beside their filters: values with counts, as links that set the filter."""

from __future__ import annotations

from dataclasses import dataclass

from memoryapp.forms.memories import MemoryFilterForm
from oracleagentmemory.inspection import Facets, FacetValue


@dataclass(frozen=True, slots=True)
class Facet:
    """A filter that a list offers.

    Attributes:
        name: The filter in the address.
        chosen: The value that is set; None is none.
    """

    name: str
    label: str
    values: list[FacetValue]
    chosen: str | None


@dataclass(frozen=True, slots=True)
class ListFacets:
    """All that a list offers; ``statuses`` maps "valid", "invalid" and "all" to counts."""

    groups: list[Facet]
    statuses: dict[str, int]
    capped: bool


def of_memories(form: MemoryFilterForm, facets: Facets) -> ListFacets:
    """Return what the list of memories offers; what leaves no choice is left out."""
    groups = [
        Facet("type", "Type", facets.values["memory_type"], form.value("type")),
        Facet("user", "User", _named(facets.values["user_id"]), form.value("user")),
        Facet("agent", "Agent", _named(facets.values["agent_id"]), form.value("agent")),
    ]
    statuses = {one.value or "": one.count for one in facets.values["status"]}
    return ListFacets(
        groups=[group for group in groups if len(group.values) > (0 if group.chosen else 1)],
        statuses=statuses | {"all": sum(statuses.values())},
        capped=facets.capped,
    )


def _named(values: list[FacetValue]) -> list[FacetValue]:
    """The values that an address can name: records of no user have no filter."""
    return [one for one in values if one.value is not None]
