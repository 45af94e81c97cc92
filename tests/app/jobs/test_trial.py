"""Who tries the product with the scripted model, as the page of commands says, sees it learn."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from memoryapp import memory
from memoryapp.models import Job, JobState
from memoryapp.services import messages, threads
from memoryapp.services.workers import Worker
from oracleagentmemory.testing import ScriptedModelServer, parse_script
from tests.app.jobs.conftest import OPERATOR
from tests.architecture.sources import read


def documented_script() -> str:
    lines = re.findall(r'^    (\{"when": .*\})$', read(Path("docs/commands.md")), re.M)
    assert len(lines) == 1
    return str(lines[0])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("has_script", [True, False])
def test_a_message_is_learnt_from_and_nothing_is_lost(
    settings: Any, models: ScriptedModelServer, has_script: bool
) -> None:
    script = parse_script(documented_script()) if has_script else []
    with ScriptedModelServer(script) as server:
        settings.MEMORY_LLM_API_BASE = server.api_base
        threads.create(OPERATOR, thread_id="trip", user_id="ada", agent_id="travel")
        messages.add(OPERATOR, "trip", [{"role": "user", "content": "By the window, please."}])
        Worker().drain()
    job = Job.objects.get()
    assert (job.state, job.error) == (JobState.SUCCEEDED, "")
    stored = [row.record.content for row in memory.inspector().page("memory").rows]
    assert stored == (["Ada prefers a seat by the window."] if has_script else [])
