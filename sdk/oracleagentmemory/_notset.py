"""The marker for an omitted argument, told apart from an explicit ``None``."""

from __future__ import annotations

from typing import Final, TypeAlias, TypeVar

T = TypeVar("T")


class _NotSetMarker:
    """Type of :data:`NOT_SET_MARKER`; one instance a process, also through copy and pickle."""

    _only: _NotSetMarker | None = None

    def __new__(cls) -> _NotSetMarker:
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return "NOT_SET"

    def __reduce__(self) -> str:
        return "NOT_SET_MARKER"


NOT_SET_MARKER: Final = _NotSetMarker()

#: ``Maybe[str]`` is a ``str`` argument that may be omitted.
Maybe: TypeAlias = T | _NotSetMarker


def given(value: Maybe[T], default: T) -> T:
    """Return ``value``, or ``default`` when it was omitted."""
    return default if isinstance(value, _NotSetMarker) else value
