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
    ids = [*earlier_ids, *new_ids]
    if frequency < 1 or (window < 1 and before + 1 >= frequency):
        return WindowPlan((_window(window, ids, len(ids), len(new_ids)),), 0)
    if window < 1:
        return WindowPlan((), before + 1)
    windows: list[Window] = []
    for end in range(len(earlier_ids) + 1, len(ids) + 1):
        before += 1
        if before >= frequency:
            windows.append(_window(window, ids, end, min(before, window)))
            before = 0
    return WindowPlan(tuple(windows), before)


def edit_window(*, window: int, message_id: str, earlier_ids: Sequence[str]) -> Window:
    """Return what an extraction after an edit sees: that message, and those before it as context.

    Such an extraction does not count for ``plan_windows``.
    """
    ids = [*earlier_ids, message_id]
    return _window(window, ids, len(ids), 1)


def _window(window: int, ids: Sequence[str], end: int, newest: int) -> Window:
    """Return the window that ends before place ``end``, its last ``newest`` messages as new."""
    split = max(0, end - newest)
    start = min(split, max(0, end - window))
    return Window(tuple(ids[split:end]), tuple(ids[start:split]))
