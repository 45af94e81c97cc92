"""The images on the page of a memory: of the messages that taught it, else of its thread."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from memoryapp.services import images, messages
from tests.app.pages.conftest import OPERATOR, add_image, add_memory, add_thread, text_of
from tests.app.pages.test_provenance import HOSTILE, statements
from tests.app.provenance import note
from tests.sdk.images.pictures import picture

pytestmark = pytest.mark.django_db

PNG = picture("PNG")


def say(thread_id: str, message_id: str, **of_images: str) -> None:
    """Add a message with images: descriptions by id."""
    parts: list[dict[str, Any]] = [
        {"type": "image", "mime_type": "image/png", "bytes": PNG, "id": name, "description": text}
        for name, text in of_images.items()
    ]
    content = [{"type": "text", "text": "Look"}, *parts]
    messages.add(OPERATOR, thread_id, [{"role": "user", "content": content, "id": message_id}])


@pytest.fixture
def pictured(thread: str) -> str:
    """Ada's thread: ``seen`` has two pictures, ``other`` one, and one is of no message."""
    say(thread, "seen", car="a red car", hut="a hut")
    say(thread, "other", cat="a grey cat")
    add_image("loose", thread_id=thread, description="the garage")
    add_memory("Ada drives a red car", memory_id="car-memory", thread_id=thread, agent_id="travel")
    return thread


def shown(client: Client, memory_id: str = "car-memory") -> list[str]:
    """The images on the page of a memory, by id, as its section lists them."""
    response = client.get(f"/memories/{memory_id}/")
    page = response.context["images"]
    ids = [row.id for row in page.rows] if page else []
    section = text_of(response).partition('id="images"')[2].partition("</section>")[0]
    assert section.count("<li ") == len(ids)
    assert all(f'href="/images/{one}/"' in section for one in ids)
    return ids


def test_it_shows_the_images_of_the_messages_that_taught_it(client: Client, pictured: str) -> None:
    note(("car-memory", "seen"), ("car-memory", "m-1"))
    assert sorted(shown(client)) == ["car", "hut"]
    page = text_of(client.get("/memories/car-memory/"))
    for word in (
        "In the messages it was learnt from.",
        "a red car",
        'src="/images/car/thumbnail/"',
    ):
        assert word in page
    assert "a grey cat" not in page


def test_without_a_source_it_shows_those_of_its_thread(client: Client, pictured: str) -> None:
    assert sorted(shown(client)) == ["car", "cat", "hut", "loose"]
    page = text_of(client.get("/memories/car-memory/"))
    assert "In its thread." in page
    assert "All images of its thread" not in page


def test_without_images_nothing_is_said(client: Client, pictured: str, foreign: str) -> None:
    note(("car-memory", "m-1"))
    for memory_id in ("car-memory", foreign):
        assert shown(client, memory_id) == []
        assert 'id="images"' not in text_of(client.get(f"/memories/{memory_id}/"))


def test_of_many_it_shows_the_newest_and_links_the_others(client: Client, pictured: str) -> None:
    say(pictured, "album", **{f"p-{number:02}": f"page {number}" for number in range(12)})
    note(("car-memory", "album"))
    add_memory("Ada has an album", memory_id="unsourced", thread_id=pictured, agent_id="travel")
    for memory_id in ("car-memory", "unsourced"):
        assert len(shown(client, memory_id)) == 10
        page = text_of(client.get(f"/memories/{memory_id}/"))
        assert '<a class="btn sm" href="/images/?thread=t-1">All images of its thread</a>' in page


def test_an_image_of_a_hidden_message_is_not_shown(
    client: Client, limited: Client, pictured: str
) -> None:
    add_thread("t-2", [], user_id="bob")
    say("t-2", "hidden", plan="the plan of bob")
    note(("car-memory", "seen"), ("car-memory", "hidden"))
    assert sorted(shown(client)) == ["car", "hut", "plan"]
    assert sorted(shown(limited)) == ["car", "hut"]
    assert "plan" not in text_of(limited.get("/memories/car-memory/"))
    add_memory("Ada knows", memory_id="hidden-only", thread_id=pictured, agent_id="travel")
    note(("hidden-only", "hidden"))
    assert shown(limited, "hidden-only") == []


def test_images_of_others_in_its_thread_are_not_shown(client: Client, limited: Client) -> None:
    add_thread("t-2", [], user_id="bob")
    add_image("plan", thread_id="t-2", description="the plan of bob")
    add_memory("Ada knows", memory_id="guest", thread_id="t-2")
    assert shown(client, "guest") == ["plan"]
    assert shown(limited, "guest") == []


def test_a_deleted_message_takes_its_images_from_the_page(client: Client, pictured: str) -> None:
    note(("car-memory", "seen"), ("car-memory", "other"))
    messages.delete(OPERATOR, pictured, "seen")
    assert shown(client) == ["cat"]


def test_a_description_is_text(client: Client, pictured: str) -> None:
    images.update(OPERATOR, "car", description=HOSTILE)
    note(("car-memory", "seen"))
    page = text_of(client.get("/memories/car-memory/"))
    assert "&lt;img src=x onerror=alert(1)&gt;{{ 7|add:7 }}" in page
    assert "<img src=x" not in page


def test_many_images_take_as_many_statements_as_one_and_no_bytes(client: Client) -> None:
    counts = []
    for thread_id, count in (("t-1", 1), ("t-2", 9)):
        add_thread(thread_id, [])
        for number in range(count):
            name = f"{thread_id}-p{number}"
            say(thread_id, f"of-{name}", **{name: f"picture {number}"})
        add_memory("It saw", memory_id=thread_id, thread_id=thread_id, agent_id="travel")
        note(*((thread_id, f"of-{thread_id}-p{number}") for number in range(count)))
        client.get(f"/memories/{thread_id}/")
        with statements() as seen:
            assert len(shown(client, thread_id)) == count
        counts.append(len(seen))
        # Of bytes, their number alone is asked for.
        asked = re.findall(r"(\w+\(|\b)\w+\.blob\b", " ".join(seen))
        assert set(asked) == {"LENGTH("}
    assert counts[0] == counts[1]
