"""API keys: only a hash is kept."""

from __future__ import annotations

from django.db import models

from memoryapp.access import Role
from memoryapp.models.fields import check_user_ids


class Key(models.Model):
    """A bearer key of the HTTP API. The secret is shown once and stored as SHA-256."""

    ROLES = tuple((role, role.value.capitalize()) for role in Role)

    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=16, unique=True)
    hash = models.CharField(max_length=64, unique=True)
    role = models.CharField(max_length=16, choices=ROLES, default=Role.AGENT)
    user_ids = models.JSONField(null=True, blank=True, default=None, validators=[check_user_ids])
    agent_id = models.CharField(max_length=128, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"
