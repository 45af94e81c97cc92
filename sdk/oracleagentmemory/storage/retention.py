"""How long records live: `ttl_days`, its anchor, and a store's defaults."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from oracleagentmemory._notset import NOT_SET_MARKER, _NotSetMarker
from oracleagentmemory.apis.ttl import TimeToLiveAnchor
from oracleagentmemory.errors import InvalidInputError

if TYPE_CHECKING:  # core imports storage, never the other way round
    from oracleagentmemory.core.retention import MemoryRetentionConfig


@dataclass(frozen=True)
class Retention:
    """A store's resolved rules; None means without end, or without limit."""

    default_ttl_days: int | None = None
    max_ttl_days: int | None = None

    @classmethod
    def of_config(cls, config: MemoryRetentionConfig) -> Retention:
        """Check a caller's configuration and resolve what it omits to None.

        Raises:
            InvalidInputError: If a value is no whole number of days, or the default is longer
                than the maximum.
        """
        default = _config_days(config.default_ttl_days, "default_ttl_days")
        longest = _config_days(config.max_ttl_days, "max_ttl_days")
        if default is not None and longest is not None and default > longest:
            raise InvalidInputError(
                f"default_ttl_days ({default}) must not exceed max_ttl_days ({longest})"
            )
        return cls(default, longest)

    @classmethod
    def of_saved(cls, saved: Mapping[str, Any] | None) -> Retention:
        """Read the rules that a store's registry row keeps."""
        saved = saved or {}
        return cls(saved.get("default_ttl_days"), saved.get("max_ttl_days"))

    def to_saved(self) -> dict[str, int | None]:
        """Return the rules as the registry row keeps them."""
        return {"default_ttl_days": self.default_ttl_days, "max_ttl_days": self.max_ttl_days}

    def days(self, ttl_days: Any) -> int | None:
        """Resolve one `ttl_days` argument to days, None for no expiry.

        Raises:
            InvalidInputError: If it is no number of days or negative.
        """
        if isinstance(ttl_days, _NotSetMarker):
            ttl_days = self.default_ttl_days
        if ttl_days is None:
            return self.max_ttl_days
        try:
            days = int(ttl_days)
        except (TypeError, ValueError, OverflowError):
            raise InvalidInputError(
                f"ttl_days must be a whole number of days, not {ttl_days!r:.80}"
            ) from None
        if days < 0:
            raise InvalidInputError(f"ttl_days must not be negative, it is {days}")
        if self.max_ttl_days is not None and days > self.max_ttl_days:
            warnings.warn(
                f"ttl_days={days} is longer than this store's maximum; "
                f"{self.max_ttl_days} days are used",
                UserWarning,
                stacklevel=2,
            )
            return self.max_ttl_days
        return days


def _config_days(value: Any, name: str) -> int | None:
    if value is None or isinstance(value, _NotSetMarker):
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInputError(f"{name} must be None or a whole number >= 0, not {value!r:.80}")
    return value


def check_anchor(anchor: Any) -> TimeToLiveAnchor:
    """Return an anchor argument, creation when omitted."""
    if isinstance(anchor, _NotSetMarker):
        return TimeToLiveAnchor.CREATED_AT
    if not isinstance(anchor, TimeToLiveAnchor):
        raise InvalidInputError(f"ttl_anchor must be a TimeToLiveAnchor, not {anchor!r:.80}")
    return anchor


def parse_time(text: str | None) -> datetime | None:
    """Read an ISO-8601 time as aware UTC; naive means UTC, None when it is no such time."""
    if text is None:
        return None
    try:
        parsed = datetime.fromisoformat(text)
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def anchor_time(anchor: TimeToLiveAnchor, timestamp: str | None) -> datetime | None:
    """Return the time a life counts from; None stands for the record's creation.

    Raises:
        InvalidInputError: If it counts from the timestamp and there is none in ISO-8601.
    """
    if anchor is TimeToLiveAnchor.CREATED_AT:
        return None
    parsed = parse_time(timestamp)
    if parsed is None:
        raise InvalidInputError(
            "ttl_anchor=TIMESTAMP needs an ISO-8601 timestamp such as "
            f"2026-01-31T12:00:00Z, not {timestamp!r:.80}"
        )
    return parsed


def expiry(days: int | None, start: datetime) -> datetime | None:
    """Return when a life of `days` that begins at `start` ends.

    Raises:
        InvalidInputError: If that lies beyond the last year a database can hold.
    """
    if days is None:
        return None
    try:
        return start + timedelta(days=days)
    except OverflowError:
        raise InvalidInputError(f"ttl_days={days} ends after the year 9999") from None


def refreshes_expiry(ttl_days: Any, ttl_anchor: Any) -> bool:
    """Tell whether an update asks for a new expiry."""
    return ttl_days is not NOT_SET_MARKER or ttl_anchor is not NOT_SET_MARKER
