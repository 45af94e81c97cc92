"""The documentation's examples give what it shows."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from tests.contract import seed_examples


@pytest.mark.parametrize("name", seed_examples.examples())
def test_example_gives_what_the_page_shows(name: str, tmp_path: Path) -> None:
    example = seed_examples.examples()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compared = seed_examples.run(example, tmp_path)
    assert compared == len(example.shown())


def test_the_page_is_read_whole() -> None:
    assert len(seed_examples.examples()) == 111


def test_a_result_that_is_not_the_shown_one_is_named(tmp_path: Path) -> None:
    example = seed_examples.Example("t05", "EMB", "thread.delete_memory('456')\n# => 1\n")
    with pytest.raises(AssertionError, match="t05:1: 0 is not 1"):
        seed_examples.run(example, tmp_path)
