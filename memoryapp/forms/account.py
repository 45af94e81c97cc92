"""What a person may change about their own account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms
from django.contrib.auth.forms import PasswordChangeForm

from memoryapp.forms.fields import style
from memoryapp.models import Person
from memoryapp.models.people import time_zones

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[Person]
else:
    ModelForm = forms.ModelForm


class AccountForm(ModelForm):
    """Time zone and keys."""

    time_zone = forms.ChoiceField(label="Time zone", required=False)

    class Meta:
        model = Person
        fields = ("time_zone", "shortcuts")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})  # type: ignore[arg-type]
        zones = [("", "The server's zone"), *((name, name) for name in time_zones())]
        self.fields["time_zone"].choices = zones  # type: ignore[attr-defined]
        style(self)


class PasswordForm(PasswordChangeForm):
    """The old password and twice the new one."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})  # type: ignore[arg-type]
        style(self)
