"""What a job costs: accepting it beside a bare message, running it beside adding its messages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from benchmarks.server import ROOT

ENQUEUE_LIMIT = 3.0
RUN_LIMIT = 30.0


def run(*, jobs: int = 1_000) -> dict[str, Any]:
    """Measure in a process with the product's settings, on an empty folder.

    Returns:
        Medians in ms; the ratio of adding a message with its job to adding it alone, and that of
        running a job of a drained queue, without the model's time, to adding its ten messages.
    """
    names = ("MEMORY_", "DJANGO_", "DATABASE_URL", "CELERY_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(names)}
    environment |= {"DJANGO_SETTINGS_MODULE": "memoryapp.settings", "MEMORY_LLM": "openai/none"}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.learning", str(jobs)],
            cwd=ROOT,
            env=environment | {"MEMORY_VAR_DIR": folder},
            text=True,
            stdout=subprocess.PIPE,
            check=True,
        )
    figures = json.loads(done.stdout.splitlines()[-1])
    names_of_ratios = ("enqueue_to_raw_write", "job_to_batch_add")
    return figures | {"ratios": {name: figures.pop(name) for name in names_of_ratios}}


def checks(results: dict[str, Any]) -> dict[str, bool]:
    """Return what must hold of the figures."""
    ratios = results["ratios"]
    return {
        "every job has succeeded": results["succeeded"] == results["jobs"],
        f"accepting a job takes at most {ENQUEUE_LIMIT} times the message": ratios[
            "enqueue_to_raw_write"
        ]
        <= ENQUEUE_LIMIT,
        f"a job takes at most {RUN_LIMIT} times the add of its messages": ratios["job_to_batch_add"]
        <= RUN_LIMIT,
    }
