"""Interval disclosure, against loops over all pairs of rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import DataError, ParameterError
from halfmask.assess.risk import interval_disclosure

SCALES = ["rank", "deviation"]
CELLS = st.lists(
    st.tuples(st.integers(-4, 4) | st.none(), st.integers(-4, 4) | st.none()), min_size=2
).filter(lambda rows: any(true is not None for true, _ in rows))


def naive_interval(released, value, width, scale):
    """Return the ends around one masked value, by counting."""
    there = sorted(each for each in released if each is not None)
    if scale == "deviation":
        mean = sum(there) / len(there)
        squares = sum((each - mean) ** 2 for each in there)
        reach = width * (squares / (len(there) - 1)) ** 0.5 if len(there) > 1 else 0.0
        return value - reach, value + reach
    ranks = round(width * len(there) * 1e6) // 1_000_000
    places = [place for place, each in enumerate(there) if each == value]
    return there[max(0, places[0] - ranks)], there[min(len(there) - 1, places[-1] + ranks)]


def naive(rows, width, scale):
    """Return value, control and baseline by a loop over pairs."""
    rows = [(true, masked) for true, masked in rows if true is not None]
    released = [masked for _, masked in rows]
    hits = others = most = 0
    for place, (_, masked) in enumerate(rows):
        if masked is None:
            continue
        low, high = naive_interval(released, masked, width, scale)
        inside = [low <= each <= high for each, _ in rows]
        hits += inside[place]
        others += sum(inside) - inside[place]
        most = max(most, sum(inside))
    n = len(rows)
    return hits / n, others / (n * (n - 1)) if n > 1 else 0.0, most / n


def as_arrays(rows):
    return tuple(
        np.array([np.nan if row[side] is None else row[side] for row in rows], dtype=float)
        for side in (0, 1)
    )


@pytest.mark.parametrize("scale", SCALES)
@given(rows=CELLS, width=st.sampled_from([0.05, 0.1, 0.25, 0.5]))
def test_all_arms_are_those_of_a_loop(rows, width, scale):
    risk = interval_disclosure(*as_arrays(rows), width=width, scale=scale)

    assert (risk.value, risk.control, risk.baseline) == pytest.approx(naive(rows, width, scale))


@pytest.mark.parametrize("scale", SCALES)
def test_twice_the_noise_discloses_less_and_half_of_it_more(scale):
    rng = np.random.default_rng(1)
    true, noise = rng.normal(size=2000), rng.normal(size=2000)

    values = [
        interval_disclosure(true, true + size * noise, width=0.05, scale=scale).value
        for size in (0.0, 0.1, 0.2, 0.4)
    ]

    assert values[0] == 1.0
    assert all(before > after + 0.05 for before, after in itertools.pairwise(values))


@pytest.mark.parametrize("scale", SCALES)
def test_a_permuted_column_discloses_what_the_control_does(scale):
    rng = np.random.default_rng(2)
    true = rng.lognormal(size=3000)

    risk = interval_disclosure(true, rng.permutation(true), width=0.05, scale=scale)

    assert risk.value == pytest.approx(risk.control, abs=0.03)
    assert risk.baseline is not None
    assert risk.value < risk.baseline


def test_suppressed_cells_disclose_nothing():
    true = [1.0, 2.0, 3.0, 4.0]

    risk = interval_disclosure(true, [np.nan] * 4, width=0.5, scale="rank")

    assert (risk.value, risk.control, risk.baseline) == (0.0, 0.0, 0.0)


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(DataError, match="no original number"):
        interval_disclosure([np.nan], [1.0], width=0.1, scale="rank")
    with pytest.raises(ParameterError, match="equally long"):
        interval_disclosure([1.0], [1.0, 2.0], width=0.1, scale="rank")
    with pytest.raises(ParameterError, match="width"):
        interval_disclosure([1.0], [1.0], width=0.0, scale="rank")
    with pytest.raises(ParameterError, match="scale"):
        interval_disclosure([1.0], [1.0], width=0.1, scale="sd")  # type: ignore[arg-type]
