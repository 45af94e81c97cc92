"""``manage.py memory_store_extend``."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memoryapp.access import Access
from memoryapp.services import stores
from oracleagentmemory.errors import AgentMemoryError


class Command(BaseCommand):
    """Adds tables whose names begin with X_; the reference SDK works on beside them."""

    help = "Give a store that the reference SDK has made the tables for versions and changes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--reason", default="", help="why, for the audit log")

    def handle(self, *, reason: str, **_: Any) -> None:
        """Make what is missing, and say what that was."""
        try:
            made = stores.extend(Access.of_command("memory_store_extend"), reason=reason)
        except AgentMemoryError as error:
            raise CommandError(str(error)) from error
        if not made:
            self.stdout.write("The store has all its tables; nothing was changed.")
            return
        self.stdout.write("Made:\n" + "\n".join(f"  {what}" for what in made))
        self.stdout.write("Restart the other processes, so that they use the new tables too.")
