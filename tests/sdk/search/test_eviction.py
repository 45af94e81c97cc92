"""Searches stay exact while scopes come and go under a cap of one megabyte."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import numpy as np

from tests.sdk.search.stores import (
    VOCABULARY,
    Clock,
    Model,
    Row,
    WordEmbedder,
    assert_same_ranking,
    direction,
    open_store,
    unit,
)

CAP_BYTES = 2**20
USERS, RECORDS = 40, 120


def test_every_search_is_exact_under_a_cap_of_one_megabyte(tmp_path: Path) -> None:
    dice = random.Random(7)
    model, clock = Model(), Clock()
    with closing(open_store(tmp_path, WordEmbedder(), clock)) as store:
        store.vector_cache.budget_bytes = CAP_BYTES
        users = [f"u{number}" for number in range(USERS)]
        for user_id in users:
            texts = [" ".join(dice.choices(VOCABULARY, k=3)) for _ in range(RECORDS)]
            ids = [f"{user_id}-{number}" for number in range(RECORDS)]
            store.add(texts, "memory", record_ids=ids, user_ids=user_id)
            model.rows += [
                Row("memory", record_id, [text], user_id=user_id)
                for record_id, text in zip(ids, texts, strict=True)
            ]
        held = []
        for at in range(160):
            user_id = dice.choice(users)
            if at % 4 == 0:
                store.add(["sea sky"], "memory", record_ids=f"new-{at}", user_ids=user_id)
                model.rows.append(Row("memory", f"new-{at}", ["sea sky"], user_id=user_id))
            query = " ".join(dice.choices(VOCABULARY, k=2))
            found = store.search(query, 10, user_id=user_id, exact_user_match=True)
            vector = unit(sum(map(direction, query.split()))).astype(np.float32)
            expected = model.ranking(vector, clock.now, scope={"user_id": user_id})
            assert_same_ranking(found, expected, 10)
            held.append(store.vector_cache.byte_count)
        assert max(held) <= CAP_BYTES
        assert max(held) > CAP_BYTES // 2, "the cap was never near"
        one_scope = held[0]
        assert USERS * one_scope > CAP_BYTES, "all scopes fit: nothing was ever forgotten"
