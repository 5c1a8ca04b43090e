"""Test tables that are ready: totals, links, and what isn't additive."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask import DataError, SchemaError
from halfmask.crosstabs import TablesPolicy
from halfmask.crosstabs._opening import open_cells

TREE = "region,town\nnorth,oslo\nnorth,bodø\nsouth,NA\n"


@pytest.fixture(name="folder")
def folder_of_tables(tmp_path):
    """Return a folder of two linked tables, whose inner cells are written, and their tree."""
    (tmp_path / "town.csv").write_text(TREE)
    (tmp_path / "one.csv").write_text(
        "town,sex,sum,n,most\noslo,f,1.25,2,1\noslo,m,2.5,2,2\nbodø,f,3.12,1,3.12\nNA,m,4,4,2\n"
    )
    (tmp_path / "two.csv").write_text(
        "town,age,sum,n,most\noslo,old,3.75,4,2\nbodø,young,3.12,1,3.12\nNA,young,4,4,2\n"
        "Total,Total,10.87,9,3.12\n"
    )
    return tmp_path


def policy_in(folder, more=""):
    path = folder / "policy.toml"
    path.write_text(
        'halfmask-tables = 1\n[ready]\nvalue = "sum"\ncount = "n"\nlargest = ["most"]\n'
        '[dimensions.town]\nhierarchy = "town.csv"\n' + more
    )
    policy = TablesPolicy.load(path)
    path.unlink()
    return policy


def cell(cells, **codes):
    wanted = [each.position[codes.get(each.name, each.total)] for each in cells.dimensions]
    return int(np.flatnonzero((cells.codes == wanted).all(axis=1))[0])


def test_files_of_a_folder_are_linked_and_totals_are_added(folder):
    (cells,) = open_cells(folder, policy_in(folder))
    assert set(cells.tables) == {"one", "two"}
    north = cell(cells, town="north")
    assert cells.value[north] == 6.87
    assert cells.contributors is not None
    assert cells.contributors.count[north] == 5
    assert cells.contributors.largest[north, 0] == 3.12
    assert np.isnan(cells.contributors.largest[north, 1])
    assert cells.value[cell(cells, town="south", sex="m")] == 4
    assert cells.measure == "sum"
    assert cells.rounding == 0.005
    assert cells.added == cells.n - 4 - 4
    np.testing.assert_allclose(cells.equations @ cells.value, 0, atol=1e-12)


def broken(folder, name, old, new):
    path = folder / f"{name}.csv"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(DataError) as caught:
        open_cells(folder, policy_in(folder))
    return str(caught.value)


def test_a_total_that_is_no_sum_is_named_by_its_row_and_share(folder):
    text = broken(folder, "two", "Total,Total,10.87", "Total,Total,21.74")
    assert "Table 'two' isn't additive" in text
    assert "total in row 4" in text
    assert "50.00%" in text
    assert "21.74" not in text


def test_rounded_sums_hold_within_half_a_unit(folder):
    text = folder / "two.csv"
    text.write_text(text.read_text().replace("10.87", "10.88"))
    (cells,) = open_cells(folder / "two.csv", policy_in(folder))
    assert cells.rounding == 0.005
    assert "isn't additive" in broken(folder, "two", "10.88", "10.92")


def test_linked_tables_that_disagree_are_named_with_their_rows(folder):
    text = broken(folder, "one", "NA,m,4,4,2", "NA,m,5,4,2")
    assert "Tables 'two'" in text or "Tables 'one'" in text
    assert "disagree by" in text


def test_a_cell_twice_is_named_by_its_rows(folder):
    text = broken(folder, "one", "NA,m,4,4,2", "NA,m,4,4,2\noslo,m,2.5,2,2")
    assert "1 cells twice; one stands in its rows 2 and 5" in text


def test_missing_and_hidden_values_are_refused(folder):
    assert "1 missing cells" in broken(folder, "one", "NA,m,4,", "NA,m,,")
    path = folder / "one.csv"
    path.write_text(path.read_text().replace("NA,m,,", "NA,m,x,"))
    with pytest.raises(SchemaError, match="hidden already"):
        open_cells(folder, policy_in(folder))


def test_a_cell_without_contributors_that_is_not_0_is_refused(folder):
    told = broken(folder, "one", "bodø,f,3.12,1", "bodø,f,3.12,0")
    assert "'one' has 1 cells without contributors" in told


def test_a_list_of_frames_is_refused(folder):
    with pytest.raises(DataError, match="must be one of files"):
        open_cells([pl.DataFrame({"town": ["oslo"]})], policy_in(folder))


def test_counts_of_columns_of_levels():
    rows = pl.DataFrame(
        {"county": [1, 1, 2, None], "town": ["a", "b", "c", None], "people": [3, 4, 5, 12]}
    )
    policy = TablesPolicy.from_toml(
        'halfmask-tables = 1\nzeros = "suppressible"\n[ready]\nvalue = "people"\n'
        '[dimensions.town]\nlevels = ["county", "town"]\n'
        "[[tables]]\nname = 'towns'\ndimensions = ['town']\n"
    )
    (cells,) = open_cells(rows, policy)
    assert cells.measure is None
    assert cells.dimensions[0].codes == ("Total", "1", "a", "b", "2", "c")
    np.testing.assert_array_equal(cells.value, [12, 7, 3, 4, 5, 5])
    assert cells.contributors is not None
    np.testing.assert_array_equal(cells.contributors.count, cells.value)
    wrong = rows.with_columns(people=pl.Series([3, 4, 5, 13]))
    with pytest.raises(DataError, match="isn't additive"):
        open_cells(wrong, policy)


@given(
    st.lists(st.integers(0, 50), min_size=6, max_size=6),
    st.sets(st.integers(0, 11), max_size=6),
    st.sampled_from(["published", "suppressible"]),
)
def test_a_table_without_some_lines_is_completed(values, dropped, zeros):
    inner = np.array(values).reshape(2, 3)
    full = np.zeros((3, 4), dtype=int)
    full[1:, 1:] = inner
    full[0] = full.sum(axis=0)
    full[:, 0] = full.sum(axis=1)
    names = [["Total", "x", "y"], ["Total", "p", "q", "r"]]
    lines = [
        (names[0][i], names[1][j], full[i, j])
        for i in range(3)
        for j in range(4)
        if not ((i == 0 or j == 0) and 4 * i + j in dropped)
    ]
    frame = pl.DataFrame(lines, schema=["a", "b", "v"], orient="row")
    policy = TablesPolicy.from_toml(
        f'halfmask-tables = 1\nzeros = "{zeros}"\n[ready]\nvalue = "v"\n'
    )
    (cells,) = open_cells(frame, policy)
    assert cells.n == 12
    assert cells.added == 12 - len(lines)
    for i in range(3):
        for j in range(4):
            assert cells.value[cell(cells, a=names[0][i], b=names[1][j])] == full[i, j]


def test_a_table_without_dimensions_has_one_cell():
    policy = TablesPolicy.from_toml(
        'halfmask-tables = 1\nzeros = "suppressible"\n[ready]\nvalue = "v"\nlargest = ["most"]\n'
        '[[tables]]\nname = "all"\ndimensions = []\n'
    )
    (cells,) = open_cells(pl.DataFrame({"v": [7.5], "most": [5.0]}), policy)
    assert cells.codes.shape == (1, 0)
    assert cells.codes.dtype == np.int32
    assert cells.value.tolist() == [7.5]
    assert cells.contributors is not None
    assert cells.contributors.largest[0, 0] == 5.0


def test_the_largest_of_a_total_are_those_of_its_parts_by_size():
    rows = pl.DataFrame({"a": ["x", "y"], "v": [-5.0, 4.0], "m1": [-9.0, 7.0], "m2": [4.0, -3.0]})
    policy = TablesPolicy.from_toml(
        'halfmask-tables = 1\n[ready]\nvalue = "v"\nlargest = ["m1", "m2"]\n'
        '[[tables]]\nname = "t"\ndimensions = ["a"]\nnegative = true\n'
    )
    (cells,) = open_cells(rows, policy)
    assert cells.contributors is not None
    largest = cells.contributors.largest[cell(cells)]
    assert largest[:2].tolist() == [-9.0, 7.0]
    assert np.isnan(largest[2:]).all()


def test_four_linked_tables_of_french_firms(shared_data):
    french = shared_data / "tables"
    policy = TablesPolicy.from_toml(
        "halfmask-tables = 1\n"
        '[ready]\nvalue = "TOT"\ncount = "N_OBS"\nlargest = ["MAX"]\n'
        f'[dimensions.ACTIVITY]\nhierarchy = "{french}/activity_corr_table.csv"\n'
        f'[dimensions.NUTS]\nhierarchy = "{french}/nuts23_fr_corr_table.csv"\n'
    )
    files = [
        french / f"turnover_{each}.csv" for each in ("act_cj", "act_size", "nuts_cj", "nuts_size")
    ]
    (cells,) = open_cells(files, policy)
    assert sum(map(len, cells.tables.values())) == 1732
    assert cells.n == 1493
    assert cells.added == 0


def test_a_total_of_another_name_is_no_part():
    """With "ALL" as a part, the total of sexes would be twice as much."""
    rows = [
        ("x", "f", 3),
        ("x", "m", 4),
        ("x", "d", 5),
        ("y", "f", 1),
        ("y", "m", 9),
        ("y", "d", 2),
    ]
    names = ["region", "sex", "people"]
    parts = pl.DataFrame(rows, schema=names, orient="row")
    frame = pl.DataFrame([*rows, ("x", "ALL", 12), ("y", "ALL", 12)], schema=names, orient="row")
    head = 'halfmask-tables = 1\n[ready]\nvalue = "people"\n'

    with pytest.raises(DataError, match="'sex' is the sum of all others in each of 2"):
        open_cells(frame, TablesPolicy.from_toml(head))
    named = TablesPolicy.from_toml(head + '[dimensions.sex]\ntotal = "ALL"\n')
    for table, policy in ((frame, named), (parts, TablesPolicy.from_toml(head))):
        (cells,) = open_cells(table, policy)
        assert cells.value.max() == 24
