"""What memories take over from their messages, and when two texts are equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from oracleagentmemory.core.extractors.inheritance import inherited_metadata
from oracleagentmemory.core.extractors.normalise import normalised_text

A = {"project": "x", "n": 1}
B = {"project": "x", "n": 2}


@pytest.mark.parametrize(
    ("messages", "setting", "inherited", "disagreeing"),
    [
        ([A, A], True, A, ()),
        ([A, A], False, {}, ()),
        ([A, B], True, {"project": "x"}, ("n",)),
        ([A, B], ["project"], {"project": "x"}, ()),
        ([A, B], ["n"], {}, ("n",)),
        ([A, A], ["nothing"], {}, ()),
        ([None, None], True, {}, ()),
        ([A, None], True, {}, ("project", "n")),
        ([{"deep": {"k": [1, None]}}], True, {"deep": {"k": [1, None]}}, ()),
        ([{"n": 1, "m": {"a": 1, "b": 2}}, {"n": 1.0, "m": {"b": 2.0, "a": 1}}], True, None, ()),
        ([{"n": 1}, {"n": True}], True, {}, ("n",)),
        ([{"n": None}, {}], True, {}, ("n",)),
        ([{"$agent_memory": {"a": 1}, "n": 1}], True, {"n": 1}, ()),
        ([{"$agent_memory": {"a": 1}}], ["$agent_memory"], {}, ()),
        ([], True, {}, ()),
        ([A], [], {}, ()),
    ],
)
def test_r126_only_metadata_that_agrees_is_inherited(
    messages: Sequence[dict[str, Any] | None],
    setting: bool | list[str],
    inherited: dict[str, Any] | None,
    disagreeing: tuple[str, ...],
) -> None:
    found = inherited_metadata(messages, setting)
    assert found.metadata == (messages[0] if inherited is None else inherited)
    assert found.disagreeing == disagreeing


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("Drinks tea", "drinks  TEA.", True),
        ("\uff2cives in \uff2cyon", "lives in lyon\n", True),
        ("café", "cafe\u0301", True),
        ("喜欢茶。", "喜欢茶", True),
        ("drinks tea", "drinks no tea", False),
        ("owns 1.5 acres", "owns 15 acres", False),
        ("", " .", True),
    ],
)
def test_equal_texts(one: str, other: str, equal: bool) -> None:
    assert (normalised_text(one) == normalised_text(other)) is equal
