"""What governs a thread: its settings, resolved from call, saved thread, client and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, _NotSetMarker
from oracleagentmemory.core.extractors.memoryextractionconfig import MemoryExtractionConfig
from oracleagentmemory.core.extractors.settings import (
    check_integer,
    extraction_from_json,
    extraction_to_json,
    given_fields,
    resolve_extraction,
)
from oracleagentmemory.core.imageinputlimitconfig import (
    DEFAULT_IMAGE_LIMITS,
    ImageInputLimitConfig,
    check_image_limits,
    readable_image_limits,
)
from oracleagentmemory.core.searchconfig import (
    MemorySearchConfig,
    TopKMemorySearchConfig,
    check_search_config,
    search_config_from_json,
    search_config_to_json,
)
from oracleagentmemory.errors import InvalidInputError, WrongTypeError

#: Settings of one number, with their SDK defaults.
NUMBER_DEFAULTS: dict[str, int] = {
    "max_message_token_length": 15_000,
    "message_shortening_input_token_limit": 30_000,
    "context_card_token_limit": 100_000,
    "context_card_type_search_concurrency": 5,
}
# Belongs to the handle: it says how hard this process may work.
_NOT_SAVED = "context_card_type_search_concurrency"

#: The state of a thread in which nothing has been extracted.
NEW_RUNTIME_STATE: dict[str, Any] = {
    "memory_extraction_state": {"last_memory_extraction_counter": 0}
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSettings:
    """Every setting of a thread handle.

    Attributes:
        extraction: Values by the field names of ``MemoryExtractionConfig``; instructions that
            nobody gave are absent.
        image_limits: Values by the field names of ``ImageInputLimitConfig``.
    """

    extraction: Mapping[str, Any]
    search_config: MemorySearchConfig
    image_limits: Mapping[str, int]
    max_message_token_length: int
    message_shortening_input_token_limit: int
    context_card_token_limit: int
    context_card_type_search_concurrency: int

    @property
    def extracts(self) -> bool:
        """Whether memories are extracted from new messages."""
        return bool(self.extraction["extract_memories"])

    def to_json(self) -> dict[str, Any]:
        """Return the ``runtime_config`` that a thread saves."""
        return {
            "memory_extraction_config": extraction_to_json(self.extraction),
            **{name: getattr(self, name) for name in NUMBER_DEFAULTS if name != _NOT_SAVED},
            "search_config": search_config_to_json(self.search_config),
            "image_input_limit_config": dict(self.image_limits),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsLayer:
    """The settings that one party gives, checked: a call, a saved thread, or a client."""

    extraction: Mapping[str, Any]
    numbers: Mapping[str, int]
    image_limits: Mapping[str, int]
    search_config: MemorySearchConfig | None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is given."""
        return not (self.extraction or self.numbers or self.image_limits or self.search_config)

    def written_over(self, runtime_config: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return a saved ``runtime_config`` with the settings of this layer written into it."""
        numbers = {name: value for name, value in self.numbers.items() if name != _NOT_SAVED}
        config = {**_mapping(runtime_config), **numbers}
        if self.extraction:
            merged = {
                **_mapping(config.get("memory_extraction_config")),
                **extraction_to_json(self.extraction),
            }
            cleared = {name for name, value in self.extraction.items() if value is None}
            config["memory_extraction_config"] = {
                name: value for name, value in merged.items() if name not in cleared
            }
        if self.image_limits:
            saved = _mapping(config.get("image_input_limit_config"))
            config["image_input_limit_config"] = {**saved, **self.image_limits}
        if self.search_config is not None:
            config["search_config"] = search_config_to_json(self.search_config)
        return config


EMPTY_LAYER = SettingsLayer(extraction={}, numbers={}, image_limits={}, search_config=None)


def given_layer(
    *,
    extraction: MemoryExtractionConfig,
    image_limits: Maybe[ImageInputLimitConfig] = NOT_SET_MARKER,
    search_config: Maybe[MemorySearchConfig] = NOT_SET_MARKER,
    numbers: Mapping[str, Any] | None = None,
    clearing: bool = False,
) -> SettingsLayer:
    """Check what a caller gives and return it as a layer.

    Raises:
        WrongTypeError, InvalidInputError: If a value cannot be accepted.
    """
    limits: dict[str, int] = {}
    if not isinstance(image_limits, _NotSetMarker):
        if not isinstance(image_limits, ImageInputLimitConfig):
            raise WrongTypeError("image_input_limit_config must be an ImageInputLimitConfig")
        limits = check_image_limits(_set_fields(image_limits))
    return SettingsLayer(
        extraction=given_fields(extraction, clearing=clearing),
        numbers=_check_numbers(numbers or {}),
        image_limits=limits,
        search_config=None
        if isinstance(search_config, _NotSetMarker)
        else check_search_config(search_config),
    )


def saved_layer(
    runtime_config: Mapping[str, Any] | None, of_client: MemorySearchConfig | None
) -> SettingsLayer:
    """Return what a thread has saved; unknown or unreadable parts count as not saved."""
    saved = _mapping(runtime_config)
    return SettingsLayer(
        extraction=extraction_from_json(saved.get("memory_extraction_config")),
        numbers={
            name: saved[name]
            for name in NUMBER_DEFAULTS
            if isinstance(saved.get(name), int) and name != _NOT_SAVED
        },
        image_limits=readable_image_limits(_mapping(saved.get("image_input_limit_config"))),
        search_config=_saved_search(saved.get("search_config"), of_client),
    )


def _saved_search(
    search: object, of_client: MemorySearchConfig | None
) -> MemorySearchConfig | None:
    if not isinstance(search, Mapping):
        return None
    try:
        return search_config_from_json(search, of_client)
    except (TypeError, ValueError):
        return None


def resolve_settings(
    call: SettingsLayer,
    saved: SettingsLayer,
    client: SettingsLayer,
    *,
    standalone: bool = False,
) -> ThreadSettings:
    """Resolve each setting by itself: call, else saved, else client, else SDK default."""
    searches = (call.search_config, saved.search_config, client.search_config)
    found = next((config for config in searches if config is not None), None)
    return ThreadSettings(
        extraction=resolve_extraction(
            call.extraction, saved.extraction, client.extraction, standalone=standalone
        ),
        search_config=replace(found) if found is not None else TopKMemorySearchConfig(),
        image_limits={
            **DEFAULT_IMAGE_LIMITS,
            **client.image_limits,
            **saved.image_limits,
            **call.image_limits,
        },
        **{**NUMBER_DEFAULTS, **saved.numbers, **call.numbers},
    )


def _check_numbers(numbers: Mapping[str, Any]) -> dict[str, int]:
    checked = {
        name: check_integer(value, name)
        for name, value in numbers.items()
        if not isinstance(value, _NotSetMarker)
    }
    if checked.get(_NOT_SAVED, 1) < 1:
        raise InvalidInputError(f"{_NOT_SAVED} must be at least 1")
    return checked


def _set_fields(config: ImageInputLimitConfig) -> dict[str, object]:
    given = ((spec.name, getattr(config, spec.name)) for spec in fields(config))
    return {name: value for name, value in given if not isinstance(value, _NotSetMarker)}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
