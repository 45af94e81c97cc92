"""The events: a pair for every operation, one when it starts and one when it completes."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FieldSerializationInfo,
    SerializerFunctionWrapHandler,
    field_serializer,
)

__all__ = [
    "AgentMemoryCompletedEvent",
    "AgentMemoryStartedEvent",
    "ApiOperationCompletedEvent",
    "ApiOperationStartedEvent",
    "EmbedderCompletedEvent",
    "EmbedderStartedEvent",
    "Event",
    "LlmGenerationCompletedEvent",
    "LlmGenerationStartedEvent",
    "MemoryStoreCompletedEvent",
    "MemoryStoreStartedEvent",
    "OperationKind",
    "ThreadCompletedEvent",
    "ThreadStartedEvent",
]

MASK = "[REDACTED]"
#: Fields that hold what users and agents said, or how a provider is reached.
_SENSITIVE = frozenset(
    {
        "arguments",
        "content",
        "embedding_vector",
        "input",
        "llm_config",
        "llm_generation_config",
        "metadata",
        "prompt",
        "response_json_schema",
        "result",
        "tool_calls",
        "tools",
    }
)
_UNMASKED = "agent_memory_unmasked"


class OperationKind(str, enum.Enum):  # noqa: UP042 - the documented bases
    """What an operation does to what is stored."""

    CREATE = "create"
    READ = "read"
    UPDATE = "update"
    DELETE = "delete"
    UNKNOWN = "unknown"


class Event(BaseModel):
    """Something that happened; it cannot be changed.

    Attributes:
        event_id: ``ev_<uuid4>.started`` or ``.completed``; a pair shares the UUID.
        timestamp: ISO-8601 time in UTC.
        component: ``agent_memory``, ``thread``, ``memory_store``, ``embedder`` or ``llm``.
        event_name: Component, method and phase, such as ``agent_memory.create_thread.started``.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", frozen=True)

    event_id: str
    timestamp: str = Field(default_factory=lambda: datetime.now(UTC).isoformat())
    component: str
    event_name: str
    metadata: dict[str, Any] | None = None

    def model_dump(
        self, *, mask_sensitive_information: bool = True, **kwargs: Any
    ) -> dict[str, Any]:
        """Return the fields.

        Args:
            mask_sensitive_information: Put ``[REDACTED]`` for every value that may hold what users
                and agents said, or keys of a provider.
            kwargs: Options of pydantic's ``model_dump``.
        """
        return super().model_dump(context=_context(mask_sensitive_information, kwargs), **kwargs)

    def model_dump_json(self, *, mask_sensitive_information: bool = True, **kwargs: Any) -> str:
        """Return the fields as JSON; values that JSON lacks come as text.

        Args:
            mask_sensitive_information: As in :meth:`model_dump`.
            kwargs: Options of pydantic's ``model_dump_json``.
        """
        context = _context(mask_sensitive_information, kwargs)
        return super().model_dump_json(context=context, **kwargs)

    def to_observability_dict(self, mask_sensitive_information: bool = True) -> dict[str, Any]:
        """Return the fields as plain JSON values, for a log or a tracer."""
        return self.model_dump(mask_sensitive_information=mask_sensitive_information, mode="json")

    @field_serializer("*", mode="wrap")
    def _shown(
        self, value: Any, handler: SerializerFunctionWrapHandler, info: FieldSerializationInfo
    ) -> Any:
        if info.field_name not in _SENSITIVE or value is None:
            return handler(value)
        if _UNMASKED not in (info.context or ()):
            return MASK
        return _plain(value) if info.mode_is_json() else value


def _context(masked: bool, options: dict[str, Any]) -> dict[str, Any]:
    """Take the context out of a dump's options and note whether values may be shown."""
    context = dict(options.pop("context", None) or {})
    return context if masked else {**context, _UNMASKED: True}


def _plain(value: object) -> Any:
    """Return a value as JSON has it; objects by their class, bytes by their number."""
    if value is None or isinstance(value, bool | int | float | str):
        return value.value if isinstance(value, enum.Enum) else value
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value)} bytes>"
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    return repr(value)


class ApiOperationStartedEvent(Event):
    """An operation starts.

    Attributes:
        api_class: The interface of the method, such as ``IAgentMemory``.
        concrete_class: The class of the object.
        arguments: What was given, by parameter.
        argument_summary: Type and length of what was given; holds no content.
    """

    api_class: str
    concrete_class: str
    method: str
    operation_kind: OperationKind
    arguments: dict[str, Any] | None = None
    argument_summary: dict[str, Any] | None = None


class ApiOperationCompletedEvent(Event):
    """An operation has returned or raised.

    Attributes:
        started_event_id: Id of the event that told of its start.
        success: Whether it returned.
        result: ``{"value": what it returned}``.
        result_summary: Type and length of the result; holds no content.
        error_type: Class name of what it raised.
    """

    started_event_id: str
    api_class: str
    concrete_class: str
    method: str
    operation_kind: OperationKind
    success: bool
    result: dict[str, Any] | None = None
    result_summary: dict[str, Any] | None = None
    error_type: str | None = None


class AgentMemoryStartedEvent(ApiOperationStartedEvent):
    """A client's method starts."""

    component: Literal["agent_memory"] = "agent_memory"
    api_class: Literal["IAgentMemory"] = "IAgentMemory"


class AgentMemoryCompletedEvent(ApiOperationCompletedEvent):
    """A client's method has ended."""

    component: Literal["agent_memory"] = "agent_memory"
    api_class: Literal["IAgentMemory"] = "IAgentMemory"


class ThreadStartedEvent(ApiOperationStartedEvent):
    """A thread's method starts."""

    component: Literal["thread"] = "thread"
    api_class: Literal["IThread"] = "IThread"
    thread_id: str
    user_id: str | None = None
    agent_id: str | None = None


class ThreadCompletedEvent(ApiOperationCompletedEvent):
    """A thread's method has ended."""

    component: Literal["thread"] = "thread"
    api_class: Literal["IThread"] = "IThread"
    thread_id: str
    user_id: str | None = None
    agent_id: str | None = None


class MemoryStoreStartedEvent(ApiOperationStartedEvent):
    """A store's method starts."""

    component: Literal["memory_store"] = "memory_store"
    api_class: Literal["IMemoryStore"] = "IMemoryStore"


class MemoryStoreCompletedEvent(ApiOperationCompletedEvent):
    """A store's method has ended."""

    component: Literal["memory_store"] = "memory_store"
    api_class: Literal["IMemoryStore"] = "IMemoryStore"


class EmbedderStartedEvent(ApiOperationStartedEvent):
    """Texts are about to be embedded.

    Attributes:
        input: The texts.
        text_lengths: Characters of each text.
    """

    component: Literal["embedder"] = "embedder"
    event_name: Literal["embedder.started"] = "embedder.started"
    api_class: Literal["IEmbedder"] = "IEmbedder"
    method: Literal["embed"] = "embed"
    operation_kind: Literal[OperationKind.CREATE] = OperationKind.CREATE
    model: str
    input: str | list[str] | None = None
    input_count: int
    text_lengths: list[int] | None = None
    is_query: bool


class EmbedderCompletedEvent(ApiOperationCompletedEvent):
    """Texts have been embedded, or could not be.

    Attributes:
        embedding_vector: The vectors, one a text.
    """

    component: Literal["embedder"] = "embedder"
    event_name: Literal["embedder.completed"] = "embedder.completed"
    api_class: Literal["IEmbedder"] = "IEmbedder"
    method: Literal["embed"] = "embed"
    operation_kind: Literal[OperationKind.CREATE] = OperationKind.CREATE
    model: str
    input_count: int
    is_query: bool
    vector_count: int | None = None
    embedding_dimension: int | None = None
    embedding_vector: list[float] | list[list[float]] | None = None


class LlmGenerationStartedEvent(ApiOperationStartedEvent):
    """A model is about to be asked.

    Attributes:
        llm_generation_config: Options of this call.
    """

    component: Literal["llm"] = "llm"
    event_name: Literal["llm.generation.started"] = "llm.generation.started"
    api_class: Literal["ILlm"] = "ILlm"
    method: Literal["generate"] = "generate"
    operation_kind: Literal[OperationKind.CREATE] = OperationKind.CREATE
    llm_config: dict[str, Any] | None = None
    llm_generation_config: dict[str, Any] | None = None
    model: str
    api_type: str
    prompt: Any
    response_json_schema: dict[str, Any] | None = None
    tools: list[Any] | None = None


class LlmGenerationCompletedEvent(ApiOperationCompletedEvent):
    """A model has answered, or could not be asked.

    Attributes:
        content: The answer's text.
        input_tokens, output_tokens, total_tokens: As the provider counts them, if it does.
    """

    component: Literal["llm"] = "llm"
    event_name: Literal["llm.generation.completed"] = "llm.generation.completed"
    api_class: Literal["ILlm"] = "ILlm"
    method: Literal["generate"] = "generate"
    operation_kind: Literal[OperationKind.CREATE] = OperationKind.CREATE
    llm_config: dict[str, Any] | None = None
    model: str
    api_type: str
    content: str | None = None
    completion_id: str | None = None
    tool_calls: list[Any] | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    thinking_tokens: int | None = None
    total_tokens: int | None = None
