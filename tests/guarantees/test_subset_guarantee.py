"""Guarantees over sets of quasi-identifiers against every combination, counted in dictionaries."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from halfmask._errors import ParameterError
from halfmask.guarantees import Classes, LKCPrivacy, SubsetKAnonymity, measure

if TYPE_CHECKING:
    from collections.abc import Sequence

COLUMNS = ("a", "b", "c")
CELLS = st.none() | st.integers(0, 2)
ROWS = st.lists(st.tuples(CELLS, CELLS, CELLS, st.sampled_from("xyz")), min_size=1, max_size=30)

#: Rows of which each is frequent in a list of some.
SIMILAR = [(a, b, 0, "x") for a in (0, 1, 2) for b in (0, 2)]


def frame_of(rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    schema = dict.fromkeys(COLUMNS, pl.Int64) | {"ill": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def combinations_of(rows, size):
    """Return for each set of up to so many columns and their values the sensitive values there."""
    found = defaultdict(list)
    for row in rows:
        for n in range(1, size + 1):
            for places in combinations(range(len(COLUMNS)), n):
                found[places, tuple(row[place] for place in places)].append(row[-1])
    return found


@pytest.mark.slow
@given(rows=ROWS, k=st.integers(1, 6), m=st.integers(1, 3))
def test_the_rarest_combination_of_at_most_m_values_is_found(rows, k, m):
    found = combinations_of(rows, m)

    judged = measure(
        frame_of(rows), quasi_identifiers=COLUMNS, guarantees=[SubsetKAnonymity(k=k, m=m)]
    )[0]

    rarest = min(map(len, found.values()))
    rare = {key for key, ills in found.items() if len(ills) < k}
    assert judged.achieved == rarest
    assert judged.holds == (rarest >= k)
    assert judged.rows_failing == sum(
        any(
            (places, tuple(row[place] for place in places)) in rare
            for n in range(1, m + 1)
            for places in combinations(range(3), n)
        )
        for row in rows
    )


@pytest.mark.slow
@given(
    rows=ROWS,
    k=st.integers(1, 4),
    l=st.integers(1, 3),
    c=st.sampled_from([0.25, 1 / 3, 0.5, 0.6, 0.75, 0.9]),
)
def test_the_surest_value_of_at_most_l_values_is_found(rows, k, l, c):
    found = combinations_of(rows, l)
    shares = [Fraction(max(Counter(ills).values()), len(ills)) for ills in found.values()]
    enough = min(map(len, found.values())) >= k

    judged = measure(
        frame_of(rows),
        quasi_identifiers=COLUMNS,
        guarantees=[LKCPrivacy(l=l, k=k, c=c, column="ill")],
    )[0]

    assert judged.achieved == (pytest.approx(float(max(shares))) if enough else np.inf)
    assert judged.holds == (enough and max(shares) <= Fraction(c).limit_denominator(20))


@pytest.mark.slow
@given(rows=ROWS, k=st.integers(2, 5))
def test_over_all_columns_it_is_k_anonymity_and_weaker_over_fewer(rows, k):
    levels = [
        measure(frame_of(rows), quasi_identifiers=COLUMNS, guarantees=[it])[0].achieved
        for it in (SubsetKAnonymity(k=k, m=m) for m in (1, 2, 3))
    ]
    sizes = Counter(row[:3] for row in rows)

    assert levels == sorted(levels, reverse=True)
    assert levels[2] == min(sizes.values())


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(
    rows=st.lists(st.sampled_from(SIMILAR), min_size=6, max_size=40),
    k=st.integers(2, 3),
    m=st.integers(1, 2),
    column=st.integers(0, 2),
)
def test_merging_values_in_all_rows_never_breaks_it(rows, k, m, column):
    """As full-domain generalization does, which counts on it."""
    it = SubsetKAnonymity(k=k, m=m)
    assume(measure(frame_of(rows), quasi_identifiers=COLUMNS, guarantees=[it])[0].holds)
    merged = [(*row[:column], min(row[column] or 0, 1), *row[column + 1 :]) for row in rows]

    assert measure(frame_of(merged), quasi_identifiers=COLUMNS, guarantees=[it])[0].holds


def test_more_columns_than_there_are_are_refused():
    frame = frame_of([(1, 1, 1, "x")] * 4)

    with pytest.raises(ParameterError, match="about 4 quasi-identifiers, and there are 3"):
        measure(frame, quasi_identifiers=COLUMNS, guarantees=[SubsetKAnonymity(k=2, m=4)])
    with pytest.raises(ParameterError, match="137,846,528,820 sets of columns"):
        SubsetKAnonymity(k=2, m=20).check_columns(40)


def test_without_what_is_written_it_is_refused():
    with pytest.raises(ParameterError, match="what is written for the classes isn't known"):
        SubsetKAnonymity(k=2, m=1).judge(Classes.from_codes([0, 0], 1))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: SubsetKAnonymity(k=0, m=1),
        lambda: SubsetKAnonymity(k=2, m=0),
        lambda: LKCPrivacy(l=1, k=2, c=1.0, column="ill"),
        lambda: LKCPrivacy(l=0, k=2, c=0.5, column="ill"),
    ],
)
def test_parameters_out_of_range_are_refused(wrong):
    with pytest.raises(ParameterError):
        wrong()
