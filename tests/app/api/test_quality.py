"""The labelled questions, asked through the API of a running server."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from typing import Any

import pytest

from benchmarks.server import ROOT, Server

DATA = ROOT / "benchmarks" / "data"
MIN_SHARE = 0.79


@pytest.mark.long
def test_right_dialogue_is_among_the_first_ten_for_most_questions(server: Server) -> None:
    server.manage("memory_import", str(DATA / "sgd_dialogues.jsonl"), "--format", "sgd")
    key = server.manage("memory_key", "create", "questions").strip()
    lines = (DATA / "sgd_questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
        threads = _threads(connection, key)
        found = sum(
            bool(_dialogues(connection, key, question, threads) & _wanted(question))
            for question in questions
        )
    assert len(questions) == 1500
    assert found / len(questions) >= MIN_SHARE


def _wanted(question: dict[str, Any]) -> set[str]:
    return {dialogue_id for dialogue_id, _ in question["evidence"]}


def _dialogues(
    connection: http.client.HTTPConnection,
    key: str,
    question: dict[str, Any],
    threads: dict[str, str],
) -> set[str]:
    body = {"query": question["query"], "user_id": f"user-{question['scope']}"}
    hits = _call(connection, key, "POST", "/search", body)["results"]
    assert len(hits) == 10
    return {threads[hit["record"]["thread_id"]] for hit in hits}


def _threads(connection: http.client.HTTPConnection, key: str) -> dict[str, str]:
    """The dialogue of each imported thread."""
    named: dict[str, str] = {}
    cursor = ""
    while True:
        page = _call(connection, key, "GET", f"/threads?limit=200{cursor}")
        for thread in page["threads"]:
            if thread["user_id"].startswith("user-"):
                named[thread["id"]] = thread["metadata"]["dialogue_id"]
        if page["next"] is None:
            assert len(named) == 503
            return named
        cursor = f"&cursor={page['next']}"


def _call(
    connection: http.client.HTTPConnection, key: str, method: str, path: str, body: object = None
) -> Any:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request(method, f"/api/v1{path}", json.dumps(body) if body else None, headers)
    response = connection.getresponse()
    answer = json.loads(response.read())
    assert response.status == 200, answer
    return answer
