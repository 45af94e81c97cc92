"""The words of the keyword index, seen through the tokeniser that reads them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracleagentmemory.storage.textsearch import index_text, scope_token

TEXTS = st.text(alphabet=st.characters(exclude_categories=("Cs",), exclude_characters="\0"))


class Index:
    """An FTS5 table as the store has it."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")
        self.connection.execute(
            "CREATE VIRTUAL TABLE words USING fts5(body, scope, tokenize='porter unicode61')"
        )

    def put(self, text: str, user_id: str | None = None) -> None:
        self.connection.execute("DELETE FROM words")
        self.connection.execute(
            "INSERT INTO words VALUES (?, ?)", (index_text(text), scope_token(user_id))
        )

    def finds(self, query: str, user_id: str | None = None) -> bool:
        words = " ".join(f'"{word}"' for word in index_text(query).split())
        match = f'scope:"{scope_token(user_id)}" AND body:({words})'
        found = self.connection.execute("SELECT 1 FROM words WHERE words MATCH ?", (match,))
        return found.fetchone() is not None


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    made = Index()
    yield made
    made.connection.close()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, World! don't", "hello world don t"),
        ("\uff21\uff22\uff23 \ufb01sh Straße", "abc fish strasse"),
        ("用户身份", "用 户 身 份 用户 户身 身份"),
        ("我用Python写代码", "我 用 我用 python 写 代 码 写代 代码"),
        ("ｶﾀｶﾅ", "カ タ カ ナ カタ タカ カナ"),
        ("good😀job", "good zz1f600 job"),
        ("👍🏽", "zz1f44d zz1f3fd"),
        ("C++", "c zz2b zz2b"),
        ("soft\u00adhyphen", "softhyphen"),
        ("हिन्दी", "हनद"),
        ("", ""),
        (" .,;!?\u200b ", ""),
    ],
)
def test_words_of_texts(text: str, words: str) -> None:
    assert index_text(text) == words


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("请确认用户身份后再继续", "用户"),
        ("請問用戶在哪裡", "哪"),
        ("東京タワーに行きたい", "タワー"),
        ("저는 서울에서 살아요", "서울"),
        ("Le café est fermé", "CAFE"),
        ("Сергей приехал", "сергей"),
        ("Ünïcode tests", "testing"),
        ("I feel 😀 today", "😀"),
        ('He said "AND (x OR y) NEAR*', '"and" near*'),
    ],
)
def test_a_query_of_any_script_finds_its_word(index: Index, text: str, query: str) -> None:
    index.put(text)
    assert index.finds(query)


def test_a_two_character_word_does_not_find_its_characters_apart(index: Index) -> None:
    index.put("用在这里, 户在那里")
    assert not index.finds("用户")


@given(TEXTS)
def test_every_text_finds_itself_whatever_it_holds(index: Index, text: str) -> None:
    index.put(text)
    # 21 letters of New Tai Lue and Cyrillic are younger than the Unicode tables of SQLite 3.40.
    if index_text(re.sub("[\u1980-\u19df\u1c80-\u1cff]", "", text)):
        assert index.finds(text)


@given(TEXTS)
def test_indexed_words_stay_as_they_are_when_indexed_again(text: str) -> None:
    words = index_text(text).split()
    assert all(index_text(word) == word for word in words if len(word) == 1 or word.isascii())
    assert all(word == word.casefold() or not word.isascii() for word in words)


@given(TEXTS, TEXTS)
def test_each_user_has_a_scope_word_of_its_own(index: Index, one: str, other: str) -> None:
    assert re.fullmatch("[a-z0-9]+", scope_token(one))
    assert scope_token(one) != scope_token(None)
    index.put("hello", one)
    assert index.finds("hello", one)
    assert index.finds("hello", other) is (one == other)


def test_a_search_in_one_scope_finds_nothing_of_another(index: Index) -> None:
    index.put("hello", None)
    assert index.finds("hello", None)
    assert not index.finds("hello", "None")


def test_hostile_text_does_not_grow_the_character_table_without_bound() -> None:
    from oracleagentmemory.storage import textsearch

    index_text("".join(chr(code) for code in range(0xE000, 0x20000)))
    assert len(textsearch._characters) <= textsearch._KNOWN_CHARACTERS
    assert index_text("\U0001f600") == "zz1f600"
