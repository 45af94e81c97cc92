"""An import stores what the file says, once, in its order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memoryapp.access import Access, Role
from memoryapp.memory import inspector, store
from memoryapp.models import AuditEntry
from memoryapp.services import audit, threads
from memoryapp.services.imports import (
    ImportFileError,
    ImportStoppedError,
    check_file,
    import_file,
    manifest_hash,
)
from oracleagentmemory.errors import AccessDeniedError
from tests.app.imports.files import dialogue_lines, message, write
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db
OPERATOR = Access.of_command("test")


def texts(thread_id: str) -> list[str]:
    """The messages of a thread in their order."""
    page = inspector().page("message", thread_id=thread_id, limit=1000)
    return [_text(row.record.content) for row in reversed(page.rows)]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.text for part in content)


def test_dialogues_become_threads_of_their_users(tmp_path: Path) -> None:
    lines = dialogue_lines(40)
    summary = import_file(OPERATOR, write(tmp_path, lines), "sgd")
    dialogues = [json.loads(line) for line in lines]
    assert (summary.lines, summary.threads, summary.lines_before) == (40, 40, 0)
    assert summary.messages == sum(len(dialogue["messages"]) for dialogue in dialogues)
    rows = inspector().page("thread", limit=100).rows
    by_dialogue = {row.record.metadata["dialogue_id"]: row.record for row in rows}
    for number, dialogue in enumerate(dialogues):
        record = by_dialogue[dialogue["dialogue_id"]]
        assert record.user_id == f"user-{number % 12}"
        assert record.agent_id == f"agent-{number % 3}"
        assert texts(record.id) == [turn["content"] for turn in dialogue["messages"]]


def test_second_run_changes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, dialogue_lines(40))
    import_file(OPERATOR, path, "sgd")
    renamed = path.rename(tmp_path / "renamed.jsonl")
    with nothing_changes():
        summary = import_file(OPERATOR, renamed, "sgd")
    assert (summary.lines_before, summary.threads, summary.messages) == (40, 0, 0)


def test_grown_file_goes_on_after_its_old_end(tmp_path: Path) -> None:
    lines = dialogue_lines(45)
    import_file(OPERATOR, write(tmp_path, lines[:37]), "sgd")
    summary = import_file(OPERATOR, write(tmp_path, lines), "sgd")
    assert (summary.lines_before, summary.threads) == (37, 8)
    assert inspector().count("thread").value == 45


def test_equal_dialogues_stay_two(tmp_path: Path) -> None:
    (line,) = dialogue_lines(1)
    summary = import_file(OPERATOR, write(tmp_path, [line, line]), "sgd")
    assert summary.threads == 2
    assert inspector().count("thread").value == 2


def test_equal_messages_stay_two(tmp_path: Path) -> None:
    path = write(tmp_path, [message("t", "yes"), message("t", "yes")])
    assert import_file(OPERATOR, path, "messages").messages == 2
    assert texts("t") == ["yes", "yes"]


def test_messages_of_a_thread_may_be_spread_over_the_file(tmp_path: Path) -> None:
    lines = [message(f"t-{n % 7}", f"text {n}") for n in range(1200)]
    summary = import_file(OPERATOR, write(tmp_path, lines), "messages")
    assert (summary.threads, summary.messages) == (7, 1200)
    assert texts("t-3") == [f"text {n}" for n in range(3, 1200, 7)]


def test_message_is_stored_as_given(tmp_path: Path) -> None:
    given = message(
        "a/b", "☕ <b>", id="空", timestamp="2026-03-01T09:30:00Z", metadata={"k": [None, 1.5]}
    )
    import_file(OPERATOR, write(tmp_path, [given]), "messages")
    row = inspector().record("message", "空")
    assert row is not None
    assert row.record.thread_id == "a/b"
    assert row.record.timestamp == "2026-03-01T09:30:00Z"
    assert row.record.metadata == {"k": [None, 1.5]}
    assert row.effective_at.isoformat() == "2026-03-01T09:30:00+00:00"


def test_imported_message_is_found_by_meaning(tmp_path: Path) -> None:
    import_file(OPERATOR, write(tmp_path, [message("t", "a table by the window")]), "messages")
    hits = store().search("window table", 3, user_id="ada", exact_user_match=True)
    assert [record.thread_id for record, _ in hits] == ["t"]


def test_imported_message_looks_like_one_that_a_thread_added(tmp_path: Path) -> None:
    import_file(OPERATOR, write(tmp_path, [message("t", "hello", id="m-1")]), "messages")
    threads.handle("t").add_messages([{"role": "user", "content": "hello", "id": "m-2"}])
    rows = [inspector().record("message", name) for name in ("m-1", "m-2")]
    contents = [row.record.content for row in rows if row is not None]
    assert _text(contents[0]) == _text(contents[1]) == "hello"
    assert type(contents[0]) is type(contents[1])


def test_batch_is_one_operation_with_one_audit_entry(tmp_path: Path) -> None:
    path = write(tmp_path, [message("t", str(n), id=f"m-{n}") for n in range(600)], "in.jsonl")
    import_file(OPERATOR, path, "messages", reason="moved here")
    first, second = AuditEntry.objects.filter(noun="import").order_by("id")
    assert first.actor == "command:test"
    assert first.reason == "moved here"
    assert first.detail == {
        "file": "in.jsonl",
        "format": "messages",
        "lines": [1, 500],
        "threads": 1,
        "messages": 500,
        "manifest": manifest_hash(f"m-{n}" for n in range(500)),
    }
    assert second.detail["lines"] == [501, 600]
    assert not AuditEntry.objects.exclude(noun="import").exists()


def test_dialogues_are_embedded_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = store().embedder
    sizes: list[int] = []
    embed = embedder.embed

    def counted(texts: Any, **options: Any) -> Any:
        sizes.append(len(texts))
        return embed(texts, **options)

    monkeypatch.setattr(embedder, "embed", counted)
    summary = import_file(OPERATOR, write(tmp_path, dialogue_lines(40)), "sgd")
    # Two batches of lines, the store's calls of 256 texts: not one call a dialogue.
    assert len(sizes) <= 5
    assert sum(sizes) >= summary.messages


def test_deleted_thread_does_not_come_back(tmp_path: Path) -> None:
    path = write(tmp_path, dialogue_lines(5))
    import_file(OPERATOR, path, "sgd")
    threads.delete(OPERATOR, inspector().page("thread", limit=1).rows[0].id)
    with nothing_changes():
        import_file(OPERATOR, path, "sgd")


def test_edited_file_adds_only_the_changed_line(tmp_path: Path) -> None:
    lines = [message("t", f"text {n}") for n in range(5)]
    import_file(OPERATOR, write(tmp_path, lines), "messages")
    lines[2] = message("t", "corrected")
    summary = import_file(OPERATOR, write(tmp_path, lines), "messages")
    assert summary.messages == 1
    assert texts("t")[-1] == "corrected"


def test_failed_audit_entry_takes_its_batch_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("disk full")

    path = write(tmp_path, dialogue_lines(3))
    with monkeypatch.context() as patch:
        patch.setattr(audit, "record", fail)
        with nothing_changes(), pytest.raises(RuntimeError):
            import_file(OPERATOR, path, "sgd")
    assert import_file(OPERATOR, path, "sgd").threads == 3


def test_only_an_admin_imports(tmp_path: Path) -> None:
    path = write(tmp_path, dialogue_lines(1))
    reviewer = Access(actor="person:r", role=Role.REVIEWER)
    with nothing_changes(), pytest.raises(AccessDeniedError):
        import_file(reviewer, path, "sgd")


def test_thread_of_another_owner_stops_the_import_and_says_how_to_go_on(tmp_path: Path) -> None:
    lines = [message("t", str(n)) for n in range(510)]
    lines[505] = message("t", "mine", user_id="bob")
    path = write(tmp_path, lines)
    with pytest.raises(ImportStoppedError) as caught:
        import_file(OPERATOR, path, "messages")
    assert "line 506: thread 't' belongs to user 'ada'" in str(caught.value)
    assert "Lines 1 to 500 are imported" in str(caught.value)
    assert inspector().count("message").value == 500
    lines[505] = message("t", "mine")
    summary = import_file(OPERATOR, write(tmp_path, lines), "messages")
    assert (summary.lines_before, summary.messages) == (500, 10)
    assert texts("t") == [line["content"] for line in lines]


def test_id_of_another_message_stops_the_import(tmp_path: Path) -> None:
    import_file(OPERATOR, write(tmp_path, [message("t", "one", id="m")]), "messages")
    path = write(tmp_path, [message("t", "new"), message("t", "two", id="m")])
    with nothing_changes(), pytest.raises(ImportStoppedError, match="line 2: another message"):
        import_file(OPERATOR, path, "messages")


def test_same_id_twice_in_one_file_stops_the_import(tmp_path: Path) -> None:
    path = write(tmp_path, [message("t", "one", id="m"), message("t", "two", id="m")])
    with nothing_changes(), pytest.raises(ImportStoppedError, match="Nothing is imported"):
        import_file(OPERATOR, path, "messages")


def test_every_bad_line_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    lines: list[object] = [message("t", "good"), "{", "", {"role": "user"}, message("t", "a\0")]
    with nothing_changes(), pytest.raises(ImportFileError) as caught:
        check_file(write(tmp_path, lines), "messages")
    named = [text.split(":")[0] for text in str(caught.value).splitlines()]
    assert named == ["line 2", "line 4", "line 5"]


def test_only_the_first_twenty_bad_lines_are_named(tmp_path: Path) -> None:
    with pytest.raises(ImportFileError) as caught:
        check_file(write(tmp_path, ["x"] * 100), "messages")
    assert len(str(caught.value).splitlines()) == 21


def test_file_is_never_held_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_bytes(b'{"content": "' + b"x" * (17 * 1024 * 1024) + b'"}')
    with pytest.raises(ImportFileError, match="line 1: longer than 16,777,216 bytes"):
        check_file(path, "messages")


def test_blank_lines_and_a_missing_last_newline_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    text = "\n" + json.dumps(message("t", "one")) + "\r\n\n" + json.dumps(message("t", "two"))
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert check_file(path, "messages") == 4
    assert import_file(OPERATOR, path, "messages").messages == 2
