"""Requirements, public names and container files."""

from __future__ import annotations

import importlib
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.architecture.sources import ROOT, own_files, read

EXACT = re.compile(r"[A-Za-z0-9._-]+(\[[a-z,]+\])?==[0-9][\w.]*")


def modules_with_public_names() -> list[str]:
    names = []
    for file in own_files(".py"):
        if file.parts[0] in ("sdk", "memoryapp") and re.search(r"^__all__ = ", read(file), re.M):
            parts = file.with_suffix("").parts
            parts = parts[1:] if parts[0] == "sdk" else parts
            names.append(".".join(parts).removesuffix(".__init__"))
    return names


@pytest.mark.parametrize("name", modules_with_public_names())
def test_every_name_of_all_can_be_imported_and_stands_once(name: str) -> None:
    module = importlib.import_module(name)
    assert [public for public in module.__all__ if not hasattr(module, public)] == []
    assert len(set(module.__all__)) == len(module.__all__)


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_every_requirement_is_pinned(name: str) -> None:
    lines = [line for line in read(Path(name)).splitlines() if line and line[0] not in "#-"]
    assert lines
    assert [line for line in lines if not EXACT.fullmatch(line)] == []


def test_the_sdk_pins_what_it_needs() -> None:
    project = tomllib.loads(read(Path("sdk/pyproject.toml")))["project"]
    assert [need for need in project["dependencies"] if not EXACT.fullmatch(need)] == []


def test_the_customers_packages_are_named() -> None:
    requirements = read(Path("requirements.txt"))
    for package in ("django", "django-ninja", "oracledb", "litellm", "celery", "pytest-django"):
        assert re.search(rf"^{package}==", requirements, re.M), package


def dockerfile() -> list[list[str]]:
    """The instructions of the Dockerfile, continued lines joined."""
    text = re.sub(r"\\\n\s*", " ", read(Path("Dockerfile")))
    return [
        shlex.split(line, comments=True) for line in text.splitlines() if line and line[0] != "#"
    ]


def test_every_source_that_the_dockerfile_copies_exists() -> None:
    copies = [
        words[1:-1]
        for words in dockerfile()
        if words[0] == "COPY" and not any(word.startswith("--from=") for word in words)
    ]
    sources = [word for words in copies for word in words if not word.startswith("--")]
    assert sources
    assert [source for source in sources if not (ROOT / source).exists()] == []


def test_the_container_is_built_in_stages_and_runs_without_rights() -> None:
    instructions = dockerfile()
    stages = [words for words in instructions if words[0] == "FROM"]
    assert len(stages) >= 2
    last = max(number for number, words in enumerate(instructions) if words[0] == "FROM")
    users = [words[1] for words in instructions[last:] if words[0] == "USER"]
    assert users, "the last stage names no user, so it would run as root"
    assert users[-1].partition(":")[0] not in ("root", "0")


def test_the_composed_services_are_named_and_use_known_settings() -> None:
    from memoryapp.environment import Environment

    services = yaml.safe_load(read(Path("compose.yaml")))["services"]
    assert {"web", "worker", "beat", "redis"} <= set(services)
    for service in services.values():
        own = [name for name in service.get("environment", {}) if not name.startswith("ORACLE_")]
        assert set(own) <= Environment.names()
