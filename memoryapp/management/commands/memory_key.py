"""Make, list and revoke the keys of the HTTP API."""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from memoryapp.access import Access, Role
from memoryapp.models import Key
from memoryapp.services import keys
from oracleagentmemory.errors import AgentMemoryError


def _days(value: str) -> int:
    if not value.isdecimal() or not 1 <= int(value) <= 36500:
        raise ArgumentTypeError("give a whole number of days from 1 to 36500")
    return int(value)


class Command(BaseCommand):
    help = "Make, list and revoke the keys of the HTTP API."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="make a key and print it, once")
        create.add_argument("name", help="what the key is for")
        create.add_argument(
            "--role", choices=[str(role) for role in Role], default=str(Role.AGENT),
            help="what it may do (default: agent)",
        )  # fmt: skip
        create.add_argument(
            "--user", action="append", metavar="USER_ID", help="a user it may see (default: all)"
        )
        create.add_argument("--agent", metavar="AGENT_ID", help="the one agent it writes as")
        create.add_argument(
            "--days", type=_days, metavar="N", help="days until it expires (default: never)"
        )
        actions.add_parser("list", help="list the keys, without their secrets")
        revoke = actions.add_parser("revoke", help="make a key useless")
        revoke.add_argument("prefix", help="the first characters of the key, as listed")

    def handle(self, *, action: str, **options: Any) -> None:
        access = Access.of_command("memory_key")
        try:
            if action == "create":
                self._create(access, options)
            elif action == "list":
                self._list(access)
            else:
                key = keys.revoke(access, options["prefix"])
                self.stdout.write(f"Key {key.prefix} ({key.name}) is revoked.")
        except AgentMemoryError as error:
            raise CommandError(str(error)) from error

    def _create(self, access: Access, options: dict[str, Any]) -> None:
        days: int | None = options["days"]
        _, secret = keys.create(
            access,
            name=options["name"],
            role=Role(options["role"]),
            user_ids=options["user"],
            agent_id=options["agent"],
            expires_at=None if days is None else timezone.now() + timedelta(days=days),
        )
        # The key alone on standard output, so that KEY=$(… create …) works.
        self.stderr.write("This key is shown only now; keep it safe:")
        self.stdout.write(secret)

    def _list(self, access: Access) -> None:
        for key in keys.list_all(access):
            users = "all users" if key.user_ids is None else ", ".join(key.user_ids)
            self.stdout.write(
                f"{key.prefix}  {key.role:<8}  {_state(key):<24}  {key.name}  ({users})"
            )


def _state(key: Key) -> str:
    if key.revoked_at is not None:
        return f"revoked {key.revoked_at:%Y-%m-%d}"
    if key.expires_at is not None and key.expires_at <= timezone.now():
        return f"expired {key.expires_at:%Y-%m-%d}"
    return "never used" if key.last_used_at is None else f"used {key.last_used_at:%Y-%m-%d %H:%M}"
