"""Read a compiled CREATE TABLE or CREATE INDEX into the shapes of ``facts``."""

from __future__ import annotations

import re

import sqlalchemy as sa
from sqlalchemy.dialects import oracle
from sqlalchemy.schema import CreateIndex, CreateTable

from tests.oracle.facts import IDENTITY, Check, Column, ForeignKey, Index, Key, Table
from tests.oracle.normalise import closing, split_arguments

_CONSTRAINT = re.compile(r"(?:CONSTRAINT (?P<name>\w+) )?(?P<kind>PRIMARY|UNIQUE|CHECK|FOREIGN)\b")
_FOREIGN_KEY = re.compile(
    r"FOREIGN KEY ?\((?P<column>\w+)\) REFERENCES (?P<table>\w+) \((?P<referred>\w+)\)"
    r" ON DELETE (?P<on_delete>[\w ]+)$"
)
_COLUMN = re.compile(
    r"(?P<name>\w+) (?P<type>.+?)(?: DEFAULT (?P<default>.+?))?(?P<required> NOT NULL)?$"
)
_STRING = re.compile(r"('(?:[^']|'')*')")


def compiled(construct: CreateTable | CreateIndex) -> str:
    """Return the Oracle text of a DDL construct with single spaces."""
    return " ".join(str(construct.compile(dialect=oracle.oracledb.dialect())).split())


def read_table(table: sa.Table) -> Table:
    """Compile ``table`` for Oracle and read the text back."""
    text = compiled(CreateTable(table))
    opened = text.index("(")
    name = text[:opened].removeprefix("CREATE TABLE ").strip()
    end = closing(text, opened)
    if text[end + 1 :].strip():
        raise ValueError(f"more than a table in {text!r}")
    columns: list[Column] = []
    primary: list[Key] = []
    unique: set[Key] = set()
    checks: set[Check] = set()
    foreign: set[ForeignKey] = set()
    for part in split_arguments(text[opened + 1 : end]):
        match = _CONSTRAINT.match(part)
        if match is None:
            columns.append(_column(part))
        elif match["kind"] == "CHECK":
            checks.add(Check(_condition(part), match["name"]))
        elif match["kind"] == "FOREIGN":
            foreign.add(_foreign_key(part, match["name"]))
        else:
            key = Key(_column_names(part), match["name"])
            primary.append(key) if match["kind"] == "PRIMARY" else unique.add(key)
    (only_primary,) = primary
    return Table(
        name, tuple(columns), only_primary, frozenset(checks), frozenset(unique), frozenset(foreign)
    )


def read_index(index: sa.Index) -> Index:
    """Compile a plain index for Oracle and read the text back."""
    text = compiled(CreateIndex(index))
    match = re.fullmatch(r"CREATE INDEX (\w+) ON (\w+) \(([\w, ]+)\)", text)
    if match is None:
        raise ValueError(f"no plain index: {text!r}")
    return Index(match[1], match[2], tuple(name.strip() for name in match[3].split(",")))


def _column(part: str) -> Column:
    match = _COLUMN.fullmatch(part)
    if match is None:
        raise ValueError(f"no column: {part!r}")
    # Oracle makes an identity column NOT NULL by itself.
    nullable = match["required"] is None and match["type"] != IDENTITY
    return Column(match["name"], match["type"], nullable, match["default"])


def _condition(part: str) -> str:
    inside = part[part.index("(") + 1 : closing(part, part.index("("))]
    words = _STRING.split(inside.strip())
    return "".join(word if word.startswith("'") else word.upper() for word in words)


def _foreign_key(part: str, name: str | None) -> ForeignKey:
    match = _FOREIGN_KEY.search(part)
    if match is None or name is None:
        raise ValueError(f"no named foreign key of one column: {part!r}")
    return ForeignKey(name, match["column"], match["table"], match["referred"], match["on_delete"])


def _column_names(part: str) -> tuple[str, ...]:
    inside = part[part.index("(") + 1 : part.rindex(")")]
    return tuple(name.strip() for name in inside.split(","))
