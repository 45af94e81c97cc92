"""Arguments of ``add_memory`` and ``update_memory``, the same for client and thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, _NotSetMarker, given
from oracleagentmemory._warn import warn_caller
from oracleagentmemory.apis.records import MEMORY_TYPES, MemoryRecord
from oracleagentmemory.apis.relations import OPPOSITE_TYPES
from oracleagentmemory.apis.validation import check_id, check_text
from oracleagentmemory.errors import InvalidInputError, NotFoundError, WrongTypeError
from oracleagentmemory.storage.writes import Prepared, in_order

if TYPE_CHECKING:
    from oracleagentmemory.core.oraclememorystore import OracleMemoryStore


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkArguments:
    """The explicit link that a new memory asks for."""

    memory_id_to_link: Maybe[str]
    link_type: Maybe[str]
    link_id: Maybe[str]
    link_timestamp: Maybe[str | None]
    link_metadata: Maybe[dict[str, Any] | None]

    def target(self, find: Callable[[str], MemoryRecord | None]) -> MemoryRecord | None:
        """Check the arguments and return the memory to link to, ``None`` when there is no link.

        Raises:
            InvalidInputError: If they are incomplete or the type is unknown.
            NotFoundError: If ``find`` does not find the memory.
        """
        both = (self.memory_id_to_link, self.link_type)
        details = (self.link_id, self.link_timestamp, self.link_metadata)
        if all(isinstance(value, _NotSetMarker) for value in (*both, *details)):
            return None
        if any(isinstance(value, _NotSetMarker) for value in both):
            raise InvalidInputError("a link needs both memory_id_to_link and link_type")
        if self.link_type not in OPPOSITE_TYPES:
            raise InvalidInputError(f"link_type must be one of {', '.join(OPPOSITE_TYPES)}")
        target_id = check_id(self.memory_id_to_link, "memory_id_to_link")
        target = find(target_id)
        if target is None:
            raise NotFoundError(f"there is no memory {target_id!r} to link to")
        return target

    def linked(
        self,
        store: OracleMemoryStore,
        added: Prepared[str],
        ends: tuple[str, str],
        target: MemoryRecord,
    ) -> Prepared[str]:
        """Return the addition of a memory together with its link to ``target``.

        Args:
            ends: Id and type of the new memory.
        """
        related = store.prepare_add_relations(
            *ends,
            target.id,
            target.record_type,
            self.link_type,
            relation_ids=self.link_id,
            timestamps=self.link_timestamp,
            metadata=self.link_metadata,
        )
        return in_order([added, related]).map(lambda results: str(results[0]))


def check_memory_type(memory_type: Maybe[str]) -> str:
    """Return the type of a new memory, ``"memory"`` when it is omitted."""
    chosen = given(memory_type, "memory")
    if chosen not in MEMORY_TYPES:
        raise InvalidInputError(f"memory_type must be one of {', '.join(MEMORY_TYPES)}")
    return chosen


def check_memory_content(content: object) -> str | None:
    """Return the content of a new memory; ``None`` means what ``metadata["content"]`` says."""
    return None if content is None else check_text(content, "content")


def check_ids(**ids: Maybe[str | None]) -> None:
    """Check the ids of a new memory by the caller's names; ``None`` means none."""
    for name, value in ids.items():
        if value is not None and not isinstance(value, _NotSetMarker):
            check_id(value, name)


def check_new_content(content: Maybe[str]) -> Maybe[str]:
    """Return the content of an update when it may replace the stored one."""
    if content is None:
        raise InvalidInputError("content must not be None; omit it or use delete_memory()")
    return content if isinstance(content, _NotSetMarker) else check_text(content, "content")


def refuse_unexpected(method_name: str, arguments: dict[str, Any]) -> None:
    """Raise ``WrongTypeError`` when a method got keywords that it does not know."""
    if arguments:
        names = ", ".join(sorted(arguments))
        raise WrongTypeError(f"{method_name}() got unexpected keyword arguments: {names}")


def only_given(**arguments: Any) -> dict[str, Any]:
    """Return the arguments that were not omitted."""
    return {name: value for name, value in arguments.items() if value is not NOT_SET_MARKER}


def store_options(timestamp: Maybe[str | None], store_kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the time of a new memory and the store's own options as arguments of ``add``.

    ``timestamps=``, the old name of ``timestamp=``, is taken with a ``DeprecationWarning``.
    """
    if "timestamps" in store_kwargs:
        if not isinstance(timestamp, _NotSetMarker):
            raise InvalidInputError("give timestamp or the deprecated timestamps, not both")
        warn_caller(
            "add_memory(timestamps=...) is deprecated; use timestamp=...",
            DeprecationWarning,
        )
        return store_kwargs
    return {**only_given(timestamps=timestamp), **store_kwargs}
