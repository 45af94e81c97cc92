"""Public writing methods made from their ``prepare_`` twins."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from oracleagentmemory.storage.writes import Prepared

P = ParamSpec("P")
T = TypeVar("T")


class Writer(Protocol):
    """Something that applies prepared changes."""

    def write(self, prepared: Prepared[T]) -> T:
        """Apply a change and return its result."""


S = TypeVar("S", bound=Writer)


def written(
    prepare: Callable[Concatenate[S, P], Prepared[T]],
) -> Callable[Concatenate[S, P], T]:
    """Return the method ``m`` of a ``prepare_m``: the same arguments, prepared and then written."""

    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        # By name, so that a subclass's override is honoured.
        twin: Callable[P, Prepared[T]] = getattr(self, prepare.__name__)
        return self.write(twin(*args, **kwargs))

    functools.update_wrapper(method, prepare)
    method.__name__ = prepare.__name__.removeprefix("prepare_")
    method.__qualname__ = prepare.__qualname__.replace("prepare_", "")
    return method
