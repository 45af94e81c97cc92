"""Dumps that were cut, altered or made up: refused by line, before anything is written."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from oracleagentmemory.core import SQLiteMemoryStore
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.storage.dump import DumpFormat
from oracleagentmemory.storage.dump_lines import CheckedDump
from tests.sdk.contract.full_store import fill
from tests.sdk.search.stores import Clock, ScopedWordEmbedder

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def store() -> Iterator[SQLMemoryStore]:
    clock = Clock()
    with closing(SQLiteMemoryStore(embedder=ScopedWordEmbedder())) as store:
        store.engine.clock = clock
        fill(store, clock)
        yield store


@pytest.fixture
def lines(store: SQLMemoryStore) -> Lines:
    with store.dump() as file:
        return [json.loads(line) for line in file]


def check(store: SQLMemoryStore, lines: list[str] | list[bytes]) -> CheckedDump:
    return CheckedDump(lines, DumpFormat(store.tables, store.extras), store._check_picture)


def place(lines: Lines, table: str) -> int:
    return next(at for at, line in enumerate(lines) if line.get("table") == table)


def set_value(table: str, column: str, value: Any) -> Callable[[Lines], None]:
    def change(lines: Lines) -> None:
        lines[place(lines, table)]["row"][column] = value

    return change


def drop_column(lines: Lines) -> None:
    del lines[place(lines, "memory")]["row"]["content"]


def add_column(lines: Lines) -> None:
    lines[place(lines, "memory")]["row"]["order_seq"] = 3


def unknown_table(lines: Lines) -> None:
    lines[place(lines, "memory")]["table"] = "agent_memory_stores"


def part_before_its_record(lines: Lines) -> None:
    at = place(lines, "record_chunks")
    lines.insert(1, lines.pop(at))


def child_before_its_parent(lines: Lines) -> None:
    lines.insert(-1, lines[place(lines, "thread")])


def foreign_chunk(lines: Lines) -> None:
    lines[place(lines, "record_chunks")]["row"]["source_record_type"] = "message"


def encoded(vector: Any) -> str:
    return base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()


FAULTS: dict[str, tuple[Callable[[Lines], None], str]] = {
    "a missing column": (drop_column, "missing or unknown: .'content'"),
    "a column more": (add_column, "missing or unknown: .'order_seq'"),
    "a table of another's": (unknown_table, "unknown table 'agent_memory_stores'"),
    "a chunk before its record": (part_before_its_record, "must follow the record"),
    "a chunk of another kind": (foreign_chunk, "must follow the record"),
    "a parent after its child": (child_before_its_parent, "thread must stand before"),
    "an id of the wrong type": (set_value("memory", "record_id", 7), "must be a str, not int"),
    "no id": (set_value("memory", "record_id", None), "must not be null"),
    "an empty id": (set_value("memory", "record_id", ""), "must not be empty"),
    "a long id": (set_value("memory", "user_id", "x" * 129), "129 bytes"),
    "NUL": (set_value("memory", "content", "a\0b"), "NUL"),
    "a lone surrogate": (set_value("memory", "content", "\ud800"), "surrogate"),
    "a status": (set_value("memory", "status", "deleted"), "valid, invalid"),
    "an actor type": (set_value("actor_profile", "actor_type", "god"), "user, agent"),
    "a time without a zone": (set_value("memory", "created_at", "2026-01-01T00:00:00"), "zone"),
    "a time that overflows": (
        set_value("memory", "created_at", "0001-01-01T00:00:00+14:00"),
        "zone",
    ),
    "no number": (set_value("x_record_state", "version", "1"), "whole number"),
    "a negative number": (set_value("record_chunks", "chunk_seq", -1), "whole number"),
    "no base64": (set_value("record_chunks", "embedding", "§"), "base64"),
    "a torn vector": (set_value("record_chunks", "embedding", "AAAA"), "4 bytes each"),
    "a short vector": (set_value("record_chunks", "embedding", "AACAPw=="), "1 numbers, not 8"),
    "a vector with NaN": (
        set_value("record_chunks", "embedding", encoded([math.nan] * 8)),
        "finite",
    ),
    "content that is no list": (set_value("message", "content", "hello"), "list of parts"),
    "a part without type": (set_value("message", "content", [{"text": "a"}]), "list of parts"),
    "a key with NUL": (set_value("memory", "metadata", {"a\0": 1}), "NUL"),
    "an image of no format": (
        set_value("document", "document_metadata", {"mime_type": "image/gif"}),
        "mime_type of image/png, image/jpeg, image/webp",
    ),
    "an image without format": (set_value("document", "document_metadata", None), "mime_type"),
    "bytes that are no image": (
        set_value("document", "blob", base64.b64encode(b"junk").decode()),
        "image 'i1' cannot be stored: image is neither",
    ),
    "a memory related to itself": (
        set_value("memory_link", "source_memory_id", "m2"),
        "related to itself",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_line_is_named(store: SQLMemoryStore, lines: Lines, fault: str) -> None:
    change, message = FAULTS[fault]
    change(lines)
    with pytest.raises(InvalidInputError, match=rf"line \d+ of the dump: .*{message}"):
        check(store, [json.dumps(line) for line in lines])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\xff\xfe\n", "no line of JSON"),
        (b"[1]\n", "JSON object"),
        (b"\n", "no line of JSON"),
        (b'{"a": NaN}\n', "no line of JSON"),
        (b"[" * 100_000, "no line of JSON"),
        (b'{"table": "memory", "row": []}\n', "must be an object"),
        (b'{"table": ["memory"], "row": {}}\n', "unknown table"),
    ],
)
def test_a_line_that_is_no_row_is_named(store: SQLMemoryStore, text: bytes, message: str) -> None:
    with store.dump() as file:
        header, *_, end = file
    with pytest.raises(InvalidInputError, match=f"line 2 of the dump: .*{message}"):
        check(store, [header, text, end])


def test_a_dump_that_was_cut_is_refused_wherever_it_was(
    store: SQLMemoryStore, lines: Lines
) -> None:
    text = [json.dumps(line) for line in lines]
    for length in range(len(text)):
        with pytest.raises(InvalidInputError, match=f"ends after line {length}"):
            check(store, text[:length])
    with pytest.raises(InvalidInputError, match="are due"):
        check(store, [*text[:5], text[-1]])
    with pytest.raises(InvalidInputError, match="nothing may follow"):
        check(store, [*text, text[-1]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "no dump"),
        ({"version": 2}, "version 2; this SDK reads 1"),
        ({"dimension": 0}, "whole number >= 1"),
        ({"dimension": True}, "whole number >= 1"),
        ({"embedder_id": 3}, "must be a str"),
    ],
)
def test_a_wrong_header_is_refused(
    store: SQLMemoryStore, lines: Lines, change: dict[str, Any], message: str
) -> None:
    lines[0] |= change
    with pytest.raises(InvalidInputError, match=f"line 1 of the dump: .*{message}"):
        check(store, [json.dumps(line) for line in lines])


def test_lines_of_text_without_line_ends_will_do(store: SQLMemoryStore, lines: Lines) -> None:
    dump = check(store, [json.dumps(line, ensure_ascii=False) for line in lines])
    assert sum(len(rows) for _, rows in dump.groups()) == len(lines) - 2


def test_a_group_holds_no_more_rows_than_one_statement_may_write() -> None:
    with closing(SQLiteMemoryStore()) as store:
        store.add(["red"] * 1201, "memory", index_texts=[[]] * 1201)
        with store.dump() as file:
            groups = [(name, len(rows)) for name, rows in check(store, file.readlines()).groups()]
    assert [count for name, count in groups if name == "memory"] == [500, 500, 201]
    assert all(count <= 500 for _, count in groups)
