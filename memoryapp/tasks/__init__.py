"""Background tasks; importing this package registers them with Celery."""

from memoryapp.tasks import jobs, memories, stores

__all__ = ["jobs", "memories", "stores"]
