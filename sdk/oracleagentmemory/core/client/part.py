"""What every part of the client stands on."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from oracleagentmemory._threaded import TwinPool
from oracleagentmemory.apis.agentmemory import IAgentMemory
from oracleagentmemory.apis.llms.llm import ILlm
from oracleagentmemory.core.backgroundwork import BackgroundWork
from oracleagentmemory.core.threadsettings import SettingsLayer
from oracleagentmemory.storage.writes import Prepared

if TYPE_CHECKING:
    from oracleagentmemory.core.oraclememorystore import OracleMemoryStore

T = TypeVar("T")


class ClientPart(IAgentMemory):
    """The state of a client.

    Attributes:
        _settings_layer: What the client gives to its threads.
    """

    _store: OracleMemoryStore
    _llm: ILlm | None
    _settings_layer: SettingsLayer
    _work: BackgroundWork
    _twin_pool: TwinPool | None

    def write(self, prepared: Prepared[T]) -> T:
        """Apply a change made by a ``prepare_`` method and return its result."""
        return self._store.write(prepared)

    def _before_twin(self, method_name: str) -> None:
        self._store._before_twin(method_name)

    def _after_twin(self) -> None:
        self._store._after_twin()
