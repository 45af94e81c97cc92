"""Async twins: one for every public method, the same parameters, never one inside another."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory._notset import NOT_SET_MARKER
from oracleagentmemory._threaded import TwinOwner, TwinPool, threaded
from oracleagentmemory.apis import IAgentMemory, IEmbedder, ILlm, IMemoryStore, IThread
from oracleagentmemory.core import (
    OracleAgentMemory,
    OracleDBMemoryStore,
    OracleThread,
    SQLiteMemoryStore,
)

#: Methods that only decide or only start a write, and so have no twin.
WITHOUT_TWIN = {"write", "write_all"}


class Counter(TwinOwner):
    """Counts, and says on which thread."""

    def __init__(self, size: int = 1) -> None:
        self._twin_pool = TwinPool(size)
        self.refused = False
        self.given_back: list[str] = []

    def _before_twin(self, method_name: str) -> None:
        if self.refused:
            raise RuntimeError(f"call {method_name}()")

    def _after_twin(self) -> None:
        self.given_back.append(threading.current_thread().name)

    def add(self, number: int, *, twice: bool = False) -> tuple[int, str]:
        """Return the number and the thread's name."""
        return number * (2 if twice else 1), threading.current_thread().name

    def fail(self) -> None:
        """Raise."""
        raise ValueError("no")

    def colour_here(self) -> str:
        """Return the context's colour."""
        return COLOUR.get()

    add_async = threaded(add)
    fail_async = threaded(fail)
    colour_here_async = threaded(colour_here)


class Doubler(Counter):
    """Overrides the method, not the twin."""

    def add(self, number: int, *, twice: bool = False) -> tuple[int, str]:
        """Return ten times the number."""
        return number * 10, ""


COLOUR: contextvars.ContextVar[str] = contextvars.ContextVar("colour", default="none")


def public_methods(kind: type) -> dict[str, Any]:
    """Public methods of a class, without twins, prepare_ methods and properties."""
    return {
        name: method
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith(("_", "prepare_")) and not name.endswith("_async")
    }


#: Documented twins that take their arguments otherwise than their methods: a call of each, and
#: what the method then gets.
OF_THEIR_OWN: dict[tuple[type, str], tuple[Any, dict[str, Any]]] = {
    (IAgentMemory, "update_memory"): (
        lambda one: one.update_memory_async("m", content="c", if_fingerprint="f", extra=1),
        {"memory_id": "m", "content": "c", "if_fingerprint": "f", "kwargs": {"extra": 1}},
    ),
    (IMemoryStore, "add_user"): (
        lambda one: one.add_user_async("u", "text", {"a": 1}),
        {"user_id": "u", "information": "text", "metadata": {"a": 1}},
    ),
    (OracleThread, "get_messages"): (
        lambda one: one.get_messages_async(0, 5, True),
        {"start": 0, "end": 5, "include_image_bytes": True},
    ),
}

CLASSES = [
    IAgentMemory,
    IEmbedder,
    ILlm,
    IMemoryStore,
    IThread,
    OracleAgentMemory,
    OracleThread,
]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_public_method_has_a_twin_with_the_same_parameters(kind: type) -> None:
    for name, method in public_methods(kind).items():
        if name in WITHOUT_TWIN or (kind, name) in OF_THEIR_OWN:
            continue
        twin = getattr(kind, f"{name}_async")
        assert inspect.iscoroutinefunction(twin), name
        wanted = inspect.signature(method).parameters.values()
        have = inspect.signature(twin).parameters.values()
        assert [(one.name, one.kind, one.default) for one in have if one.name != "self"] == [
            (one.name, one.kind, one.default) for one in wanted if one.name != "self"
        ], name


@pytest.mark.parametrize(("kind", "name"), OF_THEIR_OWN)
def test_a_twin_with_parameters_of_its_own_passes_them_on(
    kind: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, wanted = OF_THEIR_OWN[kind, name]
    signature = inspect.signature(getattr(kind, name))

    def note(self: object, /, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return dict(signature.bind(self, *args, **kwargs).arguments)

    plain = type(kind.__name__, (kind,), {name: note, "_before_twin": lambda self, method: None,
                                          "_after_twin": lambda self: None})  # fmt: skip
    plain.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]
    got = asyncio.run(call(object.__new__(plain)))
    del got["self"]
    assert {key: one for key, one in got.items() if one is not NOT_SET_MARKER} == wanted
    twin = inspect.signature(getattr(kind, f"{name}_async")).parameters
    assert twin.keys() == signature.parameters.keys()


@pytest.mark.parametrize("kind", [SQLiteMemoryStore, OracleDBMemoryStore])
def test_every_documented_method_of_a_store_has_a_twin_with_its_parameters(kind: type) -> None:
    for name in public_methods(IMemoryStore):
        method = inspect.signature(getattr(kind, name)).parameters.values()
        twin = inspect.signature(getattr(kind, f"{name}_async")).parameters.values()
        if (IMemoryStore, name) not in OF_THEIR_OWN:
            assert [(one.name, one.default) for one in twin] == [
                (one.name, one.default) for one in method
            ], name


def test_no_twin_calls_a_twin() -> None:
    files = Path(inspect.getfile(OracleAgentMemory)).parents[1].rglob("*.py")
    awaited = [file for file in files if re.search(r"await .*_async\(", file.read_text())]
    assert awaited == []


def test_a_twin_runs_on_the_owners_pool_with_the_callers_context() -> None:
    async def main() -> None:
        counter = Counter()
        COLOUR.set("blue")
        value, name = await counter.add_async(3, twice=True)
        assert value == 6
        assert name.startswith("oracleagentmemory-async")
        assert await counter.colour_here_async() == "blue"
        assert counter.given_back == [name, name]

    asyncio.run(main())


def test_a_twin_calls_the_override_of_its_method() -> None:
    assert asyncio.run(Doubler().add_async(3)) == (30, "")


def test_a_twin_raises_what_its_method_raises() -> None:
    with pytest.raises(ValueError, match="no"):
        asyncio.run(Counter().fail_async())


def test_a_twin_is_refused_in_the_calling_thread() -> None:
    counter = Counter()
    counter.refused = True
    with pytest.raises(RuntimeError, match=r"call add\(\)"):
        asyncio.run(counter.add_async(1))
    assert counter.given_back == []


def test_a_pool_never_runs_more_calls_than_its_size() -> None:
    counter = Counter(size=2)
    gate = threading.Barrier(2)

    def meet() -> str:
        gate.wait(5)
        return threading.current_thread().name

    async def main() -> set[str]:
        pool = counter._twin_pool
        assert pool is not None
        calls = [
            pool.submit(lambda: (gate.wait(5), threading.current_thread().name)[1])
            for _ in range(6)
        ]
        return set(await asyncio.gather(*calls))

    assert len(asyncio.run(main())) == 2


def test_a_released_pool_starts_again() -> None:
    counter = Counter()
    asyncio.run(counter.add_async(1))
    assert counter._twin_pool is not None
    counter._twin_pool.release()
    assert asyncio.run(counter.add_async(2))[0] == 2
    counter._twin_pool.release()
