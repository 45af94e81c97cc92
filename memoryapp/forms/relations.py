"""What pages about relations take in."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from memoryapp.forms.fields import (
    REFUSABLE,
    IdField,
    LiveIdField,
    MetadataField,
    OnceField,
    PageForm,
    is_time,
)
from memoryapp.services.relations import RelationFilters


class RelationFilterForm(PageForm):
    """The filters of the list."""

    memory = LiveIdField(label="Memory", placeholder="Any memory", attrs={"data-find": ""})
    thread = LiveIdField(label="Thread", placeholder="Any thread")
    type = LiveIdField(label="Type", placeholder="All types", attrs={"list": "relation-types"})

    @property
    def is_refused(self) -> bool:
        """Whether a filter is one that no relation could have, so that nothing can be listed."""
        return not (REFUSABLE | {"memory", "type"}).isdisjoint(self.errors)

    @property
    def is_narrowed(self) -> bool:
        """Whether any filter is set."""
        return any(self.value(name) for name in self.fields)

    def filters(self) -> RelationFilters:
        """The filters as the service takes them."""
        return RelationFilters(
            memory_id=self.value("memory"),
            thread_id=self.value("thread"),
            relation_type=self.value("type"),
        )

    def value(self, name: str) -> Any:
        """A field's value; None when it is missing or wrong."""
        self.is_valid()
        return self.cleaned_data.get(name)


class RelationForm(PageForm):
    """The parts of a relation that can be edited."""

    relation_type = IdField(
        label="Type",
        required=True,
        widget=forms.TextInput(attrs={"list": "relation-types", "autocomplete": "off"}),
        help_text="supersedes, refines and duplicates make the other memory invalid.",
    )
    opposite_relation_type = IdField(
        label="Seen from the other memory",
        help_text="For a type of your own; empty: the same word.",
    )
    metadata = MetadataField(label="Metadata", help_text="A JSON object, or empty.")
    timestamp = forms.CharField(
        label="Time of the event",
        required=False,
        max_length=64,
        help_text="ISO 8601, such as 2026-03-14T09:30:00Z, or empty.",
    )
    reason = forms.CharField(
        label="Reason", required=False, max_length=500, help_text="Kept in the audit log."
    )

    def clean_timestamp(self) -> str | None:
        """A new time is ISO 8601; other words that an agent has stored may stay."""
        text: str = self.cleaned_data["timestamp"]
        if text and "timestamp" in self.changed_data and not is_time(text):
            raise ValidationError("This is no ISO 8601 time, such as 2026-03-14T09:30:00Z.")
        return text or None


class NewRelationForm(RelationForm):
    """A new relation from one memory to another."""

    source_id = IdField(label="From memory", required=True)
    target_id = IdField(label="To memory", required=True, help_text="The id of a memory.")
    once = OnceField()

    field_order = ("source_id", "relation_type", "target_id")

    def clean(self) -> dict[str, Any]:
        """Name the relation."""
        once = self.cleaned_data.pop("once", None)
        return {**self.cleaned_data, "relation_id": once}


class EditRelationForm(RelationForm):
    """An edit, which names the state it started from."""

    fingerprint = forms.CharField(widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        """Take the type itself for how an own type reads from the other memory, when empty."""
        data = self.cleaned_data
        if not data.get("opposite_relation_type"):
            data = {**data, "opposite_relation_type": data.get("relation_type")}
        return data
