"""``manage.py memory_jobs``."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from memoryapp.access import Access
from memoryapp.services import jobs, workers


class Command(BaseCommand):
    """What the worker does every MEMORY_SWEEP_INTERVAL_S seconds, now and here."""

    help = "Run the jobs that wait, until none may run any more."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--dry-run", action="store_true", help="count, and run nothing")

    def handle(self, *, dry_run: bool, **_: Any) -> None:
        """Run or count, and say how many."""
        if dry_run:
            count = workers.count_claimable()
            self.stdout.write(f"Would begin with {count:,} job{'' if count == 1 else 's'}.")
        else:
            count = workers.run_all()
            self.stdout.write(f"Ran {count:,} job{'' if count == 1 else 's'}.")
        found = jobs.depth(Access.of_command("memory_jobs"))
        self.stdout.write(
            f"{found.queued} queued ({found.limited} of them for a limit of tokens), "
            f"{found.running} running."
        )
