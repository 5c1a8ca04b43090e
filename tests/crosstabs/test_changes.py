"""What protection hides and changes in a table, by small tables that are counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from crosstabs._tables import at, cells_of  # type: ignore[import-not-found] # beside
from halfmask.crosstabs import crosstab_change
from halfmask.crosstabs._pattern import PublishedCells


def published(cells, *, hidden=(), value=None):
    """Return cells with some hidden, or others than they are."""
    is_hidden = np.zeros(cells.n, dtype=bool)
    is_hidden[list(hidden)] = True
    shown = cells.value if value is None else value
    return PublishedCells(cells=cells, value=np.where(is_hidden, np.nan, shown), hidden=is_hidden)


def test_cells_and_value_hidden():
    cells = cells_of([[4, 0], [3, 1]])  # totals 4, 4; 7, 1; 8
    change = crosstab_change(published(cells, hidden=[at(cells, "a2", "b1"), at(cells, "a1")]))
    assert change.cells == 8
    assert change.hidden_cells == 2 / 8
    assert change.hidden_value == pytest.approx(7 / 32)
    assert change.mean_absolute == change.largest == change.mean_relative == 0
    assert change.hellinger == 0
    assert change.sentences() == ["25.0% of 8 cells are hidden, with 21.9% of the value."]


def test_distances_of_changed_cells():
    cells = cells_of([[4, 0], [3, 1]])
    inner = np.array([at(cells, a, b) for a in ("a1", "a2") for b in ("b1", "b2")])
    value = cells.value.copy()
    value[inner] = [5, 0, 5, 0]
    change = crosstab_change(published(cells, value=value), inner)
    assert change.mean_absolute == 1.0
    assert change.largest == 2.0
    assert change.mean_relative == pytest.approx((1 / 4 + 2 / 3 + 1) / 3)
    roots = np.sqrt([4 / 8, 0, 3 / 8, 1 / 8]) - np.sqrt([0.5, 0, 0.5, 0])
    assert change.hellinger == pytest.approx(np.sqrt((roots**2).sum() / 2))
    assert "by 2 at most" in change.sentences()[0]


def test_what_cant_be_compared_is_none():
    cells = cells_of([[4.0, -2.0], [3.0, 1.0]])
    assert crosstab_change(published(cells)).hellinger is None
    nothing = crosstab_change(published(cells, hidden=range(cells.n)))
    assert nothing.hidden_cells == nothing.hidden_value == 1.0
    assert (nothing.mean_absolute, nothing.largest, nothing.hellinger) == (None, None, None)
    same = crosstab_change(published(cells_of([[0.0]])))
    assert same.sentences() == ["All cells are published with their true values."]
