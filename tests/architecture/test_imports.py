"""Who may import whom."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.architecture.sources import Import, imports_of, own_files, read

EDGES = ("views", "api", "mcp", "tasks", "admin", "management")


def is_under(target: str, *packages: str) -> bool:
    return any(target == package or target.startswith(f"{package}.") for package in packages)


def sdk_knows_no_app(file: Path, found: Import) -> str | None:
    if is_under(found.target, "memoryapp", "django", "celery", "ninja"):
        return "the SDK imports nothing of the app or its frameworks"
    return None


def contracts_do_no_io(file: Path, found: Import) -> str | None:
    top = found.target.partition(".")[0]
    own = is_under(
        found.target,
        "oracleagentmemory.apis",
        "oracleagentmemory.errors",
        "oracleagentmemory._notset",
        "oracleagentmemory._threaded",
        "oracleagentmemory._warn",
    )
    if top == "numpy" or own or top in sys.stdlib_module_names:
        return None
    return "apis/ is contracts: the standard library and numpy only"


def models_know_no_services(file: Path, found: Import) -> str | None:
    if is_under(found.target, "memoryapp") and not is_under(
        found.target, "memoryapp.models", "memoryapp.access", "memoryapp.ids"
    ):
        return "models/ import models, access and ids only"
    if is_under(found.target, "oracleagentmemory") and not is_under(
        found.target, "oracleagentmemory.apis", "oracleagentmemory.errors"
    ):
        return "models/ never reach the SDK's stores"
    return None


def services_know_no_edge(file: Path, found: Import) -> str | None:
    allowed = ("access", "demo", "ids", "memory", "models", "scheduler", "services")
    if is_under(found.target, "memoryapp") and not is_under(
        found.target, *(f"memoryapp.{name}" for name in allowed)
    ):
        return f"services/ import only {', '.join(allowed)}; hints to tasks go by name"
    return None


def edges_call_services(file: Path, found: Import) -> str | None:
    own = file.parts[1]
    others = [f"memoryapp.{name}" for name in EDGES if name != own]
    if is_under(found.target, *others):
        return f"{own}/ imports services and forms, never another edge"
    if is_under(found.target, "memoryapp.memory") and found.name != "open_store":
        return "a store is reached through services only"
    if is_under(found.target, "oracleagentmemory.core", "oracleagentmemory.storage"):
        return "an edge knows the SDK's records, results and errors, not its stores"
    return None


def app_uses_public_sdk(file: Path, found: Import) -> str | None:
    private = any(part.startswith("_") for part in found.module.split("."))
    if is_under(found.module, "oracleagentmemory") and private:
        # The marker of "not given" is part of documented signatures.
        return None if found.module.endswith("._notset") else "a private module of the SDK"
    if found.target.startswith("oracleagentmemory.storage") and not is_under(
        found.target, "oracleagentmemory.storage.writes.Prepared"
    ):
        return "only joined.py reaches into the SDK's storage"
    return None


Rule = Callable[[Path, Import], str | None]
RULES: list[tuple[str, Rule]] = [
    ("sdk/", sdk_knows_no_app),
    ("sdk/oracleagentmemory/apis/", contracts_do_no_io),
    ("memoryapp/models/", models_know_no_services),
    ("memoryapp/services/", services_know_no_edge),
    *((f"memoryapp/{edge}/", edges_call_services) for edge in EDGES),
    ("memoryapp/", app_uses_public_sdk),
]
MAY_REACH_STORAGE = Path("memoryapp/joined.py")


@pytest.mark.parametrize(("under", "rule"), RULES, ids=lambda part: getattr(part, "__name__", part))
def test_every_import_keeps_the_rule(under: str, rule: Rule) -> None:
    broken = [
        f"{file}:{found.line}: imports {found.target}: {reason}"
        for file in own_files(".py", under=under)
        if file != MAY_REACH_STORAGE
        for found in imports_of(read(file))
        if (reason := rule(file, found))
    ]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    ("file", "source", "rule"),
    [
        ("sdk/oracleagentmemory/core/x.py", "import django.db", sdk_knows_no_app),
        ("sdk/oracleagentmemory/apis/x.py", "import sqlalchemy", contracts_do_no_io),
        ("memoryapp/models/x.py", "from memoryapp.services import audit", models_know_no_services),
        ("memoryapp/services/x.py", "def f():\n  import memoryapp.tasks", services_know_no_edge),
        ("memoryapp/views/x.py", "from memoryapp.api import auth", edges_call_services),
        ("memoryapp/api/x.py", "from memoryapp.memory import store", edges_call_services),
        ("memoryapp/tasks/x.py", "from oracleagentmemory.core import a", edges_call_services),
        ("memoryapp/views/x.py", "import oracleagentmemory.storage.rows", app_uses_public_sdk),
        ("memoryapp/ids.py", "from oracleagentmemory._threaded import a", app_uses_public_sdk),
    ],
)
def test_each_rule_catches_what_it_forbids(file: str, source: str, rule: Rule) -> None:
    assert any(rule(Path(file), found) for found in imports_of(source))
