"""The page of jobs with a long queue beside the page of an empty one, in one process of the app."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from benchmarks.floors import Timing, lap
from benchmarks.server import ROOT

QUEUED = 10_000
LIMIT = 2.0
ROUNDS = 30


def run(*, queued: int = QUEUED) -> dict[str, Any]:
    """Measure in a process with the product's settings, on an empty folder.

    Returns:
        Medians in ms of the whole page through Django's test client, without a queue and with one,
        and how many times the first the second takes, by processor time.
    """
    names = ("MEMORY_", "DJANGO_", "DATABASE_URL", "CELERY_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(names)}
    with tempfile.TemporaryDirectory() as folder:
        environment |= {
            "DJANGO_SETTINGS_MODULE": "memoryapp.settings",
            "MEMORY_LLM": "openai/none",
            "MEMORY_VAR_DIR": folder,
        }
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.bench_job_pages", str(queued)],
            cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, check=True,
        )  # fmt: skip
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures | {"ratios": {"page_to_empty": figures.pop("page_to_empty")}}


def checks(results: dict[str, Any]) -> dict[str, bool]:
    """Return what must hold of the figures."""
    return {
        "the queue that is shown is the one that was made": results["shown"] == results["queued"],
        f"a long queue's page takes at most {LIMIT} times an empty one's": results["ratios"][
            "page_to_empty"
        ]
        <= LIMIT,
    }


def measure(queued: int) -> dict[str, Any]:
    """Time the page before and after the queue is made; call it in a process of its own."""
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.test import Client

    from memoryapp import memory
    from memoryapp.access import Role
    from memoryapp.models import Job, Person

    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    settings.ALLOWED_HOSTS = ["testserver"]
    memory.open_store()
    client = Client()
    client.force_login(Person.objects.create_user("mara", role=Role.REVIEWER))

    def page() -> Any:
        response = client.get("/jobs/")
        assert response.status_code == 200
        return response

    empty = _timed(page)
    Job.objects.bulk_create(_row(number) for number in range(queued))
    full = _timed(page)
    return {
        "queued": queued,
        "shown": Job.objects.filter(state="queued").count() if b"j-" in page().content else 0,
        **empty.figures("empty_page"),
        **full.figures("queue_page"),
        "page_to_empty": round(full.cpu_ms / empty.cpu_ms, 2),
    }


def _timed(page: Any) -> Timing:
    page()
    return Timing.of([lap(page) for _ in range(ROUNDS)])


def _row(number: int) -> Any:
    from django.utils import timezone

    from memoryapp.models import Job

    now = timezone.now()
    thread = f"thread-{number % 997}"
    return Job(
        job_id=f"j-{number}", kind="messages", thread_id=thread, user_id=f"user-{number % 101}",
        queue_key=f"thread {thread}", payload={"message_ids": [f"m-{number}"] * 10},
        not_before=now, created_at=now,
    )  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
