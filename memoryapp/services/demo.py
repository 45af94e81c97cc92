"""The demo: real dialogues on successive days, and what their annotators noted as memories."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from django.db import transaction

from memoryapp.access import Access
from memoryapp.memory import store
from memoryapp.models import AuditEntry
from memoryapp.services import audit, demo_pictures
from memoryapp.services.demo_pictures import Sketch
from memoryapp.services.import_formats import Line, NewMessage
from memoryapp.services.import_writes import prepare_lines
from memoryapp.services.imports import manifest_hash
from oracleagentmemory.apis.memorystore import PendingRecordBatch
from oracleagentmemory.storage.writes import Prepared

_FOLDER = Path(__file__).resolve().parents[1] / "demo"
_USERS, _AGENTS = 4, 3

#: What a slot's value says about the user. Every other slot is part of one request: a "memory".
_SLOTS = {
    "preference": {
        "actors", "airlines", "category", "director", "flight_class", "genre", "rating",
        "star_rating", "starring", "subcategory",
    },
    "guideline": {
        "free_entry", "good_for_kids", "has_laundry_service", "number_checked_bags", "shared_ride",
        "smoking_allowed", "subtitle_language",
    },
    "fact": {
        "account_type", "city", "city_of_event", "destination_city", "location", "origin_city",
        "recipient_account_type", "recipient_name", "where_to",
    },
}  # fmt: skip
_TYPE_OF_SLOT = {slot: memory_type for memory_type, slots in _SLOTS.items() for slot in slots}
# The annotators' word for "any value will do".
_ANY_VALUE = "dontcare"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoSummary:
    """What the call stored; all zero when the demo was there."""

    threads: int = 0
    messages: int = 0
    memories: int = 0
    relations: int = 0
    images: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Memory:
    id: str
    memory_type: str
    content: str
    metadata: dict[str, Any]
    source: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class _Relation:
    """A later value of a slot takes the place of an earlier one of the same user."""

    later: _Memory
    earlier: _Memory

    @property
    def id(self) -> str:
        return f"{self.later.id}-over-{self.earlier.metadata['dialogue_id']}"


def load(access: Access, *, today: date) -> DemoSummary:
    """Store the demo, once: when it was loaded before, nothing changes, whatever was deleted since.

    The dialogues lie on successive days, the last of them the day before ``today``.
    """
    access.require_admin()
    if _is_loaded():
        return DemoSummary()
    dialogues = _read_dialogues()
    lines = [_line(n, dialogue, len(dialogues), today) for n, dialogue in enumerate(dialogues)]
    memories = [
        memory
        for line, dialogue in zip(lines, dialogues, strict=True)
        for memory in _memories(line, dialogue)
    ]
    relations = list(_relations(memories))
    sketches = list(_sketches(lines, dialogues))
    # Every other one is a part of its dialogue's last message, so that both kinds are there.
    alone, parts = sketches[::2], {one.thread_id: one for one in sketches[1::2]}
    lines = [_with_part(line, parts.get(line.thread_id)) for line in lines]
    changes = [
        *prepare_lines(lines, set()),
        store().prepare_add_batches([demo_pictures.batch(alone)]),
        store().prepare_add_batches(_batches(memories)),
        _prepare_relations(relations),
    ]
    ids = [message.id for line in lines for message in line.messages]
    summary = DemoSummary(
        threads=len(lines),
        messages=len(ids),
        memories=len(memories),
        relations=len(relations),
        images=len(sketches),
    )
    for made in (memories, relations, sketches):
        ids += [one.id for one in made]
    with transaction.atomic():
        if _is_loaded():  # by another process, while this one prepared
            return DemoSummary()
        store().write_all(changes)
        detail = {**asdict(summary), "manifest": manifest_hash(ids)}
        audit.record(access, "import", "demo", reason="demo data", detail=detail)
    return summary


def _is_loaded() -> bool:
    return AuditEntry.objects.filter(noun="demo", action="import").exists()


def _read_dialogues() -> list[dict[str, Any]]:
    """By id, which also orders threads of one instant: lists then show the days in their order."""
    with (_FOLDER / "dialogues.jsonl").open(encoding="utf-8") as file:
        return sorted(map(json.loads, file), key=itemgetter("dialogue_id"))


def _line(number: int, dialogue: dict[str, Any], count: int, today: date) -> Line:
    thread_id = f"demo-{dialogue['dialogue_id']}"
    first = datetime.combine(
        today - timedelta(days=count - number), time(9 + number % 8), tzinfo=UTC
    )
    messages = tuple(
        NewMessage(
            id=f"{thread_id}-{index}",
            role=turn["role"],
            content=turn["content"],
            timestamp=(first + timedelta(minutes=index)).isoformat(),
        )
        for index, turn in enumerate(dialogue["messages"])
    )
    return Line(
        number=number,
        thread_id=thread_id,
        user_id=f"demo-user-{number % _USERS + 1}",
        agent_id=f"demo-agent-{number % _AGENTS + 1}",
        messages=messages,
        metadata={"dialogue_id": dialogue["dialogue_id"], "services": dialogue["services"]},
    )


def _sketches(lines: Sequence[Line], dialogues: Sequence[dict[str, Any]]) -> Iterator[Sketch]:
    """Yield a drawing for each dialogue about a flight, at the time of its last message."""
    about = demo_pictures.SERVICE
    for line, dialogue in zip(lines, dialogues, strict=True):
        goals = dialogue["goals"].get(about)
        if goals:
            yield Sketch(
                id=f"{line.thread_id}-flight",
                thread_id=line.thread_id,
                user_id=line.user_id,
                agent_id=line.agent_id,
                dialogue_id=dialogue["dialogue_id"],
                timestamp=line.messages[-1].timestamp,
                description=demo_pictures.description_of(goals),
                data=demo_pictures.draw(goals, line.number),
            )


def _with_part(line: Line, sketch: Sketch | None) -> Line:
    if sketch is None:
        return line
    *earlier, last = line.messages
    return replace(line, messages=(*earlier, replace(last, images=(sketch.as_part(),))))


def _memories(line: Line, dialogue: dict[str, Any]) -> Iterator[_Memory]:
    """Yield a memory for each goal, in the words of the data set's own description."""
    descriptions = json.loads((_FOLDER / "services.json").read_text(encoding="utf-8"))
    for service, goals in dialogue["goals"].items():
        for slot, value in goals.items():
            if value == _ANY_VALUE:
                continue
            yield _Memory(
                id=f"{line.thread_id}-{service}-{slot}",
                memory_type=_TYPE_OF_SLOT.get(slot, "memory"),
                content=f"{descriptions[service]['slots'][slot]}: {value}",
                metadata={
                    "dialogue_id": dialogue["dialogue_id"],
                    "service": service,
                    "slot": slot,
                },
                source=line,
            )


def _batches(memories: Sequence[_Memory]) -> list[PendingRecordBatch]:
    """One batch a run of equal types, so that the order of the dialogues stays."""
    batches = []
    for memory_type, run in groupby(memories, key=attrgetter("memory_type")):
        some = list(run)
        batches.append(
            PendingRecordBatch(
                contents=[memory.content for memory in some],
                record_type=memory_type,
                record_ids=[memory.id for memory in some],
                thread_ids=[memory.source.thread_id for memory in some],
                user_ids=[memory.source.user_id for memory in some],
                agent_ids=[memory.source.agent_id for memory in some],
                timestamps=[memory.source.messages[-1].timestamp for memory in some],
                metadata=[memory.metadata for memory in some],
            )
        )
    return batches


def _relations(memories: Sequence[_Memory]) -> Iterator[_Relation]:
    """Yield what the annotations say: the same user's slot has another value in a later dialogue.

    Nothing else is known of how these memories belong together, and nothing else is made up.
    """
    current: dict[tuple[str, str, str], list[_Memory]] = {}
    for memory in memories:
        slot = (memory.source.user_id, memory.metadata["service"], memory.metadata["slot"])
        held = current.setdefault(slot, [])
        others = [one for one in held if one.content != memory.content]
        yield from (_Relation(later=memory, earlier=one) for one in others)
        current[slot] = [*(one for one in held if one not in others), memory]


def _prepare_relations(relations: Sequence[_Relation]) -> Prepared[list[str]]:
    return store().prepare_add_relations(
        [one.later.id for one in relations],
        [one.later.memory_type for one in relations],
        [one.earlier.id for one in relations],
        [one.earlier.memory_type for one in relations],
        "supersedes",
        relation_ids=[one.id for one in relations],
        timestamps=[one.later.source.messages[-1].timestamp for one in relations],
        metadata=[_source_of(one) for one in relations],
    )


def _source_of(relation: _Relation) -> dict[str, Any]:
    """Where a relation comes from: a slot, and the dialogues in which it was annotated."""
    later, earlier = relation.later.metadata, relation.earlier.metadata
    return {
        "service": later["service"],
        "slot": later["slot"],
        "later_dialogue_id": later["dialogue_id"],
        "earlier_dialogue_id": earlier["dialogue_id"],
    }
