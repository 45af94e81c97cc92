"""A world of records on every store that the contract suite runs on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sdk.inspection.world import World


@pytest.fixture
def world(store: Any) -> World:
    """Records of several users, agents and threads, some of them expired."""
    return World(store)
