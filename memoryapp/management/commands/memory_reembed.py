"""``manage.py memory_reembed``."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from memoryapp.access import Access
from memoryapp.services import stores
from oracleagentmemory.apis.upkeep import ReembedProgress
from oracleagentmemory.errors import AgentMemoryError

INTERRUPTED = 130


class Command(BaseCommand):
    """For a new value of MEMORY_EMBEDDER: until it is done, the old one answers searches."""

    help = (
        "Make every vector anew with MEMORY_EMBEDDER. Changes have to wait meanwhile; searches are "
        "answered from the old vectors. Interrupted, the same command goes on where it stopped."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--abort",
            action="store_true",
            help="give up one that was interrupted: keep the old vectors and allow changes again",
        )
        parser.add_argument("--reason", default="", help="why, for the audit log")

    def handle(self, *, abort: bool, reason: str, **_: Any) -> None:
        """Embed, swap and report, or give up."""
        access = Access.of_command("memory_reembed")
        try:
            self.stdout.write(self._abort(access, reason) if abort else self._run(access, reason))
        except AgentMemoryError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            raise CommandError(
                "interrupted, and changes still have to wait: the same command goes on where it "
                "stopped, --abort gives up",
                returncode=INTERRUPTED,
            ) from None

    def _run(self, access: Access, reason: str) -> str:
        # On a terminal only: disable=None asks the stream.
        with tqdm(unit=" texts", disable=None, file=self.stderr) as bar:

            def show(now: ReembedProgress) -> None:
                bar.total = now.total
                bar.update(now.done - bar.n)

            report = stores.reembed(access, show, reason=reason)
        cleared = f" {report.cleared:,} vectors without a text were cleared." * bool(report.cleared)
        return (
            f"{report.chunks:,} texts have vectors of {report.dimension:,} numbers by "
            f"{report.embedder_id} now.{cleared} Restart processes that were started with another "
            "MEMORY_EMBEDDER."
        )

    def _abort(self, access: Access, reason: str) -> str:
        if stores.abort_reembedding(access, reason=reason):
            return "Given up: the old vectors stay, and changes are allowed again."
        return "No re-embedding was under way; nothing was changed."
