"""``manage.py memory_llm_script``."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from oracleagentmemory.errors import AgentMemoryError
from oracleagentmemory.testing import ScriptedModelServer, parse_script

DEFAULT_PORT = 8765


class Command(BaseCommand):
    """A model that needs no key: it answers from a script and touches no memory."""

    help = "Serve a scripted model on this machine, to try the product without keys."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("file", nargs="?", type=Path, help="the script; JSON lines")
        parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="TCP port on loopback")

    def handle(self, *, file: Path | None, port: int, **_: Any) -> None:
        """Serve until interrupted."""
        if not 0 <= port <= 65535:
            raise CommandError("--port: a number from 0 to 65535")
        try:
            script = [] if file is None else parse_script(file.read_text(encoding="utf-8"))
            server = ScriptedModelServer(script, port=port)
        except UnicodeDecodeError as error:
            raise CommandError(f"{file} is not UTF-8") from error
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}") from error
        except AgentMemoryError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"Scripted model (no model is asked) at {server.api_base}, named openai/scripted.\n"
            f"MEMORY_LLM=openai/scripted MEMORY_LLM_API_BASE={server.api_base} "
            "MEMORY_LLM_API_KEY=none makes the product learn with it. Ctrl-C ends it."
        )
        self.stdout.flush()
        try:
            server.serve()
        except KeyboardInterrupt:
            self.stdout.write("Ended.")
        finally:
            server.close()
