"""Test tabulation against a count in plain Python."""

from __future__ import annotations

from datetime import date
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask import ColumnNotFoundError, DataError, HierarchyError, PolicyError, SchemaError
from halfmask.crosstabs import TablesPolicy
from halfmask.crosstabs._cells import LARGEST
from halfmask.crosstabs._opening import open_cells
from halfmask.engines import LocalEngine

TREES = """
[dimensions.place]
levels = ["region", "place"]
total = "all places"
[dimensions.sector]
codes = ["NA", "b.c", "d é"]
[dimensions.sector.sums]
goods = ["NA", "b.c"]
"odd ones" = ["b.c", "d é"]
"""
PLACES = {"n": ["n1", "n2"], "s": ["s", "s"], "w": ["w1", "w1"]}


def policy_of(tables, *, more="", trees=TREES, **sections):
    head = "".join(f"{key} = {value!r}\n" for key, value in sections.items())
    written = "".join(
        f"[[tables]]\nname = {name!r}\ndimensions = {list(dimensions)!r}\n"
        + ("" if value is None else f"value = {value!r}\nnegative = true\n")
        for name, dimensions, value in tables
    )
    return TablesPolicy.from_toml(f"halfmask-tables = 1\n{head}{written}{trees}{more}")


def rows_of(drawn):
    """Return a frame of drawn rows: (region, place, sector, size, owner, value, weight)."""
    columns = ("region", "place", "sector", "size", "owner", "value", "weight")
    return pl.DataFrame(
        [(region, PLACES[region][second], *rest) for region, second, *rest in drawn],
        schema=dict(
            zip(
                columns,
                (pl.String, pl.String, pl.String, pl.Int64, pl.String, pl.Int64, pl.Int64),
                strict=True,
            )
        ),
        orient="row",
    )


SECTORS = ("NA", "b.c", "d é")
ROWS = st.lists(
    st.tuples(
        st.sampled_from(sorted(PLACES)),
        st.integers(0, 1),
        st.sampled_from(SECTORS),
        st.integers(1, 3),
        st.sampled_from("uvwxyz"),
        st.integers(-3, 9),
        st.integers(1, 3),
    ),
    min_size=1,
    max_size=30,
)


def covers(name, code, row):
    """Say whether a code covers a row, in plain words."""
    if name == "place":
        return code in ("all places", row["region"], row["place"])
    if name == "sector":
        sums = {"goods": ("NA", "b.c"), "odd ones": ("b.c", "d é"), "Total": SECTORS}
        return row["sector"] in sums.get(code, (code,))
    return code in ("Total", str(row["size"]))


def judge(cells, frame, *, owner, weight):
    """Compare every cell with a count of the rows that its codes cover."""
    rows = frame.with_row_index("number").to_dicts()
    there = set()
    for cell in range(cells.n):
        codes = [
            each.codes[at] for each, at in zip(cells.dimensions, cells.codes[cell], strict=True)
        ]
        there.add(tuple(codes))
        inside = [
            row
            for row in rows
            if all(
                covers(each.name, code, row)
                for each, code in zip(cells.dimensions, codes, strict=True)
            )
        ]
        own: dict[object, tuple[float, float]] = {}
        for row in inside:
            who = row["owner"] if owner else row["number"]
            w = row["weight"] if weight else 1
            x = 1 if cells.measure is None else row["value"]
            before = own.get(who, (0, 0))
            own[who] = (before[0] + x, before[1] + w * x)
        assert cells.value[cell] == sum(each[1] for each in own.values())
        known = cells.contributors
        assert known.rows[cell] == len(inside)
        assert known.count[cell] == len(own)
        assert known.absolute[cell] == sum(abs(each[1]) for each in own.values())
        sizes = sorted((abs(x) for x, _ in own.values()), reverse=True)[:LARGEST]
        assert [abs(x) for x in known.largest[cell][: len(sizes)]] == sizes
        assert (known.owners[cell] >= 0).sum() == len(sizes)
        for at in range(len(sizes)):
            w = 1.0 if known.weights is None else known.weights[cell, at]
            pairs = [(x, y) for x, y in own.values() if x == known.largest[cell, at]]
            if known.largest[cell, at]:
                assert any(np.isclose(x * w, y) for x, y in pairs)
    return there


@given(ROWS, st.booleans(), st.booleans(), st.sampled_from(["published", "suppressible"]))
def test_every_cell_is_what_a_count_by_hand_gives(drawn, owner, weight, zeros):
    frame = rows_of(drawn)
    sections = {"zeros": zeros}
    if owner:
        sections["owner"] = "owner"
    if weight:
        sections |= {"weight": "weight", "weights": "sample"}
    policy = policy_of(
        [
            ("one", ("place", "sector"), "value"),
            ("two", ("sector", "size"), "value"),
            ("counts", ("size", "place"), None),
            ("few", ("size",), None),
        ],
        **sections,
    )
    sums, counts = open_cells(frame, policy)
    assert (sums.measure, counts.measure) == ("value", None)
    for cells in (sums, counts):
        there = judge(cells, frame, owner=owner, weight=weight)
        assert len(there) == cells.n
        np.testing.assert_array_equal(cells.equations @ cells.value, 0)
        codes = {each.name: each.codes for each in cells.dimensions}
        totals = [each.total for each in cells.dimensions]
        if zeros == "suppressible":
            wanted = {
                tuple(
                    dict(zip(names, some, strict=True)).get(each.name, each.total)
                    for each in cells.dimensions
                )
                for names in (
                    [("place", "sector"), ("sector", "size")]
                    if cells is sums
                    else [("size", "place")]
                )
                for some in product(*(codes[name] for name in names))
            }
            assert there == wanted
        for table in cells.tables.values():
            assert len(set(table.tolist())) == len(table)
        assert totals in [list(each) for each in there]


@given(ROWS, st.integers(1, 7), st.booleans())
def test_any_split_into_batches_gives_the_same(drawn, n_rows, owner):
    frame = rows_of(drawn)
    policy = policy_of(
        [("one", ("place", "sector"), "value"), ("two", ("size",), "value")],
        **({"owner": "owner"} if owner else {}),
    )
    (whole,) = open_cells(frame, policy)
    (split,) = open_cells(frame, policy, engine=InBatches(n_rows))
    np.testing.assert_array_equal(whole.codes, split.codes)
    np.testing.assert_array_equal(whole.value, split.value)
    for name in ("rows", "count", "largest", "owners", "absolute"):
        np.testing.assert_array_equal(
            getattr(whole.contributors, name), getattr(split.contributors, name)
        )


class InBatches(LocalEngine):
    """An engine that cuts the batches that it is given."""

    n_rows: int

    def __init__(self, n_rows):
        object.__setattr__(self, "n_rows", n_rows)
        object.__setattr__(self, "workers", 1)

    def fold(self, batches, summarize, merge, /):
        whole = pl.concat([batch[1] for batch in batches])
        cut = enumerate(whole.iter_slices(self.n_rows))
        return super().fold(cut, summarize, merge)


def error_of(frame, policy, kind):
    with pytest.raises(kind) as caught:
        open_cells(frame, policy)
    return str(caught.value)


PLAIN = pl.DataFrame({"a": ["x", "y", None], "v": [1.0, -2.0, None], "o": ["k", None, "k"]})


def test_missing_and_negative_numbers_are_refused_with_their_count():
    rows = PLAIN.with_columns(a=pl.Series(["x", "y", "y"]))
    sums = [("t", ("a",), "v")]
    assert "1 missing cells" in error_of(rows, policy_of(sums, trees=""), DataError)
    unsigned = TablesPolicy.from_toml(
        'halfmask-tables = 1\n[[tables]]\nname = "t"\ndimensions = ["a"]\nvalue = "v"\n'
    )
    assert "1 negative numbers" in error_of(rows.head(2), unsigned, DataError)
    assert "Column 'o' has 1 missing" in error_of(
        rows.head(2), policy_of(sums, trees="", owner="o"), DataError
    )


def test_a_missing_code_is_refused_or_a_code_of_its_own():
    assert "Column 'a' has 1 missing" in error_of(
        PLAIN, policy_of([("t", ("a",), None)], trees=""), DataError
    )
    (cells,) = open_cells(
        PLAIN, policy_of([("t", ("a",), None)], trees='[dimensions.a]\nmissing = "unknown"\n')
    )
    assert cells.dimensions[0].codes == ("Total", "unknown", "x", "y")
    np.testing.assert_array_equal(cells.value, [3, 1, 1, 1])


def test_codes_that_are_totals_and_unknown_codes_are_refused():
    rows = pl.DataFrame({"a": ["x", "Total"], "v": [1, 2]})
    assert "that of the total" in error_of(
        rows, policy_of([("t", ("a",), None)], trees=""), SchemaError
    )
    trees = '[dimensions.a]\ncodes = ["x"]\n'
    rows = rows.with_columns(a=pl.Series(["x", "secret"]))
    text = error_of(rows, policy_of([("t", ("a",), None)], trees=trees), SchemaError)
    assert "1 codes that its dimension lacks" in text
    assert "secret" not in text
    trees = '[dimensions.a.sums]\nsecret = ["x"]\n'
    text = error_of(rows, policy_of([("t", ("a",), None)], trees=trees), SchemaError)
    assert "sums of others" in text


def test_a_column_that_is_missing_or_no_number_is_refused():
    error_of(PLAIN, policy_of([("t", ("b",), None)], trees=""), ColumnNotFoundError)
    assert "has the type String" in error_of(
        PLAIN, policy_of([("t", ("a",), "o")], trees=""), SchemaError
    )


def test_ten_dimensions_are_tabulated_or_their_size_is_said():
    names = [f"d{at}" for at in range(10)]
    rng = np.random.default_rng(0)
    rows = pl.DataFrame({name: rng.integers(0, 2, 40) for name in names})
    (cells,) = open_cells(rows.head(4), policy_of([("t", names, None)], trees=""))
    assert cells.value[0] == 4
    np.testing.assert_array_equal(cells.equations @ cells.value, 0)
    wide = rows.with_columns(pl.int_range(40).alias(name) for name in names)
    text = error_of(
        wide, policy_of([("t", names, None)], trees="", zeros="suppressible"), PolicyError
    )
    assert f"{41**10:,}" in text


def test_a_table_without_dimensions_is_one_cell():
    (cells,) = open_cells(PLAIN, policy_of([("all", (), None)], trees=""))
    np.testing.assert_array_equal(cells.value, [3])
    assert cells.equations.shape == (0, 1)


def test_codes_in_csv_are_read_as_they_are_written(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,v\n1.10,1\n1.10,2\nNA,3\n2.0,4\n")
    (cells,) = open_cells(path, policy_of([("t", ("a",), "v")], trees=""))
    assert set(cells.dimensions[0].codes) == {"Total", "1.10", "2.0", "NA"}
    (from_parquet,) = open_cells(
        _parquet(tmp_path, path), policy_of([("t", ("a",), "v")], trees="")
    )
    np.testing.assert_array_equal(from_parquet.value, cells.value)


def _parquet(folder, path):
    pl.read_csv(path, schema_overrides={"a": pl.String}).write_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def test_record_keys_add_up_modulo_one():
    rows = pl.DataFrame({"a": ["x", "x", "y"], "id": [0.9, 0.3, 0.6]})
    (cells,) = open_cells(
        rows,
        policy_of([("t", ("a",), None)], trees=""),
        record="id",
        record_key=lambda series: series,
    )
    assert cells.record_keys is not None
    np.testing.assert_allclose(cells.record_keys, [0.8, 0.2, 0.6], atol=1e-9)


def test_owners_of_one_hash_are_told_apart(monkeypatch):
    monkeypatch.setattr(pl.Series, "hash", lambda self: pl.Series([5] * len(self), dtype=pl.UInt64))
    rows = pl.DataFrame({"a": ["x", "x", "y", "y"], "o": ["k", "l", "k", "k"], "v": [1, 2, 3, 4]})
    (cells,) = open_cells(rows, policy_of([("t", ("a",), "v")], trees="", owner="o"))
    assert cells.contributors is not None
    np.testing.assert_array_equal(cells.contributors.count, [2, 2, 1])
    np.testing.assert_array_equal(cells.contributors.largest[0, :2], [8, 2])
    np.testing.assert_array_equal(cells.contributors.owners[0, :2], [0, 1])


def test_many_batches_with_owners_are_shortened():
    rng = np.random.default_rng(1)
    rows = pl.DataFrame(
        {"a": rng.integers(0, 3, 60), "o": rng.integers(0, 9, 60), "v": rng.integers(0, 9, 60)}
    )
    policy = policy_of([("t", ("a",), "v")], trees="", owner="o")
    (whole,) = open_cells(rows, policy)
    (split,) = open_cells(rows, policy, engine=InBatches(3))
    for name in ("rows", "count", "largest", "owners", "absolute"):
        np.testing.assert_array_equal(
            getattr(whole.contributors, name), getattr(split.contributors, name)
        )


def test_numbers_and_codes_that_say_nothing_exact_are_refused():
    rows = pl.DataFrame({"a": ["x", ""], "v": [2**53 + 1, 1]})
    assert "1 codes that are an empty text" in error_of(
        rows, policy_of([("t", ("a",), None)], trees=""), DataError
    )
    rows = rows.with_columns(a=pl.Series(["x", "y"]))
    assert "1 whole numbers of 2^53" in error_of(
        rows, policy_of([("t", ("a",), "v")], trees=""), DataError
    )
    both = '[dimensions.a]\nlevels = ["a"]\ncodes = ["x"]\n'
    assert "levels and codes" in error_of(
        rows, policy_of([("t", ("a",), None)], trees=both), PolicyError
    )


def test_codes_are_in_the_order_of_their_type_or_in_natural_order():
    rows = pl.DataFrame(
        {
            "age": ["10-19", "5-9", "<5"],
            "size": pl.Series(["big", "small", "big"]).cast(pl.Enum(["small", "medium", "big"])),
            "day": [date(2020, 1, 2), date(2020, 1, 1), date(2020, 1, 2)],
            "land": ["z", "a", "a"],
        }
    )
    trees = '[dimensions.when]\nlevels = ["land", "day"]\n'
    with pytest.raises(HierarchyError, match="lie under two others"):
        open_cells(rows, policy_of([("t", ("when",), None)], trees=trees))
    trees = '[dimensions.when]\nlevels = ["land", "age"]\n'
    (cells,) = open_cells(rows, policy_of([("t", ("when", "size", "day"), None)], trees=trees))
    assert [each.codes for each in cells.dimensions] == [
        ("Total", "a", "<5", "5-9", "z", "10-19"),
        ("Total", "small", "big"),
        ("Total", "2020-01-01", "2020-01-02"),
    ]
