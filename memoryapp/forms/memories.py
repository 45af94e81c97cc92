"""What pages about memories take in."""

from __future__ import annotations

from typing import Any, Literal, cast

from django import forms
from django.core.exceptions import ValidationError

from memoryapp.forms.fields import (
    REFUSABLE,
    DayField,
    IdField,
    LiveIdField,
    LiveTextField,
    LongTextField,
    MetadataField,
    MetadataFilterField,
    OnceField,
    PageForm,
    PickField,
    end_of,
    is_time,
    start_of,
)
from memoryapp.services.memories import MEMORY_TYPES, MemoryFilters

TYPE_CHOICES = [(name, name.capitalize()) for name in MEMORY_TYPES]
NARROWING = ("q", "user", "type", "agent", "thread", "since", "until", "metadata")
STATUS_CHOICES = [("valid", "Valid"), ("invalid", "Invalid"), ("all", "All")]


class MemoryFilterForm(PageForm):
    """The filters of the list. An unknown type, status or day counts as not given."""

    q = LiveTextField(label="Words", placeholder="Words in the text")
    user = LiveIdField(label="User", placeholder="Any user")
    type = PickField(label="Type", choices=[("", "All types"), *TYPE_CHOICES])
    agent = LiveIdField(label="Agent", placeholder="Any agent")
    thread = LiveIdField(label="Thread", placeholder="Any thread")
    since = DayField(label="From")
    until = DayField(label="To")
    metadata = MetadataFilterField(label="Metadata")
    status = forms.ChoiceField(required=False, choices=STATUS_CHOICES, widget=forms.HiddenInput)

    @property
    def status_value(self) -> str:
        """The chosen status; valid memories unless another is asked for."""
        return self.value("status") or "valid"

    @property
    def shows_all(self) -> bool:
        """Whether valid and invalid memories stand side by side."""
        return self.status_value == "all"

    @property
    def is_refused(self) -> bool:
        """Whether a filter is one that no record could have, so that nothing can be listed."""
        return not REFUSABLE.isdisjoint(self.errors)

    @property
    def is_narrowed(self) -> bool:
        """Whether a filter other than the usual status is set."""
        return self.status_value == "invalid" or any(self.value(name) for name in NARROWING)

    @property
    def is_more_used(self) -> bool:
        """Whether one of the filters that are folded away is in the address."""
        return any(name in self.data for name in ("agent", "thread", "since", "until", "metadata"))

    def filters(self) -> MemoryFilters:
        """The filters as the service takes them."""
        memory_type = self.value("type")
        status = self.status_value
        return MemoryFilters(
            memory_types=(memory_type,) if memory_type else (),
            user_id=self.value("user"),
            agent_id=self.value("agent"),
            thread_id=self.value("thread"),
            status=None if status == "all" else cast("Literal['valid', 'invalid']", status),
            since=start_of(self.value("since")),
            until=end_of(self.value("until")),
            metadata=self.value("metadata"),
            text=self.value("q"),
        )

    def value(self, name: str) -> Any:
        """A field's value; None when it is missing or wrong."""
        self.is_valid()
        return self.cleaned_data.get(name)


class MemoryForm(PageForm):
    """The parts of a memory that can be edited."""

    content = LongTextField(label="Text")
    metadata = MetadataField(label="Metadata", help_text="A JSON object, or empty.")
    timestamp = forms.CharField(
        label="Time of the event",
        required=False,
        max_length=64,
        help_text="ISO 8601, such as 2026-03-14T09:30:00Z. Empty: the time of storing.",
    )
    reason = forms.CharField(
        label="Reason", required=False, max_length=500, help_text="Kept in the audit log."
    )

    def clean_timestamp(self) -> str:
        """A new time is ISO 8601; other words that an agent has stored may stay."""
        text: str = self.cleaned_data["timestamp"]
        if text and "timestamp" in self.changed_data and not is_time(text):
            raise ValidationError("This is no ISO 8601 time, such as 2026-03-14T09:30:00Z.")
        return text


class NewMemoryForm(MemoryForm):
    """A new memory with its type and scope."""

    memory_type = forms.ChoiceField(label="Type", choices=TYPE_CHOICES)
    user_id = IdField(label="User")
    agent_id = IdField(label="Agent")
    thread_id = IdField(label="Thread", help_text="An existing thread, or empty.")
    memory_id = IdField(label="Id", help_text="Empty: one is made.")
    once = OnceField()

    field_order = ("content", "memory_type", "user_id", "agent_id", "thread_id")

    def clean(self) -> dict[str, Any]:
        """Name the memory."""
        once = self.cleaned_data.pop("once", None)
        return {**self.cleaned_data, "memory_id": self.cleaned_data.get("memory_id") or once}


class EditMemoryForm(MemoryForm):
    """An edit, which names the state it started from."""

    fingerprint = forms.CharField(widget=forms.HiddenInput)


class ReasonForm(PageForm):
    """A change that takes nothing but a reason and the state it started from."""

    fingerprint = forms.CharField(required=False, widget=forms.HiddenInput)
    reason = forms.CharField(
        label="Reason", required=False, max_length=500, help_text="Kept in the audit log."
    )


class StatusForm(ReasonForm):
    """Valid or invalid, by hand."""

    status = forms.ChoiceField(choices=[("valid", "Valid"), ("invalid", "Invalid")])
