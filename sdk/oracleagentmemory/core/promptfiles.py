"""Prompts are files of the package; a changed text is a new file with the next number."""

from __future__ import annotations

import functools
import importlib.resources


@functools.cache
def prompt_text(name: str) -> str:
    """Return the text of a prompt, named with its version, such as ``image-caption-1``."""
    prompts = importlib.resources.files("oracleagentmemory.core.extractors") / "prompts"
    return (prompts / f"{name}.txt").read_text(encoding="utf-8").strip()
