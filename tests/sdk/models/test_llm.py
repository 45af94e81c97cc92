"""`Llm` through LiteLLM's real client, against the scripted server."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from oracleagentmemory.apis.llms import LlmUsage
from oracleagentmemory.apis.message import ImageContent, ImageMimeType, Message, TextContent
from oracleagentmemory.core import ImageInputLimitConfig
from oracleagentmemory.core.llms import Llm, LlmApiType
from oracleagentmemory.core.llms.prompts import image_sizes
from oracleagentmemory.errors import (
    AgentMemoryError,
    InvalidInputError,
    MissingFieldError,
    ModelError,
    RetryableError,
    WrongTypeError,
)
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer

KEY = "sk-a-key-that-no-error-may-show"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "string"}}},
    "required": ["facts"],
    "additionalProperties": False,
}


def llm(server: ScriptedModelServer, **options: Any) -> Llm:
    return Llm("openai/scripted", api_base=server.api_base, api_key=KEY, **options)


def test_the_answer_comes_with_its_usage_and_its_end(server: ScriptedModelServer) -> None:
    server.add(ScriptedAnswer(text="tea", usage=(11, 3), finish_reason="length"))
    answer = llm(server).generate("What does Ada drink?")
    assert answer.text == "tea"
    assert answer.usage == LlmUsage(11, 3)
    assert answer.finish_reason == "length"
    assert server.requests[0].body["messages"] == [
        {"role": "user", "content": "What does Ada drink?"}
    ]
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_options_are_those_of_the_call_then_of_the_constructor(server: ScriptedModelServer) -> None:
    model = llm(server, temperature=0.2, max_tokens=50, reasoning_effort=None, seed=7)
    model.generate("hello", max_tokens=9)
    body = server.requests[0].body
    assert (body["temperature"], body["max_tokens"], body["seed"]) == (0.2, 9, 7)
    assert "reasoning_effort" not in body


def test_messages_of_every_form_are_sent(server: ScriptedModelServer) -> None:
    model = llm(server)
    model.generate({"role": "user", "content": "one"})
    model.generate(
        [
            {"role": "system", "content": "be brief"},
            Message("assistant", "yes"),
            Message("narrator", [TextContent("it rained")]),
        ]
    )
    assert server.requests[0].body["messages"] == [{"role": "user", "content": "one"}]
    assert server.requests[1].body["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": [{"type": "text", "text": "it rained"}]},
    ]


@pytest.mark.parametrize("api_type", list(LlmApiType))
def test_a_json_schema_is_sent_as_structured_output(
    server: ScriptedModelServer, api_type: LlmApiType
) -> None:
    server.add(ScriptedAnswer(json={"facts": ["likes tea"]}))
    answer = llm(server, api_type=api_type).generate("extract", response_json_schema=SCHEMA)
    assert answer.text == '{"facts": ["likes tea"]}'
    body = server.requests[0].body
    sent = (
        body["response_format"]["json_schema"]
        if api_type is LlmApiType.CHAT_COMPLETIONS
        else body["text"]["format"]
    )
    assert sent["schema"] == SCHEMA
    assert sent["strict"] is True


def test_an_open_schema_is_not_called_strict(server: ScriptedModelServer) -> None:
    llm(server).generate("extract", response_json_schema={"type": "object", "properties": {}})
    assert server.requests[0].body["response_format"]["json_schema"]["strict"] is False


def test_the_schema_is_repeated_in_words_when_asked(server: ScriptedModelServer) -> None:
    model = llm(server, enable_structured_output_reminder=True)
    model.generate("extract", response_json_schema=SCHEMA)
    assert '"facts"' in server.requests[0].body["messages"][-1]["content"]


def test_the_responses_protocol_gives_the_same_answer(server: ScriptedModelServer) -> None:
    server.add(ScriptedAnswer(text="tea", usage=(5, 2)))
    answer = llm(server, api_type=LlmApiType.RESPONSES, max_tokens=20).generate("drink?")
    assert (answer.text, answer.usage) == ("tea", LlmUsage(5, 2))
    assert server.requests[0].path == "/v1/responses"
    assert server.requests[0].body["max_output_tokens"] == 20


def test_a_streamed_answer_is_put_together(server: ScriptedModelServer) -> None:
    server.add(ScriptedAnswer(text="tea  and\nmore tea", usage=(4, 6)))
    answer = llm(server, stream=True).generate("drink?")
    assert (answer.text, answer.usage) == ("tea  and\nmore tea", LlmUsage(4, 6))
    assert server.requests[0].body["stream"] is True


@pytest.mark.parametrize("raw", ['{"id": "x", "choi', "", "<html>bad gateway</html>", "[]", "{}"])
def test_a_body_that_is_no_answer_may_be_asked_again(server: ScriptedModelServer, raw: str) -> None:
    server.add(ScriptedAnswer(raw=raw))
    with pytest.raises(RetryableError):
        llm(server).generate("hello")


def test_a_failures_text_holds_no_traceback_of_the_client(server: ScriptedModelServer) -> None:
    server.add(ScriptedAnswer(raw=json.dumps({"choices": [{"index": 0, "message": None}]})))
    with pytest.raises(RetryableError, match="Invalid response object") as caught:
        llm(server).generate("hello")
    assert "Traceback" not in str(caught.value)
    assert ".py" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        (ScriptedAnswer(status=429), RetryableError, "busy"),
        (ScriptedAnswer(status=500, text="oops"), RetryableError, "oops"),
        (ScriptedAnswer(status=503, text="later"), RetryableError, "later"),
        (ScriptedAnswer(status=400, text="too many tokens"), ModelError, "too many tokens"),
        (ScriptedAnswer(status=404, text="no such model"), ModelError, "no such model"),
        (ScriptedAnswer(status=401, text=f"bad {KEY}"), ModelError, "refuses the key"),
        (ScriptedAnswer(status=403, text=f"bad {KEY}"), ModelError, "refuses the key"),
        (ScriptedAnswer(cut_after=30), RetryableError, "hung up"),
        (ScriptedAnswer(raw='{"choices": ['), RetryableError, "not JSON"),
    ],
    ids=lambda value: f"{value.status}" if isinstance(value, ScriptedAnswer) else "",
)
def test_each_failure_has_its_error_and_one_request(
    server: ScriptedModelServer, answer: ScriptedAnswer, error: type[Exception], says: str
) -> None:
    server.add(answer)
    with pytest.raises(error, match=says) as caught:
        llm(server).generate("hello")
    assert str(caught.value).startswith("openai/scripted ")
    assert len(server.requests) == 1


def test_a_stream_that_is_cut_off_may_be_asked_again(server: ScriptedModelServer) -> None:
    server.add(ScriptedAnswer(text="tea " * 50, cut_after=400))
    with pytest.raises(RetryableError, match="hung up"):
        llm(server, stream=True).generate("hello")


@pytest.mark.parametrize(
    ("named", "seconds"), [(7.0, 7.0), (0.5, 0.5), (1e9, 86_400.0), (None, None)]
)
def test_a_busy_provider_says_how_long_to_wait(
    server: ScriptedModelServer, named: float | None, seconds: float | None
) -> None:
    server.add(ScriptedAnswer(status=429, retry_after=named))
    with pytest.raises(RetryableError) as caught:
        llm(server).generate("hello")
    assert caught.value.retry_after == seconds


def test_an_answer_that_does_not_come_in_time_may_be_asked_again(
    server: ScriptedModelServer,
) -> None:
    server.add(ScriptedAnswer(until=threading.Event()))
    with pytest.raises(RetryableError, match=r"did not answer in 0\.2 s"):
        llm(server, timeout=0.2).generate("hello")


def test_a_stream_that_does_not_come_in_time_may_be_asked_again(
    server: ScriptedModelServer,
) -> None:
    server.add(ScriptedAnswer(until=threading.Event()))
    with pytest.raises(RetryableError, match=r"did not answer in 0\.2 s"):
        llm(server, timeout=0.2, stream=True).generate("hello")


def test_a_provider_that_is_not_there_may_be_asked_again() -> None:
    with ScriptedModelServer() as gone:
        model = llm(gone)
    with pytest.raises(RetryableError, match="could not be reached"):
        model.generate("hello")


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_no_error_or_traceback_shows_the_key(server: ScriptedModelServer, status: int) -> None:
    server.add(ScriptedAnswer(status=status, text=f"your key {KEY} and Bearer {KEY} is bad"))
    with pytest.raises(AgentMemoryError) as caught:
        llm(server).generate("hello")
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_a_key_of_the_environment_is_used_and_never_shown(
    server: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "environment-secret-value"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    monkeypatch.setenv("OPENAI_BASE_URL", server.api_base)
    server.add(ScriptedAnswer(status=400, text=f"no: {secret}"))
    with pytest.raises(ModelError) as caught:
        Llm("openai/scripted").generate("hello")
    assert server.requests[0].headers["authorization"] == f"Bearer {secret}"
    assert secret not in "".join(traceback.format_exception(caught.value))


def test_a_model_that_nobody_provides_is_named() -> None:
    with pytest.raises(ModelError, match="no-such-model refused"):
        Llm("no-such-model").generate("hello")


def test_a_refusal_is_no_empty_answer(server: ScriptedModelServer) -> None:
    server.add(
        ScriptedAnswer(
            raw='{"id": "x", "object": "chat.completion", "created": 0, "model": "scripted", '
            '"choices": [{"index": 0, "finish_reason": "stop", "message": '
            '{"role": "assistant", "content": null, "refusal": "I cannot"}}]}'
        )
    )
    with pytest.raises(ModelError, match="refused to answer"):
        llm(server).generate("hello")


def test_no_more_requests_run_at_once_than_allowed(server: ScriptedModelServer) -> None:
    gate = threading.Event()
    server.add(ScriptedAnswer(text="done", until=gate, repeat=True))
    model = llm(server, max_concurrent_requests=2)
    with ThreadPoolExecutor(5) as pool:
        answers = [pool.submit(model.generate, "hello") for _ in range(5)]
        assert server.wait_for_requests(2)
        # With a third on its way this wait would end before its time.
        assert not server.wait_for_requests(3, timeout=0.3)
        gate.set()
        assert [answer.result().text for answer in answers] == ["done"] * 5
    assert server.most_at_once == 2


def test_the_twin_asks_as_many_at_once_as_allowed(server: ScriptedModelServer) -> None:
    gate = threading.Event()
    server.add(ScriptedAnswer(text="done", until=gate, repeat=True))
    model = llm(server, max_concurrent_requests=12)

    async def ask() -> list[str]:
        calls = [asyncio.create_task(model.generate_async("hello")) for _ in range(12)]
        assert await asyncio.to_thread(server.wait_for_requests, 12)
        gate.set()
        return [(await call).text for call in calls]

    assert asyncio.run(ask()) == ["done"] * 12
    assert server.most_at_once == 12


def image(size: int = 5) -> Message:
    return Message("user", [TextContent("what?"), ImageContent(b"x" * size, ImageMimeType.PNG)])


def test_images_are_sent_to_a_model_that_reads_them(server: ScriptedModelServer) -> None:
    llm(server, supports_vision=True).generate([image()])
    part = server.requests[0].body["messages"][0]["content"][1]
    url = "data:image/png;base64," + base64.b64encode(b"xxxxx").decode()
    assert part == {"type": "image_url", "image_url": {"url": url}}


def test_vision_is_looked_up_without_asking_the_model(server: ScriptedModelServer) -> None:
    assert llm(server).supports_vision is False
    assert Llm("openai/gpt-4o").supports_vision is True
    with pytest.raises(InvalidInputError, match="supports_vision=True"):
        llm(server).generate([image()])
    assert server.requests == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_images_per_llm_request", 1),
        ("max_raw_image_bytes", 4),
        ("max_total_raw_image_bytes_per_llm_request", 9),
    ],
)
def test_images_over_a_limit_are_not_sent(
    server: ScriptedModelServer, field: str, value: int
) -> None:
    limits = ImageInputLimitConfig(**{field: value})
    model = llm(server, supports_vision=True, image_input_limit_config=limits)
    with pytest.raises(InvalidInputError, match=field):
        model.generate([image(), image()])
    assert server.requests == []


def test_r075_totals_count_raw_bytes_and_neither_base64_nor_text(
    server: ScriptedModelServer,
) -> None:
    content = [TextContent("what? " * 1000), *[ImageContent(b"x" * 300, ImageMimeType.PNG)] * 3]

    def ask(**limits: int) -> None:
        config = ImageInputLimitConfig(**limits)
        model = llm(server, supports_vision=True, image_input_limit_config=config)
        model.generate([Message("user", content)])

    ask(max_total_raw_image_bytes_per_llm_request=900)
    ask(max_images_per_llm_request=3, max_raw_image_bytes=300)
    assert len(server.requests) == 2
    sent = server.requests[0].body["messages"][0]["content"]
    assert len(sent[0]["text"]) + sum(len(part["image_url"]["url"]) for part in sent[1:]) > 7000
    with pytest.raises(InvalidInputError, match="max_total_raw_image_bytes_per_llm_request of 899"):
        ask(max_total_raw_image_bytes_per_llm_request=899)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("limits", "images", "size"),
    [({}, 101, 1), ({"max_images_per_llm_request": 512}, 513, 1), ({}, 11, 10 * 2**20)],
)
def test_r075_the_defaults_and_the_maxima_hold_for_a_request(
    server: ScriptedModelServer, limits: dict[str, int], images: int, size: int
) -> None:
    config = ImageInputLimitConfig(**limits)
    model = llm(server, supports_vision=True, image_input_limit_config=config)
    content = [ImageContent(bytes(size), ImageMimeType.PNG)] * images
    with pytest.raises(InvalidInputError, match=r"max_images|max_total"):
        model.generate([Message("user", content)])
    assert server.requests == []


@pytest.mark.parametrize(
    ("part", "size"),
    [
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,eHh4eHg="}}, 5),
        ({"type": "image_url", "image_url": "DATA:image/png;BASE64,eHh4\neHg="}, 5),
        ({"type": "input_image", "image_url": "data:image/png;base64,eHh4eHg="}, 5),
        ({"type": "image", "source": {"type": "base64", "data": "eHh4eHg="}}, 5),
        ({"type": "file", "file": {"file_data": "data:image/webp;base64,eHh4eHg="}}, 5),
        ({"type": "image_url", "image_url": {"url": "data:image/svg+xml,<svg/>"}}, 6),
        ({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}, 0),
        ({"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}, 0),
        ({"type": "file", "file": {"file_data": "data:application/pdf;base64,eHh4eHg="}}, None),
        ({"type": "text", "text": "data:image/png;base64,eHh4eHg="}, None),
    ],
)
def test_an_image_counts_by_its_raw_bytes_however_it_is_written(
    part: dict[str, Any], size: int | None
) -> None:
    message = {"role": "user", "content": [part, {"type": "text", "text": "what?"}]}
    assert image_sizes([message]) == ([] if size is None else [size])


@pytest.mark.parametrize(
    "options",
    [
        {"max_concurrent_requests": 0},
        {"max_concurrent_requests": True},
        {"api_type": "telepathy"},
        {"key_file": "only.key"},
        {"ca_file": "/no/such/file"},
        {"messages": []},
        {"image_input_limit_config": ImageInputLimitConfig(max_raw_image_bytes=0)},
    ],
    ids=lambda options: next(iter(options)),
)
def test_bad_options_are_refused_before_any_request(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        Llm("openai/scripted", **options)


@pytest.mark.parametrize(
    ("prompt", "error"),
    [
        ([], InvalidInputError),
        ("nul \0", InvalidInputError),
        ([{"content": "x"}], MissingFieldError),
        ([3], WrongTypeError),
        (7, WrongTypeError),
        (Message("user", [ImageContent(None, ImageMimeType.PNG)]), InvalidInputError),
    ],
)
def test_bad_prompts_are_refused(
    server: ScriptedModelServer, prompt: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        llm(server).generate(prompt)
    assert server.requests == []


def test_a_proxy_is_used_or_refused_and_never_passed_by(server: ScriptedModelServer) -> None:
    # The scripted server is the proxy: it is asked for the provider's whole address.
    proxy = server.api_base.removesuffix("/v1")
    model = Llm("openai/scripted", api_base="http://models.invalid/v1", api_key=KEY, proxy=proxy)
    with pytest.raises(ModelError, match=r"there is no http://models\.invalid/v1/chat/comp"):
        model.generate("hello")
    with pytest.raises(InvalidInputError, match="proxy"):
        Llm("anthropic/claude-3-5-haiku-latest", api_key=KEY, proxy=proxy).generate("hello")
