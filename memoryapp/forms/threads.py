"""What pages about threads and their messages take in."""

from __future__ import annotations

from typing import Any

from django import forms

from memoryapp.forms.fields import (
    DayField,
    FilterForm,
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


class ThreadFilterForm(FilterForm):
    """The filters of the list. An unknown type, status or day counts as not given."""

    user = LiveIdField(label="User", placeholder="Any user", attrs={"data-find": ""})
    agent = LiveIdField(label="Agent", placeholder="Any agent")
    since = DayField(label="Stored from")
    until = DayField(label="Stored to")
    metadata = MetadataFilterField(label="Metadata")

    def filters(self) -> ThreadFilters:
        """The filters as the service takes them."""
        return ThreadFilters(
            user_id=self.value("user"),
            agent_id=self.value("agent"),
            since=start_of(self.value("since")),
            until=end_of(self.value("until")),
            metadata=self.value("metadata"),
        )


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
