"""JSON from what a model answered, however it wrapped or broke it."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import dataclass
from typing import Any, SupportsIndex

from json_repair import repair_json

#: Longer answers are read up to here, as if the model had been cut off.
MAX_ANSWER_CHARACTERS = 250_000
# A repair may take time that grows with the square of the length, or of the nesting.
_MAX_REPAIRED_CHARACTERS = 100_000
_MAX_REPAIRED_NESTING = 64
_MAX_READS = 3_000_000
#: Deeper values are left out; no schema of ours needs more than seven levels.
MAX_DEPTH = 32

_REASONING = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_FENCED = re.compile(r"^[ \t]*(```+|~~~+)[ \t]*\w*[ \t]*\n(.*?)(?:^[ \t]*\1|\Z)", re.DOTALL | re.M)
# A bracket that JSON may follow: "[see above]" and "{name}" of a sentence are none.
_OPENING = re.compile(
    r"""\{(?=\s*(?:["'}“]|\w+\s*:|\Z)) | \[(?=\s*(?:[\[{"'\]“\d-]|true|false|null|\Z))""",
    re.VERBOSE,
)
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+(?P<end>"?)', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class JsonAnswer:
    """The JSON of an answer.

    Attributes:
        value: A ``dict`` or ``list`` of storable values, or ``None`` when the answer has none.
        cut: Whether the answer ends in the middle; its last, unfinished string is left out.
    """

    value: dict[str, Any] | list[Any] | None
    cut: bool


def read_json(raw: object) -> dict[str, Any] | list[Any] | None:
    """Return the JSON object or array of a model's answer, or ``None`` when it has none.

    Fences, text around the JSON and a model's reasoning are taken off; what is broken is repaired.
    Texts hold no NUL and no lone surrogate, numbers are finite. Never raises.
    """
    return read_answer(raw).value


def read_answer(raw: object, *, keep_cut: bool = True) -> JsonAnswer:
    """Return the JSON of an answer and whether the answer was cut off; never raises.

    Args:
        keep_cut: Whether a string that the cut ended stays, as far as it goes. Where half a
            sentence may say the opposite of the whole one, let it go.
    """
    if not isinstance(raw, str):
        return JsonAnswer(None, cut=False)
    text = plain_text(_decoded_string(raw))
    for body in _bodies(text):
        whole, cut = _without_cut_string(body, keep_cut)
        value = _read(whole)
        if value is not None:
            return JsonAnswer(_clean(value, 0), cut or len(raw) > MAX_ANSWER_CHARACTERS)
    return JsonAnswer(None, cut=False)


def plain_text(raw: str) -> str:
    """Return what a model says, as it can be stored, without what it thinks aloud before."""
    return _REASONING.sub("", storable_text(raw[:MAX_ANSWER_CHARACTERS])).lstrip("\ufeff")


def storable_text(text: str) -> str:
    """Return a text without NUL, with lone surrogates joined to pairs or as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "")


def _decoded_string(text: str) -> str:
    """Return the text of an answer that was encoded as JSON twice."""
    if len(text) > MAX_ANSWER_CHARACTERS or not text.lstrip().startswith('"'):
        return text
    try:
        return str(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _bodies(text: str) -> list[str]:
    """Return where JSON may stand, the likeliest first."""
    fenced = [match[2] for match in _FENCED.finditer(text) if _OPENING.search(match[2])]
    fenced.sort(key=len, reverse=True)
    whole_first = text.lstrip().startswith(("{", "["))
    bodies = [text, *fenced] if whole_first else [*fenced, text]
    starts = [(body, _OPENING.search(body)) for body in bodies]
    return [body[start.start() :].strip() for body, start in starts if start] + [text.strip()]


def _without_cut_string(body: str, keep: bool) -> tuple[str, bool]:
    """Return a body without the string in which it ends, if any, and whether it was cut off."""
    if not body or body[-1] in "}]":
        return body, False
    depth, place = 0, 0
    for string in _STRING.finditer(body):
        depth += _depth(body[place : string.start()])
        place = string.end()
        if string["end"]:
            continue
        # A quote before a bracket or a comma closes: the quotes of the text are what is broken.
        if string[0][1:].lstrip()[:1] in ("}", "]", ",", ":"):
            return body, False
        if keep:
            return body, True
        before = body[: string.start()].rstrip()
        return (before + "null" if before.endswith(":") else before), True
    return body, depth + _depth(body[place:]) > 0


def _depth(text: str) -> int:
    return text.count("{") + text.count("[") - text.count("}") - text.count("]")


def _read(body: str) -> dict[str, Any] | list[Any] | None:
    """Return the JSON of a body, read as it stands or repaired."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return _choice(_values(body))
    return value if isinstance(value, dict | list) else None


def _values(body: str) -> list[Any]:
    """Return the JSON values that stand in a text one after another."""
    values: list[Any] = []
    place = 0
    while start := _OPENING.search(body, place):
        try:
            value, place = _DECODER.raw_decode(body, start.start())
        except (ValueError, RecursionError):
            return [*values, *_repaired(body[start.start() :])]
        values.append(value)
    return values


class _MeasuredText(str):
    """A text that can be read so many times only, which ends a repair that goes in circles."""

    __slots__ = ("_reads",)

    def __getitem__(self, place: SupportsIndex | slice) -> str:
        self._reads = getattr(self, "_reads", 0) + 1
        if self._reads > _MAX_READS:
            raise ValueError("the repair takes too long")
        return super().__getitem__(place)


def _repaired(text: str) -> list[Any]:
    text = _MeasuredText(text[:_MAX_REPAIRED_CHARACTERS])
    if _nesting(text) > _MAX_REPAIRED_NESTING:
        return []
    try:
        value = repair_json(text, return_objects=True, skip_json_loads=True)
    except Exception:  # noqa: BLE001 - a repair that fails is no repair, whatever it raises
        return []
    # Several values come as a list of them.
    return value if text.startswith("{") and isinstance(value, list) else [value]


def _nesting(text: str) -> int:
    steps = (1 if bracket in "[{" else -1 for bracket in _BRACKET.findall(text))
    return max(itertools.accumulate(steps), default=0)


def _choice(values: list[Any]) -> dict[str, Any] | list[Any] | None:
    """Return the value that is meant: the only one with objects, else all their objects."""
    rich = [value for value in values if _has_objects(value)]
    if len(rich) == 1:
        return rich[0]  # type: ignore[no-any-return]
    if rich:
        return [one for value in rich for one in (value if isinstance(value, list) else [value])]
    return next((value for value in values if isinstance(value, list)), None)


def _has_objects(value: object) -> bool:
    if isinstance(value, list):
        return any(isinstance(one, dict) for one in value)
    return isinstance(value, dict)


def _clean(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth >= MAX_DEPTH and isinstance(value, dict | list):
        return None
    if isinstance(value, dict):
        return {storable_text(str(key)): _clean(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [_clean(inner, depth + 1) for inner in value]
    return value
