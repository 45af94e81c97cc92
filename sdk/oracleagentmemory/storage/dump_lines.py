"""Reading a dump: every line is checked and set aside before anything is written."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import IO, Any

from oracleagentmemory.apis.message import ImageMimeType
from oracleagentmemory.errors import AgentMemoryError, InvalidInputError, WrongTypeError
from oracleagentmemory.storage.dump import (
    CHANGE,
    CHUNK,
    GROUP,
    RELATION,
    SOURCE,
    STATE,
    DumpFormat,
    DumpHeader,
    kind_of_chunk,
    parse_line,
)
from oracleagentmemory.storage.fingerprints import UNKNOWN_BYTES, ImageMark
from oracleagentmemory.storage.kinds import IMAGE, MEMORY, MESSAGE, THREAD, Kind

#: A dump up to this size stays in memory, a larger one goes to a file without a name.
SPOOL_BYTES = 8 * 2**20
#: Images are written in parts of so many bytes.
HELD_BYTES = 16 * 2**20

Rows = list[dict[str, Any]]
#: Raises InvalidInputError unless the columns of the image with this id hold one.
CheckImage = Callable[[str, Mapping[str, Any]], None]


def spool() -> IO[bytes]:
    """Return an empty place for the lines of a dump."""
    return tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES)


class CheckedDump:
    """A dump whose every line has been checked; it can be read as often as needed.

    Attributes:
        header: Its first line.
        has_vectors: Whether any chunk has a vector.

    Raises:
        InvalidInputError: If a line is wrong, naming it, or the end is missing.
    """

    header: DumpHeader
    has_vectors: bool = False

    def __init__(
        self, stream: Iterable[bytes | str], form: DumpFormat, check_image: CheckImage
    ) -> None:
        if isinstance(stream, bytes | str):
            raise WrongTypeError("a dump is restored from an open file or its lines, not from text")
        self._form = form
        self._lines = spool()
        weakref.finalize(self, self._lines.close)
        check = _Check(form, check_image)
        number = 0
        for number, text in enumerate(stream, start=1):
            data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
            try:
                check.line(number, parse_line(data))
            except AgentMemoryError as error:
                raise InvalidInputError(f"line {number} of the dump: {error}") from error
            self._lines.write(data if data.endswith(b"\n") else data + b"\n")
        if check.header is None or not check.ended:
            raise InvalidInputError(f"the dump was cut: it ends after line {number}")
        self.header = check.header
        self.has_vectors = check.has_vectors

    def groups(self) -> Iterator[tuple[str, Rows]]:
        """Yield table and rows, in order, as many as one statement may write."""
        self._lines.seek(0)
        next(self._lines)
        lines = map(parse_line, self._lines)
        rows = (self._form.decode(line) for line in lines if "end" not in line)
        for name, of_table in groupby(rows, key=lambda one: one[0]):
            for group in _cut(row for _, row in of_table):
                yield name, group


def _cut(rows: Iterable[dict[str, Any]]) -> Iterator[Rows]:
    """Cut rows into groups of `GROUP`, and those into parts whose images the memory holds."""
    part: Rows = []
    held = count = 0
    for row in rows:
        part.append(row)
        held, count = held + len(row.get("blob") or b""), (count + 1) % GROUP
        if held > HELD_BYTES or not count:
            yield part
            part, held = [], 0
    if part:
        yield part


class _Check:
    """What the lines so far allow the next one to be."""

    def __init__(self, form: DumpFormat, check_image: CheckImage) -> None:
        self.form = form
        self.header: DumpHeader | None = None
        self.ended = False
        self.has_vectors = False
        self._rows = 0
        self._order = [*form.kinds, RELATION, CHANGE]
        self._at = 0
        self._table = ""
        self._threads: set[str] = set()
        # The latest group of records, which the lines after it belong to.
        self._kind: Kind | None = None
        self._owners: set[str] = set()
        self._check_image = check_image
        self._digests: dict[str, str] = {}

    def line(self, number: int, line: Mapping[str, Any]) -> None:
        if self.ended:
            raise InvalidInputError("nothing may follow the end")
        if number == 1:
            self.header = DumpHeader.of_line(line)
        elif "end" in line:
            self.ended = True
            if line["end"] != self._rows:
                raise InvalidInputError(f"{self._rows} rows came and {line['end']!r:.20} are due")
        else:
            self._rows += 1
            name, row = self.form.decode(line)
            if name in (STATE, CHUNK, SOURCE):
                self._check_part(name, row)
            else:
                self._check_order(name)
                self._check_row(name, row)
            self._table = name

    def _check_order(self, name: str) -> None:
        at = self._order.index(name)
        if at < self._at:
            raise InvalidInputError(f"{name} must stand before {self._order[self._at]}")
        if self._table != name or len(self._owners) == GROUP:
            self._owners, self._digests = set(), {}
        self._at, self._kind = at, self.form.kinds.get(name)

    def _check_row(self, name: str, row: Mapping[str, Any]) -> None:
        if self._kind is not None:
            self._owners.add(row[self._kind.key])
        if self._kind is THREAD:
            self._threads.add(row["record_id"])
        elif name == "thread_summary" or (self._kind is MESSAGE and row["thread_id"] is not None):
            if row["thread_id"] not in self._threads:
                raise InvalidInputError(
                    f"{name} {row['record_id']!r} can be restored only with its whole thread "
                    f"{row['thread_id']!r}, which is not in the dump"
                )
        elif name == RELATION and row["source_memory_id"] == row["target_memory_id"]:
            raise InvalidInputError("a memory cannot be related to itself")
        if self._kind is MESSAGE:
            _check_parts(row["content"])
        elif self._kind is IMAGE:
            self._check_picture(row)

    def _check_picture(self, row: Mapping[str, Any]) -> None:
        named = row["document_metadata"]
        known = [one.value for one in ImageMimeType]
        if not isinstance(named, dict) or named.get("mime_type") not in known:
            raise InvalidInputError(
                f"document.document_metadata must name a mime_type of {', '.join(known)}"
            )
        self._check_image(row["record_id"], row)
        self._digests[row["record_id"]] = ImageMark.of(row["blob"]).digest

    def _check_part(self, name: str, row: Mapping[str, Any]) -> None:
        """Check a line that belongs to one of the records just before it."""
        kind, owner = self._kind, {STATE: "record_id", CHUNK: "source_id", SOURCE: "memory_id"}
        fits = {
            STATE: kind is not None and row.get("record_kind") == kind.name,
            CHUNK: kind is not None and kind_of_chunk(row.get("source_record_type", "")) is kind,
            SOURCE: kind is MEMORY,
        }
        if not fits[name] or row[owner[name]] not in self._owners:
            raise InvalidInputError(
                f"{name} of {row[owner[name]]!r} must follow the record that it belongs to"
            )
        if name == STATE and kind is IMAGE:
            self._check_bytes(row)
        vector = row.get("embedding")
        if vector is not None:
            self.has_vectors = True
            dimension = None if self.header is None else self.header.dimension
            if len(vector) != dimension:
                raise InvalidInputError(f"a vector of {len(vector)} numbers, not {dimension}")

    def _check_bytes(self, state: Mapping[str, Any]) -> None:
        """Compare what was noted of an image with its bytes.

        They may differ where a fingerprint tells that something else had changed the image.
        """
        image_id, noted = state["record_id"], state["content_hash"]
        if state["fingerprint"] is None and noted not in (UNKNOWN_BYTES, self._digests[image_id]):
            raise InvalidInputError(f"image {image_id!r} has other bytes than those dumped")


def _check_parts(content: Any) -> None:
    parts = content if isinstance(content, list) else [None]
    if not all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in parts):
        raise InvalidInputError("message.content must be a list of parts that have a type")
