"""The released page has what everybody can compute; the owner's page has the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.crosstabs._tables import cells_of

from halfmask.crosstabs._dimension import flat_dimension
from halfmask.crosstabs._pattern import Audit, HiddenPattern, PublishedCells, Sensitivity
from halfmask.crosstabs._protections import Suppression, TableRounding
from halfmask.crosstabs._released import ReleasedTable
from halfmask.crosstabs._report import interval_text, owner_blocks, page_blocks
from halfmask.release import html_page

#: Values of hidden cells, of which nothing else may be seen.
SECRET = (777.125, 888.25)


def a_table(n_rows=2, n_columns=2):
    """Return a table with two cells hidden in its first column, one of them sensitive."""
    values = np.full((n_rows, n_columns), 10.0)
    values[:2, 0] = SECRET
    dimensions = (
        flat_dimension("region", [f"r{at}" for at in range(n_rows)]),
        flat_dimension("sector", [f"s{at}" for at in range(n_columns)]),
    )
    cells = cells_of(values.tolist(), dimensions=dimensions)
    hidden = np.isin(cells.value, SECRET)
    reasons = tuple(("p-percent",) if value == SECRET[0] else () for value in cells.value)
    room = np.where(hidden, 50.0, 0.0)
    published = PublishedCells(
        cells=cells,
        value=np.where(hidden, np.nan, cells.value),
        hidden=hidden,
        sensitivity=Sensitivity(reasons=reasons, below=room, above=room),
        pattern=HiddenPattern(hidden=hidden, search="linear", cost=4321.5, bound=3889.35),
        audit=Audit(
            lower=np.where(hidden, 0.0, cells.value),
            upper=np.where(hidden, 1665.5, cells.value),
            unmet=np.empty(0, dtype=np.int64),
        ),
    )
    return ReleasedTable(
        name="t", dimensions=("region", "sector"), negative=False, derived=(), published=published
    )


def test_the_released_page_has_intervals_and_no_hidden_value():
    page = html_page("t", list(page_blocks([a_table()], Suppression())))

    assert page.count("x (0 to 1665.5)") == 2
    for secret in ("777", "888", "4321", "4,321", "p-percent", "sensitive cells"):
        assert secret not in page


def test_the_owners_page_says_what_is_sensitive_and_why():
    page = html_page("", list(owner_blocks([a_table()], Suppression())))

    assert "777.125" in page
    assert "p-percent" in page
    assert "727.125 to 827.125" in page
    assert "protects others" in page
    assert "at most 10.0% of the cost" in page


def test_the_owners_page_counts_other_cells_and_totals_that_were_added():
    table = a_table()
    for more, text in (
        ({"unlinked": 1234}, "with another value: 1,234;"),
        ({"cells": replace(table.published.cells, added=12)}, "the ready tables lack: 12;"),
    ):
        other = replace(table, published=replace(table.published, **more))
        for protection in (Suppression(), TableRounding(base=5.0)):
            assert text in html_page("", list(owner_blocks([other], protection)))
            assert text not in html_page("", list(owner_blocks([table], protection)))
            assert text not in html_page("t", list(page_blocks([other], protection)))


def test_large_tables_are_cut_and_the_page_says_so():
    page = html_page("t", list(page_blocks([a_table(70, 30)], Suppression())))

    assert "the first 50 of 71 rows and the first 20 of 31 columns" in page
    assert "r60" not in page
    assert "s25" not in page


def test_distances_of_rounded_cells_stand_on_the_owners_page_alone():
    table = a_table()
    value = np.round(table.published.cells.value / 5) * 5
    published = PublishedCells(
        cells=table.published.cells, value=value, hidden=np.zeros(len(value), dtype=bool)
    )
    rounded = ReleasedTable(
        name="t", dimensions=table.dimensions, negative=False, derived=(), published=published
    )
    settings = TableRounding(base=5.0)
    page = html_page("t", list(page_blocks([rounded], settings)))

    assert "A published sum of turnover of 50 can stand for each true one between 45 and" in page
    assert "largest distance" in html_page("", list(owner_blocks([rounded], settings)))
    assert "distance" not in page


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (TableRounding(base=5.0), "count of 50 can stand for each true one from 46 to 54."),
        # Of a base with decimals: 23 and 27 can become 25.
        (TableRounding(base=2.5, way="random"), "count of 25 can stand for each true one between"),
    ],
)
def test_the_page_says_what_a_rounded_count_can_stand_for(settings, said):
    table = a_table()
    counts = replace(table.published.cells, measure=None, value=np.ones(table.published.cells.n))
    counted = replace(table, published=replace(table.published, cells=counts))

    assert said in html_page("t", list(page_blocks([counted], settings)))


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ((-np.inf, np.inf), "any"),
        ((-np.inf, 3.0), "3 or less"),
        ((1.23456789, 2.0), "1.23456 to 2"),
        ((-1234567.5, 1234567.5), "-1234570 to 1234570"),
        ((2.9999999999, 6.0000000001), "3 to 6"),
        ((1e-13, 2004.0), "0 to 2004"),
        ((3.0, 6.0), "3 to 6"),
        ((0.0, np.inf), "0 or more"),
    ],
)
def test_intervals_in_words(bounds, text):
    assert interval_text(*bounds) == text
