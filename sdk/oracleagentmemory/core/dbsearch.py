"""How a store searches."""

from __future__ import annotations

import enum

__all__ = ["SearchIndexSyncMode", "SearchStrategy"]


class SearchStrategy(enum.Enum):
    """What a search compares: vectors, words, or both."""

    VECTOR = "vector"
    HYBRID = "hybrid"
    KEYWORD = "keyword"


class SearchIndexSyncMode(enum.Enum):
    """When the text index takes up a change."""

    AUTO = "auto"
    MANUAL = "manual"
    ON_COMMIT = "on_commit"
