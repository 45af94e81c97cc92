"""Run the examples of the SDK's documentation on an embedded store, each on a fresh file.

    python -m tests.contract.seed_examples [--verbose] [ID ...]

The store is opened as `SQLiteMemoryStore(path, embedder=..., schema_policy="create_if_necessary")`
and the examples' ``connection=db_pool`` is the path of that file. An example passes when every line
marked `# =>` gives what stands there; ids that the page shows as placeholders (`'relation-id'` from
a call that makes one, `RecordRelation(...)`) are compared by type. The last line is
`seed examples: <passed> of <run>`; the exit status is 0 only when all pass.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import inspect
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from oracleagentmemory import apis, core
from oracleagentmemory.apis.searchscope import SearchScope
from tests.contract.scenarios.kit import ScriptedLlm, WordEmbedder, png

PAGE = Path(__file__).parent / "pages" / "examples.md"
NOT_RUN = {"DBONLY", "FRAGMENT"}


@dataclass(frozen=True)
class Example:
    """One example of the page."""

    id: str
    tag: str
    code: str

    def shown(self) -> dict[int, str]:
        """What the page shows, by the number of the line that says so."""
        lines = enumerate(self.code.splitlines(), 1)
        return {number: line[5:] for number, line in lines if line.startswith("# => ")}


@cache
def examples() -> dict[str, Example]:
    """The examples that run on an embedded store, by id, in the order of the page."""
    pattern = re.compile(r"^### (\w+) .*?\[(\w+)\].*?\n+```python\n(.*?)```", re.S | re.M)
    found = [Example(*match.groups()) for match in pattern.finditer(PAGE.read_text("utf-8"))]
    return {example.id: example for example in found if example.tag not in NOT_RUN}


class Opened:
    """A store of one example's own, with the client and the thread that the page assumes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.embedder, self.llm = WordEmbedder(), ScriptedLlm()
        self.store = core.SQLiteMemoryStore(
            path, embedder=self.embedder, schema_policy="create_if_necessary"
        )
        self.client = core.OracleAgentMemory(store=self.store, llm=self.llm)
        self.thread = self.client.create_thread(
            thread_id="thread-docs", user_id="user-docs", agent_id="agent-docs"
        )

    def names(self) -> dict[str, Any]:
        """What the code finds defined."""
        return {
            **{name: getattr(core, name) for name in core.__all__},
            **{name: getattr(apis, name) for name in apis.__all__},
            "SearchScope": SearchScope,
            "db_pool": self.path,
            "embedder": self.embedder,
            "llm": self.llm,
            "store": self.store,
            "client": self.client,
            "thread": self.thread,
            "memory_store_id": "DOCS",
            "PNG_BYTES": png(),
        }

    def prepare(self, example: Example) -> None:
        """Put in the rows that the page takes for granted."""
        code = example.code
        owner = self.thread if example.id.startswith("t") else self.client
        returned = ("# => 'relation-id'", "# => ['relation-id']")
        asked = code
        for line in returned:
            asked = asked.replace(line, "")
        if "relation-id" in asked or "source-id" in code:
            self._related(owner, "source-id", "relation-id")
        if "current-memory" in code:
            self._related(owner, "current-memory", "r-1", metadata={"source": "manual"})
        for source, target in (
            ("fact-1", "memory-1"),
            ("new", "old"),
            ("new-memory", "old-memory"),
        ):
            if f'"{source}", ' in code and f'"{target}", ' in code:
                _remember(owner, source, "fact" if source == "fact-1" else "memory")
                _remember(owner, target)
        if "list_images" in code:
            self.client.add_image(png(), description="A picture", image_id="img-1", user_id="u1")
        if "c-search-docs" in code:
            self.client.create_thread(
                thread_id="c-search-docs", user_id="user-docs", agent_id="agent-docs"
            )
        if example.id == "c40":
            self.client.create_thread(thread_id="c1", user_id="u1")
        tagged = re.search(r"mem-search-meta-tags-docs2?", code)
        if tagged and "store.add" not in code:
            self.store.add(
                ["pizza tags"],
                record_type="memory",
                record_ids=tagged[0],
                metadata={"tags": ["prod", "urgent"]},
            )

    def _related(self, owner: Any, source: str, relation_id: str, **more: Any) -> None:
        _remember(owner, source)
        _remember(owner, "target-id", "fact")
        self.client.link_records(
            source, "memory", "target-id", "fact", "supports", relation_id=relation_id, **more
        )


def _remember(owner: Any, record_id: str, record_type: str = "memory") -> None:
    owner.add_memory(
        f"row {record_id}",
        memory_id=record_id,
        memory_type=record_type,
        autonomous_linking=False,
    )


def agrees(got: Any, shown: str) -> bool:
    """Whether a result is what the page shows."""
    if "RecordRelation(...)" in shown:
        rows = got if shown.startswith("[") else [got]
        return len(rows) == 1 and isinstance(rows[0], apis.RecordRelation)
    want = ast.literal_eval(shown)
    if want == "relation-id":
        return isinstance(got, str) and bool(got)
    if want == ["relation-id"]:
        return isinstance(got, list) and len(got) == 1 and isinstance(got[0], str)
    return bool(got == want)


def run(example: Example, folder: Path) -> int:
    """Run one example and return how many of its results were compared.

    Raises:
        AssertionError: A line gives something else than the page shows.
    """
    opened = Opened(folder / f"{example.id}.sqlite3")
    opened.prepare(example)
    names = opened.names()
    try:
        return _statements(example, names)
    finally:
        for value in names.values():
            if isinstance(value, core.OracleAgentMemory):
                value.close()


def _statements(example: Example, names: dict[str, Any]) -> int:
    """Run the code a statement at a time, in one event loop."""
    shown, compared = example.shown(), 0
    code = example.code.replace('b"image-bytes"', "PNG_BYTES")
    with asyncio.Runner() as runner:
        for statement in ast.parse(code).body:
            got = _value(statement, example.id, names)
            if inspect.iscoroutine(got):
                got = runner.run(got)
            want = shown.get((statement.end_lineno or 0) + 1)
            if want is None:
                continue
            compared += 1
            if not agrees(got, want):
                raise AssertionError(f"{example.id}:{statement.lineno}: {got!r} is not {want}")
    return compared


def _value(statement: ast.stmt, name: str, names: dict[str, Any]) -> Any:
    body: ast.Expression | ast.Module
    if isinstance(statement, ast.Expr):
        body, mode = ast.Expression(statement.value), "eval"
    else:
        body, mode = ast.Module([statement], []), "exec"
    return eval(compile(body, name, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)


def outcomes(chosen: list[str], *, verbose: bool) -> Iterator[str | None]:
    """Run the examples with these ids, or all; yield what is wrong with each, or None."""
    with tempfile.TemporaryDirectory() as folder:
        for example in examples().values():
            if chosen and example.id not in chosen:
                continue
            try:
                run(example, Path(folder))
                yield None
            except Exception as problem:  # noqa: BLE001  # any failure is the finding
                if verbose:
                    traceback.print_exc()
                yield f"{example.id}: {type(problem).__name__}: {problem}"


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen examples and print the total."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("ids", nargs="*", help="only these examples")
    parser.add_argument("--verbose", action="store_true", help="a traceback for each failure")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    found = list(outcomes(options.ids, verbose=options.verbose))
    failed = [problem for problem in found if problem]
    for problem in failed:
        print(f"fails: {problem}")
    print(f"seed examples: {len(found) - len(failed)} of {len(found)}")
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())
