"""Deep Data Security: rows that the database guards for its end users."""

from __future__ import annotations

from oracleagentmemory.core.deepsec.context import OracleMemoryEndUserSecurityContext

__all__ = ["OracleMemoryEndUserSecurityContext"]
