"""Malformed answers of a model, through a real worker, to the text of the job's page."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from urllib.request import Request, urlopen

import jsonschema_rs

from oracleagentmemory.core.extractors.payloads import extraction_schema
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.process.learning import Installation, install
from tests.sdk.extraction.answers import CASES, Case
from tests.sdk.extraction.dialogues import Dialogue
from tests.sdk.extraction.models import SUMMARY

SIGN_IN = """
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from memoryapp.models import Person
person = Person.objects.create_user("looker", role="admin")
session = SessionStore()
session[SESSION_KEY] = str(person.pk)
session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
session[HASH_SESSION_KEY] = person.get_session_auth_hash()
session.save()
print(session.session_key)
"""


class Words(HTMLParser):
    """The text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text = ""
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.text += data


def malformed() -> list[Case]:
    """Return ten answers that are not what the schema asks for, as different as they come."""
    schema = jsonschema_rs.validator_for(extraction_schema())

    def follows(case: Case) -> bool:
        try:
            return schema.is_valid(json.loads(case.answer))
        except (ValueError, RecursionError):
            return False

    bad = [case for case in CASES if len(case.answer) < 1_000 and not follows(case)]
    return bad[:: len(bad) // 10][:10]


def dialogue(number: int) -> Dialogue:
    text = f"case-{number} says something"
    return Dialogue(
        f"case-{number}", f"user-{number}", "agent", ({"role": "user", "content": text},)
    )


def check(installation: Installation, number: int, case: Case, cookie: str) -> None:
    """The job keeps what the model said, says what is lost, and stores what can be used."""
    (job,) = installation.call("GET", f"/jobs?thread_id=case-{number}")["jobs"]
    report = installation.call("GET", f"/jobs/{job['id']}")
    raw = [one["raw"] for one in report["answers"] if one["step"] == "extraction"]
    assert raw == [case.answer], case.name
    lost = [one["reason"] for one in report["problems"] if one["step"] == "extraction"]
    assert len(lost) == len(case.lost), (case.name, lost)
    assert job["state"] in (("partial", "failed") if lost else ("succeeded",)), case.name
    found = installation.call("GET", f"/memories?thread_id=case-{number}")["memories"]
    assert sorted(one["content"] for one in found) == sorted(text for _, text in case.kept)
    page = f"http://127.0.0.1:{installation.server.port}/jobs/{job['id']}/"
    with urlopen(Request(page, headers={"Cookie": cookie}), timeout=60) as answer:
        shown = Words(answer.read().decode()).text
    squeezed = " ".join(shown.split())
    for reason in lost:
        assert " ".join(reason.split()) in squeezed, case.name
    assert " ".join(case.answer.split()) in squeezed, case.name


def test_ten_malformed_answers_come_to_the_page(tmp_path: Path) -> None:
    cases = malformed()
    assert len(cases) == 10
    summary = {"summary": "They talked.", "topics": ["a talk"]}
    script = [ScriptedAnswer(when=SUMMARY, json=summary, repeat=True)]
    script += [
        ScriptedAnswer(
            when=f"case-{number} says", text=case.answer, finish_reason=case.finish_reason
        )
        for number, case in enumerate(cases)
    ]
    with (
        ScriptedModelServer(script) as models,
        install(tmp_path / "files", models) as installation,
    ):
        for number in range(len(cases)):
            installation.open_thread(dialogue(number))
            installation.say(dialogue(number), dialogue(number).messages)
        installation.start_worker()
        installation.wait_for_jobs()
        cookie = f"memory_login={installation.server.manage('shell', '-v0', '-c', SIGN_IN).strip()}"
        for number, case in enumerate(cases):
            check(installation, number, case, cookie)
