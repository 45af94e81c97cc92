"""``manage.py memory_worker_check``."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memoryapp.access import Access
from memoryapp.services import worker_check


class Command(BaseCommand):
    """Ends with status 1 when a worker could not work, or none does."""

    help = "Say whether database, broker, LLM and embedder answer, and whether a worker lives."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--no-models", action="store_true", help="ask neither LLM nor embedder")

    def handle(self, *, no_models: bool, **_: Any) -> None:
        """Print a line for each."""
        access = Access.of_command("memory_worker_check")
        findings = worker_check.check(access, models=not no_models)
        for one in findings:
            said = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in one.said)
            self.stdout.write(f"{one.name:<9} {'ok ' if one.is_good else 'BAD'}  {said}")
        if bad := [one.name for one in findings if not one.is_good]:
            raise CommandError(f"not ready: {', '.join(bad)}")
