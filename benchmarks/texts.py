"""The dialogues that the benchmarks store and search; see data/README.md for their licence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Dialogue:
    """One dialogue; `messages` are pairs of role and text."""

    dialogue_id: str
    messages: list[tuple[str, str]]


@dataclass(frozen=True)
class Question:
    """A question about one user's dialogues, and where they answer it.

    Attributes:
        turns: The messages that hold the answer, each as `<dialogue id>/<place from 0>`.
        dialogue_ids: Their dialogues.
    """

    user_id: str
    text: str
    turns: frozenset[str]
    dialogue_ids: frozenset[str]


def dialogues() -> Iterator[Dialogue]:
    """Yield the dialogues in the order of the file."""
    with (DATA / "sgd_dialogues.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            value = json.loads(line)
            messages = [(one["role"], one["content"]) for one in value["messages"]]
            yield Dialogue(value["dialogue_id"], messages)


def questions() -> Iterator[Question]:
    """Yield the questions in the order of the file."""
    with (DATA / "sgd_questions.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            value = json.loads(line)
            evidence = value["evidence"]
            turns = frozenset(f"{dialogue_id}/{turn}" for dialogue_id, turn in evidence)
            dialogues = frozenset(dialogue_id for dialogue_id, _ in evidence)
            yield Question(f"user-{value['scope']}", value["query"], turns, dialogues)


def messages(count: int) -> list[str]:
    """Return different real messages: when all have been used, again with a number."""
    texts = [text for dialogue in dialogues() for _, text in dialogue.messages]
    return [
        texts[n] if n < len(texts) else f"{texts[n % len(texts)]} ({n // len(texts)})"
        for n in range(count)
    ]
