"""Rows locked in a transaction: FOR UPDATE has no SQLite form, so a lost lock shows only here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.dml import Delete, Update


class LockBook:
    """The tables in which a transaction has locked rows.

    Args:
        must_lock: Names of tables whose rows are changed only after a FOR UPDATE.
    """

    def __init__(self, must_lock: Iterable[str]) -> None:
        self._must_lock = frozenset(must_lock)
        self.held: set[str] = set()
        self._saved: dict[str, set[str]] = {}

    def taken_by(self, statement: Any) -> set[str]:
        """Return the names of the tables in which ``statement`` locks rows."""
        if not isinstance(statement, sa.Select) or statement._for_update_arg is None:
            return set()
        return {
            source.name for source in statement.get_final_froms() if isinstance(source, sa.Table)
        }

    def check(self, statement: Any, sql: str) -> None:
        """Fail when ``statement`` changes rows that nothing has locked."""
        if not isinstance(statement, Update | Delete):
            return
        name = statement.table.name
        if name in self._must_lock and name not in self.held:
            raise AssertionError(f"lost lock: {name} is changed without a FOR UPDATE: {sql}")

    def save(self, savepoint: str) -> None:
        """Note what is locked at a savepoint."""
        self._saved[savepoint] = set(self.held)

    def restore(self, savepoint: str) -> None:
        """Forget what was locked since a savepoint that is rolled back to."""
        self.held = set(self._saved[savepoint])

    def release(self) -> None:
        """Forget all: the transaction has ended."""
        self.held.clear()
        self._saved.clear()
