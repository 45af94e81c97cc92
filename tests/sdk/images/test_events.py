"""What the methods of images tell those who listen."""

from __future__ import annotations

import json
from typing import Any

import pytest

from oracleagentmemory.apis import ImageMimeType
from oracleagentmemory.core import OracleAgentMemory
from oracleagentmemory.core.thread import OracleThread
from oracleagentmemory.observability import OperationKind, register_event_listeners
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.sdk.client.test_observability import Ear
from tests.sdk.images.pictures import picture

DATA = picture("PNG")


@pytest.mark.parametrize("component", ["agent_memory", "thread"])
def test_every_method_of_images_tells_its_start_and_its_end(
    client: OracleAgentMemory, thread: OracleThread, component: str
) -> None:
    owner: Any = client if component == "agent_memory" else thread
    scope = {"user_id": "u1"} if owner is client else {}
    ear = Ear()
    with register_event_listeners([ear]):
        owner.add_image(DATA, description="secret car", image_id="i1", user_id="u1")
        owner.update_image("i1", description="secret boat")
        owner.list_images(**scope)
        owner.delete_image("i1")
    told = [
        (event.event_name, event.operation_kind)
        for event in ear.events
        if event.component == component
    ]
    kinds = {
        "add_image": OperationKind.CREATE,
        "update_image": OperationKind.UPDATE,
        "list_images": OperationKind.READ,
        "delete_image": OperationKind.DELETE,
    }
    assert told == [
        (f"{component}.{method}.{end}", kind)
        for method, kind in kinds.items()
        for end in ("started", "completed")
    ]
    of_store = [event.event_name for event in ear.events if event.component == "memory_store"]
    for method in ("add", "update", "delete"):
        assert f"memory_store.{method}.completed" in of_store
    assert ear.events[0].argument_summary["image"] == {"type": "bytes", "length": len(DATA)}
    for event in ear.events:
        assert "secret" not in json.dumps(event.model_dump(mode="json"))


def test_the_model_that_describes_an_image_tells_of_its_work(
    client: OracleAgentMemory, server: ScriptedModelServer
) -> None:
    server.add(ScriptedAnswer(text="A secret car."))
    ear = Ear()
    with register_event_listeners([ear]):
        client.add_image(DATA, mime_type=ImageMimeType.PNG, user_id="u1")
    assert ear.names == [
        "agent_memory.add_image.started",
        "llm.generation.started",
        "llm.generation.completed",
        "memory_store.add.started",
        "memory_store.add.completed",
        "agent_memory.add_image.completed",
    ]
    for event in ear.events:
        assert "secret" not in json.dumps(event.model_dump(mode="json"))


def test_an_image_that_is_refused_tells_that_it_failed(thread: OracleThread) -> None:
    ear = Ear()
    with register_event_listeners([ear]), pytest.raises(ValueError, match="neither"):
        thread.add_image(b"junk", description="x")
    assert ear.names == ["thread.add_image.started", "thread.add_image.completed"]
    assert (ear.events[1].success, ear.events[1].error_type) == (False, "InvalidInputError")
