"""What the database holds, to show that a refused request or import changed nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

#: Columns that a refused request may change.
_IGNORED = {"memoryapp_key": {"last_used_at"}}


def contents(*, without: frozenset[str] = frozenset()) -> dict[str, list[tuple[str, ...]]]:
    """Return the rows of every table, Django's and the store's, as text in a fixed order."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        names = sorted({name for (name,) in cursor.fetchall()} - without)
        return {name: _rows(cursor, name) for name in names}


def _rows(cursor: object, name: str) -> list[tuple[str, ...]]:
    cursor.execute(f'SELECT * FROM "{name}"')  # type: ignore[attr-defined]
    columns = [column[0] for column in cursor.description]  # type: ignore[attr-defined]
    kept = [i for i, column in enumerate(columns) if column not in _IGNORED.get(name, ())]
    rows = cursor.fetchall()  # type: ignore[attr-defined]
    return sorted(tuple(repr(row[i]) for i in kept) for row in rows)


@contextmanager
def nothing_changes() -> Iterator[None]:
    """Fail when a row of any table is another one at the end."""
    before = contents()
    yield
    after = contents()
    changed = [name for name in before | after if before.get(name) != after.get(name)]
    assert not changed, f"changed: {', '.join(sorted(changed))}"
