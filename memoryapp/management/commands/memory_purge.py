"""``manage.py memory_purge``."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from memoryapp.access import Access
from memoryapp.services import retention
from oracleagentmemory.errors import AgentMemoryError


class Command(BaseCommand):
    """What the worker does every MEMORY_PURGE_INTERVAL_S seconds, now."""

    help = "Delete records whose time to live has passed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--dry-run", action="store_true", help="count, and delete nothing")
        parser.add_argument("--reason", default="", help="why, for the audit log")

    def handle(self, *, dry_run: bool, reason: str, **_: Any) -> None:
        """Delete or count, and say how many."""
        access = Access.of_command("memory_purge")
        try:
            count = retention.count_expired(access)
            if not dry_run:
                # On a terminal only: disable=None asks the stream.
                with tqdm(total=count, unit=" records", disable=None, file=self.stderr) as bar:
                    count = retention.purge(access, reason=reason, progress=bar.update)
        except AgentMemoryError as error:
            raise CommandError(str(error)) from error
        verb = "Would delete" if dry_run else "Deleted"
        self.stdout.write(f"{verb} {count:,} expired record{'' if count == 1 else 's'}.")
