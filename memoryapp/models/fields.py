"""What several models say in the same words."""

from __future__ import annotations

from django.core.exceptions import ValidationError


def check_user_ids(value: object) -> None:
    """Refuse anything but a JSON list of user ids; null (all users) is the field's own matter."""
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ValidationError('Give a JSON list of user ids, such as ["user-1", "user-2"].')
