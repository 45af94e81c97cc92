"""The Celery app: ``celery -A memoryapp worker``."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import worker_init, worker_shutdown, worker_shutting_down
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
TRANSPORT_ALIASES["filesystem"] = "memoryapp.broker:Transport"

app = Celery("memoryapp")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["memoryapp"])


@worker_init.connect
def _open_store(**_: Any) -> None:
    from memoryapp.memory import open_store
    from memoryapp.services import workers

    open_store()
    workers.here()


@worker_shutting_down.connect
def _stop_claiming(**_: Any) -> None:
    from memoryapp.services import workers

    workers.here().stop_claiming()


@worker_shutdown.connect
def _stop(**_: Any) -> None:
    from memoryapp.services import workers

    workers.here().stop()
