"""The app's client with a scripted model, in the process of the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memoryapp import memory
from memoryapp.access import Access
from memoryapp.models import Job
from memoryapp.services import messages, threads
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer

OPERATOR = Access.of_command("test")
EXTRACTION = "Now list the memories of the new messages"
LINKS = "Now give the links of each new memory"
SUMMARY = "Now write the summary of the whole thread"
BUILT = (memory.llm, memory.scheduler, memory.client)


@pytest.fixture
def models(settings: Any) -> Iterator[ScriptedModelServer]:
    """A model server that the app is configured with; it sums up, and learns nothing by itself."""
    summary = {"summary": "They talked.", "topics": ["a talk"]}
    with ScriptedModelServer([ScriptedAnswer(when=SUMMARY, json=summary, repeat=True)]) as server:
        settings.MEMORY_LLM = "openai/scripted"
        settings.MEMORY_LLM_API_BASE = server.api_base
        settings.MEMORY_LLM_API_KEY = _secret("none")
        for built in BUILT:
            built.cache_clear()
        yield server
    for built in BUILT:
        built.cache_clear()


def _secret(value: str) -> Any:
    from pydantic import SecretStr

    return SecretStr(value)


@pytest.fixture
def say(models: ScriptedModelServer) -> Callable[..., Job]:
    """Add a message to a thread of user ``ada`` and return the job that it makes due."""

    def add(text: str, thread_id: str = "t-1", user_id: str = "ada", **more: Any) -> Job:
        if memory.inspector().record("thread", thread_id) is None:
            threads.create(OPERATOR, thread_id=thread_id, user_id=user_id, agent_id="travel")
        messages.add(OPERATOR, thread_id, [{"role": "user", "content": text, **more}])
        return Job.objects.order_by("-id")[0]

    return add


def learns(text: str, *found: str, **more: Any) -> ScriptedAnswer:
    """What the model answers when messages with a text are to be learnt from."""
    memories = [{"text": one, "record_type": "fact"} for one in found]
    answer = {"thoughts": None, "memories": memories}
    return ScriptedAnswer(when=text, json=answer, **more)
