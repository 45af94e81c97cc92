"""Embedders."""

from __future__ import annotations

from oracleagentmemory.core.embedders.local import LocalEmbedder

__all__ = ["LocalEmbedder"]
