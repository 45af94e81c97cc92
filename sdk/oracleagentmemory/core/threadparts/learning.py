"""Learning from messages: the job that new or edited ones make due, and who runs it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from oracleagentmemory.apis.records import MessageRecord
from oracleagentmemory.core.extractors.duejobs import DueJobs, Taught
from oracleagentmemory.core.threadparts.part import ThreadPart
from oracleagentmemory.storage.writes import Prepared

P = ParamSpec("P")
T = TypeVar("T")


class ThreadLearning(ThreadPart):
    """What happens besides storing when messages are added or edited."""

    def _teach_added(
        self, prepared: Prepared[list[str]], contents: Sequence[Any]
    ) -> Prepared[Taught]:
        if self._llm is None:
            return prepared.map(lambda message_ids: Taught(message_ids, None))
        return self._due_jobs.with_added(prepared, contents)

    def _teach_edited(
        self, prepared: Prepared[str], message: MessageRecord, content: Any
    ) -> Prepared[Taught]:
        if self._llm is None:
            return prepared.map(lambda message_id: Taught([message_id], None))
        return self._due_jobs.with_edited(prepared, message.id, message.seq_no, content)

    @property
    def _due_jobs(self) -> DueJobs:
        owners = {
            "thread_id": self._thread_id,
            "user_id": self._user_id,
            "agent_id": self._agent_id,
        }
        return DueJobs(self._store, self._work, self._settings, owners)

    @property
    def _teaches(self) -> bool:
        extraction = self._settings.extraction
        wanted = self._settings.extracts or extraction["enable_context_summary"]
        return self._llm is not None and wanted


S = TypeVar("S", bound=ThreadLearning)
_Teaching = Callable[Concatenate[S, P], Prepared[Taught]]


def learnt(
    prepare: _Teaching[S, P], result: Callable[[Taught], T]
) -> tuple[Callable[Concatenate[S, P], Prepared[T]], Callable[Concatenate[S, P], T]]:
    """Return the methods ``prepare_x`` and ``x`` of a ``_teach_by_x``.

    ``prepare_x`` records the job that is due and leaves it to the scheduler to find it there;
    ``x`` also runs or starts it once the messages are stored.

    Args:
        result: What the methods return of what was stored.
    """

    def prepared(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Prepared[T]:
        return prepare(self, *args, **kwargs).map(result)

    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        teaching = prepare(self, *args, **kwargs)
        if self._teaches:
            self._work.refuse_in_transaction(self._settings)
        taught = self.write(teaching)
        if taught.job is not None:
            self._work.start(taught.job, self._llm)
        return result(taught)

    name = prepare.__name__.removeprefix("_prepare_")
    for function, function_name in ((prepared, f"prepare_{name}"), (method, name)):
        functools.update_wrapper(function, prepare)
        function.__name__ = function_name
        function.__qualname__ = f"{prepare.__qualname__.rpartition('.')[0]}.{function_name}"
    return prepared, method
