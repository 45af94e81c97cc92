"""The benchmarks run, check what they claim to check, and print one JSON object."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks import __main__ as command
from benchmarks import (
    bench_card,
    bench_extraction,
    bench_hops,
    bench_keyword,
    bench_quality,
    bench_search,
    bench_store,
)
from benchmarks.texts import questions


@pytest.mark.long
def test_each_strategy_answers_as_many_questions_as_it_must() -> None:
    results = bench_quality.run()
    assert results["messages"] == 7_094
    assert results["questions"] == 1_500
    assert {name for name, held in bench_quality.checks(results).items() if not held} == set()


def test_some_questions_are_scored_in_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    few = list(questions())[:40]
    monkeypatch.setattr(bench_quality, "questions", lambda: iter(few))
    results = bench_quality.run()
    ways = set(results) - {"messages", "questions"}
    assert ways == {
        "keyword",
        *(f"vector{one}" for one in ("", "_unweighted")),
        *(f"hybrid{one}" for one in ("", "_unweighted")),
        *(f"hybrid{one}_without_neighbours" for one in ("", "_unweighted")),
    }
    for way in ways:
        scores: Any = results[way]
        assert 0 < scores["recall_at_5"] <= scores["recall_at_10"] < scores["thread_hit_at_10"] <= 1
    assert set(bench_quality.LEAST) <= ways


def test_a_way_of_searching_that_answers_too_little_is_named() -> None:
    poor = {"recall_at_10": 0.1, "thread_hit_at_10": 0.99}
    held = bench_quality.checks(dict.fromkeys(bench_quality.LEAST, poor))
    assert held["keyword: recall@10 >= 0.177"] is False
    assert held["hybrid: thread hit@10 >= 0.88"] is True


def test_keyword_search_equals_its_bare_query_and_both_are_timed() -> None:
    results = bench_keyword.run(rows=2_000, rounds=2)
    assert results["equal_to_raw"] is True
    assert results["ratios"]["keyword_to_raw"] > 1


def test_search_results_equal_numpys_and_all_figures_are_there() -> None:
    results = bench_search.run(rows=300, rounds=2)
    assert results["equal_to_numpy"] is True
    for name in ("warm_search", "search_after_add", "search_after_update", "matvec", "scan"):
        assert results[f"{name}_ms"] > 0
    assert set(bench_search.checks(results)) >= {"search finds what numpy finds"}
    assert all(ratio > 0 for ratio in results["ratios"].values())


def test_adding_and_listing_are_measured_beside_their_floors() -> None:
    results = bench_store.run(added=512, listed=1_000)
    assert results["deepest_page_is_right"] is True
    assert results["raw_insert_per_cpu_s"] > results["batch_add_per_cpu_s"] > 0
    assert len(bench_store.checks(results)) == 3


def test_hops_reach_what_a_plain_walk_reaches_and_are_measured_beside_reads() -> None:
    results = bench_hops.run(relations=400, rounds=2)
    assert results["reached_as_walked"] is True
    assert (results["memories"], results["relations"]) == (200, 400)
    assert all(ratio > 0 for ratio in results["ratios"].values())
    slow = results | {"ratios": results["ratios"] | {"3_hops_to_reads": 20.1}}
    failed = [name for name, held in bench_hops.checks(slow).items() if not held]
    assert "3 hop(s) take at most 20 reads of a row by primary key a hop" in failed


def test_cards_are_measured_beside_a_search() -> None:
    results = bench_card.run(rows=600, rounds=2)
    assert (results["found"], results["model_calls"]) == (5, 0)
    assert set(results["ratios"]) == {
        "card_to_search",
        "card_recent_to_search",
        "card_by_type_to_search",
    }
    slow = results | {"ratios": {"card_to_search": 15.1}}
    assert list(bench_card.checks(slow).values()) == [False, True, True]


def test_a_failed_check_is_named_and_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slow: dict[str, Any] = {"equal_to_numpy": True, "ratios": {}}
    slow["ratios"] = {"warm_to_floor": 0.9, "product_to_scan": 0.7}
    slow["ratios"] |= {"after_add_to_warm": 2.5, "after_update_to_warm": 1.1}
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


def test_extraction_is_measured_without_its_model() -> None:
    results = bench_extraction.run(memories=200, rounds=3)
    held = bench_extraction.checks(results)
    assert held["extractions find and link what the model names"] is True
    assert results["extractions"] == 12
    ways = ("extraction", "extraction_with_links", "extraction_alone")
    assert set(results["ratios"]) == {f"{one}_to_batch_add" for one in ways}
    slow = results | {"ratios": {"extraction_to_batch_add": 10.1}}
    assert (
        bench_extraction.checks(slow)["extraction takes at most 10 batch adds a message"] is False
    )
