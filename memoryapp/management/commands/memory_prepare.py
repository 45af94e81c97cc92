"""``manage.py memory_prepare``: what has to be there before a web process or a worker starts."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from memoryapp.access import Access
from memoryapp.memory import open_store
from memoryapp.services import people, stores, threads
from oracleagentmemory.errors import AgentMemoryError, InvalidInputError


class Command(BaseCommand):
    """Safe to run again: the second time changes nothing."""

    help = "Migrate, collect static files, open the store; the first time, demo and first admin."

    def handle(self, **_: Any) -> None:
        """Prepare in the order in which each step needs the one before."""
        try:
            call_command("migrate", interactive=False, verbosity=0)
            call_command("collectstatic", interactive=False, verbosity=0)
            open_store()
            access = Access.of_command("memory_prepare")
            if problem := stores.embedder_problem(access):
                self.stderr.write(f"Nothing can be searched by meaning: {problem}")
            if people.find_admin() is None:
                self._begin(access)
        except InvalidInputError as error:  # of a setting, which it names
            raise CommandError(str(error)) from error
        except (DatabaseError, AgentMemoryError) as error:
            raise CommandError(f"cannot use the database: {error}") from error

    def _begin(self, access: Access) -> None:
        """The admin comes last: a first start that was interrupted begins again."""
        if settings.ENVIRONMENT.memory_demo and not has_threads(access):
            call_command("memory_demo", stdout=self.stdout)
        person, password = people.create_first_admin(access)
        self.stdout.write(
            "First start. This password is shown once:\n"
            f"    name      {person.get_username()}\n"
            f"    password  {password}"
        )
        self.stdout.flush()


def has_threads(access: Access) -> bool:
    """Whether somebody imported data before the first start; the demo must not mix with it."""
    return bool(threads.list_page(access, threads.ThreadFilters(), limit=1).rows)
