"""Metadata filters over stored records."""

from tests.contract.scenarios.kit import scenario

ROWS = {
    "none": None,
    "empty": {},
    "null": {"a": None},
    "one": {"a": 1},
    "float": {"a": 1.0},
    "digit": {"a": "1"},
    "true": {"a": True},
    "two": {"a": 2},
    "list": {"a": [1, 2]},
    "swap": {"a": [2, 1]},
    "single": {"a": [1]},
    "words": {"a": ["x", "y"]},
    "truelist": {"a": [True]},
    "floatlist": {"a": [1.0]},
    "nulllist": {"a": [None]},
    "emptylist": {"a": []},
    "dict": {"a": {"b": 1}},
    "dict2": {"a": {"b": 1, "c": 2}},
    "deep": {"a": {"b": {"c": [1, 2]}}},
    "dicts": {"a": [{"b": 1}]},
    "dicts2": {"a": [{"b": 1, "c": 2}]},
    "case": {"a": "Word"},
    "lower": {"a": "word"},
    "accent": {"a": "é"},
    "composed": {"a": "e\u0301"},
    "dotted": {"a.b": 1},
    "pair": {"a": 1, "b": 2},
    "eq": {"a": {"$eq": 1}},
    "not": {"$not": 1},
}
FILTERS = {
    "empty filter": {},
    "null": {"a": None},
    "one": {"a": 1},
    "one as float": {"a": 1.0},
    "one as text": {"a": "1"},
    "true": {"a": True},
    "missing key": {"z": 1},
    "two keys": {"a": 1, "b": 2},
    "dict subset": {"a": {"b": 1}},
    "dict other": {"a": {"b": 2}},
    "empty dict": {"a": {}},
    "deep": {"a": {"b": {"c": [1, 2]}}},
    "list": {"a": [1, 2]},
    "list order": {"a": [2, 1]},
    "shorter list": {"a": [1]},
    "list of true": {"a": [True]},
    "empty list": {"a": []},
    "list of dicts": {"a": [{"b": 1}]},
    "case": {"a": "word"},
    "accent": {"a": "é"},
    "dotted": {"a.b": 1},
    "not one": {"a": {"$not": 1}},
    "not null": {"a": {"$not": None}},
    "not text": {"a": {"$not": "1"}},
    "not list": {"a": {"$not": [1, 2]}},
    "not dict": {"a": {"$not": {"b": 1}}},
    "not empty dict": {"a": {"$not": {}}},
    "not not": {"a": {"$not": {"$not": 1}}},
    "not missing": {"z": {"$not": 1}},
    "contains 1": {"a": {"$array_contains": 1}},
    "contains both": {"a": {"$array_contains": [1, 2]}},
    "contains one missing": {"a": {"$array_contains": [1, 3]}},
    "contains true": {"a": {"$array_contains": True}},
    "contains float": {"a": {"$array_contains": 1.0}},
    "contains null": {"a": {"$array_contains": None}},
    "contains word": {"a": {"$array_contains": "x"}},
    "any": {"a": {"$array_contains_any": [1, 3]}},
    "any words": {"a": {"$array_contains_any": ["y", "z"]}},
    "not contains": {"a": {"$not": {"$array_contains": 1}}},
    "not any": {"a": {"$not": {"$array_contains_any": [1, "x"]}}},
    "contains and any": {"a": {"$array_contains": 1, "$array_contains_any": [2, 3]}},
    "contains and not": {"a": {"$array_contains": 2, "$not": [1, 2]}},
    "operator inside": {"a": {"b": {"$not": 2}}},
    "contains inside": {"a": {"b": {"c": {"$array_contains": 2}}}},
    "unknown operator": {"a": {"$eq": 1}},
    "operator on top": {"$not": 1},
    "contains nothing": {"a": {"$array_contains": []}},
    "any nothing": {"a": {"$array_contains_any": []}},
    "any scalar": {"a": {"$array_contains_any": 1}},
    "contains dict": {"a": {"$array_contains": {"b": 1}}},
    "contains nested list": {"a": {"$array_contains": [[1]]}},
    "mixed with keys": {"a": {"$not": 1, "b": 1}},
    "tuple": {"a": (1, 2)},
    "bytes": {"a": b"x"},
    "object": {"a": object()},
    "not a number": {"a": float("nan")},
    "infinite": {"a": float("inf")},
    "a list": [1],
    "a word": "x",
}


@scenario("metadata filters")
def matrix(w):
    """Every filter over every row, by list and by search."""
    for name, metadata in ROWS.items():
        w.store.add(
            ["apple"], record_type="fact", record_ids=[name], user_ids="u1", metadata=metadata
        )

    def listed(condition):
        return sorted(record.id for record in w.store.list("fact", metadata_filter=condition))

    def found(condition):
        return sorted(
            record.id for record, _ in w.store.search("apple", 100, metadata_filter=condition)
        )

    w.step("None in list", lambda: listed(None))
    w.step("None in search", lambda: len(found(None)))
    for name, condition in FILTERS.items():
        w.step(name, lambda condition=condition: listed(condition))
        if condition != {}:
            w.step(
                f"{name}, in search",
                lambda condition=condition: found(condition) == listed(condition),
            )
    client = w.quiet()
    w.steps(
        {
            "client list": lambda: sorted(
                memory.id for memory in client.list_memories(metadata_filter={"a": 1})
            ),
            "client search": lambda: sorted(
                result.id
                for result in client.search("apple", user_id="u1", metadata_filter={"a": 1})
            ),
            "filter before limit": lambda: [
                result.id
                for result in client.search(
                    "apple", user_id="u1", max_results=1, metadata_filter={"a": {"b": {}}}
                )
            ],
            "message metadata": lambda: (
                client.create_thread(thread_id="t1", user_id="u1", agent_id="a1").add_messages(
                    [
                        {"role": "user", "content": "x", "id": "m1", "metadata": {"k": [1]}},
                        {"role": "user", "content": "y", "id": "m2"},
                    ]
                ),
                [
                    message.id
                    for message in client.list_messages(
                        metadata_filter={"k": {"$array_contains": 1}}
                    )
                ],
                [message.id for message in client.list_messages(metadata_filter=None)],
            )[1:],
        }
    )
