"""Characters that a reader cannot see, made visible: a review of text that hides some is none.

Zero-width and control characters, marks that turn the direction of writing, tags and runs of
variation selectors can hold whole sentences for a model, or show an order that is not stored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufff9-\ufffb"
_BLANKS = "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2064\u3164\ufeff\uffa0"
_DIRECTIONS = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f"
_TAGS = "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff\U0001d173-\U0001d17a"
_RUN = re.compile(f"[{_CONTROLS}{_BLANKS}{_DIRECTIONS}{_TAGS}{_JOINERS}{_SELECTORS}]+")
_ONE_SELECTOR = re.compile(f"[{_SELECTORS}]")
_NAMED = 8
# Scripts that join letters and emoji of several parts need these; so do keycaps such as 1 in a box.
_AFTER_LETTER = frozenset({"So", "Sk", "Sm", "Lo", "Mn", "Mc"})
_AFTER_KEYCAP = _AFTER_LETTER | {"Nd", "Po"}


def shown(value: object) -> SafeString | str:
    """Return the text with a mark in the place of each run of hidden characters."""
    text = str(value)
    if not any(True for _ in _hidden_runs(text)):
        return text
    return format_html_join("", "{}{}", _pieces(text))


def _hidden_runs(text: str) -> Iterator[re.Match[str]]:
    for run in _RUN.finditer(text):
        if not _belongs(run.group(), text[max(run.start() - 1, 0) : run.start()]):
            yield run


def _belongs(run: str, before: str) -> bool:
    """Whether the run is part of what is seen before it: an emoji, a letter of a joining script."""
    category = unicodedata.category(before) if before else ""
    if _ONE_SELECTOR.fullmatch(run):
        return category in _AFTER_KEYCAP
    return run in ("\u200c", "\u200d", "\ufe0f\u200d") and category in _AFTER_LETTER


def _pieces(text: str) -> Iterator[tuple[str, SafeString | str]]:
    end = 0
    for run in _hidden_runs(text):
        yield text[end : run.start()], _mark(run.group())
        end = run.end()
    yield text[end:], ""


def _mark(run: str) -> SafeString:
    codes = [f"U+{ord(character):04X}" for character in run[:_NAMED]]
    names = [unicodedata.name(character, "control character") for character in run[:_NAMED]]
    more = f" and {len(run) - _NAMED} more" if len(run) > _NAMED else ""
    return format_html(
        '<span class="unseen" title="{}">{}</span>',
        ", ".join(f"{code} {name}" for code, name in zip(codes, names, strict=True)) + more,
        codes[0] if len(run) == 1 else f"{len(run)} hidden characters",
    )
