"""Every documented name is there, with its parameters, defaults, members and fields."""

from __future__ import annotations

import pytest

from tests.contract import surface


@pytest.mark.parametrize("name", surface.documented())
def test_documented_name_is_as_the_release_has_it(name: str) -> None:
    facts = list(surface.facts_of(name, surface.documented()[name]))
    assert facts
    assert [fact for fact, holds in facts if not holds] == []


def test_what_is_missing_or_otherwise_is_found() -> None:
    name = "oracleagentmemory.core.OracleThread"
    spec = {
        "kind": "class",
        "exported_from": ["oracleagentmemory.apis.OracleThread"],
        "fields": [{"n": "unknown"}],
        "members": {"NONE": 1},
        "methods": {
            "add_memory": {
                "params": [
                    {"n": "content", "k": "pk", "d": "'a'"},
                    {"n": "memory_id", "k": "pk"},
                    {"n": "colour", "k": "ko"},
                ]
            },
            "forget": {"params": []},
        },
        "properties": ["colour"],
    }
    failed = [fact.partition(": Attr")[0] for fact, ok in surface.facts_of(name, spec) if not ok]
    assert failed == [
        "oracleagentmemory.apis.OracleThread",
        f"{name}.NONE = 1",
        f"{name} field unknown",
        f"{name}.add_memory(content) default 'a'",
        f"{name}.add_memory(memory_id) kind",
        f"{name}.add_memory(memory_id) required",
        f"{name}.add_memory(colour)",
        f"{name}.forget",
        f"{name}.colour property",
    ]
