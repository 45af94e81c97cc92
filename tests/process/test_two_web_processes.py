"""Two web processes on one database: what one writes, the other's next search finds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

from benchmarks.server import Server, serve


class Caller:
    """One caller of the API of either process."""

    def __init__(self, secret: str) -> None:
        self._headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}

    def call(self, server: Server, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(server.url + path, data, self._headers, method=method)
        with urlopen(request, timeout=30) as response:
            text = response.read()
        return json.loads(text) if text else None

    def found(self, server: Server, query: str) -> list[str]:
        """The ids of what a search for user ada finds."""
        asked = urlencode({"user_id": "ada", "q": query})
        results = self.call(server, "GET", f"/search?{asked}")["results"]
        return [hit["record"]["id"] for hit in results]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    folder = tmp_path_factory.mktemp("two")
    with serve(folder) as first, serve(folder) as second:
        yield first, second


def test_the_other_process_finds_loses_and_finds_anew(servers: tuple[Server, Server]) -> None:
    caller = Caller(servers[0].manage("memory_key", "create", "two", "--role", "admin").strip())
    for number in range(6):
        writer, reader = servers if number % 2 else servers[::-1]
        memory_id = f"mem-{number}"
        assert memory_id not in caller.found(reader, "a seat by the window")  # fills its cache
        body = {"id": memory_id, "content": "a seat by the window", "user_id": "ada"}
        caller.call(writer, "POST", "/memories", body)
        assert memory_id in caller.found(reader, "a seat by the window")
        caller.call(writer, "PATCH", f"/memories/{memory_id}", {"content": "tea with milk"})
        assert caller.found(reader, "tea with milk")[0] == memory_id
        caller.call(reader, "DELETE", f"/memories/{memory_id}")
        assert memory_id not in caller.found(writer, "tea with milk")
