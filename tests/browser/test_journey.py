"""What a reviewer does in a day, with JavaScript and without it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from memoryapp.access import Access
from memoryapp.models import Person
from memoryapp.services import memories, messages, threads
from tests.browser.conftest import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)

OPERATOR = Access.of_command("test")
OpenPage = Callable[..., Page]


@pytest.fixture(params=[True, False], ids=["with script", "without script"])
def scripted(request: pytest.FixtureRequest) -> bool:
    """Both ways."""
    return request.param


@pytest.fixture
def records(transactional_db: None) -> None:
    """Three memories of two users and a thread."""
    threads.create(OPERATOR, thread_id="t-1", user_id="ada", agent_id="travel")
    told = [("user", "I fly to Lisbon"), ("assistant", "Window or aisle?")]
    messages.add(OPERATOR, "t-1", [{"role": role, "content": text} for role, text in told])
    for number, (text, user) in enumerate(
        [("Ada likes the window", "ada"), ("Ada cooks soup", "ada"), ("Bob likes tea", "bob")]
    ):
        memories.add(OPERATOR, content=text, user_id=user, memory_id=f"mem-{number}")


def rows(page: Page) -> list[str]:
    return page.locator(".row .txt").all_inner_texts()


def heading(page: Page, text: str) -> None:
    expect(page.get_by_role("heading", level=1, name=text)).to_be_visible()


def test_signing_in_and_out(open_page: OpenPage, person: Person, scripted: bool) -> None:
    page = open_page("/memories/?user=ada", java_script_enabled=scripted)
    heading(page, "Sign in")
    page.get_by_label("Name").fill("mara")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("correct username and password")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    heading(page, "Memories")
    assert page.url.endswith("/memories/?user=ada")
    page.get_by_role("button", name="Sign out").click()
    heading(page, "Sign in")


def test_a_memory_is_opened_changed_and_deleted(
    open_page: OpenPage, person: Person, records: None, scripted: bool
) -> None:
    page = open_page("/", person, java_script_enabled=scripted)
    page.get_by_role("link", name="Memories", exact=True).click()
    heading(page, "Memories")
    assert rows(page) == ["Bob likes tea", "Ada cooks soup", "Ada likes the window"]
    page.get_by_role("link", name="Ada cooks soup").click()
    drawer = page.get_by_role("complementary")
    expect(drawer.get_by_text("Ada cooks soup")).to_be_visible()
    assert page.url.endswith("/memories/?m=mem-1")

    drawer.get_by_role("link", name="Edit").click()
    heading(page, "Edit memory")
    page.get_by_label("Text").fill("Ada cooks lentil soup")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").filter(has_text="Memory saved.")).to_be_visible()
    expect(drawer.get_by_text("Ada cooks lentil soup")).to_be_visible()

    drawer.get_by_role("button", name="Invalidate").click()
    expect(drawer.locator(".badge", has_text="Invalid")).to_be_visible()
    assert rows(page) == ["Bob likes tea", "Ada likes the window"]
    drawer.get_by_role("button", name="Validate").click()
    expect(drawer.get_by_text("Valid", exact=True)).to_be_visible()

    drawer.get_by_role("link", name="Delete…").click()
    heading(page, "Delete this memory?")
    page.get_by_label("Reason").fill("not needed")
    page.get_by_role("button", name="Delete memory").click()
    heading(page, "Memories")
    expect(page.get_by_role("status").filter(has_text="Memory deleted.")).to_be_visible()
    assert rows(page) == ["Bob likes tea", "Ada likes the window"]
    expect(drawer).to_have_count(0)


def test_a_memory_is_added_after_a_mistake(
    open_page: OpenPage, person: Person, records: None, scripted: bool
) -> None:
    page = open_page("/memories/", person, java_script_enabled=scripted)
    page.get_by_role("link", name="New memory").click()
    heading(page, "New memory")
    page.get_by_label("Text").fill("Cleo paints")
    page.get_by_label("Thread").fill("nowhere")
    page.get_by_role("button", name="Add memory").click()
    expect(page.get_by_role("alert")).to_contain_text("not found")
    expect(page.get_by_label("Text")).to_have_value("Cleo paints")
    page.get_by_label("Thread").fill("t-1")
    page.get_by_label("User").fill("ada")
    page.get_by_role("button", name="Add memory").click()
    heading(page, "Memory")
    expect(page.get_by_text("Cleo paints")).to_be_visible()


def test_a_conflict_shows_both_and_lets_the_person_decide(
    open_page: OpenPage, person: Person, records: None, scripted: bool
) -> None:
    page = open_page("/memories/mem-0/edit/", person, java_script_enabled=scripted)
    memories.update(OPERATOR, "mem-0", content="Ada likes the aisle")
    page.get_by_label("Text").fill("Ada likes the middle")
    page.get_by_role("button", name="Save").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Somebody changed this")
    expect(alert).to_contain_text("Ada likes the aisle")
    expect(page.get_by_label("Text")).to_have_value("Ada likes the middle")
    page.get_by_role("button", name="Overwrite theirs").click()
    heading(page, "Memory")
    expect(page.get_by_text("Ada likes the middle")).to_be_visible()


def test_back_and_forward_show_the_page_of_the_address(
    open_page: OpenPage, person: Person, records: None, scripted: bool
) -> None:
    page = open_page("/memories/", person, java_script_enabled=scripted)
    page.get_by_role("link", name="Ada cooks soup").click()
    drawer = page.get_by_role("complementary")
    expect(drawer).to_be_visible()
    page.get_by_role("link", name="Threads", exact=True).click()
    heading(page, "Threads")
    page.go_back()
    heading(page, "Memories")
    expect(drawer).to_be_visible()
    page.go_back()
    expect(drawer).to_have_count(0)
    page.go_forward()
    expect(drawer).to_be_visible()


def test_an_expired_sign_in_leads_to_the_sign_in_page_and_back(
    open_page: OpenPage, person: Person, records: None, scripted: bool
) -> None:
    page = open_page("/memories/", person, java_script_enabled=scripted)
    Session.objects.all().delete()
    page.get_by_role("link", name="Ada cooks soup").click()
    heading(page, "Sign in")
    assert page.locator("main").count() == 1
    page.get_by_label("Name").fill("mara")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("complementary")).to_be_visible()
    assert page.url.endswith("/memories/?m=mem-1")


def test_a_thread_is_read_and_continued(
    open_page: OpenPage, person: Person, records: None, scripted: bool
) -> None:
    page = open_page("/threads/", person, java_script_enabled=scripted)
    page.get_by_role("link", name="I fly to Lisbon").click()
    heading(page, "Thread")
    page.get_by_label("Message", exact=True).fill("Window, please")
    page.get_by_role("button", name="Add message").click()
    expect(page.locator(".msg").last).to_contain_text("Window, please")
    page.locator(".msg").first.get_by_role("link", name="Edit").click()
    page.get_by_label("Text", exact=True).fill("I fly to Porto")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".msg").first).to_contain_text("I fly to Porto")


def test_earlier_messages_are_loaded_above_the_ones_shown(
    open_page: OpenPage, person: Person, records: None, scripted: bool
) -> None:
    told = [{"role": "user", "content": f"message {n:03}"} for n in range(120)]
    messages.add(OPERATOR, "t-1", told)
    page = open_page("/threads/t-1/", person, java_script_enabled=scripted)
    talk = page.get_by_role("region", name="Messages")
    expect(talk.get_by_text("message 119")).to_be_visible()
    expect(talk.get_by_text("message 069")).to_have_count(0)
    page.get_by_role("link", name="Load earlier messages").click()
    expect(talk.get_by_text("message 069")).to_be_visible()
    # With a script what was shown stays; without one the page is the earlier one.
    expect(talk.get_by_text("message 119")).to_have_count(1 if scripted else 0)


def test_a_search_leads_to_the_memory(
    open_page: OpenPage, person: Person, records: None, scripted: bool
) -> None:
    page = open_page("/search/", person, java_script_enabled=scripted)
    page.get_by_label("Query").fill("which seat in the plane")
    page.get_by_label("User", exact=True).fill("ada")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.get_by_role("status").filter(has_text=re.compile(r"results? by"))).to_be_visible()
    page.get_by_role("link", name="Ada likes the window").click()
    heading(page, "Memory")


def test_a_search_leads_to_the_message_in_its_thread(
    open_page: OpenPage, person: Person, records: None, scripted: bool
) -> None:
    told = [{"role": "user", "content": f"line {n} " + "and on " * 40} for n in range(40)]
    told[20]["content"] = "The pillow was too soft"
    messages.add(OPERATOR, "t-1", told)
    page = open_page("/search/?q=a+pillow&user=ada", person, java_script_enabled=scripted)
    page.get_by_role("link", name="The pillow was too soft").click()
    heading(page, "Thread")
    expect(page.locator(".msg:target")).to_contain_text("The pillow was too soft")
    expect(page.locator(".msg:target")).to_be_in_viewport(ratio=1)


def test_a_profile_is_added(
    open_page: OpenPage, person: Person, records: None, scripted: bool
) -> None:
    page = open_page("/users/", person, java_script_enabled=scripted)
    page.get_by_role("link", name="bob", exact=True).click()
    heading(page, "bob")
    page.get_by_role("link", name="Add profile").click()
    page.get_by_label("What is known").fill("Drinks tea")
    page.get_by_role("button", name="Save profile").click()
    expect(page.get_by_text("Drinks tea")).to_be_visible()


def test_memories_are_linked_relabelled_and_unlinked(
    open_page: OpenPage, person: Person, records: None, scripted: bool
) -> None:
    page = open_page("/memories/mem-0/", person, java_script_enabled=scripted)
    relations = page.get_by_role("region", name="Relations")
    relations.get_by_text("Link to another memory").click()
    relations.get_by_label("Type").fill("supersedes")
    relations.get_by_label("To memory").fill("nothing")
    relations.get_by_role("button", name="Link").click()
    heading(page, "New relation")
    expect(page.get_by_role("alert")).to_contain_text("not found")
    page.get_by_label("To memory").fill("mem-1")
    page.get_by_role("button", name="Add relation").click()
    heading(page, "Memory")
    expect(page.get_by_role("status").filter(has_text="Relation added.")).to_be_visible()
    expect(relations.get_by_text("Invalid", exact=True)).to_be_visible()

    relations.get_by_role("link", name="Ada cooks soup").click()
    expect(page.get_by_text("Superseded by another memory.")).to_be_visible()
    expect(relations.get_by_role("link", name="is superseded by")).to_be_visible()
    relations.get_by_role("link", name="Relabel relation").click()
    heading(page, "Edit relation")
    page.get_by_label("Type").fill("contradicts")
    page.get_by_role("button", name="Save").click()
    heading(page, "Memory")
    expect(page.get_by_text("Superseded by another memory.")).to_have_count(0)
    relations.get_by_role("link", name="Remove relation").click()
    heading(page, "Remove this relation?")
    page.get_by_role("button", name="Remove relation").click()
    heading(page, "Memory")
    expect(relations.get_by_text("No other memory is linked")).to_be_visible()


def test_a_threads_card_is_drawn_and_its_summary_made_anew(
    open_page: OpenPage, person: Person, records: None, scripted: bool
) -> None:
    page = open_page("/threads/t-1/", person, java_script_enabled=scripted)
    card = page.get_by_role("region", name="Context card")
    card.get_by_role("link", name="Show the card").click()
    expect(card.get_by_text("<context_card>")).to_be_visible()
    summary = page.get_by_role("region", name="Summary")
    expect(summary.get_by_text("Transcript", exact=True)).to_be_visible()
    summary.get_by_role("button", name="Refresh").click()
    expect(page.get_by_role("status").filter(has_text="Summary refreshed.")).to_be_visible()
    summary.get_by_text("Text", exact=True).click()
    expect(summary.get_by_text("Window or aisle?")).to_be_visible()
