"""When extraction is due, and which messages it then sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oracleagentmemory.core.extractors.jobs import Window


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """The extractions that a call of ``add_messages`` makes due.

    Attributes:
        windows: One for each, in order.
        counter: What the thread saves: messages (or calls, where the window looks at new
            messages only) since the last extraction.
    """

    windows: tuple[Window, ...]
    counter: int


def messages_before(window: int) -> int:
    """Return how many messages before the new ones a plan needs at most."""
    return max(0, window - 1)


def plan_windows(
    *,
    window: int,
    frequency: int,
    counter: int,
    new_ids: Sequence[str],
    earlier_ids: Sequence[str],
) -> WindowPlan:
    """Plan the extractions after messages were added.

    Args:
        window: ``memory_extraction_window``; below 1 extraction sees a call's messages only.
        frequency: ``memory_extraction_frequency``; below 1 each call is due once.
        counter: What the thread has saved.
        new_ids: The messages of the call, in order.
        earlier_ids: The thread's messages before them, in order; the last
            ``messages_before(window)`` are enough.
    """
    before = max(0, counter)
    if not new_ids:
        return WindowPlan((), before)
    if frequency < 1 or (window < 1 and before + 1 >= frequency):
        return WindowPlan((_window(window, [*earlier_ids, *new_ids], len(new_ids)),), 0)
    if window < 1:
        return WindowPlan((), before + 1)
    windows: list[Window] = []
    for number in range(1, len(new_ids) + 1):
        before += 1
        if before >= frequency:
            seen = [*earlier_ids, *new_ids[:number]]
            windows.append(_window(window, seen, min(before, window)))
            before = 0
    return WindowPlan(tuple(windows), before)


def edit_window(*, window: int, message_id: str, earlier_ids: Sequence[str]) -> Window:
    """Return what an extraction after an edit sees: that message, and those before it as context.

    Such an extraction does not count for ``plan_windows``.
    """
    return _window(window, [*earlier_ids, message_id], 1)


def _window(window: int, seen: Sequence[str], newest: int) -> Window:
    """Return the window that ends with the last message seen."""
    newest = min(newest, len(seen))
    start = max(0, len(seen) - max(window, newest))
    split = len(seen) - newest
    return Window(tuple(seen[split:]), tuple(seen[start:split]))
