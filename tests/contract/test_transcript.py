"""Every recorded step is answered as by the release that the SDK follows, but for those listed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.architecture.sources import read
from tests.contract import transcript


def cases() -> list[object]:
    """Every scenario, named with its group so that `-k` can choose one."""
    return [
        pytest.param(name, id=f"{transcript.group(function)}-{name}")
        for name, function in transcript.all_scenarios().items()
    ]


@pytest.mark.parametrize("name", cases())
def test_scenario_is_answered_as_recorded(name: str, tmp_path: Path) -> None:
    played = transcript.play(name, tmp_path)
    expected = transcript.Expected.read().steps(name)
    differing = played.differing()
    unexpected = [played.show(step) for step in differing if step not in expected]
    assert not unexpected, "\n".join([*unexpected, played.problem or ""])
    # The list stays exact: what agrees by now is taken off it.
    assert sorted(expected) == sorted(differing)
    assert played.problem is None or expected, played.problem


def test_every_recorded_scenario_is_played() -> None:
    assert set(transcript.recorded()) == set(transcript.all_scenarios())
    assert sum(map(len, transcript.recorded().values())) == 1124


def test_listed_steps_are_recorded_ones() -> None:
    expected = transcript.Expected.read()
    unknown = [
        (name, step)
        for name, step in expected.departures
        if step not in transcript.recorded().get(name, {})
    ]
    assert unknown == []


def test_each_departure_has_both_sentences_and_stands_in_the_documents() -> None:
    page = read(Path("docs/contract.md"))
    departures = json.loads(transcript.DIFFERENCES.read_text(encoding="utf-8"))["departures"]
    for entry in departures:
        assert entry["recorded"], entry
        assert entry["ours"], entry
        row = f"| {entry['scenario']} / {entry['step']} | {entry['recorded']} | {entry['ours']} |"
        assert row in page, row
    assert page.count(" / ") >= len(departures)


def test_a_step_that_differs_is_shown_from_where_it_does() -> None:
    long = "word " * 60
    played = transcript.Played(
        "a scenario",
        got={"same": {"is": 1}, "other": {"is": f"{long}end"}, "more": {"is": 2}},
        want={"same": {"is": 1}, "other": {"is": f"{long}stop"}, "less": {"raises": "KeyError"}},
    )
    assert played.differing() == ["other", "less", "more"]
    assert played.total == 4
    assert 'word end"}\n' in played.show("other")
    assert 'expected {"raises": "KeyError"}' in played.show("less")


def test_unknown_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="no such group or scenario: nothing"):
        transcript.choose(["cards", "nothing"])
