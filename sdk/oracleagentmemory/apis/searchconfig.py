"""The contract of a search configuration."""

from __future__ import annotations

import abc


class ISearchConfig(abc.ABC):  # noqa: B024 - a marker: a configuration is data
    """How a search ranks, prunes and bounds its results."""
