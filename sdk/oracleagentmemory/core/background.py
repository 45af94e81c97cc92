"""Work that a client does in the background. Nothing schedules any yet: extraction comes later."""

from __future__ import annotations

import logging

from oracleagentmemory.errors import InvalidInputError, StateError, WrongTypeError

logger = logging.getLogger(__name__)


class BackgroundWork:
    """The background work of one client."""

    def __init__(self) -> None:
        self._closed = False
        self._said_nothing_runs = False

    def require_open(self) -> None:
        """Raise ``StateError`` once the client is closed."""
        if self._closed:
            raise StateError("this client is closed; open another one")

    def wait(self, timeout_s: float | None) -> None:
        """Wait until the work accepted so far has ended."""
        self.require_open()

    def close(self) -> None:
        """Accept no more work."""
        self._closed = True

    def note_unextracted(self) -> None:
        """Log, once a client, that new messages are stored without extraction."""
        if not self._said_nothing_runs:
            self._said_nothing_runs = True
            logger.warning("this version stores messages but does not extract memories from them")


def check_timeout(timeout_s: float | None) -> None:
    """Raise unless a timeout is ``None`` or above 0 seconds."""
    if not isinstance(timeout_s, int | float | None):
        raise WrongTypeError(f"timeout must be a number of seconds, not {type(timeout_s).__name__}")
    if timeout_s is not None and not timeout_s > 0:
        raise InvalidInputError("timeout must be above 0 seconds, or None to wait without limit")
