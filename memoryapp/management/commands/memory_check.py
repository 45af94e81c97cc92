"""``manage.py memory_check``."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memoryapp.access import Access
from memoryapp.services import stores
from oracleagentmemory.apis.upkeep import CheckReport, Finding
from oracleagentmemory.errors import AgentMemoryError


class Command(BaseCommand):
    """Ends with status 1 when something is wrong and was not repaired."""

    help = "Compare what stands beside the records with them, and repair it if asked."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--repair", action="store_true", help="put right what can be")
        parser.add_argument("--json", action="store_true", help="print the findings as JSON")
        parser.add_argument("--reason", default="", help="why, for the audit log")

    def handle(self, *, repair: bool, json: bool, reason: str, **_: Any) -> None:
        """Check, repair and check again, and say what was found and what is left."""
        access = Access.of_command("memory_check")
        try:
            found = stores.check(access)
            repaired: Mapping[str, int] = {}
            left = found
            if repair and not found.ok:
                repaired = stores.repair(access, found, reason=reason)
                left = stores.check(access)
        except AgentMemoryError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            _as_json(found, repaired, left) if json else _as_text(found, repaired, left)
        )
        if not left.ok:
            raise CommandError(_advice(left, repair=repair))


def _as_text(found: CheckReport, repaired: Mapping[str, int], left: CheckReport) -> str:
    if found.ok:
        return "The store is sound."
    lines = ["Found:", *map(_finding, found.findings)]
    if repaired:
        lines += ["Repaired:", *(f"  {count:>7,}  {code}" for code, count in repaired.items())]
    if repaired and not left.ok:
        lines += ["Left:", *map(_finding, left.findings)]
    return "\n".join(lines)


def _finding(finding: Finding) -> str:
    more = ", …" if finding.count > len(finding.examples) else ""
    examples = ", ".join(map(_shown, finding.examples)) + more
    return f"  {finding.count:>7,}  {finding.code}: {finding.meaning} ({examples})"


def _shown(text: str) -> str:
    """Return a caller's id as it may stand on a terminal."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def _as_json(found: CheckReport, repaired: Mapping[str, int], left: CheckReport) -> str:
    report = {
        "ok": left.ok,
        "found": [asdict(one) for one in found.findings],
        "repaired": dict(repaired),
        "left": [asdict(one) for one in left.findings],
    }
    return json.dumps(report, indent=2)


def _advice(left: CheckReport, *, repair: bool) -> str:
    if not repair and any(one.repairable for one in left.findings):
        return "the store has faults; memory_check --repair puts right what can be"
    codes = ", ".join(one.code for one in left.findings)
    return f"the store has faults that cannot be repaired here: {codes}; see docs/commands.md"
