"""How long messages, memories and images are kept."""

from __future__ import annotations

from dataclasses import dataclass

from oracleagentmemory._notset import NOT_SET_MARKER, _NotSetMarker


@dataclass(frozen=True)
class MemoryRetentionConfig:
    """Defaults of a store for the life of its messages, memories and images.

    The values are checked when a store opens with the config: ``None`` or an ``int`` >= 0, and
    the default at most the maximum. An omitted field resolves to ``None``.

    Attributes:
        default_ttl_days: Days that a record lives when its ``ttl_days`` is omitted; ``None``
            means without end.
        max_ttl_days: Longest life in days; longer ones are cut to it with a ``UserWarning``.
            ``None`` means no limit.
    """

    default_ttl_days: int | _NotSetMarker | None = NOT_SET_MARKER
    max_ttl_days: int | _NotSetMarker | None = NOT_SET_MARKER
