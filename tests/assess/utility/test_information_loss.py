"""Loss by hand, and what must hold of any table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ParameterError
from halfmask.assess.utility import CellExtents, ColumnExtents, Members, information_loss


def column(low, high, domain, *, categorical, members=None):
    return ColumnExtents(
        low=np.array(low, dtype=float),
        high=np.array(high, dtype=float),
        domain_low=domain[0],
        domain_high=domain[1],
        categorical=categorical,
        members=members,
    )


def test_two_columns_by_hand():
    """age of 0 to 100, 3 rows of [10, 30] and 1 of [50, 50]; a city of 5, {2 of them} and {1}."""
    cells = CellExtents(
        columns={
            "age": column([10, 50], [30, 50], (0, 100), categorical=False),
            "city": column([0, 4], [1, 4], (0, 4), categorical=True),
        },
        sizes=np.array([3, 1]),
    )

    measured = information_loss(cells, suppressed=1)

    # age: (3 * 0.2 + 1 * 0 + 1 suppressed * 1) / 5
    assert measured.columns["age"].ncp == pytest.approx(1.6 / 5)
    assert measured.columns["age"].loss == pytest.approx(1.6 / 5)
    # city: NCP says 2 of 5 values, loss says (2 - 1) of (5 - 1)
    assert measured.columns["city"].ncp == pytest.approx((3 * 2 / 5 + 1) / 5)
    assert measured.columns["city"].loss == pytest.approx((3 * 1 / 4 + 1) / 5)
    assert measured.ncp == pytest.approx((1.6 / 5 + 2.2 / 5) / 2)
    assert measured.loss == pytest.approx((1.6 / 5 + 1.75 / 5) / 2)


def test_the_loss_is_the_rescaled_mean_share_of_leaves():
    """ARX's granularity: mean of m / M, read between its least 1 / M and its most 1."""
    low, high, sizes = [0, 2, 3], [1, 2, 6], np.array([4, 2, 9])
    cells = CellExtents(columns={"c": column(low, high, (0, 6), categorical=True)}, sizes=sizes)
    shares = [(b - a + 1) / 7 for a, b in zip(low, high, strict=True)]
    mean = float(np.average(shares, weights=sizes))

    assert information_loss(cells, suppressed=0).loss == pytest.approx((mean - 1 / 7) / (1 - 1 / 7))


def test_a_set_with_gaps_counts_its_members():
    gaps = Members(np.array([0, 2]), np.array([0, 4]))
    cells = CellExtents(
        columns={"c": column([0], [4], (0, 4), categorical=True, members=gaps)},
        sizes=np.array([7]),
    )

    assert information_loss(cells, suppressed=0).loss == pytest.approx(1 / 4)


@pytest.mark.parametrize("categorical", [True, False])
def test_missing_cells_and_constant_columns_lose_nothing(categorical):
    nan = float("nan")
    missing = column([nan, 1], [nan, 1], (0, 3), categorical=categorical)
    constant = column([2, 2], [2, 2], (2, 2), categorical=categorical)
    cells = CellExtents(columns={"a": missing, "b": constant}, sizes=np.array([1, 1]))

    measured = information_loss(cells, suppressed=0)

    assert (measured.ncp, measured.loss) == (0.0, 0.0)


def test_a_table_without_rows_or_columns_loses_nothing():
    assert information_loss(CellExtents(columns={}, sizes=np.zeros(0, int)), suppressed=0).loss == 0


def test_a_negative_suppression_is_refused():
    with pytest.raises(ParameterError, match="suppressed"):
        information_loss(CellExtents(columns={}, sizes=np.zeros(0, int)), suppressed=-1)


cells_of_rows = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(1, 9)), min_size=2, max_size=12
)


@pytest.mark.slow
@given(rows=cells_of_rows, categorical=st.booleans(), suppressed=st.integers(0, 50))
def test_loss_lies_between_nothing_and_everything_and_grows_by_merging(
    rows, categorical, suppressed
):
    low = np.array([min(a, b) for a, b, _ in rows], dtype=float)
    high = np.array([max(a, b) for a, b, _ in rows], dtype=float)
    sizes = np.array([size for *_, size in rows])
    merged_low = np.append(low[2:], low[:2].min())
    merged_high = np.append(high[2:], high[:2].max())
    merged_sizes = np.append(sizes[2:], sizes[:2].sum())

    def loss(low, high, sizes, gone):
        spans = column(low, high, (0, 20), categorical=categorical)
        return information_loss(CellExtents(columns={"x": spans}, sizes=sizes), suppressed=gone)

    before = loss(low, high, sizes, suppressed)
    merged = loss(merged_low, merged_high, merged_sizes, suppressed)
    identity = loss(low, low, sizes, 0)
    nothing_left = loss(low[:0], low[:0], sizes[:0], suppressed + 1)

    for measure in ("ncp", "loss"):
        value = getattr(before, measure)
        assert 0.0 <= value <= 1.0
        assert getattr(merged, measure) >= value - 1e-12
        assert getattr(identity, measure) == 0.0
        assert getattr(nothing_left, measure) == 1.0
    assert before.loss <= before.ncp + 1e-12


def test_sentences_say_the_number():
    cells = CellExtents(
        columns={"age": column([0], [25], (0, 100), categorical=False)}, sizes=np.array([1])
    )

    measured = information_loss(cells, suppressed=0)

    assert "0.250" in measured.ncp_sentence
    assert "25.0%" in measured.loss_sentence
    assert "25.0%" in measured.columns["age"].sentence
    assert measured.to_dict() == {
        "ncp": 0.25,
        "loss": 0.25,
        "columns": {"age": {"ncp": 0.25, "loss": 0.25}},
    }
