"""Images that the model of the settings describes."""

from __future__ import annotations

from typing import Any

import pytest

from memoryapp.models import Job, JobState
from memoryapp.services import images
from memoryapp.services.workers import Worker
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.app.jobs.conftest import BUILT, OPERATOR
from tests.sdk.images.pictures import picture

pytestmark = pytest.mark.django_db(transaction=True)

CAPTION = "Describe the attached image"


@pytest.fixture(autouse=True)
def reads_images(models: ScriptedModelServer, settings: Any) -> None:
    """The scripted server under a name of which LiteLLM knows that it reads images."""
    settings.MEMORY_LLM = "openai/gpt-4o-mini"
    for built in BUILT:
        built.cache_clear()


def test_a_job_describes_an_image_that_has_no_description(models: ScriptedModelServer) -> None:
    models.add(ScriptedAnswer(when=CAPTION, text="A photo of a red car."))
    images.add(OPERATOR, data=picture("PNG"), description=None, image_id="i-1", user_id="ada")
    assert images.get(OPERATOR, "i-1").record.content == ""
    job = Job.objects.get()
    assert (job.kind, job.user_id, job.requested_by) == ("image", "ada", OPERATOR.actor)
    assert Worker().drain() == 1
    job.refresh_from_db()
    assert job.state == JobState.SUCCEEDED
    assert images.get(OPERATOR, "i-1").record.content == "A photo of a red car."

    models.add(ScriptedAnswer(when=CAPTION, text="A drawing of a blue car."))
    images.update(OPERATOR, "i-1", description=None)
    assert images.get(OPERATOR, "i-1").record.content == "A photo of a red car."
    assert Worker().drain() == 1
    assert images.get(OPERATOR, "i-1").record.content == "A drawing of a blue car."


def test_an_image_that_is_gone_is_not_described(models: ScriptedModelServer) -> None:
    images.add(OPERATOR, data=picture("PNG"), description=None, image_id="i-1", user_id="ada")
    images.delete(OPERATOR, "i-1")
    Worker().drain()
    assert models.requests == []
