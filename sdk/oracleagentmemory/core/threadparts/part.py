"""What every part of the thread handle stands on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from oracleagentmemory.apis.llms.llm import ILlm
from oracleagentmemory.apis.thread import IThread
from oracleagentmemory.core.backgroundwork import BackgroundWork
from oracleagentmemory.core.threadsettings import ThreadSettings
from oracleagentmemory.storage.writes import Prepared

if TYPE_CHECKING:
    from oracleagentmemory.core.oraclememorystore import OracleMemoryStore

T = TypeVar("T")


class ThreadPart(IThread):
    """The state of a thread handle."""

    _store: OracleMemoryStore
    _thread_id: str
    _user_id: str
    _agent_id: str
    _metadata: dict[str, Any] | None
    _llm: ILlm | None
    _settings: ThreadSettings
    _work: BackgroundWork

    def write(self, prepared: Prepared[T]) -> T:
        """Apply a change made by a ``prepare_`` method and return its result."""
        return self._store.write(prepared)

    def _before_twin(self, method_name: str) -> None:
        self._store._before_twin(method_name)

    def _after_twin(self) -> None:
        self._store._after_twin()

    def _with_thread(self, prepared: Prepared[T]) -> Prepared[T]:
        """Return the same change, made in a thread that is sure to be stored."""
        return prepared
