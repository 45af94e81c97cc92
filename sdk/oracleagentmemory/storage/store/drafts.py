"""From the arguments of `add` to rows: every check that needs no database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from oracleagentmemory._notset import NOT_SET_MARKER, _NotSetMarker
from oracleagentmemory.apis.memorystore import PendingRecordBatch
from oracleagentmemory.apis.message import (
    ImageContent,
    MessageContent,
    TextContent,
    get_or_generate_id,
)
from oracleagentmemory.apis.records import MetadataValue, RecordStatus
from oracleagentmemory.apis.validation import (
    RESERVED_KEY,
    ROLE_MAX_BYTES,
    TIMESTAMP_MAX_BYTES,
    check_id,
    check_json,
    check_metadata,
    check_text,
)
from oracleagentmemory.errors import InvalidInputError, WrongTypeError
from oracleagentmemory.storage.kinds import (
    IMAGE,
    MEMORY,
    MESSAGE,
    PROFILE,
    SUMMARY,
    THREAD,
    Kind,
    kind_of,
)
from oracleagentmemory.storage.lifecycle import marked_by_hand
from oracleagentmemory.storage.retention import Retention, anchor_time, check_anchor, expiry
from oracleagentmemory.storage.rows import message_parts, message_text
from oracleagentmemory.storage.store.images import (
    check_description,
    image_columns,
    split_metadata,
)
from oracleagentmemory.storage.store.retrieval_text import (
    RetrievalText,
    explicit_vectors,
    plan_text,
)

_SCOPES = ("thread_id", "user_id", "agent_id")


@dataclass(frozen=True, slots=True)
class Life:
    """How long a row lives: days from a start (None: its creation), or a ready expiry."""

    days: int | None = None
    start: datetime | None = None
    expires_at: datetime | None = None

    def ends_at(self, created_at: datetime) -> datetime | None:
        """Return the expiry of a row that is created now."""
        if self.expires_at is not None:
            return self.expires_at
        return expiry(self.days, self.start or created_at)


_ENDLESS = Life()


@dataclass(slots=True)
class Draft:
    """One row to be.

    Attributes:
        user_id: The user whose scope it changes.
        columns: Values of all columns but number, creation time and expiry.
        content_text: The text of its content.
        text: What retrieval rows are made from.
        images: What is attached to a message.
    """

    kind: Kind
    record_type: str
    record_id: str
    user_id: str | None
    columns: dict[str, Any]
    content_text: str
    text: RetrievalText
    timestamp: str | None = None
    life: Life = _ENDLESS
    images: list[Draft] = field(default_factory=list)


def drafts_of(batch: PendingRecordBatch, retention: Retention) -> list[Draft]:
    """Check one batch and return its rows.

    Raises:
        InvalidInputError: If an argument cannot be stored or lengths do not match.
        WrongTypeError: If contents have the wrong type.
    """
    kind, record_type = _record_type(batch.record_type)
    contents = _contents(batch.contents)
    count = len(contents)
    ids = _record_ids(batch.record_ids, count)
    roles = _roles(batch.roles, kind, count)
    scopes = [spread(getattr(batch, f"{name}s"), count, f"{name}s") for name in _SCOPES]
    times = [check_timestamp(value) for value in spread(batch.timestamps, count, "timestamps")]
    metadata = [check_metadata(value) for value in spread(batch.metadata, count, "metadata")]
    statuses = [_status(value) for value in spread(batch.statuses, count, "statuses")]
    index_texts = _aligned(batch.index_texts, count, "index_texts")
    embeddings = _aligned(batch.embeddings, count, "embeddings")
    lives = _lives(batch, kind, times, retention)
    drafts = []
    for at in range(count):
        scope = _scope(kind, [column[at] for column in scopes])
        columns, text = _columns(kind, record_type, contents[at], metadata[at], index_texts[at])
        columns |= _fixed_columns(kind, record_type, ids[at], scope)
        columns["status"] = statuses[at].value
        if kind is MEMORY and statuses[at] is RecordStatus.INVALID:
            columns["metadata"] = marked_by_hand(columns["metadata"], RecordStatus.INVALID)
        if kind.expires:
            columns["timestamp"] = times[at]
        if kind is MESSAGE:
            columns["message_role"] = roles[at]
        draft = Draft(
            kind=kind,
            record_type=record_type,
            record_id=ids[at],
            user_id=ids[at] if record_type == "user_profile" else scope[1],
            columns=columns,
            content_text=text,
            text=plan_text(kind, text, index_texts[at], explicit_vectors(embeddings[at])),
            timestamp=times[at],
            life=lives[at],
        )
        draft.images = [attached_draft(part, draft) for part in image_parts(kind, contents[at])]
        drafts.append(draft)
    return drafts


def image_parts(kind: Kind, content: Any) -> list[ImageContent]:
    """Return the image parts of a content that has been checked; only messages have any."""
    if kind is not MESSAGE or isinstance(content, str | _NotSetMarker | None):
        return []
    return [part for part in content if isinstance(part, ImageContent)]


def attached_draft(part: ImageContent, message: Draft) -> Draft:
    """Return the row of an image part: it has the message's scope, status and life."""
    what = f"image part {part.id!r}"
    description = part.description or ""
    scope = {name: message.columns.get(name) for name in _SCOPES}
    return Draft(
        kind=IMAGE,
        record_type="image",
        record_id=part.id,
        user_id=message.user_id,
        columns={
            **image_columns(part.bytes, part.mime_type, what),
            **_fixed_columns(IMAGE, "image", part.id, [scope[name] for name in _SCOPES]),
            "message_id": message.record_id,
            "description": description,
            "timestamp": part.timestamp or None,
            "metadata": None,
            "status": message.columns["status"],
        },
        content_text=description,
        text=plan_text(IMAGE, description, None, None),
        timestamp=part.timestamp or None,
        life=message.life,
    )


def _fixed_columns(
    kind: Kind, record_type: str, record_id: str, scope: list[str | None]
) -> dict[str, Any]:
    """Return the columns that say which record it is and where it belongs."""
    columns: dict[str, Any] = {kind.key: record_id, "space_id": None}
    if kind.type_column is not None:
        columns[kind.type_column] = kind.stored_type(record_type)
    if kind is not PROFILE:
        columns |= dict(zip(_SCOPES, scope, strict=True))
    return columns


def _record_type(record_type: object) -> tuple[Kind, str]:
    if isinstance(record_type, _NotSetMarker):
        raise InvalidInputError("record_type is required")
    kind = kind_of(record_type)
    if kind is THREAD:
        raise InvalidInputError("threads are made by create_thread, not by add")
    return kind, str(record_type)


def _contents(contents: object) -> Sequence[Any]:
    if isinstance(contents, _NotSetMarker):
        raise InvalidInputError("contents is required")
    if isinstance(contents, str | bytes) or not isinstance(contents, Sequence):
        raise WrongTypeError(f"contents must be a list, not {type(contents).__name__}")
    return contents


def spread(value: object, count: int, what: str, of: str = "contents") -> list[Any]:
    """Return one value a record: a scalar applies to all, a list has to match."""
    if isinstance(value, _NotSetMarker):
        return [None] * count
    if isinstance(value, list | tuple):
        if len(value) != count:
            raise InvalidInputError(f"lengths must match: {len(value)} {what} for {count} {of}")
        return list(value)
    return [value] * count


def _aligned(value: object, count: int, what: str) -> list[Any]:
    if value is None or isinstance(value, _NotSetMarker):
        return [None] * count
    if not isinstance(value, list | tuple) and not hasattr(value, "shape"):
        raise WrongTypeError(f"{what} must be a list with one entry a record")
    if len(value) != count:  # type: ignore[arg-type]
        size = len(value)  # type: ignore[arg-type]
        raise InvalidInputError(f"lengths must match: {size} {what} for {count} contents")
    return list(value)  # type: ignore[call-overload, no-any-return]


def _record_ids(value: object, count: int) -> list[str]:
    if isinstance(value, str) and count != 1:
        raise InvalidInputError(f"one record id was given for {count} contents")
    ids = spread(value, count, "record_ids")
    missing = ids.count(None)
    if missing == count:
        return [get_or_generate_id() for _ in range(count)]
    if missing:
        raise InvalidInputError("record_ids must be given for all records or for none")
    checked = [check_id(one, "record_ids") for one in ids]
    if len(set(checked)) < count:
        twice = next(one for one in checked if checked.count(one) > 1)
        raise InvalidInputError(f"record_ids holds {twice!r} twice")
    return checked


def _roles(value: object, kind: Kind, count: int) -> list[str]:
    roles = spread(value, count, "roles")
    if kind is not MESSAGE:
        if any(role is not None for role in roles):
            raise InvalidInputError("roles belong to messages only")
        return []
    if any(role is None for role in roles):
        raise InvalidInputError("every message needs a role")
    return [check_text(role, "role", max_bytes=ROLE_MAX_BYTES) for role in roles]


def _scope(kind: Kind, values: list[Any]) -> list[str | None]:
    checked = [
        None if value is None else check_id(value, name)
        for name, value in zip(_SCOPES, values, strict=True)
    ]
    if kind is PROFILE and any(value is not None for value in checked):
        raise InvalidInputError("a profile belongs to no thread, user or agent")
    if kind is SUMMARY and checked[0] is None:
        raise InvalidInputError("a thread summary needs a thread_id")
    if kind is IMAGE and not any(checked):
        raise InvalidInputError("an image needs an owner: give a user_id, agent_id or thread_id")
    return checked


def check_timestamp(value: object) -> str | None:
    """Return a caller's timestamp; `''` is the same as none."""
    if value is None:
        return None
    return check_text(value, "timestamp", max_bytes=TIMESTAMP_MAX_BYTES) or None


def check_status(value: object) -> RecordStatus:
    """Return a status argument."""
    if not isinstance(value, RecordStatus):
        raise InvalidInputError(f"status must be a RecordStatus, not {value!r:.80}")
    return value


def _status(value: object) -> RecordStatus:
    return RecordStatus.VALID if value is None else check_status(value)


def _lives(
    batch: PendingRecordBatch, kind: Kind, times: list[str | None], retention: Retention
) -> list[Life]:
    count = len(times)
    if not isinstance(batch._expires_at, _NotSetMarker):
        ready = spread(batch._expires_at, count, "expires_at")
        return [Life(expires_at=one) for one in ready]
    given = batch.ttl_days is not NOT_SET_MARKER or batch.ttl_anchor is not NOT_SET_MARKER
    if not kind.expires:
        if given:
            raise InvalidInputError(f"a {kind.name.replace('_', ' ')} has no time to live")
        return [_ENDLESS] * count
    if not given and retention.default_ttl_days is None and retention.max_ttl_days is None:
        return [_ENDLESS] * count
    days = batch.ttl_days
    if isinstance(days, list | tuple):
        resolved = [retention.days(one) for one in spread(days, count, "ttl_days")]
    else:
        resolved = [retention.days(days)] * count
    anchors = [NOT_SET_MARKER if one is None else one for one in _anchors(batch.ttl_anchor, count)]
    starts = [
        anchor_time(check_anchor(anchor), time) for anchor, time in zip(anchors, times, strict=True)
    ]
    return [Life(day, start) for day, start in zip(resolved, starts, strict=True)]


def _anchors(value: object, count: int) -> list[Any]:
    if value is None:
        raise InvalidInputError("ttl_anchor must be a TimeToLiveAnchor, not None")
    return spread(value, count, "ttl_anchor")


def _columns(
    kind: Kind, record_type: str, content: Any, metadata: MetadataValue, index_text: Any
) -> tuple[dict[str, Any], str]:
    """Return the columns of a new row that hold content and metadata, and its searchable text."""
    if kind is IMAGE:
        mime_type, rest = split_metadata(metadata)
        description = check_description(index_text)
        own = {"description": description, "message_id": None, "metadata": rest}
        return {**image_columns(content, mime_type), **own}, description
    if content is None and kind is not SUMMARY:
        content = (metadata or {}).get("content", None if kind is PROFILE else "")
    columns, text = content_columns(kind, record_type, content)
    return {**columns, "metadata": metadata}, text


def content_columns(kind: Kind, record_type: str, content: Any) -> tuple[dict[str, Any], str]:
    """Check a content and return its column and its searchable text.

    Raises:
        InvalidInputError: If it holds what no text can, or is None where text is required.
        WrongTypeError: If it has the wrong type.
    """
    if kind is MESSAGE:
        parts = message_parts(_message_content(content))
        return {"content": parts}, message_text(parts)
    if kind is SUMMARY:
        return {"content": _summary_content(content)}, ""
    if content is None:
        raise InvalidInputError(f"a {record_type.replace('_', ' ')} needs a text, not None")
    return {kind.text or "content": check_text(content, "content")}, content


def _message_content(content: Any) -> str | list[MessageContent]:
    if isinstance(content, str):
        return check_text(content, "content")
    if not isinstance(content, list | tuple):
        raise WrongTypeError(
            f"content must be a str or a list of parts, not {type(content).__name__}"
        )
    if not content:
        raise InvalidInputError("content must have at least one part")
    for part in content:
        if not isinstance(part, MessageContent):
            raise WrongTypeError(
                f"a content part must be a MessageContent, not {type(part).__name__}"
            )
        check_id(part.id, "the id of a content part")
        if part.timestamp is not None:
            check_text(part.timestamp, "a part's timestamp", max_bytes=TIMESTAMP_MAX_BYTES)
        if isinstance(part, TextContent):
            check_text(part.text, "content")
        elif isinstance(part, ImageContent):
            check_text(part.description or "", "the description of an image part")
        else:
            raise WrongTypeError(
                f"a content part must be text or an image, not {type(part).__name__}"
            )
    return list(content)


def _summary_content(content: Any) -> Any:
    if isinstance(content, str):
        content = {"text": content}
    if content is not None and not isinstance(content, Mapping):
        raise WrongTypeError(
            f"a thread summary must be a mapping or a str, not {type(content).__name__}"
        )
    check_json(content, "content")
    return None if content is None else dict(content)


def keep_reserved(new: MetadataValue, old: MetadataValue) -> MetadataValue:
    """Return replaced metadata with the reserved key that the caller did not give."""
    if not old or RESERVED_KEY not in old or (new and RESERVED_KEY in new):
        return new
    return {**(new or {}), RESERVED_KEY: old[RESERVED_KEY]}
