"""Prepare and write: everything slow first, then a short transaction.

A `prepare_` method validates, splits, embeds and tokenises without any lock; what it returns is
applied by `store.write()`, alone or in one transaction with other changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from oracleagentmemory.storage.engine import WriteTransaction

T = TypeVar("T")
U = TypeVar("U")


@dataclass(slots=True)
class DocumentedCall:
    """The documented method that a change belongs to.

    Attributes:
        result: What it gave, once the change is applied; what is made of it afterwards differs.
    """

    name: str
    result: Any = None


@dataclass(frozen=True)
class Prepared(Generic[T]):
    """A change that only has to be written.

    Attributes:
        apply: Writes the change inside a transaction and returns the method's result. It may be
            called again when a transaction was rolled back.
        maintains: It is part of what the store is being maintained by, and is applied while
            other changes are refused.
        call: The documented method that it belongs to, where somebody listens to events.
    """

    apply: Callable[[WriteTransaction], T]
    maintains: bool = False
    call: DocumentedCall | None = None

    def map(self, function: Callable[[T], U]) -> Prepared[U]:
        """Return the same change with its result passed through `function`."""
        apply = self.apply
        return Prepared(lambda transaction: function(apply(transaction)), self.maintains, self.call)


def prepared_value(value: T) -> Prepared[T]:
    """Return a change that writes nothing and gives `value`."""
    return Prepared(lambda _: value)


def in_order(changes: list[Prepared[Any]]) -> Prepared[list[Any]]:
    """Return one change that applies all, in order, and gives their results."""
    return Prepared(lambda transaction: [change.apply(transaction) for change in changes])
