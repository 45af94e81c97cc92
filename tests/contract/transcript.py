"""Compare the installed SDK with the recorded answers of the release that it follows.

    python -m tests.contract.transcript [--verbose] [GROUP or SCENARIO ...]

Runs every scenario of `scenarios/` with a fresh ``SQLiteMemoryStore`` each, and compares each step
with `pages/transcript.json`: the value returned (records as their public fields, generated ids as
<id1>, <id2> ... in order of appearance, times near the present as <now>, numbers to 3 places) or
the built-in class of the exception, and the categories of the warnings. Prints every step that
differs and is not listed in `expected_differences.json`. The last line is
`transcript: <same> of <steps>`; the exit status is 0 only when every step is as expected. A group
is a file of `scenarios/` or the first word of several (`arguments`, `extraction`).

`--list` shows the groups.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import pkgutil
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.contract import scenarios
from tests.contract.scenarios import kit

PAGE = Path(__file__).parent / "pages" / "transcript.json"
DIFFERENCES = Path(__file__).parent / "expected_differences.json"
MISSING = {"missing": True}

Answers = dict[str, Any]
Scenario = Callable[[kit.World], None]


@cache
def all_scenarios() -> Mapping[str, Scenario]:
    """Every scenario by its name, in order of file and place."""
    for module in sorted(found.name for found in pkgutil.iter_modules(scenarios.__path__)):
        importlib.import_module(f"{scenarios.__name__}.{module}")
    return kit.SCENARIOS


@cache
def recorded() -> Mapping[str, Answers]:
    """What the release answered: by scenario and step."""
    page: dict[str, Answers] = json.loads(PAGE.read_text(encoding="utf-8"))
    return page


def group(function: Scenario) -> str:
    """The file a scenario stands in."""
    return function.__module__.rpartition(".")[2]


def choose(names: Iterable[str]) -> dict[str, Scenario]:
    """The scenarios that are named or whose group is; all when no name is given.

    Raises:
        ValueError: A name is neither a scenario nor a group.
    """
    wanted, every = set(names), all_scenarios()
    labels = {
        name: {name, group(function), group(function).partition("_")[0]}
        for name, function in every.items()
    }
    if unknown := wanted - set().union(*labels.values()):
        raise ValueError(f"no such group or scenario: {', '.join(sorted(unknown))}")
    return {name: every[name] for name in every if not wanted or wanted & labels[name]}


@dataclass(frozen=True)
class Expected:
    """The steps that differ for good, because a page says otherwise."""

    departures: frozenset[tuple[str, str]]

    @classmethod
    def read(cls) -> Expected:
        """Read the checked list."""
        page = json.loads(DIFFERENCES.read_text(encoding="utf-8"))
        return cls(frozenset((entry["scenario"], entry["step"]) for entry in page["departures"]))

    def steps(self, scenario: str) -> set[str]:
        """The steps of a scenario that must differ."""
        return {step for name, step in self.departures if name == scenario}


@dataclass(frozen=True)
class Played:
    """What a scenario answered, what it should have, and why it broke off, if it did."""

    name: str
    got: Answers
    want: Answers
    problem: str | None = None

    @property
    def total(self) -> int:
        return len(self.got.keys() | self.want.keys())

    def differing(self) -> list[str]:
        """The steps that are not the same, in the recorded order and then ours."""
        steps = [*self.want, *(step for step in self.got if step not in self.want)]
        return [s for s in steps if self.got.get(s, MISSING) != self.want.get(s, MISSING)]

    def show(self, step: str) -> str:
        """A step's two answers, from where they part."""
        mine, theirs = self.got.get(step, MISSING), self.want.get(step, MISSING)
        return (
            f"differs: {self.name} / {step}\n"
            f"    got      {_short(mine, theirs)}\n    expected {_short(theirs, mine)}"
        )


def _short(answer: Any, other: Any) -> str:
    mine, theirs = (json.dumps(one, ensure_ascii=False) for one in (answer, other))
    pairs = enumerate(zip(mine, theirs, strict=False))
    same = next((at for at, (one, two) in pairs if one != two), min(len(mine), len(theirs)))
    start = max(0, same - 40) if len(mine) > 160 else 0
    end = "..." if len(mine) > start + 160 else ""
    return f"{'...' if start else ''}{mine[start : start + 160]}{end}"


def play(name: str, folder: Path, *, verbose: bool = False) -> Played:
    """Run one scenario on a store of its own in `folder`."""
    world: kit.World | None = None
    problem = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            world = kit.World(folder / f"{name.replace(' ', '-')}.sqlite3")
            all_scenarios()[name](world)
        except Exception as error:  # noqa: BLE001  # any failure is the finding
            problem = f"{type(error).__name__}: {error}"
            if verbose:
                traceback.print_exc()
        if world is not None:
            try:
                world.close()
                world.store.close()
            except Exception as error:  # noqa: BLE001
                problem = problem or f"close: {type(error).__name__}: {error}"
    got = json.loads(json.dumps(world.answers if world is not None else {}))
    return Played(name, got, recorded().get(name, {}), problem)


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen scenarios and print the total."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="only these groups or scenarios")
    parser.add_argument("--list", action="store_true", help="show the groups and scenarios")
    parser.add_argument("--verbose", action="store_true", help="show where a scenario broke off")
    options = parser.parse_args(arguments)
    try:
        chosen = choose(options.names)
    except ValueError as problem:
        parser.error(str(problem))
    if options.list:
        print("\n".join(f"{group(function)}: {name}" for name, function in chosen.items()))
        return 0
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        played = [play(name, Path(folder), verbose=options.verbose) for name in chosen]
    unexpected = report(played, Expected.read())
    differing = sum(len(one.differing()) for one in played)
    total = sum(one.total for one in played)
    print(f"transcript: {total - differing} of {total}")
    return 1 if unexpected or not total else 0


def report(played: list[Played], expected: Expected) -> bool:
    """Print what is not as expected, and say whether there was anything."""
    found = False
    for one in played:
        differing, allowed = one.differing(), expected.steps(one.name)
        lines = [one.show(step) for step in differing if step not in allowed]
        if one.problem and not allowed:
            lines.append(f"broke off: {one.name}: {one.problem}")
        lines += [
            f"agrees, but is listed to differ: {one.name} / {step}"
            for step in sorted(allowed - set(differing))
        ]
        found = found or bool(lines)
        for line in lines:
            print(line)
    return found


if __name__ == "__main__":
    sys.exit(main())
