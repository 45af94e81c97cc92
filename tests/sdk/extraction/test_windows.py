"""When extraction is due and which messages it sees: tables and a plain model."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracleagentmemory.core.extractors.jobs import Window
from oracleagentmemory.core.extractors.windows import edit_window, messages_before, plan_windows

# Window, frequency, sizes of batches; what each batch's extractions see; the counter at the end.
TABLE = [
    (-1, -1, (1, 2, 1), ["0", "1 2", "3"], 0),
    (-1, 1, (1, 2, 1), ["0", "1 2", "3"], 0),
    (-1, 0, (1, 2), ["0", "1 2"], 0),
    (-1, 2, (1, 1, 1, 1), ["", "1", "", "3"], 0),
    (-1, 2, (5, 5), ["", "5 6 7 8 9"], 0),
    (-1, 3, (1, 1, 1, 1), ["", "", "2", ""], 1),
    (1, -1, (1, 2, 3), ["0", "1 2", "3 4 5"], 0),
    (3, -1, (1, 2, 1), ["0", "0 1 2", "1 2 3"], 0),
    (4, 2, (1, 2, 3), ["", "0 1", "0 1 2 3|2 3 4 5"], 0),
    (2, 2, (1, 2, 3, 1), ["", "0 1", "2 3|4 5", ""], 1),
    (2, 3, (2, 2, 2), ["", "1 2", "4 5"], 0),
    (5, 1, (2, 3), ["0|0 1", "0 1 2|0 1 2 3|0 1 2 3 4"], 0),
    (0, -1, (1, 2), ["0", "1 2"], 0),
    (3, 3, (7,), ["0 1 2|3 4 5"], 1),
]


@pytest.mark.parametrize(("window", "frequency", "sizes", "seen", "counter"), TABLE)
def test_r127_windows_of_batches(
    window: int, frequency: int, sizes: tuple[int, ...], seen: list[str], counter: int
) -> None:
    ids: list[str] = []
    saved = 0
    for size, expected in zip(sizes, seen, strict=True):
        new = [str(len(ids) + step) for step in range(size)]
        before = messages_before(window)
        plan = plan_windows(
            window=window,
            frequency=frequency,
            counter=saved,
            new_ids=new,
            earlier_ids=ids[len(ids) - before :] if before else [],
        )
        ids += new
        saved = plan.counter
        shown = [" ".join([*one.earlier_ids, *one.message_ids]) for one in plan.windows]
        assert "|".join(shown) == expected
    assert saved == counter


def test_new_messages_are_those_since_the_last_extraction() -> None:
    plan = plan_windows(
        window=4, frequency=2, counter=1, new_ids=["c", "d"], earlier_ids=["a", "b"]
    )
    assert plan.windows == (Window(("b", "c"), ("a",)),)
    assert plan.counter == 1


def test_no_messages_are_no_call() -> None:
    plan = plan_windows(window=-1, frequency=2, counter=1, new_ids=[], earlier_ids=["a"])
    assert plan.windows == ()
    assert plan.counter == 1


def test_a_counter_of_other_settings_is_due_at_once() -> None:
    plan = plan_windows(
        window=3, frequency=2, counter=9, new_ids=["d"], earlier_ids=["a", "b", "c"]
    )
    assert plan.windows == (Window(("b", "c", "d")),)
    assert plan.counter == 0


def test_r031_an_edit_sees_its_message_and_those_before() -> None:
    def seen(window: int) -> Window:
        return edit_window(window=window, message_id="c", earlier_ids=["a", "b"])

    assert seen(2) == Window(("c",), ("b",))
    assert seen(9) == Window(("c",), ("a", "b"))
    assert seen(-1) == Window(("c",))


@settings(deadline=None)
@given(
    window=st.integers(-1, 6),
    frequency=st.integers(-1, 5),
    sizes=st.lists(st.integers(0, 6), max_size=8),
)
def test_plans_follow_a_plain_model(window: int, frequency: int, sizes: list[int]) -> None:
    ids: list[int] = []
    saved = since = 0
    for size in sizes:
        new = list(range(len(ids), len(ids) + size))
        expected: list[tuple[list[int], list[int]]] = []
        everything = [*ids, *new]
        if window > 0 and frequency > 0:
            for number in new:
                since += 1
                if since == frequency:
                    until = everything[: number + 1]
                    newest = until[-min(since, window) :]
                    expected.append((until[-window:], newest))
                    since = 0
        elif size:
            since += 1
            if since >= frequency:
                expected.append((everything[-max(window, size) :], new))
                since = 0
        plan = plan_windows(
            window=window,
            frequency=frequency,
            counter=saved,
            new_ids=[str(one) for one in new],
            earlier_ids=[str(one) for one in ids],
        )
        ids, saved = everything, plan.counter
        assert saved == since
        assert [
            (
                [int(x) for x in (*one.earlier_ids, *one.message_ids)],
                list(map(int, one.message_ids)),
            )
            for one in plan.windows
        ] == expected
