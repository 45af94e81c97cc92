"""Listeners to events, and how they are told."""

from __future__ import annotations

import abc
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

from oracleagentmemory._observed import LISTENERS
from oracleagentmemory.errors import WrongTypeError
from oracleagentmemory.observability.event import Event

__all__ = ["EventListener", "GenericEventListener", "emit_event", "register_event_listeners"]

logger = logging.getLogger(__name__)

_ListenerT = TypeVar("_ListenerT", bound=Event)


class EventListener(abc.ABC):
    """Something that hears of events while it is registered."""

    @abc.abstractmethod
    def on_event(self, event: Event) -> None:
        """Take an event, on the thread of the operation, which waits for it.

        What it raises is logged and does not reach the operation.
        """

    def subscribed_event_types(self) -> Sequence[type[Event]] | None:
        """Return the types to hear of, subtypes included; ``None`` for all."""
        return None


class GenericEventListener(EventListener, Generic[_ListenerT]):
    """Passes the events of one type to a function.

    Args:
        event_type: The type; its subtypes count too.
        callback: Takes the event.
    """

    def __init__(
        self, event_type: type[_ListenerT], callback: Callable[[_ListenerT], None]
    ) -> None:
        self._event_type = event_type
        self._callback = callback

    def on_event(self, event: Event) -> None:
        """Call the function with an event of the type."""
        if isinstance(event, self._event_type):
            self._callback(event)

    def subscribed_event_types(self) -> Sequence[type[Event]]:
        """Return the one type."""
        return [self._event_type]


@contextmanager
def register_event_listeners(listeners: list[EventListener]) -> Iterator[list[EventListener]]:
    """Let listeners hear of what happens inside a ``with`` block, beside those around it.

    That is what the block's own code calls, async twins and the threads of the SDK that work for a
    call included; other threads and tasks of the caller are not heard unless they run in a copy of
    its context.

    Raises:
        TypeError: If one is no ``EventListener``.
    """
    if not isinstance(listeners, list | tuple):
        raise WrongTypeError("listeners must be a list of EventListener objects")
    for listener in listeners:
        if not isinstance(listener, EventListener):
            raise WrongTypeError(
                f"listeners must be EventListener objects, not {type(listener).__name__}"
            )
    token = LISTENERS.set((*LISTENERS.get(), *listeners))
    try:
        yield listeners
    finally:
        LISTENERS.reset(token)


def emit_event(event: Event) -> None:
    """Tell the registered listeners of an event, in the order of their registration."""
    for listener in LISTENERS.get():
        try:
            wanted = listener.subscribed_event_types()
            if wanted is None or isinstance(event, tuple(wanted)):
                listener.on_event(event)
        except Exception:
            logger.exception("listener %s failed on %s", type(listener).__name__, event.event_name)
