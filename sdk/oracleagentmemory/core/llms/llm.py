"""A language model reached through LiteLLM."""

from __future__ import annotations

import contextlib
import enum
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, given
from oracleagentmemory._observed import observed_call
from oracleagentmemory._threaded import TwinPool
from oracleagentmemory.apis.llms.llm import ILlm, LlmResponse, LlmUsage, Prompt
from oracleagentmemory.core.imageinputlimitconfig import (
    DEFAULT_IMAGE_LIMITS,
    ImageInputLimitConfig,
    check_image_limits,
    check_image_sizes,
)
from oracleagentmemory.core.llms.prompts import (
    chat_messages,
    image_sizes,
    response_format,
    schema_reminder,
)
from oracleagentmemory.core.provider import Provider, load_litellm, make_transport
from oracleagentmemory.errors import InvalidInputError, ModelError

if TYPE_CHECKING:
    from oracleagentmemory.observability.emission import Details

DEFAULT_MAX_CONCURRENT_REQUESTS = 16
#: Threads for the async twins of an LLM without a limit.
_UNLIMITED_POOL_SIZE = 64
# How providers refuse one schema, by ids of callers in its keys for example, and take others.
_REFUSED_ONE = re.compile(r"invalid schema|input_schema|property keys?", re.I)
# How servers without structured output refuse it.
_REFUSED_SCHEMA = re.compile(r"response.?format|json.?schema|structured.?output|text\.format", re.I)
_RESERVED = frozenset({"api_base", "api_key", "client", "messages", "model", "response_format"})


class LlmApiType(str, enum.Enum):  # noqa: UP042 - the documented bases
    """The protocol that a model is asked by."""

    CHAT_COMPLETIONS = "chat_completions"
    RESPONSES = "responses"


def _details(llm: Llm, arguments: Mapping[str, Any]) -> Details:
    """Return what the events of asking the model say."""
    from oracleagentmemory.observability.emission import Details

    named = ("prompt", "response_json_schema")
    options = {name: value for name, value in arguments.items() if name not in named}
    return Details(
        both={"model": llm.model, "api_type": llm._api_type.value},
        started={
            "prompt": arguments.get("prompt"),
            "response_json_schema": arguments.get("response_json_schema"),
            "llm_generation_config": options or None,
            "tools": options.get("tools"),
        },
        completed=_answer_fields,
    )


def _answer_fields(answer: LlmResponse) -> dict[str, Any]:
    usage = answer.usage
    if usage is None:
        return {"content": answer.text}
    return {
        "content": answer.text,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


class Llm(ILlm):
    """A language model that LiteLLM can reach.

    Neither making one nor importing this module reaches a network or loads LiteLLM; the first
    request does. Failed requests are not repeated: that is the caller's, who knows what waits.
    Instances are thread-safe.

    Args:
        model: LiteLLM name, such as ``openai/gpt-4o-mini`` or ``anthropic/claude-sonnet-4-5``.
        api_base: Address of the provider; omitted, LiteLLM's for the model.
        api_key: Key; omitted, the provider's environment variable, such as ``OPENAI_API_KEY``.
        api_type: Protocol; ``CHAT_COMPLETIONS`` by default.
        stream: Receive the answer in pieces; the result is the same. Off by default.
        temperature: Randomness; omitted or ``None``, the provider's default.
        max_tokens: Longest answer in tokens; omitted or ``None``, the provider's default.
        reasoning_effort: Such as ``"low"``, for models that reason.
        enable_structured_output_reminder: Add the JSON schema to the prompt in words too. Off by
            default; always done for providers without structured output, and for a server that
            refuses it: that request is made once more, and later ones go without, unless only
            that schema was refused.
        supports_vision: Whether the model reads images; omitted, as LiteLLM's local table says.
        image_input_limit_config: Limits of images of one request.
        max_concurrent_requests: Requests at the same time, 16 by default; ``None`` has no limit.
            Further calls wait.
        key_file: Private key of the client certificate.
        cert_file: Client certificate.
        ca_file: Certificate authorities to trust.
        proxy: Address of an HTTP proxy.
        trust_env: Whether proxies of the environment count; they do by default.
        default_kwargs: Any other option of ``litellm.completion``, such as ``timeout`` (seconds,
            120 by default) or ``max_retries`` (0 by default).

    Raises:
        ValueError: An argument is out of bounds, or a file cannot be used.
    """

    def __init__(
        self,
        model: str,
        api_base: Maybe[str | None] = NOT_SET_MARKER,
        api_key: Maybe[str | None] = NOT_SET_MARKER,
        api_type: Maybe[LlmApiType] = NOT_SET_MARKER,
        stream: Maybe[bool] = NOT_SET_MARKER,
        temperature: Maybe[float | None] = NOT_SET_MARKER,
        max_tokens: Maybe[int | None] = NOT_SET_MARKER,
        reasoning_effort: Maybe[str | None] = NOT_SET_MARKER,
        enable_structured_output_reminder: Maybe[bool] = NOT_SET_MARKER,
        supports_vision: Maybe[bool] = NOT_SET_MARKER,
        image_input_limit_config: Maybe[ImageInputLimitConfig] = NOT_SET_MARKER,
        max_concurrent_requests: Maybe[int | None] = NOT_SET_MARKER,
        key_file: Maybe[str | None] = NOT_SET_MARKER,
        cert_file: Maybe[str | None] = NOT_SET_MARKER,
        ca_file: Maybe[str | None] = NOT_SET_MARKER,
        proxy: Maybe[str | None] = NOT_SET_MARKER,
        trust_env: Maybe[bool] = NOT_SET_MARKER,
        **default_kwargs: Any,
    ) -> None:
        self._api_type = _api_type(given(api_type, LlmApiType.CHAT_COMPLETIONS))
        generation = {
            "temperature": given(temperature, None),
            "max_tokens": given(max_tokens, None),
            "reasoning_effort": given(reasoning_effort, None),
        }
        named = {name: value for name, value in generation.items() if value is not None}
        transport = make_transport(key_file, cert_file, ca_file, proxy, trust_env)
        _refuse_reserved(default_kwargs)
        defaults = {**default_kwargs, **named}
        self._provider = Provider(model, api_base, api_key, transport, defaults)
        self._stream = given(stream, False)
        self._remind = given(enable_structured_output_reminder, False)
        self._lacks_schemas = False
        self._vision: bool | None = given(supports_vision, None)
        self._image_limits = _image_limits(given(image_input_limit_config, None))
        limit = _limit(given(max_concurrent_requests, DEFAULT_MAX_CONCURRENT_REQUESTS))
        self._places = None if limit is None else threading.BoundedSemaphore(limit)
        self._twin_pool = TwinPool(limit or _UNLIMITED_POOL_SIZE)

    @property
    def model(self) -> str:
        """The LiteLLM name."""
        return self._provider.model

    @property
    def supports_vision(self) -> bool:
        """Whether the model reads images: as given, else as LiteLLM's local table says."""
        if self._vision is None:
            self._vision = bool(load_litellm().supports_vision(model=self.model))
        return self._vision

    @observed_call("llm", _details)
    def generate(
        self,
        /,
        prompt: Prompt,
        *,
        response_json_schema: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> LlmResponse:
        """Ask the model.

        Args:
            prompt: A text, a message or a sequence of messages.
            response_json_schema: JSON schema that the answer should follow; by structured output
                where the provider has it. The answer is not checked against it.
            kwargs: Options of ``litellm.completion``; they win over the constructor's.

        Returns:
            The answer's text, the tokens used and why the answer ended.

        Raises:
            RetryableError: The provider is busy (with ``retry_after`` if it named one), cannot be
                reached, is too slow or was cut off.
            ModelError: The provider refuses the request.
            ValueError: The prompt is empty, or has images that the model or the limits forbid.
        """
        _refuse_reserved(kwargs)
        messages = chat_messages(prompt)
        self._check_images(messages)
        options = dict(kwargs)
        if response_json_schema is None:
            return self._request(messages, options)
        asked = self._ask_for_json(response_json_schema, messages, options)
        try:
            return self._request(*asked)
        except ModelError as refusal:
            only_this = _REFUSED_ONE.search(str(refusal)) is not None
            if "response_format" not in asked[1] or not (
                only_this or _REFUSED_SCHEMA.search(str(refusal))
            ):
                raise
            # LiteLLM knows providers, not every server that speaks their protocol.
            self._lacks_schemas = self._lacks_schemas or not only_this
        return self._request([*messages, schema_reminder(response_json_schema)], options)

    def _request(self, messages: list[dict[str, Any]], options: Mapping[str, Any]) -> LlmResponse:
        options = dict(options)
        streamed = options.pop("stream", self._stream)
        if streamed:
            options.update(stream=True, stream_options={"include_usage": True})
        with self._place():
            answer = self._provider.request(
                "completion", self._route(), messages=messages, **options
            )
            if streamed:
                answer = self._collect(answer, messages, options)
        return _response(answer, self.model)

    def _route(self) -> str:
        """Return the model as LiteLLM wants it named for the protocol."""
        if self._api_type is LlmApiType.CHAT_COMPLETIONS:
            return self.model
        provider, slash, name = self.model.partition("/")
        return f"{provider}/responses/{name}" if slash else f"openai/responses/{provider}"

    def _ask_for_json(
        self,
        schema: Mapping[str, Any],
        messages: Sequence[dict[str, Any]],
        options: Mapping[str, Any],
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Return messages and options with which a model should answer by a schema."""
        known = load_litellm().get_supported_openai_params(model=self.model) or []
        structured = "response_format" in known and not self._lacks_schemas
        added = {"response_format": response_format(schema)} if structured else {}
        in_words = [schema_reminder(schema)] if self._remind or not structured else []
        return [*messages, *in_words], {**options, **added}

    def _check_images(self, messages: Sequence[Mapping[str, Any]]) -> None:
        sizes = image_sizes(messages)
        if not sizes:
            return
        if not self.supports_vision:
            raise InvalidInputError(
                f"{self.model} is not known to read images; supports_vision=True says it does"
            )
        check_image_sizes(sizes, self._image_limits)

    @contextlib.contextmanager
    def _place(self) -> Iterator[None]:
        with self._places or contextlib.nullcontext():
            yield

    def _collect(
        self, pieces: Any, messages: list[dict[str, Any]], options: Mapping[str, Any]
    ) -> Any:
        """Put a streamed answer together; the pieces come while this runs."""
        try:
            return load_litellm().stream_chunk_builder(list(pieces), messages=messages)
        except Exception as exc:  # noqa: BLE001 - LiteLLM promises no common class
            raise self._provider.failed(exc, options) from None


def _response(answer: Any, model: str) -> LlmResponse:
    choices = getattr(answer, "choices", None)
    if not choices:
        raise ModelError(f"{model} answered without a choice")
    message = choices[0].message
    if message.content is None and getattr(message, "refusal", None):
        raise ModelError(f"{model} refused to answer")
    usage = getattr(answer, "usage", None)
    return LlmResponse(
        message.content or "",
        usage=None if usage is None else LlmUsage(usage.prompt_tokens, usage.completion_tokens),
        finish_reason=choices[0].finish_reason,
    )


def _api_type(value: object) -> LlmApiType:
    try:
        return LlmApiType(value)
    except ValueError as exc:
        raise InvalidInputError("api_type must be an LlmApiType member") from exc


def _limit(value: int | None) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidInputError("max_concurrent_requests must be a positive int or None")
    return value


def _image_limits(config: ImageInputLimitConfig | None) -> dict[str, int]:
    if config is None:
        return dict(DEFAULT_IMAGE_LIMITS)
    fields = {
        name: given(getattr(config, name), default)
        for name, default in DEFAULT_IMAGE_LIMITS.items()
    }
    return check_image_limits(fields)


def _refuse_reserved(kwargs: Mapping[str, Any]) -> None:
    if taken := sorted(_RESERVED & kwargs.keys()):
        raise InvalidInputError(f"{taken[0]} cannot be given as an option of a request")
