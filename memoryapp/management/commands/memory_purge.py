"""``manage.py memory_purge``."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from memoryapp.access import Access
from memoryapp.services import retention


class Command(BaseCommand):
    """What the worker does every MEMORY_PURGE_INTERVAL_S seconds, now."""

    help = "Delete records whose time to live has passed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--dry-run", action="store_true", help="count, and delete nothing")

    def handle(self, *, dry_run: bool, **_: Any) -> None:
        """Delete or count, and say how many."""
        access = Access.of_command("memory_purge")
        count = retention.count_expired(access) if dry_run else retention.purge(access)
        verb = "Would delete" if dry_run else "Deleted"
        self.stdout.write(f"{verb} {count} expired record{'' if count == 1 else 's'}.")
