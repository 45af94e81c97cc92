"""Background tasks; importing this package registers them with Celery."""

from memoryapp.tasks import memories

__all__ = ["memories"]
