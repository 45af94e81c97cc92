"""How the answer's schema reaches models with structured output and models without it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from oracleagentmemory.core.extractors.parsing import parse_extraction
from oracleagentmemory.core.extractors.payloads import extraction_schema, link_schema
from oracleagentmemory.core.llms import Llm
from oracleagentmemory.core.llms.prompts import response_format
from oracleagentmemory.errors import ModelError
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.sdk.extraction.answers import item, whole

#: A provider of LiteLLM's that has no structured output.
WITHOUT = "featherless_ai/scripted"


def asked(model: str, answer: str, **options: Any) -> tuple[dict[str, Any], str]:
    """Return what the server got, and what the model said."""
    with ScriptedModelServer([ScriptedAnswer(text=answer)]) as server:
        llm = Llm(model, api_base=server.api_base, api_key="none", **options)
        said = llm.generate("What is there?", response_json_schema=extraction_schema()).text
        return dict(server.requests[-1].body), said


def test_the_schema_is_strict_structured_output_where_there_is_some() -> None:
    body, said = asked("openai/scripted", whole(item("drinks tea")))
    assert body["response_format"]["json_schema"]["strict"] is True
    assert body["response_format"]["json_schema"]["schema"] == extraction_schema()
    assert len(body["messages"]) == 1
    assert parse_extraction(said).memories[0].text == "drinks tea"


def test_a_model_without_structured_output_is_told_the_schema_in_words() -> None:
    body, said = asked(WITHOUT, f"Sure:\n```json\n{whole(item('drinks tea'))}\n```")
    assert "response_format" not in body
    assert json.dumps(extraction_schema(), ensure_ascii=False) in body["messages"][-1]["content"]
    assert body["messages"][0]["content"] == "What is there?"
    assert parse_extraction(said).memories[0].text == "drinks tea"


def test_a_server_that_refuses_the_schema_is_told_it_in_words_from_then_on() -> None:
    refusal = ScriptedAnswer(status=400, text="'response_format' of type json_schema is unknown")
    answer = ScriptedAnswer(json={"thoughts": None, "memories": [item("drinks tea")]}, repeat=True)
    with ScriptedModelServer([refusal, answer]) as server:
        llm = Llm("openai/scripted", api_base=server.api_base, api_key="none")
        for _ in range(2):
            said = llm.generate("hi", response_json_schema=extraction_schema()).text
            assert parse_extraction(said).memories[0].text == "drinks tea"
        bodies = [request.body for request in server.requests]
    assert ["response_format" in body for body in bodies] == [True, False, False]
    assert [len(body["messages"]) for body in bodies] == [1, 2, 2]


@pytest.mark.parametrize(
    "said",
    [
        "tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-z]$'",
        "Invalid schema for response_format 'answer': too many properties",
    ],
)
def test_one_schema_that_is_refused_is_told_in_words_and_the_next_one_is_not(said: str) -> None:
    answer = ScriptedAnswer(json={"source_resolutions": {}}, repeat=True)
    with ScriptedModelServer([ScriptedAnswer(status=400, text=said), answer]) as server:
        llm = Llm("openai/scripted", api_base=server.api_base, api_key="none")
        for schema in (link_schema(['an id of a caller: "1"']), link_schema(["n1"])):
            llm.generate("hi", response_json_schema=schema)
        bodies = [request.body for request in server.requests]
    assert ["response_format" in body for body in bodies] == [True, False, True]
    assert "an id of a caller" in bodies[1]["messages"][-1]["content"]
    assert [len(body["messages"]) for body in bodies] == [1, 2, 1]


def test_another_refusal_is_no_reason_to_ask_again() -> None:
    with ScriptedModelServer([ScriptedAnswer(status=400, text="the prompt is too long")]) as server:
        llm = Llm("openai/scripted", api_base=server.api_base, api_key="none")
        with pytest.raises(ModelError, match="too long"):
            llm.generate("hi", response_json_schema=extraction_schema())
        assert len(server.requests) == 1


def test_every_schema_is_strict() -> None:
    schemas = [extraction_schema(), extraction_schema(with_links=True), link_schema(["a", "b"])]
    assert all(response_format(schema)["json_schema"]["strict"] for schema in schemas)


def test_the_reminder_adds_the_schema_in_words() -> None:
    body, _ = asked("openai/scripted", whole(), enable_structured_output_reminder=True)
    assert json.dumps(extraction_schema(), ensure_ascii=False) in body["messages"][-1]["content"]


def test_a_scripted_default_answer_is_an_answer_of_each_schema() -> None:
    with ScriptedModelServer() as server:
        llm = Llm("openai/scripted", api_base=server.api_base, api_key="none")
        found = llm.generate("hi", response_json_schema=extraction_schema(with_links=True)).text
        links = llm.generate("hi", response_json_schema=link_schema(["a"])).text
    assert parse_extraction(found).lost == ()
    assert json.loads(links) == {"source_resolutions": {"a": None}}
