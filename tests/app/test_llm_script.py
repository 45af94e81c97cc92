"""``memory_llm_script``, run as a person does, and the app's embedder that uses it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pydantic import SecretStr
from pytest_django import Settings

from memoryapp import memory
from oracleagentmemory.core.llms import Llm
from oracleagentmemory.testing import ScriptedModelServer

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def served(*arguments: str) -> Iterator[str]:
    """Run the command on a free port; gives the address that it prints."""
    command = [sys.executable, "manage.py", "memory_llm_script", "--port", "0", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.startswith("Scripted model (no model is asked)")
        api_base: str = re.findall(r"http://127\.0\.0\.1:\d+/v1", first)[0]
        assert f"MEMORY_LLM_API_BASE={api_base} " in process.stdout.readline()
        yield api_base
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.communicate()


def test_it_answers_from_a_file_and_ends_at_ctrl_c(tmp_path: Path) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text('{"text": "tea", "when": "drink"}\n')
    with served(str(script)) as api_base:
        model = Llm("openai/scripted", api_base=api_base, api_key="none")
        assert model.generate("What does Ada drink?").text == "tea"
        assert "scripted answer" in model.generate("What does Ada drink?").text


@pytest.mark.parametrize(
    ("content", "says"), [(b"{]", "line 1 of the script"), (b"\xff", "not UTF-8")]
)
def test_a_bad_script_is_explained(tmp_path: Path, content: bytes, says: str) -> None:
    script = tmp_path / "script.jsonl"
    script.write_bytes(content)
    with pytest.raises(CommandError, match=says):
        call_command("memory_llm_script", str(script))
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("memory_llm_script", str(tmp_path / "missing.jsonl"))
    with pytest.raises(CommandError, match="65535"):
        call_command("memory_llm_script", "--port", "70000")


def test_the_app_embeds_by_a_model_that_litellm_reaches(settings: Settings) -> None:
    with ScriptedModelServer() as server:
        settings.MEMORY_EMBEDDER = "openai/scripted"
        settings.MEMORY_EMBEDDER_API_BASE = server.api_base
        settings.MEMORY_EMBEDDER_API_KEY = SecretStr("the-key")
        made = memory.embedder()
        assert made.embed(["tea"]).shape == (1, 64)
        assert made.embedder_id == "openai/scripted"
        assert server.requests[0].headers["authorization"] == "Bearer the-key"
