"""Images through the browser: a file is chosen, refused, added, shown and edited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from memoryapp.access import Access
from memoryapp.models import Person
from memoryapp.services import images
from tests.sdk.images.pictures import picture

pytestmark = pytest.mark.django_db(transaction=True)

OPERATOR = Access.of_command("test")
IS_SHOWN = "image => image.complete && image.naturalWidth > 0"


def file(name: str, data: bytes) -> Any:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": data}


def test_a_file_is_refused_then_added_and_shown(
    open_page: Callable[..., Page], person: Person
) -> None:
    page = open_page("/images/", person)
    page.get_by_role("link", name="New image").click()
    page.get_by_label("File").set_input_files(file("a.gif", b"GIF89a" + bytes(50)))
    page.get_by_label("Description").fill("a red car")
    page.get_by_label("User").fill("ada")
    page.get_by_role("button", name="Add image").click()
    expect(page.get_by_role("alert")).to_contain_text("neither PNG, JPEG nor WebP")
    expect(page.get_by_label("Description")).to_have_value("a red car")
    page.get_by_label("File").set_input_files(file("car.png", picture("PNG", size=(60, 40))))
    page.get_by_role("button", name="Add image").click()
    expect(page.get_by_role("heading", name="Image")).to_be_visible()
    shown = page.get_by_role("img", name="a red car")
    expect(shown).to_be_visible()
    shown.evaluate("image => image.decode()")
    assert shown.evaluate(IS_SHOWN)
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Description").fill("a blue car")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("img", name="a blue car")).to_be_visible()
    page.get_by_role("link", name="Images").first.click()
    expect(page.locator(".row .txt")).to_have_text(["a blue car"])
    thumbnail = page.locator(".row img")
    thumbnail.evaluate("image => image.decode()")
    assert thumbnail.evaluate(IS_SHOWN)


def test_a_picture_opened_alone_runs_nothing_and_is_no_page(
    open_page: Callable[..., Page], person: Person
) -> None:
    images.add(OPERATOR, data=picture("PNG"), image_id="i-1", user_id="ada")
    # The browser's own page around a lone picture is refused its style: nothing of it is needed.
    page = open_page("/images/i-1/", person, provokes=("Applying inline style violates",))
    page.get_by_role("link", name="Full size").click()
    page.wait_for_url("**/images/i-1/bytes/")
    assert page.evaluate("document.contentType") == "image/png"


def test_only_thumbnails_near_the_window_are_asked_for(
    open_page: Callable[..., Page], person: Person
) -> None:
    for number in range(50):
        images.add(OPERATOR, data=picture("PNG"), image_id=f"i-{number}", user_id="ada")
    page = open_page("/", person)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/images/")
    page.wait_for_load_state("networkidle")
    thumbnails = [url for url in asked if url.endswith("/thumbnail/")]
    assert 5 < len(thumbnails) < 50
    assert not [url for url in asked if url.endswith("/bytes/")]
