"""The script of the scripted model server."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from oracleagentmemory.core.llms import Llm
from oracleagentmemory.errors import InvalidInputError, StateError
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer, parse_script


def test_a_script_has_an_answer_a_line() -> None:
    source = '# a comment\n\n{"text": "tea", "usage": [1, 2]}\n{"kind": "embeddings"}\n'
    assert parse_script(source) == [
        ScriptedAnswer(text="tea", usage=(1, 2)),
        ScriptedAnswer(kind="embeddings"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[]",
        '{"txt": "typing error"}',
        '{"until": 3}',
        '{"kind": "speech"}',
        '{"status": 99}',
        '{"delay_s": -1}',
        '{"usage": [1]}',
        '{"text": 5}',
        '{"raw": 5}',
    ],
)
def test_a_bad_line_is_named_by_its_number(line: str) -> None:
    with pytest.raises(InvalidInputError, match="line 2 of the script"):
        parse_script(f'{{"text": "good"}}\n{line}')


def test_the_first_line_that_fits_serves_and_is_used_up(server: ScriptedModelServer) -> None:
    server.add(
        ScriptedAnswer(kind="embeddings"),
        ScriptedAnswer(text="about tea", when="tea"),
        ScriptedAnswer(text="first"),
        ScriptedAnswer(text="always", repeat=True),
    )
    model = Llm("openai/scripted", api_base=server.api_base, api_key="none")
    prompts = ["coffee", "some tea", "more tea", "milk"]
    assert [model.generate(prompt).text for prompt in prompts] == [
        "first",
        "about tea",
        "always",
        "always",
    ]


def test_an_answer_without_script_says_so(server: ScriptedModelServer) -> None:
    model = Llm("openai/scripted", api_base=server.api_base, api_key="none")
    assert "scripted answer" in model.generate("hello").text
    schema: dict[str, Any] = {
        "type": "object",
        "required": ["a", "b", "c"],
        "properties": {
            "a": {"type": "array"},
            "b": {"enum": ["x", "y"]},
            "c": {"anyOf": [{"type": "null"}, {"type": "string"}]},
            "d": {"type": "integer"},
        },
    }
    answer = model.generate("hello", response_json_schema=schema)
    assert json.loads(answer.text) == {"a": [], "b": "x", "c": None}


def test_an_answer_is_made_from_the_texts_of_the_request(server: ScriptedModelServer) -> None:
    server.add(
        ScriptedAnswer(when="shout", reply=str.upper),
        ScriptedAnswer(reply=lambda text: {"letters": len(text)}, repeat=True),
    )
    llm = Llm("openai/scripted", api_base=server.api_base, api_key="none")
    prompt = [{"role": "system", "content": "shout"}, {"role": "user", "content": "it"}]
    assert llm.generate(prompt).text == "SHOUT\nIT"
    assert llm.generate(prompt).text == '{"letters": 8}'


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/images", b"{}", 404),
        ("/v1/chat/completions", b"{", 400),
        ("/v1/chat/completions", b"[]", 400),
        ("/v1/embeddings", b'{"input": 5, "dimensions": "x"}', 200),
        ("/v1/chat/completions", b'{"messages": 5, "response_format": 7}', 200),
    ],
)
def test_requests_that_make_no_sense_are_answered(
    server: ScriptedModelServer, path: str, body: bytes, status: int
) -> None:
    address = server.api_base.removesuffix("/v1") + path
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            got = answer.status
    except urllib.error.HTTPError as error:
        with error:
            got = error.code
    assert got == status


def test_it_listens_on_loopback_and_says_when_a_port_is_taken(server: ScriptedModelServer) -> None:
    assert server.api_base.startswith("http://127.0.0.1:")
    with pytest.raises(StateError, match=f"port {server.port} cannot be used"):
        ScriptedModelServer(port=server.port)
