"""What becomes of the answers of models, through LiteLLM's client and a scripted server."""

from __future__ import annotations

import json
from collections.abc import Iterator

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracleagentmemory.apis.validation import check_metadata, check_text
from oracleagentmemory.core.extractors.parsing import MAX_MEMORIES, parse_extraction
from oracleagentmemory.core.extractors.parsinglinks import parse_links
from oracleagentmemory.core.extractors.payloads import extraction_schema, link_schema
from oracleagentmemory.core.llms import Llm
from oracleagentmemory.core.llms.answers import MAX_ANSWER_CHARACTERS, read_answer, read_json
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.sdk.extraction.answers import CASES, Case, item, whole

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(
                ["memories", "text", "links", "fact", "record_type", "source_resolutions"]
            )
            | st.text(),
            inner,
        )
    ),
    max_leaves=20,
)


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as started:
        yield started


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_kept_and_lost_of_an_answer(case: Case, server: ScriptedModelServer) -> None:
    server.add(ScriptedAnswer(text=case.answer, finish_reason=case.finish_reason))
    llm = Llm("openai/scripted", api_base=server.api_base, api_key="none")
    answer = llm.generate("What is there?", response_json_schema=extraction_schema())
    parsed = parse_extraction(answer.text, cut=answer.finish_reason == "length")
    assert tuple((one.record_type, one.text) for one in parsed.memories) == case.kept
    reasons = [one.reason for one in parsed.lost]
    assert len(reasons) == len(case.lost), reasons
    assert all(part in reason for part, reason in zip(case.lost, reasons, strict=True)), reasons
    assert (parsed.memories[0].reserved if parsed.memories else {}) == case.reserved
    assert (parsed.warning is not None) == case.warns


def test_the_table_has_forty_malformed_answers_of_different_names() -> None:
    schema = jsonschema_rs.validator_for(extraction_schema())

    def follows_the_schema(case: Case) -> bool:
        try:
            return schema.is_valid(json.loads(case.answer))
        except (ValueError, RecursionError):
            return False

    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert sum(not follows_the_schema(case) for case in CASES) >= 40


def test_what_is_lost_keeps_its_raw_piece() -> None:
    (lost,) = parse_extraction(whole(item("a"), {"importance": 3, "fact": 1})).lost
    assert json.loads(lost.raw) == {"importance": 3, "fact": 1}


def test_fields_of_scope_are_never_read() -> None:
    hostile = item("a", user_id="eve", agent_id="eve", thread_id="eve", memory_id="m1")
    (memory,) = parse_extraction(whole(hostile)).memories
    assert "eve" not in repr(memory)
    assert "m1" not in repr(memory)


def test_links_to_candidates() -> None:
    def links(*given: object) -> tuple[tuple[int, str], ...]:
        parsed = parse_extraction(whole(item("a", links=list(given))), candidates=2)
        return parsed.memories[0].links

    def link(index: object, kind: object = "supports") -> dict[str, object]:
        return {"target_candidate_index": index, "link_type": kind}

    assert links(link(1), link(2, "SUPERSEDES")) == ((1, "supports"), (2, "supersedes"))
    assert links(link(0), link(3), link(-1), link("x"), link(True), link(2)) == ((2, "supports"),)
    assert links(link("2"), link(2), link(2.0), link(2, "refines")) == (
        (2, "supports"),
        (2, "refines"),
    )
    assert links(link(1, "is_superseded_by"), 5, None, link(1, None)) == ()
    unasked = parse_extraction(whole(item("a", links=[link(1)])))
    assert unasked.memories[0].links == ()
    assert unasked.lost == ()


def test_links_of_equal_memories_come_together() -> None:
    first = item("a", links=[{"target_candidate_index": 1, "link_type": "supports"}])
    second = item("A.", links=[{"target_candidate_index": 2, "link_type": "supports"}])
    (memory,) = parse_extraction(whole(first, second), candidates=2).memories
    assert memory.links == ((1, "supports"), (2, "supports"))


# -- link resolution ----------------------------------------------------------------------------


def resolved(value: object, *, sources: tuple[str, ...] = ("n1", "n2")) -> dict[str, object]:
    answer = value if isinstance(value, str) else json.dumps(value)
    found = parse_links(answer, sources, ("old1", "old<2>"))
    return {name: (one.links, one.updated_text) for name, one in found.resolutions.items()}


def to(target: object, kind: object = "supports") -> dict[str, object]:
    return {"target_memory_id": target, "link_type": kind}


def says(*links: object, text: object = None) -> dict[str, object]:
    return {"updated_source_memory_text": text, "links": list(links)}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"source_resolutions": {"n1": None, "n2": None}}, {}),
        ({"source_resolutions": {"n1": says(), "n2": None}}, {}),
        ({"source_resolutions": None}, {}),
        (
            {"source_resolutions": {"n1": says(to("old1")), "n2": says(to("old<2>", "Refines"))}},
            {"n1": ((("old1", "supports"),), None), "n2": ((("old<2>", "refines"),), None)},
        ),
        ({"n1": says(to("old&lt;2&gt;"))}, {"n1": ((("old<2>", "supports"),), None)}),
        ({"n1": says(to("unknown"), to("old1"))}, {"n1": ((("old1", "supports"),), None)}),
        ({"n1": says(to("old1", "likes"), to("old1"))}, {"n1": ((("old1", "supports"),), None)}),
        ({"n1": says(to("n1"), to("n2"))}, {}),
        (
            {"n1": says(to("old1"), to("old1"), to("old1", "contradicts"))},
            {"n1": ((("old1", "supports"), ("old1", "contradicts")), None)},
        ),
        ({"n3": says(to("old1")), "n2": to("old1")}, {"n2": ((("old1", "supports"),), None)}),
        ({"n1": [to("old1")]}, {"n1": ((("old1", "supports"),), None)}),
        ([{"source_memory_id": "n2", **says(to("old1"))}], {"n2": ((("old1", "supports"),), None)}),
        ({"n1": says(to("old1"), text="new")}, {"n1": ((("old1", "supports"),), None)}),
        (
            {"n1": says(to("old1", "refines"), text=" new ")},
            {"n1": ((("old1", "refines"),), "new")},
        ),
        ({"n1": says(to("old1", "refines"), text=7)}, {"n1": ((("old1", "refines"),), None)}),
        ({"n1": says(to("old1", "refines"), text=" ")}, {"n1": ((("old1", "refines"),), None)}),
        ({"n1": says(text="new")}, {}),
        ({"n1": 3, "n2": says("old1", 4, None)}, {}),
        (
            "```json\n" + json.dumps({"n1": says(to("old1"))}) + "\n```",
            {"n1": ((("old1", "supports"),), None)},
        ),
        ("no links, sorry", {}),
        ("", {}),
    ],
)
def test_links_of_an_answer(answer: object, expected: dict[str, object]) -> None:
    assert resolved(answer) == expected


def test_an_answer_about_the_only_new_memory_needs_no_id() -> None:
    assert resolved(says(to("old1")), sources=("n1",)) == {"n1": ((("old1", "supports"),), None)}
    assert resolved([to("old1")], sources=("n1",)) == {"n1": ((("old1", "supports"),), None)}


def test_a_lost_link_is_named_with_its_raw_piece() -> None:
    found = parse_links(json.dumps({"n1": says(to("elsewhere"), to("old1"))}), ["n1"], ["old1"])
    (lost,) = found.lost
    assert "not shown" in lost.reason
    assert json.loads(lost.raw) == to("elsewhere")
    assert found.warning is None
    assert parse_links("nothing", ["n1"], ["old1"]).warning is not None


def test_the_link_schema_asks_for_each_new_memory() -> None:
    asked = link_schema(["n1", "n2"])["properties"]["source_resolutions"]
    assert list(asked["properties"]) == asked["required"] == ["n1", "n2"]
    assert asked["additionalProperties"] is False


# -- nothing raises -----------------------------------------------------------------------------


def check_storable(raw: object) -> None:
    """Fail unless everything that is read from an answer can be stored as it is."""
    parsed = parse_extraction(raw, candidates=3, cut=True)
    assert len(parsed.memories) <= MAX_MEMORIES
    for memory in parsed.memories:
        check_text(memory.text, "text")
        check_metadata(memory.reserved)
        assert memory.text.strip()
    links = parse_links(raw, ["n1", "n2"], ["old1"])
    assert links.resolutions.keys() <= {"n1", "n2"}
    read_json(raw)


@settings(deadline=None)
@given(st.text() | st.none() | st.binary())
def test_no_answer_raises(raw: object) -> None:
    check_storable(raw)


@settings(deadline=None)
@given(JSON)
def test_no_json_raises(value: object) -> None:
    check_storable(json.dumps(value))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_no_damage_to_an_answer_raises(data: st.DataObject) -> None:
    answer = whole(item("drinks tea"), item("lives in Lyon", entities=["Lyon"], importance=2))
    start = data.draw(st.integers(0, len(answer)))
    end = data.draw(st.integers(start, len(answer)))
    put = data.draw(st.text(alphabet='{}[]",:\\ua0\n`<', max_size=8) | st.text(max_size=3))
    check_storable(answer[:start] + put + answer[end:])


@pytest.mark.parametrize(
    "piece",
    ["[{", '{"a"', 'b"', '["b" ', "{'a':'", "```\n", "<think>", "\ud83d", "{a: ", '"', "\\"],
)
def test_an_endless_answer_is_read_in_bounded_time(piece: str) -> None:
    read_json('{"a": [' + piece * (2 * MAX_ANSWER_CHARACTERS // len(piece)))


def test_a_cut_string_goes_unless_it_is_wanted() -> None:
    raw = '{"summary": "They spoke of'
    assert read_answer(raw).value == {"summary": "They spoke of"}
    assert read_answer(raw, keep_cut=False).value == {"summary": None}
    assert read_answer(raw).cut
