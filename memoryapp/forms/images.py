"""What pages about images take in."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

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
    is_time,
    start_of,
)
from memoryapp.services.images import ImageFilters


class ImageFilterForm(FilterForm):
    """The filters of the list. An unknown day counts as not given."""

    user = LiveIdField(label="User", placeholder="Any user", attrs={"data-find": ""})
    agent = LiveIdField(label="Agent", placeholder="Any agent")
    thread = LiveIdField(label="Thread", placeholder="Any thread")
    since = DayField(label="From")
    until = DayField(label="To")
    metadata = MetadataFilterField(label="Metadata")

    def filters(self) -> ImageFilters:
        """The filters as the service takes them."""
        return ImageFilters(
            user_id=self.value("user"),
            agent_id=self.value("agent"),
            thread_id=self.value("thread"),
            since=start_of(self.value("since")),
            until=end_of(self.value("until")),
            metadata=self.value("metadata"),
        )


class ImageForm(PageForm):
    """What can be edited of an image; the picture itself stays as it was stored."""

    description = LongTextField(
        label="Description",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="What the image shows. Searches find it by these words alone.",
    )
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

    def clean_timestamp(self) -> str | None:
        """A new time is ISO 8601; other words that an agent has stored may stay."""
        text: str = self.cleaned_data["timestamp"]
        if text and "timestamp" in self.changed_data and not is_time(text):
            raise ValidationError("This is no ISO 8601 time, such as 2026-03-14T09:30:00Z.")
        return text or None


class NewImageForm(ImageForm):
    """A file, and whom it belongs to."""

    image = forms.FileField(
        label="File",
        # What the file calls itself is not kept, so its length does not matter.
        widget=forms.FileInput(attrs={"accept": "image/png,image/jpeg,image/webp"}),
        help_text="PNG, JPEG or WebP, at most 10 MiB and 20 million pixels, not animated.",
    )
    user_id = IdField(label="User")
    agent_id = IdField(label="Agent")
    thread_id = IdField(label="Thread", help_text="Its user and agent then own the image.")
    image_id = IdField(label="Id", help_text="Empty: one is made.")
    once = OnceField()

    field_order = ("image", "description", "user_id", "agent_id", "thread_id")

    def clean(self) -> dict[str, Any]:
        """Name the image, and read it."""
        data = self.cleaned_data
        once, file = data.pop("once", None), data.pop("image", None)
        return {
            **data,
            "data": b"" if file is None else file.read(),
            "image_id": data.get("image_id") or once,
        }


class EditImageForm(ImageForm):
    """An edit, which names the state it started from."""

    fingerprint = forms.CharField(widget=forms.HiddenInput)
