"""Keyword search in every script, and its scores against a plain model of BM25."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.core import SearchStrategy, SQLiteMemoryStore
from oracleagentmemory.storage.textsearch import fts_query, oracle_query, query_words
from tests.sdk.search.stores import VOCABULARY

ANN: dict[str, Any] = {"user_id": "ann", "exact_user_match": True}


@pytest.fixture
def words(tmp_path: Path) -> Iterator[SQLiteMemoryStore]:
    store = SQLiteMemoryStore(tmp_path / "memory.sqlite3", search_strategy=SearchStrategy.KEYWORD)
    yield store
    store.close()


TEXTS = {
    "zh": "系统会保存用户身份和设置",
    "ja": "東京タワーで会いましょう",
    "ko": "서울에서 만나요",
    "th": "ฉันชอบแมวดำ",
    "ru": "Сергей живёт в Москве",
    "fr": "Rendez-vous au Café de la Paix",
    "de": "Die Straße ist gesperrt",
    "emoji": "great news 🎉",
    "wide": "ＡＢＣ ﬁle",  # noqa: RUF001 - wide letters are what is tested
    "sign": "costs 5€ in C++",
}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("用户", "zh"), ("用户身份", "zh"), ("身份", "zh"), ("东京", None), ("東京", "ja"),
        ("タワー", "ja"), ("서울", "ko"), ("แมว", "th"), ("СЕРГЕЙ", "ru"), ("москве?", "ru"),
        ("cafe", "fr"), ("CAFÉ", "fr"), ("cafe\u0301", "fr"), ("strasse", "de"), ("🎉", "emoji"),
        ("🎊", None), ("abc", "wide"), ("file", "wide"), ("€", "sign"), ("户用", None),
    ],
)  # fmt: skip
def test_words_of_any_script_are_found(
    words: SQLiteMemoryStore, query: str, found: str | None
) -> None:
    words.add(list(TEXTS.values()), "memory", record_ids=list(TEXTS), user_ids="ann")
    hits = [record.id for record, _ in words.search(query, 10, **ANN)]
    assert hits == ([] if found is None else [found])


def test_a_run_without_spaces_is_asked_by_pairs_and_alone_by_itself() -> None:
    assert query_words("用户身份 x 猫") == ["用户", "户身", "身份", "x", "猫"]
    assert query_words("The END the end") == ["end"]
    assert query_words("the of") == ["the", "of"]
    assert query_words(" ?! ") == []


def test_queries_name_words_and_nothing_else() -> None:
    assert fts_query(["near", "a1"], "u10") == 'scope : u10 AND body : ("near" OR "a1")'
    assert fts_query(["near"], None) == 'body : ("near")'
    assert oracle_query("NEAR {red} car}; a_b") == ("{near} ACCUM {red} ACCUM {car} ACCUM {b}")
    assert oracle_query("?!") == ""


def test_no_query_is_an_error(words: SQLiteMemoryStore) -> None:
    words.add(["x"], "memory", record_ids="x", user_ids="ann")
    chance = random.Random(1)
    spans = ((0x20, 0x7F), (0x20, 0xD7FF), (0xE000, 0x10FFFF))
    for _ in range(500):
        letters = [chr(chance.randrange(*chance.choice(spans))) for _ in range(8)]
        found = words.search("".join(letters) + " x", 5, **ANN)
        assert [record.id for record, _ in found] == ["x"]


def test_the_best_of_all_rows_are_found_by_their_bm25(words: SQLiteMemoryStore) -> None:
    chance = random.Random(7)
    rows: dict[str, tuple[str, list[list[str]]]] = {}
    for number in range(300):
        user_id = chance.choice(["ann", "eve"])
        chunks = [chance.choices(VOCABULARY, k=chance.randint(1, 12))
                  for _ in range(chance.choice([1, 1, 3]))]  # fmt: skip
        rows[f"m{number}"] = (user_id, chunks)
    words.add(
        list(rows),
        "memory",
        record_ids=list(rows),
        user_ids=[user_id for user_id, _ in rows.values()],
        index_texts=[[" ".join(chunk) for chunk in chunks] for _, chunks in rows.values()],
    )
    for query in (["red"], ["car", "sea"], ["blue", "sky", "tree", "boat"]):
        wanted = _bm25(rows, query)
        for k in (1, 10, 300):
            found = words.search(" ".join(query), k, **ANN)
            distances = [distance for _, distance in found]
            expected = [1 / (1 + score) for _, score in wanted[:k]]
            assert distances == pytest.approx(expected, abs=1e-9)
            # Which of several equal ones comes first hangs on the last bit of a sum.
            own = dict(wanted)
            assert distances == pytest.approx(
                [1 / (1 + own.pop(record.id)) for record, _ in found], abs=1e-9
            )


def _bm25(
    rows: dict[str, tuple[str, list[list[str]]]], query: list[str]
) -> list[tuple[str, float]]:
    """Score ann's rows as FTS5 does; equal ones are ordered as search orders them."""
    every = [chunk for _, chunks in rows.values() for chunk in chunks]
    average = sum(len(chunk) + 1 for chunk in every) / len(every)  # the scope is a word too
    rarity = {}
    for word in query:
        count = sum(word in chunk for chunk in every)
        rarity[word] = max(math.log((len(every) - count + 0.5) / (count + 0.5)), 1e-6)

    def score(chunk: list[str]) -> float:
        size = 1.2 * (0.25 + 0.75 * (len(chunk) + 1) / average)
        return sum(
            rarity[word] * chunk.count(word) * 2.2 / (chunk.count(word) + size) for word in query
        )

    found = []
    for record_id, (user_id, chunks) in rows.items():
        scores = [score(chunk) for chunk in chunks if set(chunk) & set(query)]
        if user_id == "ann" and scores:
            found.append((-max(scores), -sum(scores), record_id))
    return [(record_id, -best) for best, _, record_id in sorted(found)]
