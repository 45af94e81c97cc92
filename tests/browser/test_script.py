"""What the script adds: live filters, focus, keys, the theme, single submits."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from memoryapp.access import Access
from memoryapp.models import AuditEntry, Person
from memoryapp.services import memories, messages, threads

pytestmark = pytest.mark.django_db(transaction=True)

OPERATOR = Access.of_command("test")
OpenPage = Callable[..., Page]


@pytest.fixture
def records(transactional_db: None) -> None:
    """Memories of two users."""
    for number, (text, user) in enumerate(
        [("Ada likes the window", "ada"), ("Ada cooks soup", "ada"), ("Bob likes tea", "bob")]
    ):
        memories.add(OPERATOR, content=text, user_id=user, memory_id=f"mem-{number}")


def test_the_list_follows_what_is_typed_and_keeps_the_caret(
    open_page: OpenPage, person: Person, records: None
) -> None:
    page = open_page("/memories/", person)
    field = page.get_by_label("User", exact=True)
    field.press_sequentially("bob", delay=20)
    expect(page.locator(".row")).to_have_count(1)
    expect(field).to_be_focused()
    assert page.url.endswith("/memories/?user=bob")
    field.press("Backspace")
    expect(page.get_by_text("No memory matches")).to_be_visible()
    field.fill("")
    expect(page.locator(".row")).to_have_count(3)
    assert page.url.endswith("/memories/")
    field.press_sequentially("ada", delay=20)
    expect(page.locator(".row")).to_have_count(2)
    page.get_by_role("link", name="Clear filters").click()
    expect(page.locator(".row")).to_have_count(3)
    expect(field).to_have_value("")
    page.go_back()
    expect(page.locator(".row")).to_have_count(2)
    expect(field).to_have_value("ada")


def test_the_list_follows_the_words_that_are_typed_and_counts_anew(
    open_page: OpenPage, person: Person, records: None
) -> None:
    page = open_page("/memories/", person)
    field = page.get_by_label("Words")
    field.press_sequentially("likes", delay=20)
    expect(page.locator(".row")).to_have_count(2)
    expect(field).to_be_focused()
    assert page.url.endswith("/memories/?q=likes")
    expect(page.get_by_label("By user")).to_contain_text("ada1")
    page.get_by_label("By user").get_by_role("link", name="bob").click()
    expect(page.locator(".row")).to_have_count(1)
    assert page.url.endswith("/memories/?q=likes&user=bob")
    expect(page.get_by_label("User", exact=True)).to_have_value("bob")
    page.get_by_role("link", name=re.compile("bob.*remove this filter")).click()
    expect(page.locator(".row")).to_have_count(2)
    page.go_back()
    expect(page.locator(".row")).to_have_count(1)
    field.fill("likes soup")
    expect(page.get_by_text("No memory matches")).to_be_visible()


def test_a_choice_filters_at_once_and_is_kept_with_the_drawer_shut(
    open_page: OpenPage, person: Person, records: None
) -> None:
    page = open_page("/memories/?m=mem-0", person)
    page.get_by_label("Type").select_option("fact")
    expect(page.get_by_text("No memory matches")).to_be_visible()
    expect(page.get_by_role("complementary")).to_have_count(0)


def test_folded_filters_stay_open_while_they_are_used(
    open_page: OpenPage, person: Person, records: None
) -> None:
    page = open_page("/memories/", person)
    page.get_by_text("More filters").click()
    agent = page.get_by_label("Agent", exact=True)
    agent.press_sequentially("x", delay=20)
    expect(page.get_by_text("No memory matches")).to_be_visible()
    expect(agent).to_be_focused()
    agent.press("Backspace")
    expect(page.locator(".row")).to_have_count(3)
    expect(agent).to_be_focused()


def test_focus_goes_into_the_drawer_and_back_to_its_row(
    open_page: OpenPage, person: Person, records: None
) -> None:
    page = open_page("/memories/", person)
    row = page.get_by_role("link", name="Ada cooks soup")
    row.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#drawer-title")).to_be_focused()
    page.get_by_role("button", name="Invalidate").click()
    expect(page.get_by_role("button", name="Validate")).to_be_visible()
    expect(page.locator("#drawer-title")).to_be_focused()
    page.get_by_role("button", name="Validate").click()
    expect(page.get_by_role("button", name="Invalidate")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#drawer")).to_have_count(0)
    expect(row).to_be_focused()


def test_the_list_stays_where_it_was_scrolled_to_and_a_new_page_starts_at_its_top(
    open_page: OpenPage, person: Person
) -> None:
    for number in range(70):
        memories.add(OPERATOR, content=f"memory {number:02}", user_id="ada")
    page = open_page("/memories/", person)
    row = page.get_by_role("link", name="memory 30")
    row.scroll_into_view_if_needed()
    scrolled = page.evaluate("scrollY")
    assert scrolled > 500
    row.click()
    expect(page.locator("#drawer-title")).to_be_focused()
    assert page.evaluate("scrollY") == scrolled
    page.keyboard.press("Escape")
    expect(row).to_be_focused()
    assert page.evaluate("scrollY") == scrolled
    page.get_by_role("link", name="Older").click()
    expect(page.get_by_role("link", name="memory 00")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    assert page.evaluate("scrollY") == 0


def test_focus_goes_to_the_heading_of_a_new_page(
    open_page: OpenPage, person: Person, records: None
) -> None:
    page = open_page("/memories/", person)
    page.get_by_role("link", name="Threads", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Threads")).to_be_focused()
    assert page.title() == "Threads · Memory inspector"


def test_after_a_message_the_next_one_can_be_typed_at_once(
    open_page: OpenPage, person: Person
) -> None:
    threads.create(OPERATOR, thread_id="t-1", user_id="ada", agent_id="travel")
    told = [{"role": "user", "content": f"message {n:03}"} for n in range(40)]
    messages.add(OPERATOR, "t-1", told)
    page = open_page("/threads/t-1/", person)
    field = page.get_by_label("Message", exact=True)
    for text in ("one more", "and one more"):
        field.fill(text)
        page.get_by_role("button", name="Add message").click()
        expect(page.locator(".msg").last).to_contain_text(text)
        expect(field).to_be_focused()
        expect(field).to_be_in_viewport()
        expect(field).to_have_value("")


def test_what_is_read_stays_in_place_when_earlier_messages_are_loaded(
    open_page: OpenPage, person: Person
) -> None:
    threads.create(OPERATOR, thread_id="t-1", user_id="ada", agent_id="travel")
    told = [{"role": "user", "content": f"message {n:03}"} for n in range(120)]
    messages.add(OPERATOR, "t-1", told)
    page = open_page("/threads/t-1/", person)
    first = page.locator(".msg", has_text="message 070")
    top = first.bounding_box()["y"]
    page.get_by_role("link", name="Load earlier messages").click()
    expect(page.get_by_text("message 020", exact=True)).to_be_attached()
    assert abs(first.bounding_box()["y"] - top) < 2
    expect(page.get_by_role("link", name="Load earlier messages")).to_be_focused()
    assert page.locator(".talk .day").count() == 1
    page.keyboard.press("Enter")
    expect(page.get_by_text("message 000", exact=True)).to_be_attached()
    expect(page.get_by_role("link", name="Load earlier messages")).to_have_count(0)


def test_focus_goes_to_the_field_that_is_wrong(
    open_page: OpenPage, person: Person, records: None
) -> None:
    page = open_page("/memories/new/", person)
    page.get_by_label("Text").fill("x")
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Metadata").fill("{")
    page.get_by_role("button", name="Add memory").click()
    expect(page.get_by_label("Metadata")).to_be_focused()
    expect(page.get_by_label("Metadata")).to_have_attribute("aria-invalid", "true")


def test_keys_find_and_walk_and_can_be_switched_off(
    open_page: OpenPage, person: Person, records: None
) -> None:
    page = open_page("/memories/", person)
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="Ada cooks soup")).to_be_focused()
    page.keyboard.press("k")
    expect(page.get_by_role("link", name="Bob likes tea")).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_label("Words")).to_be_focused()
    page.keyboard.type("j/")
    expect(page.get_by_label("Words")).to_have_value("j/")
    Person.objects.update(shortcuts=False)
    page.goto("/memories/")
    page.keyboard.press("/")
    expect(page.get_by_label("Words")).not_to_be_focused()


def test_the_theme_is_kept_and_set_before_the_page_is_drawn(
    open_page: OpenPage, person: Person, records: None
) -> None:
    page = open_page("/memories/", person, color_scheme="light")
    page.get_by_role("button", name="Switch between light and dark").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload(wait_until="commit")
    page.wait_for_selector("body", state="attached")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(14, 17, 22)"


def test_three_quick_clicks_add_one_memory(
    open_page: OpenPage, person: Person, records: None
) -> None:
    page = open_page("/memories/new/", person)
    before = AuditEntry.objects.count()
    page.get_by_label("Text").fill("only once")
    page.get_by_role("button", name="Add memory").evaluate(
        "button => { button.click(); button.click(); button.click(); }"
    )
    expect(page.get_by_text("only once")).to_be_visible()
    assert AuditEntry.objects.count() == before + 1


def test_a_lost_connection_is_said(open_page: OpenPage, person: Person, records: None) -> None:
    lost = ("Failed to load resource: net::ERR_FAILED", "htmx: htmx:error: Failed to fetch")
    page = open_page("/memories/", person, provokes=lost)
    page.route("**/threads/", lambda route: route.abort())
    page.get_by_role("link", name="Threads", exact=True).click()
    expect(page.get_by_text("The server cannot be reached")).to_be_visible()
    expect(page.get_by_role("heading", level=1, name="Memories")).to_be_visible()


def test_hostile_text_runs_nothing(open_page: OpenPage, person: Person) -> None:
    text = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
    memories.add(OPERATOR, content=text, user_id=text[:100], metadata={text: text})
    page = open_page("/memories/", person)
    page.get_by_role("link", name="<img").click()
    expect(page.locator("#drawer")).to_contain_text("<script>")
    assert page.locator("img").count() == 0
    assert page.title() == "Memories · Memory inspector"


def test_the_menu_of_a_narrow_window_opens_and_leads_on(
    open_page: OpenPage, person: Person, records: None
) -> None:
    page = open_page("/memories/", person, viewport={"width": 390, "height": 844})
    link = page.get_by_role("link", name="Threads", exact=True)
    expect(link).to_be_hidden()
    page.get_by_role("button", name="Open menu").click()
    link.click()
    expect(page.get_by_role("heading", level=1, name="Threads")).to_be_visible()
    expect(link).to_be_hidden()


def test_the_admin_site_breaks_no_policy(open_page: OpenPage, records: None) -> None:
    root = Person.objects.create_superuser("root", password="x")
    page = open_page("/admin/", root)
    for name in ("auditentry", "key", "person", "person/add", "revision"):
        page.goto(f"/admin/memoryapp/{name}/")
        expect(page.locator("#site-name").get_by_role("link")).to_be_visible()
