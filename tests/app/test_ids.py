"""Ids in paths: every id that the product takes must survive its own address."""

from __future__ import annotations

import base64

import pytest
from django.urls import Resolver404, resolve, reverse

from memoryapp import ids

NASTY = [
    "a/b",
    "a%2Fb",
    'a"b',
    ".",
    "..",
    "search",
    "new",
    "api",
    "admin",
    "delete",
    "~x",
    "~",
    "空",
    "空" * 42 + "ab",
    "é" * 64,
    "a b",
    " a",
    "-x",
    "a?b",
    "a#b",
    "a;b",
    "abc\n",
    "a\\b",
    "<img src=x onerror=alert(1)>",
    "' OR 1=1 --",
    "%",
    "x" * 128,
]
PLAIN = ["mem-1", "user.name@example.com", "a:b", "_x", "0", "A" * 128]


@pytest.mark.parametrize("record_id", NASTY + PLAIN)
def test_an_id_comes_back_from_its_own_address(record_id: str) -> None:
    path = reverse("memory-detail", args=(record_id,))
    assert resolve(path).kwargs == {"memory_id": record_id}
    assert resolve(path).url_name == "memory-detail"


@pytest.mark.parametrize("record_id", PLAIN)
def test_a_harmless_id_travels_plain(record_id: str) -> None:
    assert reverse("memory-detail", args=(record_id,)) == f"/memories/{record_id}/"


@pytest.mark.parametrize("record_id", [n for n in NASTY if n != "x" * 128])
def test_any_other_id_travels_as_base64url(record_id: str) -> None:
    raw = base64.urlsafe_b64encode(record_id.encode()).rstrip(b"=").decode()
    assert ids.encode(record_id) == f"~{raw}"


@pytest.mark.parametrize("record_id", PLAIN)
def test_the_tilde_form_of_a_harmless_id_is_read_too(record_id: str) -> None:
    path = f"/memories/{ids.encode_tilde(record_id)}/"
    assert resolve(path).kwargs == {"memory_id": record_id}


@pytest.mark.parametrize(
    "part",
    [
        "~",
        "~YQ==",
        "~YR",  # decodes to "a", but "a" is written ~YQ
        "~_w",  # 0xff is no UTF-8
        "~Y",
        "~" + base64.urlsafe_b64encode(b"x" * 129).decode().rstrip("="),
        "x" * 129,
        "a/b",
        "-x",
    ],
)
def test_what_is_not_the_one_form_of_an_id_is_no_address(part: str) -> None:
    with pytest.raises(Resolver404):
        resolve(f"/memories/{part}/")


def test_route_words_are_those_of_the_urlconf() -> None:
    words = ids.route_words()
    assert {"memories", "new", "search", "api", "v1", "admin", "delete", "messages"} <= words
    assert "memory_id" not in words
