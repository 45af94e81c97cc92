"""Whether this process can serve."""

from __future__ import annotations

import logging

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from sqlalchemy.exc import SQLAlchemyError

from memoryapp.memory import inspector
from oracleagentmemory.errors import AgentMemoryError

logger = logging.getLogger(__name__)


def find_problem() -> str | None:
    """Say what keeps us from serving, in words that may be shown to anybody; None: nothing."""
    try:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            return "migrations are missing"
        inspector().page("memory", limit=1)
    except (DatabaseError, SQLAlchemyError, AgentMemoryError):
        logger.exception("not ready")
        return "the database does not answer"
    return None
