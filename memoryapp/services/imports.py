"""Import of JSONL files: dialogues and messages, in batches, resumable, safe to run twice.

A batch is a stretch of lines between fixed line numbers. It is written in one transaction with
its audit entry, and that entry is the record of what was imported: its ``record_id`` is a hash of
all lines from the first of the file to the last of the batch. So a run that was cut off goes on
after its last whole batch, a grown file goes on after its old end, and what somebody deleted since
does not come back.
"""

from __future__ import annotations

import hashlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db import transaction

from memoryapp.access import Access
from memoryapp.memory import inspector, store
from memoryapp.models import AuditEntry
from memoryapp.services import audit
from memoryapp.services.import_formats import (
    FORMATS,
    Line,
    LineError,
    NewMessage,
    parse_line,
)
from memoryapp.services.import_writes import prepare_lines
from oracleagentmemory.apis.records import MessageRecord
from oracleagentmemory.apis.validation import check_text
from oracleagentmemory.errors import AgentMemoryError, InvalidInputError

if TYPE_CHECKING:
    from oracleagentmemory.inspection import Row

MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_ERRORS = 20


@dataclass(slots=True, kw_only=True)
class ImportSummary:
    """What a run did. ``lines_before`` were imported by an earlier run."""

    lines: int = 0
    lines_before: int = 0
    threads: int = 0
    messages: int = 0


class ImportFileError(InvalidInputError):
    """The file cannot be imported; nothing was written. One line of text an error."""


class ImportStoppedError(InvalidInputError):
    """The import stopped; the text says at which line, what is stored, and how to go on."""


@dataclass(frozen=True, slots=True)
class _RawLine:
    number: int
    raw: bytes
    prefix_hash: str


def check_file(path: Path, format_name: str, *, max_errors: int = MAX_ERRORS) -> int:
    """Read the whole file and return how many lines it has.

    Raises: ImportFileError, with up to ``max_errors`` bad lines, each by its number.
    """
    errors: list[str] = []
    lines = 0
    for line in _raw_lines(path):
        lines = line.number + 1
        try:
            parse_line(line.number, line.raw, format_name)
        except LineError as error:
            errors.append(str(error))
            if len(errors) == max_errors:
                errors.append("… and perhaps more; these are the first")
                break
    if errors:
        raise ImportFileError("\n".join(errors))
    return lines


def import_file(
    access: Access,
    path: Path,
    format_name: str,
    *,
    reason: str = "",
    progress: Callable[[int], object] = lambda lines: None,
) -> ImportSummary:
    """Store what the file holds and is not stored yet, in the order of its lines.

    Args:
        progress: Called with the number of lines done since the last call.

    Raises: ImportStoppedError, AccessDeniedError.
    """
    access.require_admin()
    check_text(reason, "reason", max_bytes=500)
    run = _Run(access, path.name, format_name, reason)
    batch_lines = FORMATS[format_name].batch_lines
    for _, group in groupby(_raw_lines(path), key=lambda line: line.number // batch_lines):
        batch = list(group)
        run.import_batch(batch)
        progress(len(batch))
    return run.summary


def _raw_lines(path: Path) -> Iterator[_RawLine]:
    """Yield the lines that are not empty; the hash of a line covers all lines up to it."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES + 1), b"")):
                if len(raw) > MAX_LINE_BYTES:
                    raise ImportFileError(
                        f"line {number + 1}: longer than {MAX_LINE_BYTES:,} bytes"
                    )
                text = (raw.removeprefix(BOM_UTF8) if number == 0 else raw).strip()
                digest.update(text + b"\n")
                if text:
                    yield _RawLine(number, text, digest.hexdigest())
    except OSError as error:
        raise ImportFileError(f"{path}: {error.strerror}") from error


class _Run:
    """One pass over a file."""

    def __init__(self, access: Access, file_name: str, format_name: str, reason: str) -> None:
        self.summary = ImportSummary()
        self._access = access
        # A file name need not be valid text; the audit entry must be.
        self._file_name = file_name.encode(errors="replace").decode()
        self._format_name = format_name
        self._reason = reason

    def import_batch(self, batch: Sequence[_RawLine]) -> None:
        """Store what an earlier run has not stored, all of it or nothing."""
        done = _imported_through(batch)
        missing = [line for line in batch if line.number > done]
        self.summary.lines += len(batch)
        self.summary.lines_before += len(batch) - len(missing)
        if not missing:
            return
        try:
            self._store(missing)
        except AgentMemoryError as error:
            raise ImportStoppedError(_stopped(error, missing[0].number)) from error

    def _store(self, raw_lines: Sequence[_RawLine]) -> None:
        lines = [parse_line(line.number, line.raw, self._format_name) for line in raw_lines]
        stored_threads = _stored_threads(lines)
        lines = list(_without_stored_messages(lines))
        message_ids = [message.id for line in lines for message in line.messages]
        changes = prepare_lines(lines, stored_threads)
        detail = {
            "file": self._file_name,
            "format": self._format_name,
            "lines": [raw_lines[0].number + 1, raw_lines[-1].number + 1],
            "threads": len(changes) - 1,
            "messages": len(message_ids),
            "manifest": manifest_hash(message_ids),
        }
        with transaction.atomic():
            store().write_all(changes)
            audit.record(
                self._access,
                "import",
                "import",
                raw_lines[-1].prefix_hash,
                reason=self._reason,
                detail=detail,
            )
        self.summary.threads += len(changes) - 1
        self.summary.messages += len(message_ids)


def manifest_hash(record_ids: Iterable[str]) -> str:
    """Return the SHA-256 of the ids, one a line: what one operation has written."""
    return hashlib.sha256("\n".join(record_ids).encode()).hexdigest()


def _imported_through(batch: Sequence[_RawLine]) -> int:
    """Return the last line of the batch that an earlier run has imported, or -1."""
    hashes = {line.prefix_hash: line.number for line in batch}
    entries = AuditEntry.objects.filter(noun="import", record_id__in=list(hashes))
    return max((hashes[found] for found in entries.values_list("record_id", flat=True)), default=-1)


def _stored_threads(lines: Sequence[Line]) -> set[str]:
    """Return the threads that exist, once every line fits the owner of its thread."""
    owners: dict[str, tuple[str | None, str | None]] = {
        row.id: (row.record.user_id, row.record.agent_id)
        for row in _rows("thread", {line.thread_id for line in lines})
    }
    stored = set(owners)
    for line in lines:
        owner = owners.setdefault(line.thread_id, (line.user_id, line.agent_id))
        if owner != (line.user_id, line.agent_id):
            raise LineError(
                line.number,
                f"thread {line.thread_id!r} belongs to user {owner[0]!r} and agent {owner[1]!r}, "
                f"not to {line.user_id!r} and {line.agent_id!r}",
            )
    return stored


def _without_stored_messages(lines: Sequence[Line]) -> Iterator[Line]:
    """Drop messages that are stored already; an id must not stand for two different ones."""
    known: dict[str, tuple[object, ...]] = {
        row.id: _identity(row.record)
        for row in _rows("message", {message.id for line in lines for message in line.messages})
        if isinstance(row.record, MessageRecord)
    }
    for line in lines:
        fresh = []
        for message in line.messages:
            identity = (line.thread_id, message.role, message.content)
            if message.id not in known:
                known[message.id] = identity
                fresh.append(message)
            elif message.is_named and known[message.id] != identity:
                raise LineError(line.number, f"another message has the id {message.id!r} already")
        if fresh:
            yield _with_messages(line, fresh)


def _rows(kind: Any, ids: set[str]) -> Iterator[Row]:
    wanted = sorted(ids)
    for start in range(0, len(wanted), 500):
        some = wanted[start : start + 500]
        yield from inspector().page(kind, ids=some, limit=len(some)).rows


def _identity(record: MessageRecord) -> tuple[object, ...]:
    content = record.content
    if not isinstance(content, str):
        content = "".join(getattr(part, "text", "") for part in content)
    return (record.thread_id, record.role, content)


def _with_messages(line: Line, messages: Sequence[NewMessage]) -> Line:
    return Line(
        number=line.number,
        thread_id=line.thread_id,
        user_id=line.user_id,
        agent_id=line.agent_id,
        messages=tuple(messages),
        metadata=line.metadata,
    )


def _stopped(error: AgentMemoryError, first_missing: int) -> str:
    stored = f"Lines 1 to {first_missing} are imported" if first_missing else "Nothing is imported"
    return f"{error}\n{stored}. Correct this and run the same command again: it goes on from there."
