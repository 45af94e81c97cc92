"""What the profile pages of users and agents take in."""

from __future__ import annotations

from django import forms

from memoryapp.forms.fields import IdField, LongTextField, MetadataField, PageForm


class ProfileForm(PageForm):
    """What is known of one user or agent."""

    information = LongTextField(label="What is known")
    metadata = MetadataField(label="Metadata", help_text="A JSON object, or empty.")
    fingerprint = forms.CharField(required=False, widget=forms.HiddenInput)
    reason = forms.CharField(
        label="Reason", required=False, max_length=500, help_text="Kept in the audit log."
    )


class NewProfileForm(ProfileForm):
    """A profile of an id that may be new."""

    record_id = IdField(label="Id", required=True)

    field_order = ("record_id", "information")
