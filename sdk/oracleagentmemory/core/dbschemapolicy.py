"""What opening a store may do to its schema."""

from __future__ import annotations

import enum


class SchemaPolicy(enum.StrEnum):
    """What opening a store checks, creates or drops."""

    REQUIRE_EXISTING = "require_existing"
    CREATE_IF_EMPTY = "create_if_empty"
    CREATE_IF_NECESSARY = "create_if_necessary"
    RECREATE = "recreate"
    NO_CHECK = "no_check"
