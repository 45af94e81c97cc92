"""Contracts of embedders."""

from __future__ import annotations

from oracleagentmemory.apis.embedders.embedder import IEmbedder

__all__ = ["IEmbedder"]
