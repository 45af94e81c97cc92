"""Django's command, which leaves no trace; with ours it does."""

from __future__ import annotations

import getpass
from typing import Any

from django.contrib.auth.management.commands import changepassword
from django.db import transaction

from memoryapp.access import Access
from memoryapp.models import Person
from memoryapp.services import people


class Command(changepassword.Command):
    """Asks for a new password of a person, stores it and logs that."""

    def handle(self, *args: Any, **options: Any) -> str:
        """Change the password; not in one transaction, which would hold its lock while we ask."""
        options["username"] = options["username"] or getpass.getuser()
        done = str(super().handle(*args, **options))
        person = Person.objects.get(username=options["username"])
        with transaction.atomic():
            people.note(Access.of_command("changepassword"), "update", person, fields=["Password"])
        return done
