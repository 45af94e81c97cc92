"""`Embedder` through LiteLLM's real client, against the scripted server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracleagentmemory.core import MemoryExtractionConfig, OracleAgentMemory
from oracleagentmemory.core.embedders import Embedder
from oracleagentmemory.errors import (
    AgentMemoryError,
    DimensionMismatchError,
    EmbedderMismatchError,
    InvalidInputError,
    ModelError,
    RetryableError,
    WrongTypeError,
)
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from oracleagentmemory.testing.modelscript import DIMENSION, word_vector

KEY = "sk-a-key-that-no-error-may-show"
OFF = MemoryExtractionConfig(extract_memories=False)


def embedder(server: ScriptedModelServer, **options: Any) -> Embedder:
    return Embedder("openai/scripted", api_base=server.api_base, api_key=KEY, **options)


def vectors(*rows: list[float]) -> ScriptedAnswer:
    return ScriptedAnswer(kind="embeddings", vectors=rows)


def test_vectors_come_in_the_order_of_the_texts(server: ScriptedModelServer) -> None:
    texts = ["tea", "coffee and milk", "空"]
    got = embedder(server).embed(texts)
    assert got.dtype == np.float32
    assert np.allclose(got, [word_vector(text, DIMENSION) for text in texts])
    assert server.requests[0].body["input"] == texts
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_an_answer_in_another_order_is_put_right(server: ScriptedModelServer) -> None:
    raw = (
        '{"object": "list", "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}, '
        '"data": [{"object": "embedding", "index": 1, "embedding": [0.0, 1.0]}, '
        '{"object": "embedding", "index": 0, "embedding": [1.0, 0.0]}]}'
    )
    server.add(ScriptedAnswer(kind="embeddings", raw=raw))
    assert embedder(server).embed(["first", "second"]).tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("texts", "sizes"),
    [
        (["short"] * 2500, [1024, 1024, 452]),
        (["x" * 100_000] * 7, [3, 3, 1]),
        (["x" * 400_000, "y"], [1, 1]),
    ],
    ids=["many", "long", "longer than a batch"],
)
def test_many_texts_take_several_requests(
    server: ScriptedModelServer, texts: list[str], sizes: list[int]
) -> None:
    got = embedder(server).embed(texts)
    assert got.shape == (len(texts), DIMENSION)
    assert [len(request.body["input"]) for request in server.requests] == sizes


def test_vectors_have_length_one_unless_told_otherwise(server: ScriptedModelServer) -> None:
    server.add(vectors([3.0, 4.0]), vectors([3.0, 4.0]))
    assert embedder(server).embed(["a"]).tolist() == [[np.float32(0.6), np.float32(0.8)]]
    assert embedder(server, normalize=False).embed(["a"]).tolist() == [[3.0, 4.0]]


def test_queries_and_documents_have_their_prefixes(server: ScriptedModelServer) -> None:
    model = embedder(server, query_prefix="query: ", document_prefix="passage: ")
    model.embed(["tea"], is_query=True)
    model.embed(["tea"])
    assert [request.body["input"] for request in server.requests] == [
        ["query: tea"],
        ["passage: tea"],
    ]


def test_further_options_are_sent(server: ScriptedModelServer) -> None:
    model = embedder(server, truncate_prompt_tokens=100, dimensions=8)
    assert model.embed(["tea"]).shape == (1, 8)
    assert server.requests[0].body["truncate_prompt_tokens"] == 100


def test_an_empty_text_is_similar_to_nothing(server: ScriptedModelServer) -> None:
    model = embedder(server)
    got = model.embed(["", "tea", ""])
    assert not got[[0, 2]].any()
    assert got[1].any()
    assert server.requests[0].body["input"] == ["tea"]
    assert model.embed([]).shape == (0, DIMENSION)
    assert len(server.requests) == 1


def test_the_dimension_is_measured_once_and_at_the_first_use(server: ScriptedModelServer) -> None:
    model = embedder(server)
    assert server.requests == []
    assert (model.embedding_dimension, model.embedding_dimension) == (DIMENSION, DIMENSION)
    model.embed(["tea"])
    assert len(server.requests) == 2


@pytest.mark.parametrize("declared", [None, 3])
def test_vectors_of_another_dimension_are_refused(
    server: ScriptedModelServer, declared: int | None
) -> None:
    server.add(vectors([1.0, 0.0, 0.0]), vectors([1.0, 0.0]))
    model = embedder(server, embedding_dimension=declared)
    model.embed(["three"])
    with pytest.raises(DimensionMismatchError, match="of 2 numbers, not of 3"):
        model.embed(["two"])


@pytest.mark.parametrize(
    "rows", [([1.0, 0.0],), ([1.0], [1.0, 2.0]), ([], []), ([1.0], [float("nan")])]
)
def test_an_answer_that_does_not_fit_is_refused(
    server: ScriptedModelServer, rows: tuple[list[float], ...]
) -> None:
    server.add(vectors(*rows))
    with pytest.raises(ModelError, match="openai/scripted answered with"):
        embedder(server).embed(["a", "b"])


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"status": 429, "retry_after": 3}, RetryableError),
        ({"status": 500, "text": f"oops {KEY}"}, RetryableError),
        ({"status": 400, "text": f"too long {KEY}"}, ModelError),
        ({"status": 401, "text": f"bad {KEY}"}, ModelError),
        ({"cut_after": 30}, RetryableError),
        ({"raw": '{"data": ['}, RetryableError),
    ],
    ids=lambda value: str(value)[:15],
)
def test_each_failure_has_its_error_one_request_and_no_key(
    server: ScriptedModelServer, answer: dict[str, Any], error: type[Exception]
) -> None:
    server.add(ScriptedAnswer(kind="embeddings", **answer))
    with pytest.raises(error) as caught:
        embedder(server).embed(["tea"])
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert getattr(caught.value, "retry_after", None) == answer.get("retry_after")
    assert len(server.requests) == 1


def test_an_answer_that_does_not_come_in_time_may_be_asked_again(
    server: ScriptedModelServer,
) -> None:
    server.add(ScriptedAnswer(kind="embeddings", until=threading.Event()))
    with pytest.raises(RetryableError, match=r"did not answer in 0\.2 s"):
        embedder(server, timeout=0.2).embed(["tea"])


def test_the_twin_gives_the_same_vectors(server: ScriptedModelServer) -> None:
    model = embedder(server)
    assert np.array_equal(asyncio.run(model.embed_async(["tea"])), model.embed(["tea"]))


def test_the_longest_text_is_as_given_or_as_the_local_table_says() -> None:
    assert Embedder("openai/x", max_input_tokens=77).max_input_tokens == 77
    assert Embedder("openai/text-embedding-3-small").max_input_tokens == 8191
    assert Embedder("openai/nobody-knows-it").max_input_tokens == 512


@pytest.mark.parametrize(
    "options",
    [{"embedding_dimension": 0}, {"max_input_tokens": True}, {"input": []}, {"key_file": "k"}],
    ids=lambda options: next(iter(options)),
)
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        Embedder("openai/scripted", **options)
    with pytest.raises(InvalidInputError):
        Embedder(" ")


@pytest.mark.parametrize(
    ("texts", "error"),
    [
        ("one text", WrongTypeError),
        (["nul \0"], InvalidInputError),
        (["\ud800"], InvalidInputError),
    ],
)
def test_bad_texts_are_refused(
    server: ScriptedModelServer, texts: Any, error: type[AgentMemoryError]
) -> None:
    with pytest.raises(error):
        embedder(server).embed(texts)
    assert server.requests == []


def test_a_client_takes_a_model_by_its_name(
    server: ScriptedModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.api_base)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    path = tmp_path / "memory.sqlite3"
    client = OracleAgentMemory(
        connection=path, embedder="openai/scripted", memory_extraction_config=OFF
    )
    client.add_memory("Ada likes green tea", user_id="ada")
    client.add_memory("the train leaves at nine", user_id="ada")
    found = client.search("green tea", user_id="ada", max_results=1)
    assert [result.content for result in found] == ["Ada likes green tea"]
    client.close()
    other = OracleAgentMemory(
        connection=path, embedder="openai/other", memory_extraction_config=OFF
    )
    with pytest.raises(EmbedderMismatchError, match="openai/scripted"):
        other.search("green tea", user_id="ada")
    other.close()


def test_importing_and_making_models_loads_no_litellm_and_reaches_no_network() -> None:
    code = """
import socket, sys
def refuse(*arguments, **options):
    raise SystemExit(f"network: {arguments}")
socket.getaddrinfo = refuse
socket.socket.connect = refuse
from oracleagentmemory.core import MemoryExtractionConfig, OracleAgentMemory
from oracleagentmemory.core.embedders import Embedder
from oracleagentmemory.core.llms import Llm
Llm("openai/gpt-4o-mini"), Embedder("openai/text-embedding-3-small")
assert not {"litellm", "openai", "httpx"} & sys.modules.keys()
# Loading LiteLLM, which the first look-up does, reaches none either.
assert Llm("openai/gpt-4o").supports_vision
assert Embedder("openai/text-embedding-3-small").max_input_tokens == 8191
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
