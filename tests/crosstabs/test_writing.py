"""Tables as files: long and crossed, missing where hidden, the same file each time."""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
import pytest
from tests.crosstabs._tables import cells_of

from halfmask.crosstabs._dimension import flat_dimension
from halfmask.crosstabs._pattern import PublishedCells
from halfmask.crosstabs._policy import CrosstabOutput
from halfmask.crosstabs._released import ReleasedTable, shortest
from halfmask.crosstabs._writing import crossed_lines, file_stems, number_text, write_tables

ROWS = (("region", ["north", "=south"]), ("sector", ["NA", "a b", "c.d"]))


def table_of(values, hidden=(), *, measure="turnover", rows=ROWS, name="t", **more):
    """Return a table of inner values with the cells of some positions hidden."""
    dimensions = tuple(flat_dimension(each, codes) for each, codes in rows)
    cells = cells_of(
        values, dimensions=dimensions, measure=measure, tables={name: [r[0] for r in rows]}
    )
    is_hidden = np.zeros(cells.n, dtype=bool)
    is_hidden[list(hidden)] = True
    published = PublishedCells(
        cells=cells, value=np.where(is_hidden, np.nan, cells.value), hidden=is_hidden
    )
    given = {"negative": False, "derived": (), **more}
    return ReleasedTable(
        name=name, dimensions=tuple(r[0] for r in rows), published=published, **given
    )


def written(table, folder, form="csv"):
    """Write one table; return its files by their names."""
    (folder / "data").mkdir(parents=True)
    return {each.name: each for each in write_tables([table], CrosstabOutput(format=form), folder)}


def test_a_long_table_has_codes_values_and_states(tmp_path):
    table = table_of([[0.1, 2, 3], [0.2, 5, 6]], hidden=[5, 10])
    files = written(table, tmp_path)

    lines = (tmp_path / "data/t.csv").read_text().splitlines()
    assert lines[0] == "region,sector,value,state"
    assert "Total,NA,0.3,published" in lines
    assert sum(line.endswith(",,hidden") for line in lines) == 2
    assert "'=south,NA,0.2,published" in lines
    assert files["data/t.csv"].n_rows == len(lines) - 1 == 12
    raw = (tmp_path / "data/t.csv").read_bytes()
    assert files["data/t.csv"].sha256 == hashlib.sha256(raw).hexdigest()


def test_a_crossed_table_has_the_last_dimension_across(tmp_path):
    written(table_of([[1, 2, 3], [4, 5, 6.5]], hidden=[5]), tmp_path)

    lines = (tmp_path / "data/t-crossed.csv").read_text().splitlines()
    assert lines == [
        "region,Total,NA,a b,c.d",
        "Total,21.5,5,7,9.5",
        "north,6,x,2,3",
        "'=south,15.5,4,5,6.5",
    ]


def test_a_combination_without_a_cell_is_0_in_the_crossed_table():
    dimensions = tuple(flat_dimension(each, codes) for each, codes in ROWS)
    cells = cells_of([[1, 0, 3], [4, 5, 6]], dimensions=dimensions, zeros=False)
    published = PublishedCells(cells=cells, value=cells.value, hidden=np.zeros(cells.n, dtype=bool))
    table = ReleasedTable(
        name="t", dimensions=("region", "sector"), negative=False, derived=(), published=published
    )

    assert table.frame.height == 11
    assert ["north", "4", "1", "0", "3"] in crossed_lines(table)


def test_a_code_may_be_called_as_a_column(tmp_path):
    rows = (("a", ["value", "state"]), ("b", ["a", "b"]))
    written(table_of([[1, 2], [3, 4]], rows=rows), tmp_path)

    assert (tmp_path / "data/t-crossed.csv").read_text().splitlines()[0] == "a,Total,a,b"


def test_counts_are_whole_numbers(tmp_path):
    table = table_of([[1, 2, 3], [4, 5, 6]], hidden=[5], measure=None)

    assert table.frame["value"].dtype == pl.Int64
    written(table, tmp_path)
    assert "Total,Total,21,published" in (tmp_path / "data/t.csv").read_text()


@pytest.mark.parametrize("form", ["csv", "parquet", "excel"])
def test_the_same_table_is_the_same_file(form, tmp_path):
    table = table_of([[1, 2, 3], [4, 5, 6]], hidden=[5])

    assert written(table, tmp_path / "a", form) == written(table, tmp_path / "b", form)


def test_a_workbook_has_the_states_in_words(tmp_path):
    table = table_of([[1, 2, 3], [4, 5, 6]], hidden=[5])
    written(table, tmp_path, "excel")

    found = pl.read_excel(tmp_path / "data/t.xlsx")
    assert found.columns == ["region", "sector", "value", "state"]
    assert found.filter(pl.col("state") == "hidden")["value"].to_list() == [None]
    assert found["region"].to_list() == table.frame["region"].to_list()
    assert found["value"].sum() == table.frame["value"].sum()


def test_names_become_names_of_files_that_every_system_takes():
    names = ["turnover", "a/b c", "a_b c", "Turnover", "..", "con", "été", "turnover-crossed"]
    tables = [table_of([[1, 2, 3], [4, 5, 6]], name=name) for name in names]
    stems = list(file_stems(tables).values())

    assert stems[:3] == ["turnover", "a_b_c", "a_b_c-2"]
    assert len({stem.lower() for stem in stems}) == len(stems)
    assert all(stem.replace("-", "").replace("_", "").isalnum() for stem in stems)


def test_a_mean_is_hidden_where_the_sum_or_the_count_is():
    counts = table_of([[1, 2, 3], [4, 0, 2]], hidden=[6], measure=None)
    table = table_of([[1, 2, 4], [4, 0, 6]], hidden=[5], derived=("mean",), counts=counts)

    means = table.frame["mean"].to_list()
    assert means[5] is None  # the sum is hidden
    assert means[6] is None  # the count is
    assert means[7] == 1.33333333333333
    assert means[10] is None  # nobody is there
    assert means[0] == 17 / 12 or means[0] == 1.41666666666667


def test_a_share_is_hidden_where_the_total_is():
    shown = table_of([[1, 2, 3], [4, 5, 5]], hidden=[5], derived=("share",))
    hidden = table_of([[1, 2, 3], [4, 5, 5]], hidden=[0], derived=("share",))

    assert shown.frame["share"].to_list()[5:7] == [None, 0.1]
    assert hidden.frame["share"].null_count() == 12


def test_numbers_are_written_without_exponents_and_noise():
    assert [number_text(each) for each in (12.0, 0.3, None)] == ["12", "0.3", ""]
    assert shortest(np.array([0.1 + 0.2, 12.0])).tolist() == [0.3, 12.0]
    assert shortest(np.array([2.0**53 - 1])).tolist() == [9007199254740991.0]
