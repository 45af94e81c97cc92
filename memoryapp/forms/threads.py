"""What pages about threads and their messages take in."""

from __future__ import annotations

from typing import Any

from django import forms

from memoryapp.forms.fields import (
    REFUSABLE,
    DayField,
    IdField,
    LiveIdField,
    LongTextField,
    MetadataField,
    MetadataFilterField,
    OnceField,
    PageForm,
    end_of,
    start_of,
)
from memoryapp.forms.memories import ReasonForm
from memoryapp.services.threads import ThreadFilters

REASON = "Kept in the audit log."


class ThreadFilterForm(PageForm):
    """The filters of the list. An unknown type, status or day counts as not given."""

    user = LiveIdField(label="User", placeholder="Any user", attrs={"data-find": ""})
    agent = LiveIdField(label="Agent", placeholder="Any agent")
    since = DayField(label="Stored from")
    until = DayField(label="Stored to")
    metadata = MetadataFilterField(label="Metadata")

    @property
    def is_refused(self) -> bool:
        """Whether a filter is one that no record could have, so that nothing can be listed."""
        return not REFUSABLE.isdisjoint(self.errors)

    @property
    def is_narrowed(self) -> bool:
        """Whether any filter is set."""
        return any(self.value(name) for name in self.fields)

    @property
    def is_more_used(self) -> bool:
        """Whether one of the filters that are folded away is in the address."""
        return any(name in self.data for name in ("since", "until", "metadata"))

    def filters(self) -> ThreadFilters:
        """The filters as the service takes them."""
        return ThreadFilters(
            user_id=self.value("user"),
            agent_id=self.value("agent"),
            since=start_of(self.value("since")),
            until=end_of(self.value("until")),
            metadata=self.value("metadata"),
        )

    def value(self, name: str) -> Any:
        """A field's value; None when it is missing or wrong."""
        self.is_valid()
        return self.cleaned_data.get(name)


class NewThreadForm(PageForm):
    """A new thread."""

    user_id = IdField(label="User", required=True)
    agent_id = IdField(label="Agent", help_text="Empty: one is made.")
    thread_id = IdField(label="Id", help_text="Empty: one is made.")
    metadata = MetadataField(label="Metadata", help_text="A JSON object, or empty.")
    reason = forms.CharField(label="Reason", required=False, max_length=500, help_text=REASON)
    once = OnceField()

    def clean(self) -> dict[str, Any]:
        """Name the thread."""
        once = self.cleaned_data.pop("once", None)
        return {**self.cleaned_data, "thread_id": self.cleaned_data.get("thread_id") or once}


class EditThreadForm(PageForm):
    """A thread's metadata."""

    metadata = MetadataField(label="Metadata", help_text="A JSON object, or empty.")
    fingerprint = forms.CharField(widget=forms.HiddenInput)
    reason = forms.CharField(label="Reason", required=False, max_length=500, help_text=REASON)


class NewMessageForm(PageForm):
    """A message to append."""

    role = forms.CharField(
        label="Role",
        max_length=30,
        initial="user",
        widget=forms.TextInput(attrs={"list": "roles", "autocomplete": "off"}),
    )
    content = LongTextField(
        label="Message",
        widget=forms.Textarea(attrs={"class": "short", "data-next": ""}),
    )
    once = OnceField()

    def clean(self) -> dict[str, Any]:
        """Name the message."""
        once = self.cleaned_data.pop("once", None)
        return self.cleaned_data | ({"id": once} if once else {})


class EditMessageForm(PageForm):
    """Text and metadata of a stored message."""

    content = LongTextField(label="Text", required=False)
    metadata = MetadataField(label="Metadata", help_text="A JSON object, or empty.")
    fingerprint = forms.CharField(widget=forms.HiddenInput)
    reason = forms.CharField(label="Reason", required=False, max_length=500, help_text=REASON)


class DeleteMessageForm(ReasonForm):
    """What becomes of the memories that a message alone taught, when it is deleted."""

    derived = forms.ChoiceField(
        label="What it taught",
        required=False,
        choices=[
            ("keep", "Keep these memories"),
            ("delete", "Delete what only this message taught"),
        ],
    )
    #: How many the page said there were.
    going = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput)
