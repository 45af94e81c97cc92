"""How often the right dialogue is among the first ten hits of a question."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.texts import dialogues, questions
from oracleagentmemory.core import SQLiteMemoryStore
from oracleagentmemory.core.embedders import LocalEmbedder

USERS = 12
#: Share of questions; the least that a release may answer.
LEAST_RIGHT = 0.79


def run(*, k: int = 10) -> dict[str, object]:
    """Store all dialogues and ask all questions, each in its user's scope.

    Returns:
        `hit_at_<k>`: the share of questions with a message of a right dialogue in the first `k`.
    """
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteMemoryStore(Path(folder) / "memory.sqlite3", embedder=LocalEmbedder())
        try:
            message_count = fill(store)
            asked, right = ask(store, k)
        finally:
            store.close()
    return {
        "messages": message_count,
        "questions": asked,
        f"hit_at_{k}": round(right / asked, 4),
    }


def fill(store: SQLiteMemoryStore) -> int:
    """Store every dialogue as a thread: line n belongs to `user-<n mod 12>`."""
    message_count = 0
    for number, dialogue in enumerate(dialogues()):
        user_id, thread_id = f"user-{number % USERS}", dialogue.dialogue_id
        agent_id = f"agent-{number % 3}"
        roles, texts = zip(*dialogue.messages, strict=True)
        thread = store.prepare_create_thread(thread_id, user_id=user_id, agent_id=agent_id)
        added = store.prepare_add(
            list(texts),
            "message",
            roles=list(roles),
            thread_ids=thread_id,
            user_ids=user_id,
            agent_ids=agent_id,
        )
        store.write_all([thread, added])
        message_count += len(texts)
    return message_count


def ask(store: SQLiteMemoryStore, k: int) -> tuple[int, int]:
    """Return how many questions there are and how many find their dialogue."""
    asked = right = 0
    for question in questions():
        hits = store.search(
            question.text,
            k,
            user_id=question.user_id,
            exact_user_match=True,
            record_types={"message"},
        )
        found = {getattr(record, "thread_id", None) for record, _ in hits}
        asked += 1
        right += bool(found & question.dialogue_ids)
    return asked, right


def checks(results: dict[str, object]) -> dict[str, bool]:
    """Return what must hold of the figures."""
    return {"the right dialogue is in the first ten": results["hit_at_10"] >= LEAST_RIGHT}  # type: ignore[operator]
