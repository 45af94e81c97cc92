"""Constructs that the Content-Security-Policy blocks, htmx 4 ignores or an attacker would like."""

from __future__ import annotations

import re

import pytest

from tests.architecture.sources import own_files, read

HTML = (".html",)
PAGES = (".html", ".js")

#: What is forbidden: the files it is looked for in, a pattern, and a specimen that it must find.
FORBIDDEN: dict[str, tuple[tuple[str, ...], str, str]] = {
    "the safe filter": (HTML, r"\|\s*safe(seq)?\b", "{{ memory.content|safe }}"),
    "autoescape off": (HTML, r"autoescape\s+off", "{% autoescape off %}"),
    "hx-on": (PAGES, r"\bhx-on\b", '<a hx-on:click="x()">'),
    "an inline handler": (HTML, r"<[^>]*\son[a-z]+\s*=", '<a onclick="x()">'),
    "an inline style": (HTML, r"<[^>]*\sstyle\s*=", '<p style="color:red">'),
    "a style element": (HTML, r"<style\b", "<style>p{}</style>"),
    "an inline script": (HTML, r"<script(?![^>]*\bsrc=)[^>]*>", "<script>x()</script>"),
    "a js: value": (PAGES, r"""["'](js|javascript):""", "<p hx-vals='js:{a: 1}'>"),
    "a trigger filter": (HTML, r'hx-trigger="[^"]*\[', '<p hx-trigger="click[ctrlKey]">'),
    "an event name of htmx 2": (PAGES, r"htmx:[a-z]+[A-Z]", '"htmx:afterSwap"'),
    "a foreign host": (HTML, r"""\b(src|href|action)=["'](https?:)?//""", '<img src="//x.y/z">'),
    "text as HTML": ((".js",), r"\.(inner|outer)HTML\s*=|insertAdjacentHTML", "a.innerHTML = b"),
    "trusted text": ((".py",), r"\b(mark_safe|SafeString|SafeText)\(", "mark_safe(text)"),
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_page_contains_it(what: str) -> None:
    suffixes, pattern, _ = FORBIDDEN[what]
    places = [
        f"{file}:{number}: {line.strip()}"
        for file in own_files(*suffixes)
        if file.parts[0] in ("templates", "static", "memoryapp")
        for number, line in enumerate(read(file).splitlines(), start=1)
        if re.search(pattern, line)
    ]
    assert not places, f"{what} is forbidden:\n" + "\n".join(places)


@pytest.mark.parametrize("what", FORBIDDEN)
def test_each_pattern_finds_its_specimen(what: str) -> None:
    _, pattern, specimen = FORBIDDEN[what]
    assert re.search(pattern, specimen)
