"""Six releases of one table in which people come and go, counted by code that shares nothing."""

from __future__ import annotations

import pytest

from book.independent_count import (  # type: ignore[import-not-found] # beside
    count_k,
    count_l,
    count_t,
    find_candidates,
    people_under,
    share_who_must_wait,
)
from book.series import RECEIVERS, diabetes, invented  # type: ignore[import-not-found] # beside
from halfmask import protect
from halfmask.book import ReleaseBook


@pytest.fixture(autouse=True)
def series_book(vault):
    """The book of a series, in the vault of each test."""
    return ReleaseBook.create(vault, dataset="series")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "releases").mkdir()
    return tmp_path / "releases"


def check_kept(series, folder, vault, most_waiting):
    """Release each month with the first remedy, and count all of them together."""
    assert series.release(folder, vault, reuse=True, leave_out=most_waiting) is None
    months = series.read(folder)
    assert len(months) == len(series.months)
    for month in months:
        assert count_k([months[each] for each in range(1, month + 1)]) >= 5
        rows = series.months[month - 1].height
        assert (1 - most_waiting) * rows <= len(months[month]) <= rows
    for number in range(len(RECEIVERS)):
        of_receiver = [it for month, it in months.items() if (month - 1) % 2 == number]
        assert count_k(of_receiver) >= 5


def check_refused(series, folder, vault, most_waiting):
    """Release months without the first remedy: the month that is refused is the one that breaks."""
    refused = series.release(folder, vault, reuse=False, leave_out=most_waiting)
    assert refused is not None
    assert not (folder / f"{refused}").exists()
    protect(series.months[refused - 1], series.policy()).write(folder / f"{refused}")
    *earlier, broken = series.read(folder).values()
    assert len(earlier) == refused - 1
    assert count_k(earlier) >= 5
    assert count_k([*earlier, broken]) < 5
    assert share_who_must_wait(earlier, broken, 5) > most_waiting
    return refused


def test_invented_people_keep_k_with_the_first_remedy(folder, vault):
    check_kept(invented(), folder, vault, 0.1)


@pytest.mark.parametrize("most_waiting", [0, 0.1])
def test_invented_people_are_refused_without_it_where_k_breaks(most_waiting, folder, vault):
    check_refused(invented(), folder, vault, most_waiting)


@pytest.mark.slow
@pytest.mark.real_data
def test_patients_keep_k_with_the_first_remedy(shared_data, folder, vault):
    check_kept(diabetes(shared_data), folder, vault, 0.05)


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(("most_waiting", "month"), [(0, 2), (0.05, 4)])
def test_patients_are_refused_without_it_where_k_breaks(
    most_waiting, month, shared_data, folder, vault
):
    assert check_refused(diabetes(shared_data), folder, vault, most_waiting) == month


GOLDEN = (
    {"0": [(("1..2", "A"), "1")], "2": [(("1..2", "A"), "2")]}
    | {"1": [(("3", "A|B"), "3")], "3": [(("3", "A|B"), "4")]},
    {"0": [(("1", "A|B"), "1")], "4": [(("1", "A|B"), "5")]}
    | {"1": [(("2..3", "B"), "3")], "5": [(("2..3", "B"), "4")]},
)


def test_the_count_finds_the_candidates_of_the_reference():
    """The example of anonypyx's tests (MIT): who is in one release alone has its candidates."""
    found = find_candidates(GOLDEN)
    assert [found["0"], found["1"], found["4"]] == [{"1"}, {"3", "4"}, {"1", "5"}]
    assert count_k(GOLDEN[:1]) == 2
    assert count_k(GOLDEN) == 1
    assert people_under(GOLDEN, 2) == 6


def test_the_count_sees_a_newcomer_by_the_difference_of_two_releases():
    old = {str(number): [(("x",), "ab"[number % 2])] for number in range(6)}
    assert count_k([old, old]) == 6
    assert count_k([old, old | {"new": [(("x",), "a")]}]) == 1
    assert [count_l([old, old]), count_t([old, old])] == [2, 0]
