"""A prompt's name says its text: stored answers and sources name it, months later.

`tests/golden/prompt_versions.txt` holds a line for each prompt file that was ever released: its
name and a digest of its text. It is written by hand: a changed text gets a file with the next
number, and a new line here; no line is ever changed.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import re
from pathlib import Path

import pytest

import oracleagentmemory
from oracleagentmemory.core.promptfiles import prompt_text

VERSIONS = Path(__file__).parents[2] / "golden" / "prompt_versions.txt"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def noted() -> dict[str, str]:
    """The digests by name, as they were when each prompt was released."""
    lines = VERSIONS.read_text(encoding="utf-8").splitlines()
    assert len({line.split()[0] for line in lines}) == len(lines)
    return dict(line.split() for line in lines)


def files() -> list[str]:
    """The names of the prompts that the package carries."""
    prompts = importlib.resources.files("oracleagentmemory.core.extractors") / "prompts"
    return sorted(file.name.removesuffix(".txt") for file in prompts.iterdir())


def named_in_code() -> set[str]:
    """The prompts that modules of the SDK use."""
    root = Path(oracleagentmemory.__file__).parent
    constant = re.compile(r'^_?[A-Z_]*PROMPT[A-Z_]* = "([a-z-]+-\d+)"', re.M)
    sources = (file.read_text(encoding="utf-8") for file in root.rglob("*.py"))
    return {name for source in sources for name in constant.findall(source)}


def is_as_released(name: str, text: str) -> bool:
    return noted().get(name) == digest(text)


@pytest.mark.parametrize("name", files())
def test_a_prompt_says_what_its_name_stands_for(name: str) -> None:
    assert is_as_released(name, prompt_text(name)), (
        f"{name} is new or was changed: a changed text is a new file with the next number, noted "
        f"as a new line of {VERSIONS.name}: {name} {digest(prompt_text(name))}"
    )


def test_a_changed_text_under_an_old_name_is_seen() -> None:
    text = prompt_text("extraction-1")
    assert not is_as_released("extraction-1", text.replace("months", "years"))
    assert not is_as_released("extraction-2", text)


def test_prompts_that_are_used_are_the_newest_of_the_package() -> None:
    newest: dict[str, int] = {}
    for name in files():
        what, _, number = name.rpartition("-")
        newest[what] = max(newest.get(what, 0), int(number))
    assert named_in_code() == {f"{what}-{number}" for what, number in newest.items()}
