"""Load the demo dialogues and their memories."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memoryapp.access import Access
from memoryapp.memory import open_store
from memoryapp.services import demo
from oracleagentmemory.errors import AgentMemoryError


class Command(BaseCommand):
    help = (
        "Load 60 real dialogues (Schema-Guided Dialogue data set, CC BY-SA 4.0) on the 60 days up "
        "to yesterday, with their annotated goals as memories; a later goal supersedes the same "
        "user's earlier one for the same thing. A second run changes nothing."
    )

    def handle(self, **options: Any) -> None:
        open_store()
        try:
            summary = demo.load(Access.of_command("memory_demo"), today=timezone.now().date())
        except AgentMemoryError as error:
            raise CommandError(str(error)) from error
        if not summary.threads:
            self.stdout.write("The demo was loaded before; nothing changed.")
            return
        self.stdout.write(
            f"Demo: {summary.threads} dialogues, {summary.messages} messages, "
            f"{summary.memories} memories, {summary.relations} relations and {summary.images} "
            "sketches added, from the Schema-Guided Dialogue data set "
            "(CC BY-SA 4.0; see memoryapp/demo/README.md)."
        )
