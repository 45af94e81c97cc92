"""The job that new or edited messages make due, decided in the transaction that stores them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oracleagentmemory.apis.message import ImageContent
from oracleagentmemory.core.extractors.jobs import ExtractionJob, JobKind, Window
from oracleagentmemory.core.extractors.windows import edit_window, messages_before, plan_windows
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.writes import Prepared

if TYPE_CHECKING:
    from oracleagentmemory.core.backgroundwork import BackgroundWork
    from oracleagentmemory.core.oraclememorystore import OracleMemoryStore
    from oracleagentmemory.core.threadsettings import ThreadSettings

_STATE, _COUNTER = "memory_extraction_state", "last_memory_extraction_counter"


@dataclass(frozen=True, slots=True)
class Taught:
    """Messages that are stored, and the job that learns from them, if one is due."""

    message_ids: list[str]
    job: ExtractionJob | None


NOTHING_TAUGHT = Taught([], None)


class DueJobs:
    """Decides which job the messages of one thread make due, and lets it be recorded.

    Args:
        owners: ``thread_id``, ``user_id`` and ``agent_id`` of the thread.
    """

    def __init__(
        self,
        store: OracleMemoryStore,
        work: BackgroundWork,
        settings: ThreadSettings,
        owners: Mapping[str, str],
    ) -> None:
        self._store = store
        self._work = work
        self._settings = settings
        self._owners = dict(owners)
        extraction = settings.extraction
        self._window: int = extraction["memory_extraction_window"]
        self._frequency: int = extraction["memory_extraction_frequency"]
        self._summarises: bool = extraction["enable_context_summary"]

    def with_added(
        self, prepared: Prepared[list[str]], contents: Sequence[Any]
    ) -> Prepared[Taught]:
        """Return the addition of messages together with the record of its job."""
        undescribed = any(map(_lacks_description, contents))

        def apply(transaction: WriteTransaction) -> Taught:
            before = self._earlier_ids() if self._settings.extracts else []
            message_ids = prepared.apply(transaction)
            windows: tuple[Window, ...] = ()
            if self._settings.extracts:
                windows = self._due(transaction, before, message_ids)
            # The summary is looked at after an extraction, or where there is none ever.
            sums_up = self._summarises and not self._settings.extracts
            if not windows and not undescribed and not sums_up:
                return Taught(message_ids, None)
            return Taught(message_ids, self._record(transaction, "messages", message_ids, windows))

        return Prepared(apply, call=prepared.call)

    def with_edited(
        self, prepared: Prepared[str], message_id: str, seq_no: int, content: Any
    ) -> Prepared[Taught]:
        """Return a change of a message's content together with the record of its job.

        It does not count for later calls.

        Args:
            seq_no: The message's place in the order of the thread.
        """
        undescribed = _lacks_description(content)

        def apply(transaction: WriteTransaction) -> Taught:
            edited = prepared.apply(transaction)
            if not self._settings.extracts and not undescribed:
                return Taught([edited], None)
            windows: tuple[Window, ...] = ()
            if self._settings.extracts:
                earlier = self._earlier_ids(range_end_seq_no=seq_no)
                windows = (
                    edit_window(window=self._window, message_id=message_id, earlier_ids=earlier),
                )
            return Taught([edited], self._record(transaction, "edit", [edited], windows))

        return Prepared(apply, call=prepared.call)

    def _due(
        self, transaction: WriteTransaction, before: Sequence[str], message_ids: Sequence[str]
    ) -> tuple[Window, ...]:
        """Plan the extractions from the counter that is stored, and store it counted on."""
        due: tuple[Window, ...] = ()
        if self._frequency < 1 or (self._frequency == 1 and self._window < 1):
            return self._plan(0, before, message_ids)[0]

        def counted(state: Any) -> dict[str, Any]:
            nonlocal due
            due, counter = self._plan(saved_counter(state), before, message_ids)
            return with_counter(state, counter)

        thread_id = self._owners["thread_id"]
        self._store.prepare_update_thread(thread_id, runtime_state=counted).apply(transaction)
        return due

    def _plan(
        self, counter: int, before: Sequence[str], message_ids: Sequence[str]
    ) -> tuple[tuple[Window, ...], int]:
        plan = plan_windows(
            window=self._window,
            frequency=self._frequency,
            counter=counter,
            new_ids=message_ids,
            earlier_ids=before,
        )
        return plan.windows, plan.counter

    def _earlier_ids(self, range_end_seq_no: int | None = None) -> list[str]:
        """Return the messages that windows may reach back to, in order."""
        count = messages_before(self._window)
        if not count:
            return []
        return [
            message.id
            for message in self._store.list_thread_messages(
                self._owners["thread_id"], last_n=count, range_end_seq_no=range_end_seq_no
            )
        ]

    def _record(
        self,
        transaction: WriteTransaction,
        kind: JobKind,
        message_ids: Sequence[str],
        windows: tuple[Window, ...],
    ) -> ExtractionJob:
        job = ExtractionJob(
            job_id=str(uuid.uuid4()),
            kind=kind,
            message_ids=tuple(message_ids),
            windows=windows,
            settings=self._settings.to_json(),
            reason="add_messages" if kind == "messages" else "update_message",
            **self._owners,
        )
        self._work.accept([job], transaction)
        return job


def saved_counter(runtime_state: Any) -> int:
    """Return the counter of a thread's saved state; 0 where there is none that can be read."""
    state = runtime_state.get(_STATE) if isinstance(runtime_state, Mapping) else None
    counter = state.get(_COUNTER) if isinstance(state, Mapping) else None
    return counter if isinstance(counter, int) and counter > 0 else 0


def with_counter(runtime_state: Any, counter: int) -> dict[str, Any]:
    """Return a thread's state with another counter; what else it holds stays."""
    state = dict(runtime_state) if isinstance(runtime_state, Mapping) else {}
    inner = state.get(_STATE)
    state[_STATE] = {**(inner if isinstance(inner, Mapping) else {}), _COUNTER: counter}
    return state


def _lacks_description(content: Any) -> bool:
    parts = () if isinstance(content, str) else content
    return any(isinstance(part, ImageContent) and part.description is None for part in parts)
