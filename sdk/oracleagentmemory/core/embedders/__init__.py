"""Embedders."""

from __future__ import annotations

from oracleagentmemory.core.embedders.embedder import Embedder
from oracleagentmemory.core.embedders.local import LocalEmbedder
from oracleagentmemory.core.embedders.oracledb import OracleDBEmbedder

__all__ = ["Embedder", "LocalEmbedder", "OracleDBEmbedder"]
