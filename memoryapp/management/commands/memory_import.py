"""Import a JSONL file of dialogues or messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from memoryapp.access import Access
from memoryapp.memory import open_store
from memoryapp.services import imports
from memoryapp.services.import_formats import FORMATS
from oracleagentmemory.errors import AgentMemoryError

BAD_FILE = 2
INTERRUPTED = 130


class Command(BaseCommand):
    help = (
        "Import a JSONL file. Interrupt it when you like: the same command goes on where it "
        "stopped, and a second run changes nothing. docs/import.md describes the formats."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--format", choices=sorted(FORMATS), required=True, dest="format_name")
        parser.add_argument("--reason", default="", help="why; kept in the audit entries")

    def handle(self, *, file: Path, format_name: str, reason: str, **options: Any) -> None:
        if not file.is_file():
            raise CommandError(f"{file} is no file that can be read", returncode=BAD_FILE)
        open_store()
        try:
            lines = imports.check_file(file, format_name)
            # On a terminal only: disable=None asks the stream.
            with tqdm(total=lines, unit=" lines", disable=None, file=self.stderr) as bar:
                summary = imports.import_file(
                    Access.of_command("memory_import"),
                    file,
                    format_name,
                    reason=reason,
                    progress=bar.update,
                )
        except imports.ImportFileError as error:
            raise CommandError(f"{error}\nNothing was imported.", returncode=BAD_FILE) from error
        except AgentMemoryError as error:
            raise CommandError(str(error), returncode=BAD_FILE) from error
        except KeyboardInterrupt:
            text = "interrupted; run the same command again and it goes on where it stopped"
            raise CommandError(text, returncode=INTERRUPTED) from None
        self.stdout.write(_text(file, summary))


def _text(file: Path, summary: imports.ImportSummary) -> str:
    before = f"; {summary.lines_before:,} lines were imported before" * bool(summary.lines_before)
    return (
        f"{file.name}: {summary.lines:,} lines read, {summary.threads:,} threads and "
        f"{summary.messages:,} messages added{before}."
    )
