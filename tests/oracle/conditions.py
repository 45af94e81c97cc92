"""The SQL of a metadata filter on Oracle, evaluated for one document (see `jsonpath`).

Three-valued, as SQL is: a condition is true, false or, of no metadata, unknown (None).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.oracle.jsonpath import exists, found
from tests.oracle.normalise import closing, split_arguments

Verdict = bool | None
_REMOVED = re.compile(r"""REMOVE '(\$\."(?:[^"\\]|\\.)*")' IGNORE ON MISSING""")
_EXISTS = re.compile(r"(\w+), '(.*?)'(?: PASSING (.*))? ERROR ON ERROR", re.DOTALL)
_PASSED = re.compile(r'JSON\(:(\w+)\) AS "(\w+)"')


class Document:
    """A row's metadata in the column `name`; None is NULL."""

    def __init__(self, name: str, metadata: Any, binds: Mapping[str, str]) -> None:
        self.name = name
        self.metadata = metadata
        self.binds = {key: json.loads(text) for key, text in binds.items()}

    def fulfils(self, sql: str) -> Verdict:
        """Evaluate a condition."""
        sql = sql.strip()
        for word, decides in ((" OR ", True), (" AND ", False)):
            parts = _split(sql, word)
            if len(parts) > 1:
                verdicts = [self.fulfils(part) for part in parts]
                if decides in verdicts:
                    return decides
                return None if None in verdicts else not decides
        return self._single(sql)

    def _single(self, sql: str) -> Verdict:
        if sql.startswith("NOT "):
            inner = self.fulfils(sql[4:])
            return None if inner is None else not inner
        if sql.startswith("(") and closing(sql, 0) == len(sql) - 1:
            return self.fulfils(sql[1:-1])
        if sql == "1 = 1":
            return True
        if sql in {f"{self.name} IS NULL", f"{self.name} IS NOT NULL"}:
            return (self.metadata is None) is ("NOT" not in sql)
        name, opened = sql.partition("(")[0], sql.index("(")
        assert closing(sql, opened) == len(sql) - 1, f"no condition: {sql}"
        return {"JSON_EXISTS": self._exists, "JSON_EQUAL": self._equal}[name](sql[opened + 1 : -1])

    def _exists(self, inside: str) -> Verdict:
        match = _EXISTS.fullmatch(inside)
        assert match is not None
        assert match[1] == self.name, inside
        passed = {alias: self.binds[bind] for bind, alias in _PASSED.findall(match[3] or "")}
        return None if self.metadata is None else exists(self.metadata, match[2], passed)

    def _equal(self, inside: str) -> Verdict:
        left, right = split_arguments(inside)
        assert right == "JSON('{}')", right
        document = self._document(left)
        return None if document is None else document == {}

    def _document(self, sql: str) -> Any:
        if sql == self.name:
            return self.metadata
        name, inside = sql.partition("(")[0], sql[sql.index("(") + 1 : -1]
        inner, *rest = split_arguments(inside)
        if name == "JSON_TRANSFORM":
            keys = {json.loads(_REMOVED.fullmatch(one)[1][2:]) for one in rest}  # type: ignore[index]
            document = self._document(inner)
            if not isinstance(document, dict):
                return document
            return {key: one for key, one in document.items() if key not in keys}
        assert (name, inner) == ("JSON_QUERY", self.name), sql
        path = re.fullmatch(r"'(.*)' RETURNING JSON", rest[0], re.DOTALL)
        assert path is not None, sql
        values = [] if self.metadata is None else found(self.metadata, path[1], {})
        return values[0] if len(values) == 1 else None


def _split(sql: str, word: str) -> list[str]:
    """Split at a word that stands in no parenthesis and no string."""
    parts, depth, quoted, start = [], 0, False, 0
    for position, letter in enumerate(sql):
        quoted ^= letter == "'"
        depth += 0 if quoted else {"(": 1, ")": -1}.get(letter, 0)
        if not quoted and depth == 0 and sql.startswith(word, position):
            parts.append(sql[start:position])
            start = position + len(word)
    return [*parts, sql[start:]]
