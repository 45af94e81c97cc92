"""Oracle's lax JSON paths, as far as metadata filters use them.

A model of the documented rules, to hold the filters' SQL against the matcher without a server: a
filter step and a comparison look at the elements of a list; a field step on a list means the
field of each element; an index on what is no list means the thing itself; text and numbers are
converted to compare them. `type()` and `size()` alone look at a list as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_TOKEN = re.compile(
    r"""\s*(?P<key>\."(?:[^"\\]|\\.)*")|\s*(?P<index>\[\d+\]|\[\*\])|\s*(?P<method>\.\w+\(\))
    |\s*(?P<word>\?\(|\(|\)|&&|\|\||==|!=|@|\$\w+|\$|"(?:[^"\\]|\\.)*"|\d+)""",
    re.VERBOSE,
)


def exists(document: Any, path: str, variables: Mapping[str, Any]) -> bool:
    """Say whether a path finds anything in a document."""
    return bool(found(document, path, variables))


def found(document: Any, path: str, variables: Mapping[str, Any]) -> list[Any]:
    """Return what a path finds in a document."""
    reader = _Reader(path, variables)
    reader.expect("$")
    values = reader.steps([document])
    reader.expect("")
    return values


class _Reader:
    """Reads a path and evaluates it on the way."""

    def __init__(self, path: str, variables: Mapping[str, Any]) -> None:
        self._tokens = _cut(path)
        self._at = 0
        self._variables = variables

    def steps(self, values: list[Any]) -> list[Any]:
        while True:
            token = self._peek()
            if token.startswith('."'):
                self._at += 1
                key = json.loads(token[1:])
                objects = [one for value in values for one in _opened(value)]
                values = [one[key] for one in objects if isinstance(one, dict) and key in one]
            elif token.startswith("["):
                self._at += 1
                values = [one for value in values for one in _indexed(value, token[1:-1])]
            elif token == "?(":
                values = self._filtered(values)
            elif token.startswith("."):
                self._at += 1
                values = [_METHODS[token[1:-2]](value) for value in values]
            else:
                return values

    def expect(self, token: str) -> None:
        assert self._peek() == token, f"{token!r} expected before {self._tokens[self._at :]}"
        self._at += 1

    def _filtered(self, values: list[Any]) -> list[Any]:
        start, kept = self._at, []
        candidates = [one for value in values for one in _opened(value)]
        for candidate in candidates or [None]:
            self._at = start
            self.expect("?(")
            holds = self._any(candidate)
            self.expect(")")
            if candidates and holds:
                kept.append(candidate)
        return kept

    def _any(self, value: Any) -> bool:
        return self._joined("||", self._all, value)[0]

    def _all(self, value: Any) -> bool:
        return self._joined("&&", self._term, value)[1]

    def _joined(self, joint: str, part: Any, value: Any) -> tuple[bool, bool]:
        results = [part(value)]
        while self._peek() == joint:
            self._at += 1
            results.append(part(value))
        return any(results), all(results)

    def _term(self, value: Any) -> bool:
        if self._peek() == "(":
            self.expect("(")
            holds = self._any(value)
            self.expect(")")
            return holds
        left = self._operand(value)
        operator = self._peek()
        assert operator in {"==", "!="}, operator
        self._at += 1
        right = self._operand(value)
        equal = any(_same(one, other) for one in left for other in right)
        return equal if operator == "==" else bool(left and right) and not equal

    def _operand(self, value: Any) -> list[Any]:
        token = self._peek()
        self._at += 1
        if token == "@":
            return [one for each in self.steps([value]) for one in _opened(each)]
        return [self._variables[token[1:]] if token.startswith("$") else json.loads(token)]

    def _peek(self) -> str:
        return self._tokens[self._at]


def _cut(path: str) -> list[str]:
    tokens, position = [], 0
    while position < len(path):
        match = _TOKEN.match(path, position)
        assert match is not None, f"cannot read {path[position:]!r}"
        tokens.append(match.group().strip())
        position = match.end()
    return [*tokens, ""]


def _opened(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _indexed(value: Any, index: str) -> Iterator[Any]:
    elements = _opened(value)
    if index == "*":
        yield from elements
    elif int(index) < len(elements):
        yield elements[int(index)]


def _type(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    names = {str: "string", list: "array", dict: "object"}
    return names.get(type(value), "number")


def _size(value: Any) -> int:
    return len(value) if isinstance(value, list) else 1


_METHODS = {"type": _type, "size": _size}


def _same(left: Any, right: Any) -> bool:
    """Compare scalars: true is not 1, and `"1"` is."""
    kinds = {_type(left), _type(right)}
    if kinds == {"string", "number"}:
        return str(left) == str(right)
    return len(kinds) == 1 and not kinds & {"array", "object"} and bool(left == right)
