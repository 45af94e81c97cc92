"""The Makefile stays a list of short names, and lint uses the tools that are installed here."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import yaml

from tests.architecture.sources import ROOT, read

NAMES = {"bench", "bench-quality", "fmt", "golden", "help", "lint", "run", "test", "test-all"}


def targets() -> dict[str, list[str]]:
    """The recipe lines of each target."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in read(Path("Makefile")).splitlines():
        if match := re.match(r"([\w./-]+):(?!=)", line):
            name = match[1]
            found[name] = []
        elif line.startswith("\t"):
            found[name].append(line.strip())
    return found


def test_targets_are_short_and_hold_no_logic() -> None:
    recipes = {name: lines for name, lines in targets().items() if name[0] != "."}
    assert set(recipes) == NAMES
    for name, lines in recipes.items():
        assert len(lines) <= 6, name
        assert not re.search(r"\b(if|for|while|case)\b|\|\|", " ".join(lines)), name


def test_make_alone_says_what_each_target_does() -> None:
    shown = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert {line.split()[0] for line in shown.splitlines()} == NAMES
    assert all(len(line.split()) > 3 for line in shown.splitlines())


def test_run_is_replaced_by_the_supervisor() -> None:
    # Else make stands between a signal and the processes, and leaves them behind.
    assert [line.lstrip("@").split()[0] for line in targets()["run"]] == ["exec"]


def test_continuous_integration_runs_what_developers_run() -> None:
    assert re.search(r"^exec make .*\btest$", read(Path(".ci/run")), re.M)
    assert targets()["test"] == ["@.ci/packages", '@.ci/tests -m "not long"']


def test_hooks_download_nothing() -> None:
    repositories = yaml.safe_load(read(Path(".pre-commit-config.yaml")))["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    for hook in repositories[0]["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].startswith((".venv/bin/", ".ci/"))
