"""What pages about jobs take in."""

from __future__ import annotations

from typing import Any

from django import forms

from memoryapp.forms.fields import (
    REFUSABLE,
    DayField,
    LiveIdField,
    PageForm,
    PickField,
    start_of,
)
from memoryapp.models import Job, JobState
from memoryapp.services.jobs import JobFilters


class JobFilterForm(PageForm):
    """The filters of the list."""

    user = LiveIdField(label="User", placeholder="Any user", attrs={"data-find": ""})
    thread = LiveIdField(label="Thread", placeholder="Any thread")
    model = LiveIdField(label="Model", placeholder="Any model")
    kind = PickField(label="Kind", choices=[("", "All kinds"), *Job.KINDS])
    state = PickField(label="State", choices=[("", "All states"), *Job.STATES])
    since = DayField(label="Accepted since")

    @property
    def is_refused(self) -> bool:
        """Whether a filter is one that no job could have, so that nothing can be listed."""
        return not (REFUSABLE | {"model"}).isdisjoint(self.errors)

    @property
    def is_narrowed(self) -> bool:
        """Whether any filter is set."""
        return any(self.value(name) for name in self.fields)

    @property
    def is_more_used(self) -> bool:
        """Whether a filter is set that is folded away."""
        return any(self[name].value() for name in ("kind", "model", "since"))

    def filters(self) -> JobFilters:
        """The filters as the service takes them."""
        state = self.value("state")
        return JobFilters(
            state=JobState(state) if state else None,
            kind=self.value("kind") or None,
            user_id=self.value("user"),
            thread_id=self.value("thread"),
            model=self.value("model"),
            since=start_of(self.value("since")),
        )

    def value(self, name: str) -> Any:
        """A field's value; None when it is missing or wrong."""
        self.is_valid()
        return self.cleaned_data.get(name)


class JobReasonForm(PageForm):
    """A cancellation or another try: nothing but a reason."""

    reason = forms.CharField(
        label="Reason", required=False, max_length=500, help_text="Kept in the audit log."
    )
