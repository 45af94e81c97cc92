"""Links that a model finds for a memory that a caller adds."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from oracleagentmemory._notset import NOT_SET_MARKER, given
from oracleagentmemory.apis.llms.llm import ILlm
from oracleagentmemory.apis.validation import check_flag
from oracleagentmemory.core.extractors.journal import NO_JOURNAL
from oracleagentmemory.core.extractors.keptanswers import KeptAnswers
from oracleagentmemory.core.extractors.linking import (
    Linked,
    Linking,
    LinkScope,
    find_candidates,
    shown_memory,
)
from oracleagentmemory.core.extractors.storing import NewMemory
from oracleagentmemory.core.prepared import Writer
from oracleagentmemory.storage.writes import Prepared

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oracleagentmemory.core.oraclememorystore import OracleMemoryStore

logger = logging.getLogger(__name__)

P = ParamSpec("P")


class Linker(Writer, Protocol):
    """Something that adds memories and may have a model to link them."""

    _store: OracleMemoryStore
    _llm: ILlm | None

    @property
    def _link_settings(self) -> Mapping[str, Any]:
        """The resolved extraction settings."""


S = TypeVar("S", bound=Linker)


def linked_by_model(
    prepare: Callable[Concatenate[S, P], Prepared[str]],
) -> Callable[Concatenate[S, P], str]:
    """Return the method ``add_memory`` of a ``prepare_add_memory``: prepare, write, then link.

    Linking is asked for by ``autonomous_linking``, on where there is a model. Its failure leaves
    the memory without links.
    """

    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> str:
        wanted = given(kwargs.get("autonomous_linking", NOT_SET_MARKER), None)
        if wanted is not None:
            check_flag(wanted, "autonomous_linking")
        twin: Callable[P, Prepared[str]] = getattr(self, prepare.__name__)
        prepared = twin(*args, **kwargs)
        llm = None if wanted is False else self._llm
        if llm is not None:
            self._store.refuse_in_transaction(
                "linking a memory by a model (pass autonomous_linking=False to skip it)"
            )
        memory_id = self.write(prepared)
        if llm is not None:
            _link(self._store, llm, self._link_settings, memory_id)
        return memory_id

    functools.update_wrapper(method, prepare)
    method.__name__ = prepare.__name__.removeprefix("prepare_")
    method.__qualname__ = prepare.__qualname__.replace("prepare_", "")
    return method


def _link(store: OracleMemoryStore, llm: ILlm, settings: Mapping[str, Any], memory_id: str) -> None:
    """Link a stored memory to older ones of exactly its user and agent."""
    linked = Linked()
    try:
        memory = store.get_memory(memory_id)
        if memory is None:
            return
        scope = LinkScope(
            user_id=memory.user_id,
            agent_id=memory.agent_id,
            exact_thread=memory.user_id is None and memory.agent_id is None,
            thread_id=memory.thread_id,
        )
        linking = Linking(
            store,
            KeptAnswers(llm, NO_JOURNAL),
            NO_JOURNAL,
            name=memory_id,
            token_limit=settings["memory_link_extraction_token_limit"],
            instructions=settings.get("memory_link_extraction_custom_instructions"),
        )
        text = memory.content or ""
        new = NewMemory(memory_id=memory.id, record_type=memory.record_type, text=text)
        found = list(map(shown_memory, find_candidates(store, text, scope, [memory_id])))
        linking.resolve([new], {memory_id: found}, linked, replace_texts=False)
    except Exception as failure:  # noqa: BLE001 - the memory is stored, whatever a model raises
        logger.warning("memory %s has no links: %s", memory_id, type(failure).__name__)
        return
    for problem in linked.problems:
        # Reasons may quote memories.
        logger.warning("memory %s lacks %s", memory_id, problem.step)
