"""The SQL store: all logic once, one mixin a noun; the databases add only what differs."""

from __future__ import annotations

from oracleagentmemory.storage.store.checking import Checking
from oracleagentmemory.storage.store.deleting import Deleting
from oracleagentmemory.storage.store.dumping import Dumping
from oracleagentmemory.storage.store.extending import Extending
from oracleagentmemory.storage.store.reading import Reading
from oracleagentmemory.storage.store.reembedding import Reembedding
from oracleagentmemory.storage.store.relating import Relating
from oracleagentmemory.storage.store.searching import Searching
from oracleagentmemory.storage.store.sources import Sourcing
from oracleagentmemory.storage.store.summaries import Summarising
from oracleagentmemory.storage.store.threads import Threading
from oracleagentmemory.storage.store.updating import Updating

__all__ = ["SQLStoreMethods"]


class SQLStoreMethods(
    Threading,
    Updating,
    Relating,
    Reading,
    Searching,
    Sourcing,
    Summarising,
    Deleting,
    Dumping,
    Checking,
    Extending,
    Reembedding,
):
    """Every method of a store over SQLAlchemy Core."""
