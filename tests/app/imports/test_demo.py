"""The demo: real dialogues on successive days, their goals as memories, once."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date, timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from memoryapp.access import Access
from memoryapp.memory import inspector
from memoryapp.models import AuditEntry
from memoryapp.services import demo, images, messages, threads
from oracleagentmemory.core.images import validate_image
from tests.app.imports.files import DIALOGUES
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db
OPERATOR = Access.of_command("test")
TODAY = date(2026, 3, 1)


def test_demo_lies_on_the_sixty_days_before_today() -> None:
    summary = demo.load(OPERATOR, today=TODAY)
    assert summary.threads == 60
    rows = inspector().page("message", limit=1000).rows
    days = {row.effective_at.date() for row in rows}
    assert days == {TODAY - timedelta(days=n) for n in range(1, 61)}
    assert len(rows) == summary.messages


def test_lists_show_the_days_of_the_demo_in_their_order() -> None:
    demo.load(OPERATOR, today=TODAY)
    memory_times = [row.effective_at for row in inspector().page("memory", limit=1000).rows]
    assert memory_times == sorted(memory_times, reverse=True)
    thread_ids = [row.record.id for row in inspector().page("thread", limit=100).rows]
    digests = inspector().thread_digests(thread_ids)
    thread_times = [digests[thread_id].last_effective_at for thread_id in thread_ids]
    assert thread_times == sorted(thread_times, reverse=True)


def test_memories_are_of_all_types_and_name_their_dialogue_and_thread() -> None:
    summary = demo.load(OPERATOR, today=TODAY)
    rows = inspector().page("memory", limit=1000).rows
    types = Counter(row.record.record_type for row in rows)
    assert set(types) == {"memory", "fact", "preference", "guideline"}
    assert len(rows) == summary.memories
    for row in rows:
        dialogue_id = row.record.metadata["dialogue_id"]
        assert row.record.thread_id == f"demo-{dialogue_id}"
        thread = threads.get(OPERATOR, row.record.thread_id)
        assert thread.record.user_id == row.record.user_id
        assert row.effective_at.date() < TODAY


def test_texts_are_the_data_sets_own() -> None:
    shipped = Path(demo.__file__).parents[1] / "demo"
    known = set(DIALOGUES.read_text(encoding="utf-8").splitlines())
    lines = (shipped / "dialogues.jsonl").read_text(encoding="utf-8").splitlines()
    assert set(lines) <= known
    demo.load(OPERATOR, today=TODAY)
    descriptions = json.loads((shipped / "services.json").read_text(encoding="utf-8"))
    goals = {d["dialogue_id"]: d["goals"] for d in map(json.loads, lines)}
    for row in inspector().page("memory", limit=1000).rows:
        source = row.record.metadata
        slot = descriptions[source["service"]]["slots"][source["slot"]]
        value = goals[source["dialogue_id"]][source["service"]][source["slot"]]
        assert row.record.content == f"{slot}: {value}"


def test_sketches_show_what_the_annotations_say_alone_and_in_messages() -> None:
    summary = demo.load(OPERATOR, today=TODAY)
    rows = inspector().page("image", limit=100).rows
    assert len(rows) == summary.images == 11
    attached = [row for row in rows if row.record.message_id is not None]
    assert len(attached) == 5
    memories = inspector().page("memory", limit=1000).rows
    for row in rows:
        about = {
            one.record.metadata["slot"]: one.record.content.rpartition(": ")[2]
            for one in memories
            if one.record.thread_id == row.record.thread_id
            and one.record.metadata["service"] == "Flights_3"
        }
        for slot in ("origin_city", "destination_city", "departure_date"):
            assert about[slot] in row.record.content
        data = images.picture(OPERATOR, row.id).data
        assert validate_image(data) == "image/png"
        assert len(data) < 8_000
    for row in attached:
        message = messages.get(OPERATOR, row.record.thread_id, row.record.message_id)
        assert [part.type for part in message.record.content] == ["text", "image"]


def test_second_load_changes_nothing_even_after_a_deletion() -> None:
    demo.load(OPERATOR, today=TODAY)
    threads.delete(OPERATOR, inspector().page("thread", limit=1).rows[0].id)
    with nothing_changes():
        again = demo.load(OPERATOR, today=TODAY + timedelta(days=3))
    assert again == demo.DemoSummary()


def test_demo_is_one_operation_with_one_audit_entry() -> None:
    summary = demo.load(OPERATOR, today=TODAY)
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.noun) == ("import", "demo")
    assert entry.detail["memories"] == summary.memories


def test_demo_names_its_source_and_licence() -> None:
    out = StringIO()
    call_command("memory_demo", stdout=out)
    assert "60 dialogues" in out.getvalue()
    assert "CC BY-SA 4.0" in out.getvalue()
    call_command("memory_demo", stdout=out)
    assert "nothing changed" in out.getvalue()
    notice = (Path(demo.__file__).parents[1] / "demo" / "README.md").read_text()
    assert "Rastogi" in notice
    assert "creativecommons.org/licenses/by-sa/4.0" in notice


def test_a_later_value_of_a_users_slot_supersedes_the_earlier_one() -> None:
    summary = demo.load(OPERATOR, today=TODAY)
    rows = inspector().relations(limit=500).rows
    assert len(rows) == summary.relations > 100
    for row in rows:
        later, earlier = row.source.record, row.target.record
        assert row.relation.relation_type == "supersedes"
        assert later.user_id == earlier.user_id
        assert later.content != earlier.content
        assert row.source.effective_at > row.target.effective_at
        named = row.relation.metadata
        assert named == {
            "service": later.metadata["service"],
            "slot": later.metadata["slot"],
            "later_dialogue_id": later.metadata["dialogue_id"],
            "earlier_dialogue_id": earlier.metadata["dialogue_id"],
        }
        assert earlier.metadata["service"] == named["service"]
        assert earlier.metadata["slot"] == named["slot"]


def test_what_a_user_wants_last_is_what_is_valid() -> None:
    demo.load(OPERATOR, today=TODAY)
    last: dict[tuple[str, str, str], str] = {}
    rows = inspector().page("memory", limit=1000).rows
    for row in reversed(rows):
        source = row.record.metadata
        last[row.record.user_id, source["service"], source["slot"]] = row.record.content
    for row in rows:
        source = row.record.metadata
        wanted = last[row.record.user_id, source["service"], source["slot"]]
        if row.record.status == "valid":
            assert row.record.content == wanted
    invalid = {row.id for row in rows if row.record.status == "invalid"}
    assert invalid == {row.target.id for row in inspector().relations(limit=500).rows}


def test_no_message_is_made_up_as_the_source_of_a_memory() -> None:
    demo.load(OPERATOR, today=TODAY)
    assert inspector().statistics().sources == 0
