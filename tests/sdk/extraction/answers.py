"""What models answer when they are asked for memories, with what must come of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

#: A memory as the schema wants it, with nothing but its text and type.
BARE: dict[str, Any] = {
    "id": None,
    "text": "",
    "record_type": "memory",
    "scope": None,
    "entities": None,
    "timestamp": None,
    "valid_to": None,
    "importance": None,
}


@dataclass(frozen=True)
class Case:
    """One answer.

    Attributes:
        kept: Type and text of each memory, in order.
        lost: A part of the reason of each lost piece, in order.
        reserved: What is noted of the first memory under the SDK's metadata key.
        finish_reason: As the provider gives it.
        warns: Whether the caller is warned.
    """

    name: str
    answer: str
    kept: tuple[tuple[str, str], ...] = ()
    lost: tuple[str, ...] = ()
    reserved: dict[str, Any] = field(default_factory=dict)
    finish_reason: str = "stop"
    warns: bool = False


def item(text: str, record_type: str = "fact", **more: Any) -> dict[str, Any]:
    """Return a whole memory as the schema wants it."""
    return {**BARE, "text": text, "record_type": record_type, **more}


def whole(*items: Any) -> str:
    """Return a whole answer."""
    return json.dumps({"thoughts": None, "memories": list(items)}, ensure_ascii=False)


TEA = item("drinks tea", "preference")
LYON = item("lives in Lyon")
BOTH = whole(TEA, LYON)
KEPT = (("preference", "drinks tea"), ("fact", "lives in Lyon"))
T, L = KEPT

CASES = (
    # -- as asked for
    Case("as asked for", BOTH, KEPT),
    Case("nothing found", whole()),
    Case(
        "every field",
        whole(
            item(
                "lives in Lyon",
                id="x1",
                scope="user",
                entities=["Lyon"],
                valid_to="2025-05-01",
                importance=4,
            )
        ),
        (L,),
        reserved={
            "extraction_id": "x1",
            "scope": "user",
            "valid_to": "2025-05-01",
            "importance": 4,
            "entities": ["Lyon"],
        },
    ),
    Case("other keys", whole({**LYON, "user_id": "eve", "thread_id": "other"}), (L,)),
    Case("blank texts", whole(TEA, item("   "), item(""), LYON), KEPT),
    Case("memories null", '{"thoughts": "nothing", "memories": null}'),
    # -- wrapped
    Case("fence", f"```json\n{BOTH}\n```", KEPT),
    Case("fence without a language", f"```\n{BOTH}\n```", KEPT),
    Case("fence that never ends", f"```json\n{BOTH}", KEPT),
    Case("words before", f"Here are the [2] memories: {BOTH}", KEPT),
    Case("words after", f"{BOTH}\n\nLet me know if you need {{more}}!", KEPT),
    Case("words around a fence", f"Sure!\n```json\n{BOTH}\n```\nHope that helps [1].", KEPT),
    Case("reasoning before", f'<think>maybe {{"memories": []}}?</think>\n{BOTH}', KEPT),
    Case("byte order mark", f"\ufeff{BOTH}", KEPT),
    Case("encoded twice", json.dumps(BOTH), KEPT),
    Case("in a wrapper", json.dumps({"result": json.loads(BOTH)}), KEPT),
    # -- broken JSON
    Case(
        "trailing commas",
        '{"memories": [{"text": "drinks tea", "record_type": "preference",},],}',
        (T,),
    ),
    Case(
        "bad escape",
        '{"memories": [{"text": "keeps notes in C:\\q", "record_type": "fact"}]}',
        (("fact", "keeps notes in C:\\q"),),
    ),
    Case(
        "single quotes", "{'memories': [{'text': 'drinks tea', 'record_type': 'preference'}]}", (T,)
    ),
    Case("bare keys", '{memories: [{text: "drinks tea", record_type: "preference"}]}', (T,)),
    Case(
        "quotes inside",
        '{"memories": [{"text": "calls her dog "Rex" at home", "record_type": "fact"}]}',
        (("fact", 'calls her dog "Rex" at home'),),
    ),
    Case(
        "line break inside",
        '{"memories": [{"text": "drinks\ntea", "record_type": "preference"}]}',
        (("preference", "drinks\ntea"),),
    ),
    Case(
        "comments",
        '{"memories": [\n// what is liked\n{"text": "drinks tea", "record_type": "preference"}]}',
        (T,),
    ),
    Case(
        "python words",
        "{'memories': [{'text': 'lives in Lyon', 'record_type': 'fact', 'id': None}]}",
        (L,),
    ),
    Case("brackets missing at the end", BOTH[:-2], KEPT),
    Case(
        "lone surrogate",
        '{"memories": [{"text": "likes \\uD83D", "record_type": "fact"}]}',
        (("fact", "likes \ufffd"),),
    ),
    Case(
        "surrogate pair",
        '{"memories": [{"text": "likes \\uD83C\\uDF4E", "record_type": "fact"}]}',
        (("fact", "likes 🍎"),),
    ),
    Case(
        "NUL",
        '{"memories": [{"text": "likes\\u0000 tea", "record_type": "fact"}]}',
        (("fact", "likes tea"),),
    ),
    # -- other shapes
    Case("a list for an object", json.dumps([TEA, LYON]), KEPT),
    Case("an object for the list", json.dumps({"memories": TEA}), (T,)),
    Case("one memory alone", json.dumps(LYON), (L,)),
    Case("a line each", f"{json.dumps(TEA)}\n{json.dumps(LYON)}", KEPT),
    Case(
        "texts alone",
        whole("drinks tea", "lives in Lyon"),
        (("memory", "drinks tea"), ("memory", "lives in Lyon")),
    ),
    Case("type as key", '[{"fact": "lives in Lyon"}, {"preference": "drinks tea"}]', (L, T)),
    Case("type as key with a number", '{"fact": 1}', (), ("no text",), warns=True),
    Case("lists by type", '{"preferences": ["drinks tea"], "facts": ["lives in Lyon"]}', KEPT),
    Case("an object without memories", '{"ok": true}', (), ("names no memories",), warns=True),
    # -- one bad piece among good ones
    Case("a number among them", whole(TEA, 7, LYON), KEPT, ("no text",)),
    Case("null among them", whole(TEA, None, LYON), KEPT, ("no text",)),
    Case(
        "one without text",
        whole(TEA, {"record_type": "fact", "importance": 2}, LYON),
        KEPT,
        ("no text",),
    ),
    Case("a text that is a list", whole(TEA, item(["a"]), LYON), KEPT, ("no text",)),  # type: ignore[arg-type]
    Case(
        "a text that is far too long",
        whole(TEA, item("word " * 5_000), LYON),
        KEPT,
        ("longer than",),
    ),
    # -- one bad field
    Case("type in capitals", whole(item("lives in Lyon", " FACT ")), (L,)),
    Case(
        "unknown type",
        whole(item("lives in Lyon", "opinion")),
        (("memory", "lives in Lyon"),),
        ("record_type",),
    ),
    Case("type null", whole(item("lives in Lyon", None)), (("memory", "lives in Lyon"),)),  # type: ignore[arg-type]
    Case(
        "importance in digits",
        whole(item("lives in Lyon", importance="4")),
        (L,),
        reserved={"importance": 4},
    ),
    Case(
        "importance out of range", whole(item("lives in Lyon", importance=9)), (L,), ("importance",)
    ),
    Case(
        "importance in words",
        whole(item("lives in Lyon", importance="high")),
        (L,),
        ("importance",),
    ),
    Case(
        "scope in capitals",
        whole(item("lives in Lyon", scope="Multi-Agent")),
        (L,),
        reserved={"scope": "multi_agent"},
    ),
    Case("unknown scope", whole(item("lives in Lyon", scope="everyone")), (L,), ("scope",)),
    Case(
        "one entity",
        whole(item("lives in Lyon", entities="Lyon")),
        (L,),
        reserved={"entities": ["Lyon"]},
    ),
    Case(
        "a number as entity",
        whole(item("lives in Lyon", entities=["Lyon", 7, " ", "Lyon"])),
        (L,),
        ("entity",),
        reserved={"entities": ["Lyon"]},
    ),
    Case(
        "a number as id", whole(item("lives in Lyon", id=3)), (L,), reserved={"extraction_id": "3"}
    ),
    Case(
        "a time of an hour's length",
        whole(item("lives in Lyon", timestamp="x" * 65)),
        (L,),
        ("timestamp",),
    ),
    # -- too much, too little
    Case("the same twice", whole(TEA, LYON, TEA), KEPT),
    Case(
        "one hundred and one",
        whole(*(item(f"owns book {number}") for number in range(101))),
        tuple(("fact", f"owns book {number}") for number in range(100)),
        ("only the first 100",),
        warns=True,
    ),
    Case("empty", "", (), ("empty",), warns=True),
    Case("white space", " \n ", (), ("empty",), warns=True),
    Case("refusal", "I'm sorry, but I can't help with that.", (), ("no JSON",), warns=True),
    Case("null", "null", (), ("no JSON",), warns=True),
    Case(
        "cut in a text",
        BOTH[: BOTH.index("in Lyon")],
        (T,),
        ("no text", "cut off"),
        finish_reason="length",
    ),
    Case("cut between two", BOTH[: BOTH.index("}") + 1], (T,), finish_reason="length"),
    Case(
        "cut in a key",
        BOTH[: BOTH.rindex("entities") + 3],
        KEPT,
        ("cut off",),
        finish_reason="length",
    ),
    Case(
        "nested too deep",
        '{"memories": ' + "[" * 5_000 + "]" * 5_000 + "}",
        (),
        ("no JSON",),
        warns=True,
    ),
)
