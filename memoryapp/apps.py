"""The one Django app of the project."""

from __future__ import annotations

from django.apps import AppConfig


class MemoryAppConfig(AppConfig):
    """Label ``memoryapp``; the project package and the app are one."""

    name = "memoryapp"
    verbose_name = "Memory inspector"

    def ready(self) -> None:
        """Start what must run in each process: the Celery app, the checks, the reaper."""
        from memoryapp import celery, checks, reap

        checks.register_all()
        reap.start()
        celery.app.set_default()
