"""A process of its own that writes through the joined engine: ``second_writer FILE COUNT``."""

from __future__ import annotations

import sys

import django
from django.conf import settings

from memoryapp.environment import database_settings


def main(path: str, count: int) -> None:
    """Add ``count`` memories, each with a plain row in the same transaction."""
    settings.configure(DATABASES={"default": database_settings(f"sqlite:///{path}")})
    django.setup()
    import sqlalchemy as sa
    from django.db import connection, transaction

    from memoryapp.joined import joined_engine
    from oracleagentmemory.storage.engine import StoreEngine
    from oracleagentmemory.storage.layout import ManagedTables

    memory = ManagedTables(dimension=3).memory
    engine = StoreEngine(joined_engine("default"))
    for number in range(count):
        row = {"record_id": f"second-{number}", "memory_type": "fact", "order_seq": number}
        with transaction.atomic():
            with engine.write() as write:
                write.execute(sa.insert(memory), [row])
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO joined_note (body) VALUES (%s)", [row["record_id"]])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
