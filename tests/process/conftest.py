"""A fresh checkout without ``var/``, and installations of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, project_files
from tests.process.product import Product


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that git knows or would add, and nothing else, with the environment at hand."""
    folder = tmp_path_factory.mktemp("checkout") / "agent memory"
    for file in project_files():
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, target)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    # Older than the environment, so that make finds it up to date and installs nothing.
    for name in ("requirements.txt", "requirements-dev.txt", "sdk/pyproject.toml"):
        os.utime(folder / name, (0, 0))
    os.utime(folder / ".ci" / "environment", (0, 0))
    return folder


@pytest.fixture(scope="session")
def prepared(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``var`` folder of an installation that was started once, without the demo."""
    product = Product(checkout, tmp_path_factory.mktemp("prepared") / "var", {"MEMORY_DEMO": "no"})
    done = product.run("memory_prepare")
    assert done.returncode == 0, done.stderr
    return product.var


MakeProduct = Callable[..., Product]


@pytest.fixture
def make_product(checkout: Path, prepared: Path, tmp_path: Path) -> Iterator[MakeProduct]:
    """Installations that were started before, with settings as given; ended after the test."""
    made: list[Product] = []

    def make(**settings: str) -> Product:
        var = tmp_path / f"var{len(made)}"
        shutil.copytree(prepared, var)
        made.append(Product(checkout, var, {"MEMORY_DEMO": "no"} | settings))
        return made[-1]

    yield make
    for product in made:
        product.stop()


@pytest.fixture
def product(make_product: MakeProduct) -> Product:
    """One such installation with the default settings."""
    return make_product()
