"""The benchmarks run, check what they claim to check, and print one JSON object."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks import __main__ as command
from benchmarks import bench_quality, bench_search, bench_store


def test_the_right_dialogue_is_in_the_first_ten_for_most_questions() -> None:
    results = bench_quality.run()
    assert results["messages"] == 7_094
    assert results["questions"] == 1_500
    assert results["hit_at_10"] >= bench_quality.LEAST_RIGHT


def test_search_results_equal_numpys_and_all_figures_are_there() -> None:
    results = bench_search.run(rows=300, rounds=2)
    assert results["equal_to_numpy"] is True
    for name in ("warm_search", "search_after_add", "search_after_update", "matvec"):
        assert results[f"{name}_ms"] > 0
    assert set(results["ratios"]) >= {"warm_to_floor", "after_add_to_warm", "after_update_to_warm"}


def test_adding_and_listing_are_measured_beside_their_floors() -> None:
    results = bench_store.run(added=512, listed=1_000)
    assert results["deepest_page_is_right"] is True
    assert results["batch_add_per_s"] > 0
    assert results["raw_insert_per_s"] > results["batch_add_per_s"]


def test_a_failed_check_is_named_and_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slow: dict[str, Any] = {"equal_to_numpy": True, "ratios": {}}
    slow["ratios"] = {"after_add_to_warm": 2.5, "after_update_to_warm": 1.1}
    monkeypatch.setattr(bench_search, "run", lambda: slow)
    assert command.main(["search"]) == 1
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    assert set(report) == {"env", "results", "ratios", "checks"}
    assert report["ratios"]["search.after_add_to_warm"] == 2.5
    assert "does not hold: search after an add takes at most twice a warm one" in printed.err


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["searhc"])
    assert "no part 'searhc'" in capsys.readouterr().err
