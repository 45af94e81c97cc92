"""The XML-like text of results and context cards. All text in it is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

INDENT = "  "


def element(tag: str, text: str) -> str:
    """Return one element on one line; tag and text are escaped."""
    name = escape(tag)
    return f"<{name}>{escape(text)}</{name}>"


def block(tag: str, children: Iterable[str]) -> str:
    """Return an element around child elements, each indented; without children on one line."""
    inner = "\n".join(indent(child) for child in children)
    return f"<{tag}>\n{inner}\n</{tag}>" if inner else f"<{tag}></{tag}>"


class Verbatim(str):
    """An element whose text keeps its own lines: only the first one is moved in with its tag."""

    __slots__ = ()


def indent(text: str) -> str:
    """Return ``text`` with every line moved in by one level."""
    if isinstance(text, Verbatim):
        return INDENT + text
    return "\n".join(INDENT + line for line in text.split("\n"))


def one_line(text: str) -> str:
    """Return ``text`` with every run of white space as one space."""
    return " ".join(text.split())
