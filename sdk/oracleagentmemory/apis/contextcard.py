"""The contract of a context card."""

from __future__ import annotations

import abc


class ContextCard(abc.ABC):
    """What a prompt should know about a thread."""

    @property
    @abc.abstractmethod
    def content(self) -> str:
        """The rendered card."""
