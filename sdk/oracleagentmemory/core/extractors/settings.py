"""Extraction settings: checking a config's fields and resolving them layer by layer."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from oracleagentmemory._notset import Maybe, _NotSetMarker
from oracleagentmemory._warn import warn_caller
from oracleagentmemory.apis.validation import check_flag, check_text
from oracleagentmemory.core.extractors.memoryextractionconfig import (
    BackgroundExtractionQueueFullBehavior,
    MemoryExtractionConfig,
    MemoryExtractionImageContext,
    MemoryExtractionMode,
    MemoryLinkExtractionMode,
)
from oracleagentmemory.errors import AgentMemoryError, InvalidInputError, WrongTypeError

E = TypeVar("E", bound=enum.Enum)

#: What the fixed part of an extraction prompt needs, in estimated tokens.
SMALLEST_TOKEN_LIMIT = 1500

INSTRUCTION_FIELDS = (
    "memory_extraction_custom_instructions",
    "memory_link_extraction_custom_instructions",
)

#: SDK defaults. ``enable_context_summary`` follows ``extract_memories``; instructions have none.
DEFAULTS: dict[str, Any] = {
    "memory_extraction_window": -1,
    "context_summary_update_frequency": -1,
    "memory_extraction_frequency": -1,
    "memory_extraction_token_limit": 100_000,
    "memory_link_extraction_token_limit": 100_000,
    "extract_memories": True,
    "memory_extraction_image_context": MemoryExtractionImageContext.DISABLED,
    "memory_extraction_inherit_message_metadata": True,
    "extraction_mode": MemoryExtractionMode.BACKGROUND,
    "memory_link_extraction_mode": MemoryLinkExtractionMode.POST_EXTRACTION,
    "background_extraction_queue_full_behavior": BackgroundExtractionQueueFullBehavior.DROP,
    "background_extraction_queue_put_timeout_seconds": 300.0,
}


def check_integer(value: Any, what: str) -> int:
    """Return ``int(value)``; digits, floats and bools are taken as the reference takes them."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"{what} must be an integer") from None


def _flag(value: Any, what: str) -> bool:
    check_flag(value, what)
    return bool(value)


def _token_limit(value: Any, what: str) -> int:
    limit = check_integer(value, what)
    if 0 < limit < SMALLEST_TOKEN_LIMIT:
        raise InvalidInputError(
            f"{what}={limit} cannot hold the fixed part of the prompt; give at least "
            f"{SMALLEST_TOKEN_LIMIT}, or 0 for no limit"
        )
    return limit


def _seconds(value: Any, what: str) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{what} must be a number of seconds") from None
    if not 0 < seconds < math.inf:
        raise InvalidInputError(f"{what} must be above 0")
    return seconds


def _instructions(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidInputError(f"{what} must be a non-empty str")
    return check_text(value, what)


def _member(kind: type[E]) -> Callable[[Any, str], E]:
    def check(value: Any, what: str) -> E:
        if not isinstance(value, kind):
            raise WrongTypeError(f"{what} must be a {kind.__name__} member")
        return value

    return check


def _image_context(value: Any, what: str) -> MemoryExtractionImageContext:
    try:
        context = MemoryExtractionImageContext(value)
    except ValueError:
        known = ", ".join(member.value for member in MemoryExtractionImageContext)
        raise InvalidInputError(f"{what} must be one of {known}") from None
    if context is MemoryExtractionImageContext.MEMORY:
        raise InvalidInputError(f"{what} MEMORY is not supported; use DISABLED, IMAGE or CAPTION")
    return context


def _inherited_keys(value: Any, what: str) -> bool | list[str]:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidInputError(f"{what} must be True, False or a sequence of metadata keys")
    for key in value:
        if not isinstance(key, str) or not key:
            raise InvalidInputError(f"{what} must hold non-empty str keys only")
        check_text(key, what)
    return list(value)


_CHECKS: dict[str, Callable[[Any, str], Any]] = {
    "memory_extraction_window": check_integer,
    "context_summary_update_frequency": check_integer,
    "memory_extraction_frequency": check_integer,
    "memory_extraction_token_limit": _token_limit,
    "memory_link_extraction_token_limit": check_integer,
    "extract_memories": _flag,
    "enable_context_summary": _flag,
    "memory_extraction_custom_instructions": _instructions,
    "memory_link_extraction_custom_instructions": _instructions,
    "memory_extraction_image_context": _image_context,
    "memory_extraction_inherit_message_metadata": _inherited_keys,
    "extraction_mode": _member(MemoryExtractionMode),
    "memory_link_extraction_mode": _member(MemoryLinkExtractionMode),
    "background_extraction_queue_full_behavior": _member(BackgroundExtractionQueueFullBehavior),
    "background_extraction_queue_put_timeout_seconds": _seconds,
}


def merge_inline(
    config: Maybe[MemoryExtractionConfig], inline: Mapping[str, Any]
) -> MemoryExtractionConfig:
    """Return the config of a call that may use the deprecated inline parameters instead.

    Raises:
        WrongTypeError: If ``config`` is no ``MemoryExtractionConfig``.
        InvalidInputError: If both are given.
    """
    if not isinstance(config, MemoryExtractionConfig | _NotSetMarker):
        raise WrongTypeError("memory_extraction_config must be a MemoryExtractionConfig")
    old = {name: value for name, value in inline.items() if not isinstance(value, _NotSetMarker)}
    if not old:
        return MemoryExtractionConfig() if isinstance(config, _NotSetMarker) else config
    if not isinstance(config, _NotSetMarker):
        raise InvalidInputError(
            f"give memory_extraction_config or {', '.join(sorted(old))}, not both"
        )
    call = ", ".join(f"{name}={value!r}" for name, value in old.items())
    warn_caller(
        f"{', '.join(old)} as inline parameters are deprecated since 26.6.0 and will be removed "
        f"in 27.1; use memory_extraction_config=MemoryExtractionConfig({call})",
        DeprecationWarning,
    )
    return MemoryExtractionConfig(**old)


def given_fields(config: MemoryExtractionConfig, *, clearing: bool) -> dict[str, Any]:
    """Return the checked fields that a config gives.

    Args:
        clearing: Whether ``None`` instructions are allowed; they then stay in the answer.

    Raises:
        WrongTypeError, InvalidInputError: If a value cannot be accepted.
    """
    checked: dict[str, Any] = {}
    for spec in fields(config):
        value = getattr(config, spec.name)
        if isinstance(value, _NotSetMarker):
            continue
        if value is None and clearing and spec.name in INSTRUCTION_FIELDS:
            checked[spec.name] = None
        else:
            checked[spec.name] = _CHECKS[spec.name](value, spec.name)
    return checked


def resolve_extraction(
    call: Mapping[str, Any],
    saved: Mapping[str, Any],
    client: Mapping[str, Any],
    *,
    standalone: bool = False,
) -> dict[str, Any]:
    """Return every setting: the call's, else the saved, else the client's, else the default.

    Instructions that the call sets to ``None`` drop the saved ones, so that the client's apply.
    A standalone thread keeps its summary on even when extraction is off.
    """
    cleared = {name for name, value in call.items() if value is None}
    stored = {name: value for name, value in saved.items() if name not in cleared}
    own = {name: value for name, value in call.items() if name not in cleared}
    settings = {**DEFAULTS, **client, **stored, **own}
    settings.setdefault("enable_context_summary", standalone or settings["extract_memories"])
    return settings


def extraction_to_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as a thread saves them."""
    return {
        name: value.value if isinstance(value, enum.Enum) else value
        for name, value in settings.items()
    }


def extraction_from_json(saved: object) -> dict[str, Any]:
    """Return the settings that a thread saved; what another release added or broke is left out."""
    if not isinstance(saved, Mapping):
        return {}
    kinds: dict[str, type[enum.Enum]] = {
        name: type(value) for name, value in DEFAULTS.items() if isinstance(value, enum.Enum)
    }
    read: dict[str, Any] = {}
    for name, value in saved.items():
        if name not in _CHECKS:
            continue
        try:
            read[name] = _CHECKS[name](kinds[name](value) if name in kinds else value, name)
        except (AgentMemoryError, ValueError):
            continue
    return read
