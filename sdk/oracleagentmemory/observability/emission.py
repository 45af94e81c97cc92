"""From an operation to its pair of events."""

from __future__ import annotations

import inspect
import logging
import uuid
from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass, field
from typing import Any

from oracleagentmemory.observability import event as events
from oracleagentmemory.observability.event import (
    ApiOperationCompletedEvent,
    ApiOperationStartedEvent,
    OperationKind,
)
from oracleagentmemory.observability.eventlistener import emit_event

logger = logging.getLogger(__name__)

_TYPES: dict[str, tuple[type[ApiOperationStartedEvent], type[ApiOperationCompletedEvent]]] = {
    "agent_memory": (events.AgentMemoryStartedEvent, events.AgentMemoryCompletedEvent),
    "thread": (events.ThreadStartedEvent, events.ThreadCompletedEvent),
    "memory_store": (events.MemoryStoreStartedEvent, events.MemoryStoreCompletedEvent),
    "embedder": (events.EmbedderStartedEvent, events.EmbedderCompletedEvent),
    "llm": (events.LlmGenerationStartedEvent, events.LlmGenerationCompletedEvent),
}
_EVENT_NAMES = {"embedder": "embedder", "llm": "llm.generation"}
_KINDS = {
    "add": OperationKind.CREATE,
    "create": OperationKind.CREATE,
    "delete": OperationKind.DELETE,
    "embed": OperationKind.CREATE,
    "generate": OperationKind.CREATE,
    "get": OperationKind.READ,
    "link": OperationKind.CREATE,
    "list": OperationKind.READ,
    "search": OperationKind.READ,
    "update": OperationKind.UPDATE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What an operation's events say beyond those of every operation.

    Attributes:
        both: Fields of both events.
        started: Fields of the first; ``arguments`` stay out of it when it names them itself.
        completed: Returns the second's fields of the result.
    """

    both: Mapping[str, Any] = field(default_factory=dict)
    started: Mapping[str, Any] = field(default_factory=dict)
    completed: Callable[[Any], Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation that has told of its start."""

    event_id: str
    component: str
    common: Mapping[str, Any]
    completed_fields: Callable[[Any], Mapping[str, Any]] | None

    def completed(self, result: Any) -> Any:
        """Tell that it returned; give back what."""
        try:
            if self.completed_fields is None:
                fields: Mapping[str, Any] = {"result": {"value": result}}
            else:
                fields = self.completed_fields(result)
            self._tell(success=True, result_summary=summary(result), **fields)
        except Exception:
            logger.exception("no event tells of the end of %s", self.common["method"])
        return result

    def failed(self, error: BaseException) -> None:
        """Tell that it raised."""
        self._tell(success=False, error_type=type(error).__name__)

    def _tell(self, **fields: Any) -> None:
        """Emit the second event; its fields beside an exception are the SDK's own and valid."""
        kind = _TYPES[self.component][1]
        emit_event(
            kind(
                event_id=f"{self.event_id}.completed",
                started_event_id=f"{self.event_id}.started",
                event_name=_event_name(self.component, self.common["method"], "completed"),
                **self.common,
                **fields,
            )
        )


def begin(
    component: str,
    method: str,
    owner: Any,
    signature: inspect.Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    describe: Callable[[Any, Mapping[str, Any]], Details] | None,
) -> Operation:
    """Tell that an operation starts."""
    arguments = _arguments(signature, args, kwargs)
    if describe is not None:
        details = describe(owner, arguments)
    elif component == "thread":
        names = ("thread_id", "user_id", "agent_id")
        details = Details(both={name: getattr(owner, name) for name in names})
    else:
        details = Details()
    event_id = f"ev_{uuid.uuid4()}"
    common = {
        "concrete_class": type(owner).__name__,
        "method": method,
        "operation_kind": _KINDS.get(method.partition("_")[0], OperationKind.UNKNOWN),
        **details.both,
    }
    kind = _TYPES[component][0]
    emit_event(
        kind(
            event_id=f"{event_id}.started",
            event_name=_event_name(component, method, "started"),
            argument_summary={name: summary(value) for name, value in arguments.items()},
            **common,
            **(details.started or {"arguments": arguments}),
        )
    )
    return Operation(event_id, component, common, details.completed)


def summary(value: object) -> dict[str, Any]:
    """Return type and length of a value, and a number or a flag itself; never a text."""
    said: dict[str, Any] = {"type": type(value).__name__}
    if isinstance(value, bool | int | float):
        said["value"] = value
    elif isinstance(value, Sized):
        said["length"] = len(value)
    return said


def _arguments(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Return arguments by parameter; those that fit none, which the method will refuse, by name."""
    try:
        bound = dict(signature.bind(*args, **kwargs).arguments)
    except TypeError:
        return dict(kwargs)
    bound.pop(next(iter(signature.parameters)), None)
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            bound |= bound.pop(name, {})
    return bound


def _event_name(component: str, method: str, phase: str) -> str:
    return f"{_EVENT_NAMES.get(component, f'{component}.{method}')}.{phase}"
