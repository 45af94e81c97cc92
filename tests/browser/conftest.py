"""A real browser on a real server. These tests run in a pytest process of their own.

Playwright leaves an event loop in the thread, in which Django would refuse the ORM.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from memoryapp.access import Role
from memoryapp.models import Person

AXE = (Path(__file__).parent / "vendor" / "axe-4.14.1.min.js").read_text()
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
# The browser reports each answer with an error status; those are what the tests provoke.
PROVOKED = "Failed to load resource: the server responded with a status of"
PASSWORD = "a long enough password"


@pytest.fixture(scope="session", autouse=True)
def _allow_the_orm_beside_playwright() -> Iterator[None]:
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    yield
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    path = shutil.which("chromium")
    assert path, "chromium is missing: apt-get install chromium"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=ARGS)
        yield running
        running.close()


@pytest.fixture
def person(transactional_db: None) -> Person:
    """A reviewer with a password."""
    return Person.objects.create_user("mara", password=PASSWORD, role=Role.REVIEWER)


@pytest.fixture
def open_page(browser: Browser, live_server: Any) -> Iterator[Callable[..., Page]]:
    """Open a page as a person; any script error or policy violation fails the test."""
    contexts = []
    problems: list[str] = []
    provoked = [PROVOKED]

    def note(message: ConsoleMessage) -> None:
        wrong = message.type in ("error", "warning")
        if wrong and not message.text.startswith(tuple(provoked)):
            problems.append(message.text)

    def make(
        path: str = "/",
        person: Person | None = None,
        *,
        provokes: tuple[str, ...] = (),
        **options: Any,
    ) -> Page:
        provoked.extend(provokes)
        options = {"viewport": {"width": 1280, "height": 900}, **options}
        context = browser.new_context(base_url=live_server.url, **options)
        context.set_default_timeout(8_000)
        contexts.append(context)
        if person is not None:
            client = Client()
            client.force_login(person)
            value = client.cookies[settings.SESSION_COOKIE_NAME].value
            cookie = {"name": settings.SESSION_COOKIE_NAME, "value": value}
            context.add_cookies([{**cookie, "url": live_server.url}])
        page = context.new_page()
        page.on("console", note)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(path)
        return page

    yield make
    for context in contexts:
        context.close()
    assert problems == []


def violations(page: Page, *rules: str) -> list[str]:
    """What axe finds wrong, as lines; evaluated through DevTools, so the policy allows it."""
    page.evaluate(AXE)
    wanted = list(rules) or ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]
    found = page.evaluate("wanted => axe.run(document, {runOnly: wanted})", wanted)["violations"]
    return [
        f"{rule['id']}: {place['html'][:200]} ({place['failureSummary']})"
        for rule in found
        for place in rule["nodes"]
    ]


def overflow(page: Page) -> int:
    """How many pixels the page is wider than the window."""
    return page.evaluate(
        "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
