"""Which records: the filters of pages, counts and day series, checked before any I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, TypedDict

from oracleagentmemory._notset import NOT_SET_MARKER, _NotSetMarker
from oracleagentmemory.apis.records import MEMORY_TYPES, RecordStatus
from oracleagentmemory.apis.validation import check_id, check_text
from oracleagentmemory.errors import InvalidInputError, WrongTypeError
from oracleagentmemory.inspection.results import RowKind
from oracleagentmemory.storage.filters import Filter, parse_filter

#: Of a text filter; a query of thousands of words would take the database long.
MAX_TEXT_BYTES = 500
#: Any value, also none; ``None`` itself means the records without a value.
ANY: Final = NOT_SET_MARKER


class RecordFilters(TypedDict, total=False):
    """The filters of day series, joined by "and"; what is omitted does not filter.

    Attributes:
        user_id, agent_id, thread_id: An exact id, ``None`` for records without one, or ``ANY``.
        user_ids: The users that the asking person may see; records of others, and of no user,
            do not exist for them. ``None`` is everybody, an empty collection nobody.
        memory_types: Memory types (memories only); one type may be given as a string.
        status: ``"valid"`` or ``"invalid"`` (not for threads).
        metadata_filter: A documented metadata filter; ``None`` and ``{}`` do not filter.
        ids: Record ids.
    """

    user_id: str | _NotSetMarker | None
    agent_id: str | _NotSetMarker | None
    thread_id: str | _NotSetMarker | None
    user_ids: Collection[str] | None
    memory_types: Collection[str] | str | None
    status: RecordStatus | str | None
    metadata_filter: Mapping[str, Any] | None
    ids: Collection[str] | None


class Filters(RecordFilters, total=False):
    """The filters of pages, counts and facets.

    Attributes:
        since, until: Bounds of the effective time, the first included, the second not. Aware.
        text: Words, of images in their description (not for threads). All of them, stop words
            apart, must stand in one of the parts of 4,000 characters under which a record is
            searched, whatever their case and ending. Nothing in it is query syntax. Without any
            visible character it does not filter; without any word nothing matches.
    """

    since: datetime | None
    until: datetime | None
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Checked filters.

    Attributes:
        equal: Column name to the value it must have.
        text: What was given, with a visible character.
        words: The text as the database's query; set by :class:`~.texts.Texts`.
        is_common: Whether so many records hold the words that each row is asked for them.
        nothing: Whether no record can match, so that the database need not be asked.
    """

    equal: Mapping[str, str | None]
    user_ids: frozenset[str] | None
    memory_types: frozenset[str] | None
    status: str | None
    since: datetime | None
    until: datetime | None
    metadata: Filter | None
    ids: frozenset[str] | None
    text: str | None = None
    words: str | None = None
    is_common: bool = False
    nothing: bool = False

    def narrowed(self) -> Criteria:
        """Merge the access scope into the user filter where both are given."""
        user_ids, equal = self.user_ids, dict(self.equal)
        sets = (user_ids, self.memory_types, self.ids)
        nothing = any(some is not None and not some for some in sets)
        if user_ids is not None and not nothing:
            if "user_id" in equal:
                nothing = equal["user_id"] not in user_ids
                user_ids = None
            elif len(user_ids) == 1:
                (equal["user_id"],) = user_ids
                user_ids = None
        return replace(self, equal=equal, user_ids=user_ids, nothing=nothing)

    def shape(self) -> frozenset[str]:
        """Which conditions a statement for these criteria has, whatever their values."""
        names = {name if value is not None else f"no_{name}" for name, value in self.equal.items()}
        for name in ("user_ids", "memory_types", "status", "since", "until", "ids"):
            if getattr(self, name) is not None:
                names.add(name)
        if self.words is not None:
            names.add("each_words" if self.is_common else "words")
        return frozenset(names)

    def binds(self) -> dict[str, Any]:
        """The values of the conditions of :meth:`shape`."""
        values: dict[str, Any] = {k: v for k, v in self.equal.items() if v is not None}
        for name in ("user_ids", "memory_types", "ids"):
            if (members := getattr(self, name)) is not None:
                values[name] = sorted(members)
        for name in ("status", "since", "until", "words"):
            if (value := getattr(self, name)) is not None:
                values[name] = value
        return values


def criteria_of(kind: RowKind, filters: Filters) -> Criteria:
    """Check the filters for one kind of record.

    Raises:
        InvalidInputError: If a filter has no such value, does not fit the kind, or is a time
            without zone.
        TypeError: If a filter is unknown, or an id is not a ``str``.
    """
    if unknown := sorted(set(filters) - Filters.__optional_keys__):
        raise TypeError(f"unknown filter {unknown[0]!r}")
    equal: dict[str, str | None] = {}
    for name in ("user_id", "agent_id", "thread_id"):
        value = filters.get(name, ANY)
        if not isinstance(value, _NotSetMarker):
            equal[name] = None if value is None else check_id(value, name)
    metadata = filters.get("metadata_filter")
    return Criteria(
        equal=equal,
        user_ids=id_set(filters.get("user_ids"), "user_ids"),
        memory_types=_memory_types(filters.get("memory_types"), kind),
        status=_status(filters.get("status"), kind),
        since=_aware(filters.get("since"), "since"),
        until=_aware(filters.get("until"), "until"),
        metadata=None if metadata is None or metadata == {} else parse_filter(metadata),
        ids=id_set(filters.get("ids"), "ids"),
        text=_text(filters.get("text"), kind),
    ).narrowed()


def id_set(values: Collection[str] | None, what: str) -> frozenset[str] | None:
    """Return a collection of ids as a set; ``None`` stays ``None``."""
    if values is None:
        return None
    if isinstance(values, str):
        raise WrongTypeError(f"{what} must be a collection of ids, not a str")
    return frozenset(check_id(value, f"an id in {what}") for value in values)


def _memory_types(values: Collection[str] | str | None, kind: RowKind) -> frozenset[str] | None:
    if values is None:
        return None
    if kind != "memory":
        raise InvalidInputError(f"memory_types do not apply to kind {kind!r}")
    types = frozenset([values] if isinstance(values, str) else values)
    if unknown := sorted(map(repr, types - set(MEMORY_TYPES))):
        raise InvalidInputError(
            f"unknown memory type {unknown[0]:.80}; known are {', '.join(MEMORY_TYPES)}"
        )
    return types


def _status(value: RecordStatus | str | None, kind: RowKind) -> str | None:
    if value is None:
        return None
    if kind == "thread":
        raise InvalidInputError("status does not apply to kind 'thread'")
    try:
        return RecordStatus(value).value
    except ValueError:
        raise InvalidInputError(f"unknown status {value!r:.80}; known are valid, invalid") from None


def _text(value: str | None, kind: RowKind) -> str | None:
    if value is None:
        return None
    if kind == "thread":
        raise InvalidInputError("text does not apply to kind 'thread'")
    check_text(value, "text", max_bytes=MAX_TEXT_BYTES)
    return value if value.strip() else None


def _aware(value: datetime | None, what: str) -> datetime | None:
    if value is None:
        return None
    if value.tzinfo is None:
        raise InvalidInputError(f"{what} has no time zone; give an aware datetime")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidInputError(f"{what} lies outside the years 1 to 9999") from None
