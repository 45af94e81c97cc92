"""`memory_reembed` as an operator meets it: a kill in the middle, other processes meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.process.product import Product

#: An embedder that, when told to, says on a pipe that it has come to the text "stop here" and
#: goes no further.
EMBEDDERS = """
import os
import signal

import numpy as np


class Letters:
    embedder_id = "test/letters"
    embedding_dimension = 26

    def embed(self, texts, *, is_query=False):
        pipe = os.environ.get("MEMORY_TEST_PIPE")
        if pipe and "stop here" in texts:
            with open(pipe, "w") as file:
                file.write("here")
            signal.pause()
        rows = [[text.count(chr(97 + at)) for at in range(26)] for text in texts]
        return np.array(rows, np.float32)


def letters():
    return Letters()
"""
FILL = """
from memoryapp.memory import client
texts = [f"memory {number}" for number in range(700)]
texts[600] = "stop here"
client()._store.add(texts, "memory", user_ids="ada", record_ids=[f"m{n}" for n in range(700)])
"""
ASK = """
from memoryapp.memory import client
print("found", client().search("stop here", user_id="ada")[0].id)
try:
    client().add_memory("new", user_id="ada", memory_id="new")
    print("added")
except RuntimeError as error:
    print(type(error).__name__, error)
"""


@pytest.fixture
def products(make_product: Callable[..., Product], tmp_path: Path) -> tuple[Product, Product]:
    """One installation with its old embedder and, on the same data, with the new one."""
    (tmp_path / "test_embedders.py").write_text(EMBEDDERS)
    old = make_product()
    path = f"{old.checkout / 'sdk'}{os.pathsep}{tmp_path}"
    settings = {"MEMORY_EMBEDDER": "test_embedders:letters", "PYTHONPATH": path}
    new = Product(old.checkout, old.var, {**old.settings, **settings})
    done = old.run("shell", "-c", FILL)
    assert done.returncode == 0, done.stderr
    return old, new


def ask(product: Product) -> list[str]:
    done = product.run("shell", "-v", "0", "-c", ASK)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def kill_in_the_middle(product: Product, pipe: Path) -> None:
    """Start the command and kill it when it is between two batches' writes."""
    os.mkfifo(pipe)
    child = subprocess.Popen(
        [".venv/bin/python", "manage.py", "memory_reembed"],
        cwd=product.checkout,
        env={**product.environment, "MEMORY_TEST_PIPE": str(pipe)},
        stderr=subprocess.PIPE,
    )
    with pipe.open() as file:
        assert file.read() == "here"
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=60)
    assert child.returncode == -signal.SIGKILL


def test_a_killed_run_leaves_searches_working_and_goes_on(
    products: tuple[Product, Product], tmp_path: Path
) -> None:
    old, new = products
    kill_in_the_middle(new, tmp_path / "pipe")

    answers = ask(old)
    assert answers[0] == "found m600"
    assert answers[1].startswith("RetryableError the store is being re-embedded")
    refused = new.run("shell", "-v", "0", "-c", ASK)
    assert "manage.py memory_reembed" in refused.stderr

    done = new.run("memory_reembed")
    assert done.returncode == 0, done.stderr
    assert "700 texts have vectors of 26 numbers by test/letters" in done.stdout
    assert ask(new) == ["found m600", "added"]
    started = old.run("memory_prepare")
    assert started.returncode == 0
    assert "Nothing can be searched by meaning" in started.stderr


def test_a_killed_run_is_given_up(products: tuple[Product, Product], tmp_path: Path) -> None:
    old, new = products
    kill_in_the_middle(new, tmp_path / "pipe")
    done = old.run("memory_reembed", "--abort")
    assert done.stdout == "Given up: the old vectors stay, and changes are allowed again.\n"
    assert ask(old) == ["found m600", "added"]
