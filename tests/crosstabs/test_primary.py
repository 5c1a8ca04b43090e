"""Test which cells are sensitive, why, and which interval each needs."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosstabs import _rule_oracle as oracle  # type: ignore[import-not-found] # beside
from crosstabs._tables import at, cells_of, contributors_of  # type: ignore[import-not-found]
from halfmask import DataError, ParameterError, PolicyError
from halfmask.crosstabs import CodeSum, Dimension
from halfmask.crosstabs._primary import check_rules, find_sensitive
from halfmask.crosstabs._rules import (
    ClassDisclosure,
    Dominance,
    MinimumFrequency,
    PPercent,
    PriorPosterior,
    SensitiveZeros,
)


def one_row(*lists):
    """Return a table of one dimension: an inner cell for each list of contributions."""
    return cells_of(shape=(len(lists),), contributors=list(lists))


def levels(contributions, rule, *, weights=None):
    """Return the reasons, and the levels below and above, of one cell."""
    cells = one_row(contributions)
    found = find_sensitive(cells, [rule], weights=weights)
    cell = at(cells, "a1")
    return found.reasons[cell], found.below[cell], found.above[cell]


def test_upper_protection_levels_of_the_handbook():
    """G5: example 4 and example 1 of the handbook, chapter 4.2."""
    reasons, below, above = levels([300, 20, 10], Dominance(n=1, k=85))
    assert reasons == ("dominance",)
    assert above == pytest.approx(352.94 - 330, abs=0.005)
    assert below == above
    example = [50_000, 49_000, *[100] * 10]
    assert levels(example, Dominance(n=1, k=90)) == ((), 0, 0)
    assert levels(example, PPercent(p=2))[0] == ()
    assert levels(example, PPercent(p=2.5))[0] == ("p-percent",)
    assert levels(example, PPercent(p=2.5))[2] == pytest.approx(0.025 * 50_000 - 1000)
    assert levels(example, Dominance(n=2, k=90))[2] == pytest.approx(99_000 / 0.9 - 100_000)
    assert levels(example, PriorPosterior(p=10, q=50))[2] == pytest.approx(0.2 * 50_000 - 1000)


def test_weights_by_either_formula():
    """G6: one sampled unit of 100 stands for two, and a unit of 1 for three."""
    sample = [("x", 100, 2), ("y", 1, 3)]
    safe, unsafe = PPercent(p=3), PPercent(p=3.1)
    assert levels(sample, safe, weights="replicated")[0] == ()
    assert levels(sample, unsafe, weights="replicated")[0] == ("p-percent",)
    assert levels(sample, unsafe, weights="replicated")[2] == pytest.approx(0.1)
    assert levels(sample, PPercent(p=100), weights="sample")[0] == ()
    assert levels(sample, PPercent(p=103), weights="sample")[2] == pytest.approx(1)


NUM = [[100], [90, 10], [80, 20], [70, 30], [80, 10, 10], [70, 10, 10, 10], [60, 20, 10, 10]]
SW2 = [[1], [2, 1], [2, 1], [2, 1], [2, 1, 1], [2, 1, 1, 1], [2, 1, 1, 1]]


@pytest.mark.parametrize(
    ("weights", "primary"), [("sample", [0]), ("replicated", [0, 1])], ids=["sample", "replicated"]
)
def test_weighted_dominance_of_gauss_suppression(weights, primary):
    """G7: 18 values, weights 1 and 2."""
    numbers = iter(range(100))
    lists = [
        [(next(numbers), x, w) for x, w in zip(xs, ws, strict=True)]
        for xs, ws in zip(NUM, SW2, strict=True)
    ]
    cells = one_row(*lists)
    inner = [at(cells, f"a{i + 1}") for i in range(7)]
    np.testing.assert_array_equal(cells.value[inner], [100, 190, 180, 170, 180, 170, 160])
    found = find_sensitive(cells, [Dominance(n=2, k=90)], weights=weights)
    assert [i for i in range(7) if found.reasons[inner[i]]] == primary
    both = find_sensitive(cells, [Dominance(n=1, k=70), Dominance(n=2, k=90)], weights="sample")
    assert [i for i in range(7) if both.reasons[inner[i]]] == [0]
    assert both.reasons[inner[0]] == ("dominance",)


OWNED = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 100), st.integers(1, 3)), min_size=0, max_size=8
)
RULES = [
    (Dominance(n=1, k=57), lambda it, how: oracle.dominance(it, how, 1, 57)),
    (Dominance(n=3, k=85.5), lambda it, how: oracle.dominance(it, how, 3, 85.5)),
    (PPercent(p=10), lambda it, how: oracle.p_percent(it, how, 10)),
    (PPercent(p=45), lambda it, how: oracle.p_percent(it, how, 45)),
    (PriorPosterior(p=20, q=70), lambda it, how: oracle.prior_posterior(it, how, 20, 70)),
]


def _agrees(table, how):
    cells, lists = table
    for rule, level in RULES:
        found = find_sensitive(cells, [rule], weights=how)
        for cell, contributions in lists.items():
            wanted, above = level(contributions, how), found.above[cell]
            assert bool(found.reasons[cell]) == (wanted > 0), (rule, contributions)
            assert abs(above - float(max(wanted, 0))) < 1e-9
            assert found.below[cell] == min(above, cells.value[cell])


def _table(inner):
    """Return a 2 x 2 table of contributions, and the contributions of each cell."""
    cells = cells_of(shape=(2, 2), contributors=[inner[:2], inner[2:]])
    rows, columns = ["a1", "a2"], ["b1", "b2"]
    lists = {}
    for row in ["Total", *rows]:
        for column in ["Total", *columns]:
            lists[at(cells, row, column)] = [
                each
                for i, mine in enumerate(rows)
                for j, yours in enumerate(columns)
                if row in ("Total", mine) and column in ("Total", yours)
                for each in inner[2 * i + j]
            ]
    return cells, lists


@given(st.lists(OWNED, min_size=4, max_size=4))
def test_rules_agree_with_the_handbooks_formulas_on_owners_of_several_rows(inner):
    _agrees(_table([[(owner, number, 1) for owner, number, _ in of] for of in inner]), None)


@given(st.lists(OWNED, min_size=4, max_size=4))
def test_rules_agree_with_the_handbooks_formulas_on_samples(inner):
    _agrees(_table(inner), "sample")


@given(st.lists(OWNED, min_size=4, max_size=4))
def test_rules_agree_with_the_handbooks_formulas_on_replicated_units(inner):
    numbers = iter(range(100))
    alone = [[(next(numbers), number, weight) for _, number, weight in of] for of in inner]
    _agrees(_table(alone), "replicated")


@given(st.lists(OWNED, min_size=4, max_size=4), st.integers(2, 6))
def test_few_contributors_are_sensitive(inner, n):
    cells, lists = _table([[(owner, number, 1) for owner, number, _ in of] for of in inner])
    found = find_sensitive(cells, [MinimumFrequency(n=n, margin=20)], weights=None)
    for cell, contributions in lists.items():
        count = oracle.contributors(contributions)
        assert found.is_sensitive[cell] == (1 <= count < n)
        if found.is_sensitive[cell] and cells.value[cell] > 0:
            least = min(cells.value[cells.value > 0])
            assert found.above[cell] == pytest.approx(0.2 * max(cells.value[cell], least))
    by_rows = find_sensitive(cells, [MinimumFrequency(n=n, of="rows", margin=20)], weights=None)
    for cell, contributions in lists.items():
        assert by_rows.is_sensitive[cell] == (1 <= len(contributions) < n)


def test_a_count_must_be_possible_from_one_below_up_to_n():
    cells = cells_of([[1, 2], [3, 0]], measure=None)
    found = find_sensitive(cells, [MinimumFrequency(n=3)], weights=None)
    one, two, three, none = (at(cells, a, b) for a in ("a1", "a2") for b in ("b1", "b2"))
    assert found.reasons[one] == found.reasons[two] == ("minimum-frequency",)
    assert found.reasons[three] == found.reasons[none] == ()
    assert (found.below[one], found.above[one]) == (1, 2)
    assert (found.below[two], found.above[two]) == (1, 1)
    assert (found.below[three], found.above[three]) == (0, 0)


def test_counts_of_few_owners_with_many_rows_need_one_on_either_side():
    cells = cells_of([40, 9], measure=None, contributors=[[(1, 1)] * 40, [1.0] * 9])
    found = find_sensitive(cells, [MinimumFrequency(n=3)], weights=None)
    cell = at(cells, "a1")
    assert (found.below[cell], found.above[cell]) == (1, 1)
    wide = find_sensitive(cells, [MinimumFrequency(n=3, margin=10)], weights=None)
    assert (wide.below[cell], wide.above[cell]) == (4, 4)


def test_negative_contributions_count_by_their_absolute_values():
    reasons, below, above = levels([-300, 20, 10], Dominance(n=1, k=85))
    assert reasons == ("dominance",)
    assert above == below == pytest.approx(300 / 0.85 - 330)
    assert levels([100, -90, -5], PPercent(p=10))[2] == pytest.approx(10 - 5)


def test_levels_below_stop_at_zero_only_without_negative_contributions():
    assert levels([50], MinimumFrequency(n=2, margin=150))[1:] == (50, 75)
    assert levels([-50], MinimumFrequency(n=2, margin=150))[1:] == (75, 75)


def test_reasons_name_each_rule_once_and_levels_are_the_widest():
    cells = one_row([100, 1], [1] * 9)
    rules = [
        PPercent(p=10),
        Dominance(n=1, k=50),
        Dominance(n=1, k=70),
        MinimumFrequency(n=3, margin=1),
    ]
    found = find_sensitive(cells, rules, weights=None)
    cell = at(cells, "a1")
    assert found.reasons[cell] == ("p-percent", "dominance", "minimum-frequency")
    assert found.above[cell] == pytest.approx(200 - 101)


def test_rules_are_for_their_tables():
    cells = cells_of(
        [[1, 5], [7, 2]],
        measure=None,
        tables={"both": ["a", "b"], "rows": ["a"]},
    )
    found = find_sensitive(cells, [MinimumFrequency(n=9, tables=("rows",))], weights=None)
    assert set(np.flatnonzero(found.is_sensitive)) == {at(cells, "a1")}
    assert not find_sensitive(
        cells, [MinimumFrequency(n=9, tables=("other",))], weights=None
    ).is_sensitive.any()


def test_zeros_are_sensitive_where_asked():
    cells = cells_of([[0, 2], [3, 0]], measure=None)
    found = find_sensitive(cells, [SensitiveZeros()], weights=None)
    assert set(np.flatnonzero(found.is_sensitive)) == {at(cells, "a1", "b1"), at(cells, "a2", "b2")}
    assert set(found.above) == {0.0, 1.0}
    assert not found.below.any()
    sums = cells_of([[0, 2.5], [3, 0]], contributors=[[[], [2.5]], [[3.0], [0.0]]])
    found = find_sensitive(sums, [SensitiveZeros()], weights=None)
    assert set(np.flatnonzero(found.is_sensitive)) == {at(sums, "a1", "b1")}
    assert max(found.above) == 2.5


HEALTH = Dimension(
    name="health",
    codes=("Total", "ill", "flu", "cold", "well"),
    sums=(CodeSum("Total", ("ill", "well")), CodeSum("ill", ("flu", "cold"))),
    total="Total",
)
TOWN = Dimension(
    name="town",
    codes=("Total", "x", "y", "z"),
    sums=(CodeSum("Total", ("x", "y", "z")),),
    total="Total",
)


def test_all_of_a_group_in_one_category_is_sensitive():
    cells = cells_of([[4, 0, 0], [2, 3, 0], [5, 0, 6]], dimensions=(TOWN, HEALTH), measure=None)
    found = find_sensitive(cells, [ClassDisclosure(dimension="health")], weights=None)
    said = {(TOWN.codes[a], HEALTH.codes[b]) for a, b in cells.codes[found.is_sensitive]}
    full = {("x", "flu"), ("x", "ill"), ("y", "ill")}
    assert full <= said
    assert said - full == {("x", "well"), ("y", "well")}  # the most common other category
    for codes in full:
        assert (found.below[at(cells, *codes)], found.above[at(cells, *codes)]) == (1, 0)
    assert (found.below[at(cells, "x", "well")], found.above[at(cells, "x", "well")]) == (0, 1)


def test_all_in_one_category_needs_cells_that_can_be_hidden():
    cells = cells_of([[4, 0], [2, 3]], measure=None, zeros=False)
    with pytest.raises(PolicyError, match="can't be kept for 1 cells"):
        find_sensitive(cells, [ClassDisclosure(dimension="b")], weights=None)


def ready(largest, value, count):
    """Return three cells of a ready table: two inner ones and their total."""
    cells = cells_of([value[1], value[2]])
    who = contributors_of([[]] * 3)
    numbers = np.full((3, 5), np.nan)
    numbers[:, : len(largest[0])] = largest
    return replace(
        cells,
        contributors=replace(
            who,
            largest=numbers,
            count=np.array(count, dtype=float),
            absolute=np.array(value, dtype=float),
        ),
    )


def test_unknown_contributions_count_as_much_as_they_can_be():
    cells = ready([[60], [60], [50]], [200, 100, 100], [20, 5, 2])
    found = find_sensitive(cells, [PPercent(p=10)], weights=None)
    assert found.reasons[0] == ()  # 200 - 60 - at most 60
    assert found.reasons[1] == ("p-percent",)  # the second may be 40: nothing is left
    assert found.above[1] == pytest.approx(6)
    assert found.above[2] == pytest.approx(5)  # two contributors of 50 each
    two = find_sensitive(cells, [Dominance(n=2, k=99.9)], weights=None)
    assert two.is_sensitive.tolist() == [False, True, True]


@given(
    st.lists(st.integers(1, 100), min_size=1, max_size=6),
    st.integers(1, 4),
    st.booleans(),
)
def test_what_is_sensitive_stays_so_where_less_is_known(numbers, kept, counted):
    numbers = sorted(numbers, reverse=True)
    cells = one_row(numbers, [1.0] * 30)
    who = cells.contributors
    largest = who.largest.copy()
    largest[:, kept:] = np.nan
    count = who.count if counted else np.full(cells.n, np.nan)
    less = replace(cells, contributors=replace(who, largest=largest, count=count))
    for rule, _ in RULES:
        known = find_sensitive(cells, [rule], weights=None)
        unknown = find_sensitive(less, [rule], weights=None)
        assert (unknown.is_sensitive >= known.is_sensitive).all()
        assert (unknown.above >= known.above - 1e-9).all()


def test_a_rule_that_cannot_be_decided_is_refused():
    cells = ready([[np.nan], [60], [50]], [200, 100, 100], [20, 5, 1])
    with pytest.raises(DataError, match="'p-percent' can't be decided for 1 of 3 cells"):
        find_sensitive(cells, [PPercent(p=10)], weights=None)
    with pytest.raises(DataError, match="can't be decided"):
        find_sensitive(cells_of([[1, 2], [3, 4]]), [PPercent(p=10)], weights=None)
    with pytest.raises(DataError, match="don't say how many contributors"):
        find_sensitive(cells_of([1, 2]), [MinimumFrequency(n=3, margin=1)], weights=None)
    single = ready([[200], [60], [np.nan]], [200, 100, 100], [20, 5, 1])
    assert find_sensitive(single, [PPercent(p=10)], weights=None).reasons[2] == ("p-percent",)


def test_a_ready_table_of_counts_needs_no_contributors():
    cells = replace(cells_of([[1, 5], [7, 2]], measure=None), contributors=None)
    found = find_sensitive(cells, [MinimumFrequency(n=3)], weights=None)
    assert set(np.flatnonzero(found.is_sensitive)) == {at(cells, "a1", "b1"), at(cells, "a2", "b2")}


def test_a_sum_needs_a_margin():
    cells = one_row([5, 6], [7])
    with pytest.raises(PolicyError, match="no margin for the sums of column 'turnover'"):
        find_sensitive(cells, [MinimumFrequency(n=3)], weights=None)


def test_replicated_units_have_no_owners():
    cells = one_row([("x", 5, 2), ("x", 6, 1)], [7])
    with pytest.raises(PolicyError, match="several rows"):
        find_sensitive(cells, [PPercent(p=5)], weights="replicated")
    with pytest.raises(ParameterError, match="weights isn't given"):
        find_sensitive(cells, [PPercent(p=5)], weights=None)


def test_rules_that_fit_no_table_are_refused():
    counts = cells_of([[1, 5], [7, 2]], measure=None, tables={"people": ["a", "b"]})
    sums = cells_of([[1, 5], [7, 2]], tables={"money": ["a", "b"]})
    few = MinimumFrequency(n=3, margin=1)
    check_rules([counts, sums], [few, PPercent(p=10), ClassDisclosure(dimension="b")])
    with pytest.raises(PolicyError, match="'p-percent' fits no table"):
        check_rules([counts], [few, PPercent(p=10)])
    with pytest.raises(PolicyError, match="'class-disclosure' fits no table"):
        check_rules([counts], [ClassDisclosure(dimension="c")])
    with pytest.raises(PolicyError, match="names 1 tables that"):
        check_rules([counts], [MinimumFrequency(n=3, tables=("peple",))])
    with pytest.raises(PolicyError, match="No rule fits the tables of counts"):
        check_rules([counts, sums], [PPercent(p=10)])
    with pytest.raises(PolicyError, match="doesn't fit the tables of counts"):
        find_sensitive(counts, [PPercent(p=10, tables=("people",))], weights=None)
    assert not find_sensitive(counts, [PPercent(p=10)], weights=None).is_sensitive.any()


def test_prior_knowledge_must_be_less_exact_than_what_is_asked():
    with pytest.raises(ParameterError, match=re.escape("must be below q. Got p=50 and q=50.")):
        PriorPosterior(p=50, q=50)
