"""Where operations tell the listeners of ``observability`` about themselves.

Nothing here loads the events (and pydantic with them) before somebody listens: an operation that
nobody listens to costs one look at a context variable.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from oracleagentmemory.storage.writes import DocumentedCall

if TYPE_CHECKING:
    from oracleagentmemory.observability.emission import Details, Operation
    from oracleagentmemory.observability.eventlistener import EventListener
    from oracleagentmemory.storage.engine import WriteTransaction

logger = logging.getLogger(__name__)

C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., Any])

#: Who listens in this context; async twins and the SDK's own pools run in copies of it.
LISTENERS: ContextVar[tuple[EventListener, ...]] = ContextVar("agent_memory_listeners", default=())
# Components whose operation is running: what it calls of itself is no operation of its own.
_RUNNING: ContextVar[frozenset[str]] = ContextVar("agent_memory_running", default=frozenset())

Run = Callable[..., Any]


def observed(component: str, contract: type) -> Callable[[type[C]], type[C]]:
    """Make the documented methods of a class tell when they start and complete.

    Args:
        component: ``agent_memory``, ``thread`` or ``memory_store``.
        contract: The interface whose methods are meant.
    """

    def decorate(cls: type[C]) -> type[C]:
        for name in documented(contract):
            setattr(cls, name, _telling(component, name, getattr(cls, name)))
            twin = getattr(cls, f"{name}_async", None)
            # Other twins run the method itself, which tells; one that waits on the loop does not.
            if inspect.iscoroutinefunction(twin) and not hasattr(twin, "__wrapped__"):
                setattr(cls, f"{name}_async", _telling_when_awaited(component, name, twin))
            prepare = getattr(cls, f"prepare_{name}", None)
            if component == "memory_store" and prepare is not None:
                setattr(cls, f"prepare_{name}", _naming(name, prepare))
        if component == "memory_store":
            cls.write = _telling_of_write(cls.write)  # type: ignore[attr-defined]
        return cls

    return decorate


def documented(contract: type) -> list[str]:
    """Return the names of an interface's synchronous public methods."""
    functions = inspect.getmembers(contract, inspect.isfunction)
    return [name for name, _ in functions if not name.startswith("_") and "_async" not in name]


def observed_call(
    component: str, describe: Callable[[Any, Mapping[str, Any]], Details]
) -> Callable[[F], F]:
    """Make one method tell, in events of its own fields.

    Args:
        describe: Returns, of the owner and the arguments, what the events say.
    """

    def decorate(method: F) -> F:
        return cast(F, _telling(component, method.__name__, method, describe))

    return decorate


def _telling(
    component: str, name: str, method: Run, describe: Callable[..., Details] | None = None
) -> Run:
    signature = inspect.signature(method)

    @functools.wraps(method)
    def run(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not LISTENERS.get():
            return method(self, *args, **kwargs)
        if component in _RUNNING.get():
            return method(self, *args, **kwargs)
        with _operation(component, name, self, signature, (self, *args), kwargs, describe) as told:
            return told.completed(method(self, *args, **kwargs))

    return run


def _telling_when_awaited(component: str, name: str, method: Run) -> Run:
    signature = inspect.signature(method)

    @functools.wraps(method)
    async def run(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not LISTENERS.get() or component in _RUNNING.get():
            return await method(self, *args, **kwargs)
        with _operation(component, name, self, signature, (self, *args), kwargs, None) as told:
            return told.completed(await method(self, *args, **kwargs))

    return run


def _naming(name: str, prepare: Run) -> Run:
    """Let a prepared change know which method it is a part of."""

    @functools.wraps(prepare)
    def run(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        prepared = prepare(self, *args, **kwargs)
        if not LISTENERS.get():
            return prepared
        call = DocumentedCall(name)

        def apply(transaction: WriteTransaction) -> Any:
            call.result = prepared.apply(transaction)
            return call.result

        return replace(prepared, apply=apply, call=call)

    return run


def _telling_of_write(write: Run) -> Run:
    """Let the write of a change that was prepared elsewhere tell as the method it belongs to."""
    signature = inspect.signature(write)

    @functools.wraps(write)
    def run(self: Any, /, prepared: Any) -> Any:
        if not LISTENERS.get() or "memory_store" in _RUNNING.get():
            return write(self, prepared)
        call = prepared.call
        name = "write" if call is None else call.name
        with _operation("memory_store", name, self, signature, (self, prepared), {}, None) as told:
            result = write(self, prepared)
            told.completed(result if call is None else call.result)
            return result

    return run


class _Silent:
    """Stands for an operation whose events could not be made."""

    def completed(self, result: Any) -> Any:
        return result

    def failed(self, error: BaseException) -> None:
        pass


@contextmanager
def _operation(
    component: str,
    name: str,
    owner: Any,
    signature: inspect.Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    describe: Callable[..., Details] | None,
) -> Iterator[Operation | _Silent]:
    """Tell of the start and, if the operation fails, of its end; it tells of success itself."""
    # Loaded here, not above: see the module's docstring.
    from oracleagentmemory.observability.emission import begin

    token = _RUNNING.set(_RUNNING.get() | {component})
    told: Operation | _Silent = _Silent()
    try:
        try:
            told = begin(component, name, owner, signature, args, kwargs, describe)
        except Exception:
            logger.exception("no event tells of %s.%s", component, name)
        yield told
    except BaseException as error:
        told.failed(error)
        raise
    finally:
        _RUNNING.reset(token)
