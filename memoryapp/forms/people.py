"""What the admin site takes in about people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.forms import UserChangeForm

from memoryapp.models import Person
from memoryapp.services import people

if TYPE_CHECKING:
    PersonFormBase = UserChangeForm[Person]
else:
    PersonFormBase = UserChangeForm

RIGHTS = ("is_active", "is_staff", "is_superuser")


class PersonForm(PersonFormBase):
    """An account as the admin site edits it."""

    def clean(self) -> dict[str, Any]:
        """Refuse to take the last admin's rights away: nobody could give them back."""
        data = super().clean() or self.cleaned_data
        if not all(data.get(name) for name in RIGHTS) and people.is_last_admin(self.instance):
            raise forms.ValidationError(
                "This is the last account that may use the admin site; it keeps Active, Staff "
                "status and Superuser status until another has them."
            )
        return data
