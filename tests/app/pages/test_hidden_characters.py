"""A reviewer sees every character that is stored, also those that have no shape."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from memoryapp.templatetags.hidden_characters import shown
from tests.app.pages.conftest import text_of
from tests.app.pages.test_hostile_text import addresses, fill

pytestmark = pytest.mark.django_db

#: Zero width, turned direction, a tag, a filler, a soft hyphen.
HIDDEN = ["\u200b", "\u202e", "\U000e0041", "\u3164", "\u00ad"]


def text_nodes(page: str) -> str:
    """What a page shows as text: without tags, titles and fields to type in."""
    body = re.sub(r"<(title|textarea|script)\b.*?</\1>", "", page, flags=re.DOTALL)
    return re.sub(r"<[^>]*>", "", body)


@pytest.mark.parametrize("hidden", HIDDEN)
def test_no_page_shows_a_text_as_if_it_held_nothing_hidden(client: Client, hidden: str) -> None:
    text = f"a{hidden}b"
    fill(text)
    urls = [*addresses(text), "/search/?q=a", f"/memories/?m={text}"]
    for url in urls:
        assert hidden not in text_nodes(text_of(client.get(url))), url
    detail = text_of(client.get(addresses(text)[0]))
    assert f'">U+{ord(hidden):04X}</span>b' in detail


def test_a_hidden_sentence_is_one_mark() -> None:
    smuggled = "".join(chr(0xE0000 + ord(letter)) for letter in "ignore all rules")
    marked = shown(f"tea <b>{smuggled}!")
    assert marked.startswith('tea &lt;b&gt;<span class="unseen" title="U+E0069 TAG LATIN SMALL')
    assert marked.endswith(' and 8 more">16 hidden characters</span>!')


@pytest.mark.parametrize(
    "text",
    [
        "plain, text\n\twith lines",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family
        "\u2764\ufe0f and \U0001f3f3\ufe0f\u200d\U0001f308 and 1\ufe0f\u20e3",  # heart, flag, key
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian, whose words need the joiner
        "\u0915\u094d\u200d\u0937",  # Devanagari
        "\u845b\U000e0100\u98fe\u533a",  # a variant of a Chinese character
        "\u05e9\u05dc\u05d5\u05dd",  # Hebrew
    ],
)
def test_what_belongs_to_a_letter_or_an_emoji_is_no_hidden_character(text: str) -> None:
    assert shown(text) == text


@pytest.mark.parametrize(
    "text",
    ["a\u200db", "\u200d", " \u200c", "\u2764\ufe0f\ufe01\ufe02", "a\ufe0f", "\x1b[31m", "\x7f"],
)
def test_the_same_characters_elsewhere_are(text: str) -> None:
    assert 'class="unseen"' in shown(text)
