"""The documents name what there is, and nothing that there is not."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

from memoryapp.api.v1 import api
from memoryapp.environment import Environment
from oracleagentmemory import errors
from tests.architecture.sources import ROOT, own_files, read, table_rows

REQUIREMENTS = Path("docs/requirements.md")
STATES = {"open", "later"}


def own_commands() -> list[str]:
    return sorted(name for name, app in get_commands().items() if app == "memoryapp")


def test_settings_page_lists_every_setting_once() -> None:
    documented = re.findall(r"^\| `([A-Z_]+)` ", read(Path("docs/settings.md")), re.M)
    assert sorted(documented) == sorted(Environment.names())


def test_settings_page_gives_the_defaults() -> None:
    rows = {cells[0].strip("`"): cells[1] for cells in table_rows(read(Path("docs/settings.md")))}
    for name, field in Environment.model_fields.items():
        default = field.default
        if isinstance(default, Path):
            default = default.relative_to(ROOT)
        if isinstance(default, list):
            default = ",".join(default)
        shown = "" if default in (None, "") else f"`{str(default).lower()}`"
        assert rows[name.upper()].lower() == shown, name


def test_env_example_lists_every_setting_and_sets_none() -> None:
    lines = [line for line in read(Path(".env.example")).splitlines() if line]
    assert [line for line in lines if not line.startswith("#")] == []
    names = [match[1] for line in lines if (match := re.match(r"#([A-Z_]+)=", line))]
    assert sorted(names) == sorted(Environment.names())


def test_commands_page_lists_every_command_with_its_options() -> None:
    page = read(Path("docs/commands.md"))
    assert re.findall(r"^## `(\w+)", page, re.M) == own_commands()
    for name in own_commands():
        section = page.split(f"## `{name}")[1].split("\n## ")[0]
        for option in own_options(name):
            assert option in section, f"{name} {option}"


def own_options(name: str) -> set[str]:
    """The long options that a command, or one of its actions, adds to Django's own."""
    base = BaseCommand().create_parser("manage.py", name)
    parser = load_command_class("memoryapp", name).create_parser("manage.py", name)
    return options_of(parser) - options_of(base)


def options_of(parser: ArgumentParser) -> set[str]:
    found = set()
    for action in parser._actions:
        found |= {option for option in action.option_strings if option.startswith("--")}
        if isinstance(action.choices, dict):
            found |= set().union(*(options_of(choice) for choice in action.choices.values()))
    return found | {"--skip-checks"}


def test_api_page_lists_every_path_with_its_methods() -> None:
    documented = {
        cells[0].strip("`"): set(re.findall(r"GET|POST|PUT|PATCH|DELETE", cells[1]))
        for cells in table_rows(read(Path("docs/api.md")))
        if cells[0].startswith("`/")
    }
    served: dict[str, set[str]] = {}
    for path, methods in api.get_openapi_schema()["paths"].items():
        short = path.removeprefix("/api/v1")
        served.setdefault(short, set()).update(method.upper() for method in methods)
    assert documented == served


def test_errors_page_lists_every_error_with_its_code_and_built_in() -> None:
    documented = [
        (code.strip("`"), name.strip("`"), built_in.strip("`"))
        for code, name, built_in, _ in table_rows(read(Path("docs/errors.md")))
    ]
    expected = []
    for name in set(errors.__all__) - {"AgentMemoryError"}:
        error = getattr(errors, name)
        built_ins = [base.__name__ for base in error.__mro__ if base.__module__ == "builtins"]
        expected.append((error.code, name, built_ins[0]))
    assert documented == sorted(expected)


def test_changelog_has_a_place_for_the_next_release() -> None:
    assert "## [Unreleased]" in read(Path("CHANGELOG.md"))


def test_decisions_are_numbered_without_a_gap_and_complete() -> None:
    files = sorted(own_files(".md", under="docs/adr/"))
    assert [int(file.name[:4]) for file in files] == list(range(1, len(files) + 1))
    assert len(files) >= 6
    for file in files:
        for heading in ("Context", "Decision", "Alternatives", "Consequences", "Revisit"):
            assert f"\n## {heading}" in read(file), f"{file}: {heading}"


@pytest.mark.parametrize("file", own_files(".md"), ids=str)
def test_links_between_documents_lead_somewhere(file: Path) -> None:
    links = re.findall(r"\]\((?!https?://|#|mailto:)([^)#\s]+)", read(file))
    assert [link for link in links if not (ROOT / file.parent / link).exists()] == []


def test_every_requirement_names_a_test_that_exists_or_is_open() -> None:
    broken = []
    rows = table_rows(read(REQUIREMENTS))
    assert len(rows) > 40
    for cells in rows:
        shown = cells[-1]
        tests = re.findall(r"`(tests/[^`]+)`", shown)
        if not tests and shown not in STATES:
            broken.append(f"{cells[0]}: neither a test nor open: {shown!r}")
        broken += [f"{cells[0]}: no such test: {test}" for test in tests if not exists(test)]
    assert not broken, "\n".join(broken)


def exists(test: str) -> bool:
    """Whether ``tests/a.py::test_b`` (or a file, or a folder) is there."""
    path, _, name = test.partition("::")
    if not name:
        return (ROOT / path).exists()
    return (ROOT / path).is_file() and re.search(
        rf"^\s*def {name}\(", read(Path(path)), re.M
    ) is not None
