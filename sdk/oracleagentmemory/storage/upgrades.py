"""Steps that bring the SDK-only tables of an older store to the present layout.

The managed tables have the reference's version and are upgraded by the reference. A store whose
registry row names no layout has the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.schema import CreateTable

from oracleagentmemory.storage.extras import ExtraTables
from oracleagentmemory.storage.registry import StoreConfig

FIRST_VERSION = 1


@dataclass(frozen=True)
class Upgrade:
    """One step.

    Attributes:
        version: The layout after it.
        what: What it does, for the log.
        statements: Returns what it executes.
    """

    version: int
    what: str
    statements: Callable[[ExtraTables], list[sa.Executable]]


#: In order; never change one that was released.
UPGRADES: tuple[Upgrade, ...] = (
    Upgrade(
        2,
        "a table for the vectors of a re-embedding",
        lambda extras: [CreateTable(extras.new_vector, if_not_exists=True)],
    ),
)


def version_of(config: StoreConfig) -> int:
    """Return the layout of a store's SDK-only tables."""
    return config.extras_version or FIRST_VERSION


def steps_for(version: int) -> Iterator[Upgrade]:
    """Yield the steps that a store of a layout lacks, in order."""
    return (step for step in UPGRADES if step.version > version)
