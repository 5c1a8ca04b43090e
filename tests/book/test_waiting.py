"""Who waits: what leaves is allowed by a count with sets, and nobody waits for nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.book.joint_oracle import Rows, groups_of, is_allowed
from tests.book.test_joint import N_PERSONS, coded, joined, series

from halfmask._errors import GuaranteeNotMetError
from halfmask.book import _waiting
from halfmask.book._joint import CodedRelease, join_classes
from halfmask.book._judging import Floor, judge_release
from halfmask.book._waiting import find_waiting

KEY = bytes(range(32))


def leaving(before: list[Rows], new: Rows, *, key: bytes = KEY, **floor: Any) -> Rows:
    waits = find_waiting(joined(*before), coded(new), Floor(**floor), key=key)
    return [row for row, waiting in zip(new, waits.tolist(), strict=True) if not waiting]


@st.composite
def protected(draw: st.DrawFn) -> tuple[list[Rows], dict[str, Any]]:
    """Releases that left above a floor, and one that may be below it."""
    releases = draw(series())
    floor: dict[str, Any] = {"k": draw(st.integers(2, 6))}
    if draw(st.booleans()):
        floor["l"] = draw(st.integers(2, 4))
    if draw(st.booleans()):
        floor["t"] = draw(st.sampled_from([0.3, 0.6, 0.9]))
    return releases, floor


@given(protected(), st.binary(min_size=32, max_size=32))
def test_what_leaves_is_allowed(case: tuple[list[Rows], dict[str, Any]], key: bytes) -> None:
    releases, floor = case
    left: list[Rows] = []
    for rows in releases:
        kept = leaving(left, rows, key=key, **floor)
        assert not kept or is_allowed(left, kept, **floor)
        people = {person for person, _, _ in kept}
        assert [row for row in rows if row[0] in people] == kept
        left = [*left, kept] if kept else left
    assert all(len(group.people) >= floor["k"] for group in groups_of(left))


@given(series(), st.integers(1, 6))
def test_nobody_waits_for_nothing(releases: list[Rows], k: int) -> None:
    *before, new = releases
    if is_allowed(before, new, k=k):
        assert leaving(before, new, k=k) == new


@given(protected())
def test_a_verdict_refuses_what_the_count_does(case: tuple[list[Rows], dict[str, Any]]) -> None:
    (*before, new), floor = case
    verdict = judge_release(joined(*before), joined(*before, new), Floor(**floor))
    assert (verdict.status == "refused") == (not is_allowed(before, new, **floor))


def test_people_are_drawn_from_a_class_that_has_enough() -> None:
    # Of twelve people ten come back in one class: two left behind are fewer than five.
    first, second = [(p, 0, p) for p in range(12)], [(p, 0, p) for p in range(10)]
    kept = leaving([first], second, k=5)
    assert len(kept) == 7  # with those who are left behind there are five and seven
    drawn = {tuple(leaving([first], second, k=5, key=bytes([i]) * 32)) for i in range(20)}
    assert len(drawn) > 10


def test_as_few_are_drawn_as_are_enough() -> None:
    # Seven of ten people come back, and two of them wait with the three who don't.
    first = [(p, 0, p) for p in range(10)]
    assert len(leaving([first], first[:7], k=5)) == 5
    # A class of two waits with two who stay away: one more is enough then.
    first, second = [(p, 0, p) for p in range(12)], [(p, int(p > 7), p) for p in range(10)]
    kept = leaving([first], second, k=5)
    assert len(kept) == 7
    assert {own for _, own, _ in kept} == {0}


def test_nobody_is_drawn_from_classes_that_have_too_few_to_spare() -> None:
    # Two classes of six can spare one each, and three would be needed: one of the classes waits.
    first, second = [(p, 0, p) for p in range(14)], [(p, p // 6, p) for p in range(12)]
    for i in range(5):
        assert len(leaving([first], second, k=5, key=bytes([i]) * 32)) == 6


def test_the_smallest_class_waits_where_none_has_enough() -> None:
    first = [(p, 0, p) for p in range(12)]
    second = [(p, int(p >= 5), p) for p in range(11)]  # classes of five and six, one stays behind
    assert leaving([first], second, k=5) == second[5:]


def test_all_wait_where_no_side_can_be_large_enough() -> None:
    first, second = [(p, 0, p) for p in range(8)], [(p, 0, p) for p in range(7)]
    assert leaving([first], second, k=5) == []


def test_newcomers_wait_until_they_are_enough() -> None:
    first = [(p, 0, p) for p in range(6)]
    assert leaving([first], [*first, (6, 0, 6), (7, 0, 7)], k=3) == first
    more = [*first, *((p, 0, p) for p in range(6, 9))]
    assert leaving([first], more, k=3) == more


def test_a_class_waits_that_keeps_too_few_values() -> None:
    # Values change: five people of one group come back in two classes, one of them with one value.
    first = [(p, 0, p) for p in range(10)]
    second = [(p, p // 5, 7 if p < 5 else p) for p in range(10)]
    assert leaving([first], second, k=5) == second
    assert leaving([first], second, k=5, l=3) == second[5:]


def test_all_rows_of_a_person_wait() -> None:
    first = [(p, 0, p) for p in range(6)]
    second = [(p, c, p) for p in range(3) for c in (0, 1)] + [(p, 0, p) for p in range(3, 6)]
    assert leaving([first], second, k=3) == second
    assert leaving([first], second, k=4) == []


def matching(rows: CodedRelease) -> CodedRelease:
    return replace(rows, matched=True)


def test_matched_units_count_their_rows() -> None:
    matched = matching(coded([(0, 0, 0)] * 5 + [(1, 1, 0)] * 2))
    waits = find_waiting(join_classes([], 2), matched, Floor(k=5), key=KEY)
    assert waits.tolist() == [False] * 5 + [True] * 2
    # Six units of two people each: one stays away, and one more makes three.
    first = matching(coded([(p, 0, 0) for p in range(6)] * 2))
    second = matching(coded([(p, 0, 0) for p in range(5)] * 2))
    waits = find_waiting(join_classes([first], 6), second, Floor(k=3), key=KEY)
    assert len(set(second.persons[waits].tolist())) == 1


def test_a_share_that_may_not_wait_is_named() -> None:
    first = coded([(p, 0, p) for p in range(8)] + [(8, 1, 8), (9, 1, 9)])
    before = join_classes([], N_PERSONS)
    floor = Floor(k=5)
    assert find_waiting(before, first, floor, key=KEY, leave_out=0.2).sum() == 2
    with pytest.raises(GuaranteeNotMetError, match=r"20.00% of people .* at most 19.00%"):
        find_waiting(before, first, floor, key=KEY, leave_out=0.19)


def test_nobody_waits_without_a_floor_or_without_classes() -> None:
    rows = coded([(0, 0, 0), (1, 1, 0)])
    before = join_classes([rows], 2)
    assert not find_waiting(before, rows, Floor(), key=KEY).any()
    bare = CodedRelease(persons=np.array([0, 1]), classes=np.array([-1, -1]))
    assert not find_waiting(before, bare, Floor(k=5), key=KEY).any()


def test_many_classes_wait_in_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two hundred people of one value stay behind: hundreds of classes must wait for their t.
    old = [(p, 0, p % 2 if p >= 200 else 0) for p in range(8000)]
    before = join_classes([coded(old)], 8000)
    new = coded([(p, p // 10, value) for p, _, value in old[200:]])
    steps: list[int] = []

    def counted(*given: Any) -> Any:
        steps.append(given[-1])
        return choose(*given)

    choose = _waiting._choose_more
    monkeypatch.setattr(_waiting, "_choose_more", counted)
    waits = find_waiting(before, new, Floor(k=5, t=0.03), key=KEY)
    assert 0 < waits.sum() < len(waits)
    assert len(steps) < 30
