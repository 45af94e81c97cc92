"""Time to live."""

from __future__ import annotations

import enum


class TimeToLiveAnchor(enum.Enum):
    """The moment from which ``ttl_days`` counts."""

    CREATED_AT = "created_at"
    TIMESTAMP = "timestamp"
