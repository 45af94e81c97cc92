"""The contract of a thread summary."""

from __future__ import annotations

import abc


class Summary(abc.ABC):
    """A summary of a thread."""

    @property
    @abc.abstractmethod
    def content(self) -> str:
        """The text of the summary."""
