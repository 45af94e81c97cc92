"""What a job remembers, so that running it again has no second effect."""

from __future__ import annotations

from typing import Any, Protocol

from oracleagentmemory.errors import StateError
from oracleagentmemory.storage.engine import WriteTransaction


class FencedError(StateError):
    """A run of a job may not write any more: the job was cancelled, or another run has it."""


class JobJournal(Protocol):
    """The notes of one job, JSON values by key, kept until the job is settled.

    Where a job may be taken over by another process, they are kept in the database that holds the
    records, so that what is noted and what is stored come about together.
    """

    @property
    def may_run_again(self) -> bool:
        """Whether a run that ends with ``RetryableError`` is followed by another."""

    def recall(self, key: str) -> Any:
        """Return what an earlier run of the job noted, ``None`` when it got not that far."""

    def remember(self, key: str, value: Any, transaction: WriteTransaction | None = None) -> None:
        """Note a value, in the transaction that writes what it tells of, if there is one.

        A value that is noted again takes the place of the earlier one.
        """

    def fence(self, transaction: WriteTransaction) -> None:
        """Raise ``StateError`` if this run may not write any more: cancelled, or taken over."""


class NoJournal:
    """For a job that runs once, where its process ends it."""

    may_run_again = False

    def recall(self, key: str) -> Any:
        """Nothing was noted."""

    def remember(self, key: str, value: Any, transaction: WriteTransaction | None = None) -> None:
        """Nothing is kept."""

    def fence(self, transaction: WriteTransaction) -> None:
        """Nobody takes the job over."""


NO_JOURNAL = NoJournal()


class FencedJournal:
    """A journal whose fence is told from every other reason for which a write is refused."""

    def __init__(self, journal: JobJournal) -> None:
        self._journal = journal
        self.may_run_again = journal.may_run_again

    def recall(self, key: str) -> Any:
        """Return what an earlier run noted."""
        return self._journal.recall(key)

    def remember(self, key: str, value: Any, transaction: WriteTransaction | None = None) -> None:
        """Note a value."""
        self._journal.remember(key, value, transaction)

    def fence(self, transaction: WriteTransaction) -> None:
        """Raise `FencedError` if this run may not write any more."""
        try:
            self._journal.fence(transaction)
        except StateError as refused:
            raise FencedError(str(refused)) from refused
