"""The form of a dump: JSON lines, one a row, the same for every database.

The first line is the header (:class:`DumpHeader`), the last `{"end": <rows>}`; a file without it
was cut. Between them stand `{"table": <name>, "row": {<column>: <value>}}`: each record, then what
belongs to it (state, chunks with their token ids, sources), parents before children.

Times are ISO-8601 in UTC; bytes, vectors (little-endian float32) and token ids are base64. Numbers
that a database gives out itself (`order_seq`, `chunk_id`, `change_id`) are not written: the order
of the lines stands for them. Keyword rows are made anew from the chunks.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import sqlalchemy as sa

from oracleagentmemory.apis.validation import check_id, check_json, check_text
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.storage.extras import ExtraTables
from oracleagentmemory.storage.kinds import IMAGE, MEMORY, MESSAGE, PROFILE, SUMMARY, THREAD, Kind
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.types import (
    BlankableText,
    Blob,
    Json,
    LongText,
    Number,
    Text,
    UtcTime,
    Vector,
)

FORMAT = "oracleagentmemory dump"
VERSION = 1
#: Every kind of record, parents before children.
DUMPED_KINDS = (THREAD, PROFILE, MESSAGE, IMAGE, MEMORY, SUMMARY)
STATE, CHUNK, SOURCE = "x_record_state", "record_chunks", "x_source"
RELATION, CHANGE = "memory_link", "x_change"
#: Records together with all that belongs to them; fits an IN list.
GROUP = 500
_CHECKED = {"status": ("valid", "invalid"), "actor_type": ("user", "agent")}


@dataclass(frozen=True)
class DumpHeader:
    """The first line: what the vectors of the store are."""

    dimension: int | None
    embedder_id: str | None

    def to_line(self) -> bytes:
        """Return the line."""
        named = {"format": FORMAT, "version": VERSION}
        return encode_line({**named, "dimension": self.dimension, "embedder_id": self.embedder_id})

    @classmethod
    def of_line(cls, line: Mapping[str, Any]) -> DumpHeader:
        """Read a parsed first line.

        Raises:
            InvalidInputError: If it is no header, or one of another version.
        """
        if line.get("format") != FORMAT:
            raise InvalidInputError("this is no dump: the first line must be its header")
        if line.get("version") != VERSION:
            raise InvalidInputError(
                f"the dump has version {line.get('version')!r:.20}; this SDK reads {VERSION}"
            )
        dimension, embedder_id = line.get("dimension"), line.get("embedder_id")
        if dimension is not None:
            _check_whole(dimension, "dimension", least=1)
        if embedder_id is not None:
            check_text(embedder_id, "embedder_id")
        return cls(dimension, embedder_id)


class DumpFormat:
    """The columns of each dumped table, and how their values are written.

    Attributes:
        columns: By the table's name without prefix.
        kinds: The kind of record by the same name.
    """

    def __init__(self, tables: ManagedTables, extras: ExtraTables) -> None:
        self.kinds = {kind.table_name: kind for kind in DUMPED_KINDS}
        self.tables: dict[str, sa.Table] = {
            **{name: kind.table(tables) for name, kind in self.kinds.items()},
            STATE: extras.record_state,
            CHUNK: tables.record_chunks,
            SOURCE: extras.source,
            RELATION: tables.memory_link,
            CHANGE: extras.change,
        }
        self.columns: dict[str, dict[str, sa.Column[Any]]] = {
            name: {column.name: column for column in table.c if column.identity is None}
            for name, table in self.tables.items()
        }
        # A store without vectors has no such column, and its dumps the same form.
        self.columns[CHUNK]["embedding"] = sa.Column("embedding", Vector())
        self.columns[CHUNK]["token_ids"] = sa.Column("token_ids", Blob())

    def encode(self, name: str, row: Mapping[str, Any]) -> bytes:
        """Return the line of a row."""
        values = {
            column: _encoded(of.type, row.get(column)) for column, of in self.columns[name].items()
        }
        return encode_line({"table": name, "row": values})

    def decode(self, line: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return table and row of a parsed line.

        Raises:
            InvalidInputError: If the table is unknown, or a column is missing, unknown or holds
                what it cannot store.
        """
        name, row = line.get("table"), line.get("row")
        columns = self.columns.get(name) if isinstance(name, str) else None
        if columns is None or name is None:
            raise InvalidInputError(f"unknown table {name!r:.80}")
        if not isinstance(row, dict):
            raise InvalidInputError(f"the row of {name} must be an object")
        if row.keys() != columns.keys():
            odd = sorted(row.keys() ^ columns.keys())
            raise InvalidInputError(f"columns of {name} that are missing or unknown: {odd!r:.120}")
        return name, {
            column: _decoded(of, row[column], f"{name}.{column}") for column, of in columns.items()
        }


def encode_line(line: Mapping[str, Any]) -> bytes:
    """Return an object as one line of UTF-8."""
    text = json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode() + b"\n"


def parse_line(text: bytes | str) -> dict[str, Any]:
    """Return the object of a line.

    Raises:
        InvalidInputError: If it is no JSON object.
    """
    try:
        line = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("this is no line of JSON") from error
    if not isinstance(line, dict):
        raise InvalidInputError("the line must be a JSON object")
    return line


def kind_of_chunk(record_type: str) -> Kind | None:
    """Return the kind of record that chunks of this type belong to."""
    return next((kind for kind in DUMPED_KINDS if kind.text and record_type in kind.types), None)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _encoded(type_: Any, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(type_, UtcTime):
        return value.isoformat(timespec="microseconds")
    if isinstance(type_, Vector):
        value = np.ascontiguousarray(value, dtype="<f4").tobytes()
    if isinstance(type_, Vector | Blob):
        return base64.b64encode(value).decode()
    return value


def _decoded(column: sa.Column[Any], value: Any, what: str) -> Any:
    type_ = column.type
    if value is None:
        # JSON null is a content of its own; a state without a fingerprint has the record's.
        content = isinstance(type_, Json) and not type_.none_as_null
        if column.nullable or content or column.name == "fingerprint":
            return None
        raise InvalidInputError(f"{what} must not be null")
    if isinstance(type_, Json):
        check_json(value, what)
    elif isinstance(type_, Number):
        _check_whole(value, what)
    elif isinstance(type_, UtcTime):
        return _time(value, what)
    elif isinstance(type_, Vector):
        return _vector(_bytes(value, what), what)
    elif isinstance(type_, Blob):
        return _bytes(value, what)
    else:
        _check_words(column, value, what)
    return value


def _check_words(column: sa.Column[Any], value: Any, what: str) -> None:
    if isinstance(column.type, BlankableText | LongText):
        length = getattr(column.type, "length", None)
        check_text(value, what, max_bytes=length)
    elif isinstance(column.type, Text):
        check_id(value, what, max_bytes=column.type.length)
    known = _CHECKED.get(column.name)
    if known is not None and value not in known:
        raise InvalidInputError(f"{what} must be one of {', '.join(known)}, not {value!r:.80}")


def _check_whole(value: Any, what: str, *, least: int = 0) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**63:
        raise InvalidInputError(f"{what} must be a whole number >= {least}, not {value!r:.80}")


def _time(value: Any, what: str) -> datetime:
    try:
        time = datetime.fromisoformat(value)
        if time.tzinfo is not None:
            return time.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidInputError(f"{what} must be an ISO-8601 time with a zone, not {value!r:.80}")


def _bytes(value: Any, what: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise InvalidInputError(f"{what} must be base64") from None


def _vector(data: bytes, what: str) -> Any:
    if not data or len(data) % 4:
        raise InvalidInputError(f"{what} must be float32 numbers of 4 bytes each")
    vector = np.frombuffer(data, dtype="<f4")
    if not np.isfinite(vector).all():
        raise InvalidInputError(f"{what} must hold finite numbers only")
    return vector
