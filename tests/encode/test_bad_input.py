"""What can't be encoded, or would not come back, is refused by name and without its values."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from halfmask import ColumnNotFoundError, ColumnWarning, DataError, SchemaError
from halfmask.data import Column, Schema
from halfmask.encode import Codec, decode_file, encode_file

LEARNERS = ("trees", "distances", "linear", "networks")
MATRICES = LEARNERS[1:]


def _fit(learner, secret, table, **settings):
    return Codec(learner=learner, secret=secret, **settings).fit(table)


def _raised(use, kind=SchemaError):
    """Return the message of the error that ``use`` ends with."""
    with pytest.raises(kind) as caught:
        use()
    return str(caught.value)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_category_never_seen_is_an_error_or_has_a_code_of_its_own(secret, learner):
    rows = pl.DataFrame({"n": [1, 2, 3], "town": ["Bree", "Dale", "Bree"]})
    new = rows.with_columns(pl.Series("town", ["Bree", "Canary", "Kanarie"]))

    said = _raised(lambda: _fit(learner, secret, rows).encode(new))
    codec = _fit(learner, secret, rows, unseen="reserve", rows="kept")
    sent = codec.encode(new)

    assert "'town' has 2 cells whose values were not there" in said
    assert "anar" not in said
    token = next(it.token for it in codec.plan_.codes)
    assert sent[token][1] == sent[token][2] != sent[token][0]
    assert codec.decode(codec.encode(rows)).equals(rows)
    with pytest.warns(ColumnWarning, match="'town': 2 cells held categories that weren't there"):
        back = codec.decode(sent)
    assert back.equals(new.with_columns(pl.Series("town", ["Bree", None, None])))
    none = sent.with_columns(pl.Series(token, [0, 3, -1]))
    assert "2 codes that stand for no value" in _raised(lambda: codec.decode(none), DataError)


@pytest.mark.parametrize("missing", ["visible", "hidden"])
def test_a_row_with_a_reserved_category_has_the_matrix_of_no_group(secret, missing):
    """Its other cells come back, whatever matrix missing groups have."""
    rows = pl.DataFrame({"n": [1, 2, 3, 4], "m": [5, 6, 8, 9], "town": ["a", "b", None, "b"]})
    new = rows.with_columns(pl.Series("town", ["new", "b", None, "a"]))
    codec = _fit("linear", secret, rows, unseen="reserve", by="town", missing=missing)

    with pytest.warns(ColumnWarning, match="'town': 1 cells"):
        back = codec.decode(codec.encode(new))

    assert back.equals(new.with_columns(pl.Series("town", [None, "b", None, "a"])))


def test_reserved_categories_of_a_file_are_counted_over_its_batches(secret, tmp_path, monkeypatch):
    monkeypatch.setattr("halfmask.encode._files._MAX_ROWS", 64)
    rows = pl.DataFrame({"n": range(200), "town": ["a", "b"] * 100})
    new = rows.with_columns(town=pl.when(pl.col("n") % 50 == 7).then(pl.lit("c")).otherwise("town"))
    codec = _fit("trees", secret, rows, unseen="reserve")
    encode_file(codec, new, tmp_path / "sent.parquet")

    with pytest.warns(ColumnWarning, match="'town': 4 cells") as caught:
        decode_file(codec, tmp_path / "sent.parquet", tmp_path / "back.parquet")

    assert len(caught) == 1
    back = pl.read_parquet(tmp_path / "back.parquet")
    assert back["n"].equals(new["n"])
    assert back["town"].equals(new["town"].replace({"c": None}))


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("value", [-5, 500])
def test_a_number_beyond_the_range_is_an_error_where_asked(secret, learner, value):
    rows = pl.DataFrame({"age": [17, 30, 90], "other": [1.5, 2.5, 4.0]})
    new = rows.with_columns(pl.Series("age", [17, 30, value]))

    said = _raised(lambda: _fit(learner, secret, rows, out_of_range="error").encode(new))

    assert "'age' has 1 cells outside of its range" in said
    assert str(value) not in said


@pytest.mark.parametrize("learner", MATRICES)
def test_a_number_beyond_the_range_comes_back_from_a_matrix(secret, learner):
    rows = pl.DataFrame({"age": [17, 30, 90], "other": [1.5, 2.5, 4.0]})
    new = rows.with_columns(pl.Series("age", [-500, 30, 10**6]), other=pl.col("other") * -3)
    codec = _fit(learner, secret, rows)

    back = codec.decode(codec.encode(new))

    assert back["age"].equals(new["age"])
    assert back["other"].to_list() == pytest.approx(new["other"].to_list(), rel=1e-11)


def test_trees_place_what_they_never_saw_and_refuse_to_guess_it(secret):
    rows = pl.DataFrame({"x": [0.0, 1.0, 4.0]})
    codec = _fit("trees", secret, rows, rows="kept")
    new = pl.DataFrame({"x": [-9.0, 0.0, 0.4, 0.5, 0.6, 2.6, 4.0, 9.0]})

    sent = codec.encode(new).to_series().to_list()

    assert sent == [-1, 0, 1, 1, 3, 7, 8, 9]
    said = _raised(lambda: codec.decode(codec.encode(new)), DataError)
    assert "'x' has 6 codes of values that were not there at the fit" in said


def test_integers_between_others_are_placed_without_rounding(secret):
    large = 2**62
    rows = pl.DataFrame({"x": [-large, large, large + 2, large + 7]})
    codec = _fit("trees", secret, rows, rows="kept")
    new = pl.DataFrame({"x": [0, 1, large + 1, large + 4, large + 5]})

    assert codec.encode(new).to_series().to_list() == [-1, 1, 3, 7, 9]


@pytest.mark.parametrize("learner", LEARNERS)
def test_columns_may_come_in_another_order_and_may_not_change(table, secret, learner):
    codec = _fit(learner, secret, table)
    turned = table.select(table.columns[::-1])

    assert codec.decode(codec.encode(turned)).equals(codec.decode(codec.encode(table)))
    with pytest.raises(ColumnNotFoundError, match="'age'"):
        codec.encode(table.drop("age"))
    more = table.with_columns(canary=pl.lit("secret"))
    assert "not fitted to these columns: 'canary'" in _raised(lambda: codec.encode(more))
    retyped = table.with_columns(pl.col("age") / 2)
    assert "'age' held Int64 at the fit and holds Float64 now" in _raised(
        lambda: codec.encode(retyped)
    )


def test_a_retyped_target_is_refused(table, secret):
    rows = table.drop_nulls()
    for name in ("town", "income"):
        codec = Codec(learner="trees", secret=secret).fit(rows, target=name)
        retyped = rows.with_columns(pl.Series(name, [True] * rows.height))

        assert f"{name!r} held" in _raised(lambda codec=codec, rows=retyped: codec.encode(rows))


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("value", [float("inf"), float("-inf")])
def test_infinity_is_refused_and_nan_is_missing(secret, learner, value):
    rows = pl.DataFrame({"x": [1.5, 2.5, value], "y": [1, 2, 3]})
    nan = rows.with_columns(pl.Series("x", [1.5, 2.5, float("nan")]))
    codec = _fit(learner, secret, nan)

    assert "'x' has 1 infinite cells" in _raised(lambda: _fit(learner, secret, rows))
    assert "'x' has 1 infinite cells" in _raised(lambda: codec.encode(rows))
    assert codec.decode(codec.encode(nan))["x"].to_list() == [1.5, 2.5, None]


def test_the_ends_of_64_bits_are_ranked_and_not_mixed(secret):
    for dtype, values in (
        (pl.Int64, [-(2**63), 0, 2**63 - 1]), (pl.UInt64, [0, 2**63, 2**64 - 1]),
    ):  # fmt: skip
        rows = pl.DataFrame({"id": pl.Series(values, dtype=dtype), "b": [1, 2, 3]})
        codec = _fit("trees", secret, rows)

        assert codec.decode(codec.encode(rows)).equals(rows)
        for learner in MATRICES:
            said = _raised(lambda rows=rows, it=learner: _fit(it, secret, rows).encode(rows))
            assert "'id' has" in said
            assert "would not come back" in said


@pytest.mark.parametrize("learner", MATRICES)
def test_whole_numbers_too_large_for_a_matrix_are_not_asked_to_have_fewer_decimals(secret, learner):
    table = pl.DataFrame({"n": [2**53 + 1, *range(59)], "x": [i / 7 for i in range(60)]})
    for settings in ({}, {"precision": "column"}):
        said = _raised(lambda kw=settings: _fit(learner, secret, table, **kw).encode(table))

        assert "Column 'n'" in said
        assert "too large" in said
        assert "decimals" not in said
        assert "precision" not in said


@pytest.mark.parametrize("learner", MATRICES)
def test_floats_too_large_for_a_matrix_are_refused(secret, learner):
    rows = pl.DataFrame({"x": [1e308, -1e308, 1.0]})
    codec = _fit("trees", secret, rows)

    assert codec.decode(codec.encode(rows)).equals(rows)
    assert "'x' has numbers beyond 1e150" in _raised(lambda: _fit(learner, secret, rows))


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("missing", ["visible", "hidden"])
def test_odd_columns_come_back(secret, learner, missing):
    """Constant, all missing, truth values, equal columns, tiny and large numbers, one value."""
    rows = pl.DataFrame(
        {
            "constant": [7, 7, 7, 7],
            "same": [0.1, 0.1, 0.1, None],
            "nothing": pl.Series([None] * 4, dtype=pl.Float64),
            "no text": pl.Series([None] * 4, dtype=pl.String),
            "truth": [True, None, False, True],
            "one": [1.25, 2.5, -3.75, 0.0],
            "equal": [1.25, 2.5, -3.75, 0.0],
            "large": [1e140, -1e140, 1e140, 0.0],
            "fee": [Decimal("0.01"), Decimal("-99999.99"), None, Decimal(0)],
            "day": [dt.date(1, 1, 1), dt.date(9999, 12, 31), None, dt.date(2000, 2, 29)],
            "at": [dt.datetime(1900, 1, 1), None, dt.datetime(2100, 1, 1, 1), None],  # noqa: DTZ001 # naive is a case
        }
    )
    codec = _fit(learner, secret, rows, missing=missing)

    back = codec.decode(codec.encode(rows))

    large = back["large"].to_numpy() - rows["large"].to_numpy()
    assert np.abs(large).max() <= 1e-12 * 1e140
    assert back.drop("large", "same").equals(rows.drop("large", "same"))
    assert back["same"].to_list()[3] is None
    assert back["same"].to_list()[:3] == pytest.approx([0.1] * 3, rel=1e-12)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_value_in_a_column_that_had_none_is_refused(secret, learner):
    rows = pl.DataFrame({"x": pl.Series([None, None], dtype=pl.Int64), "y": [1, 2]})
    new = rows.with_columns(pl.Series("x", [3, None]))
    codec = _fit(learner, secret, rows, out_of_range="error")

    assert "'x'" in _raised(lambda: codec.encode(new))


@pytest.mark.parametrize("learner", MATRICES)
def test_missing_cells_where_none_were_are_refused_or_hidden(secret, learner):
    rows = pl.DataFrame({"x": [1, 2, 3], "y": [1.5, 2.5, 3.5]})
    new = rows.with_columns(pl.Series("x", [1, None, 3]))
    hidden = _fit(learner, secret, rows, missing="hidden")

    said = _raised(lambda: _fit(learner, secret, rows).encode(new))

    assert "'x' had no missing cell at the fit and has 1 now" in said
    assert hidden.decode(hidden.encode(new)).equals(new)


@pytest.mark.parametrize("learner", LEARNERS)
def test_duplicated_rows_come_back(secret, learner):
    rows = pl.DataFrame({"x": [1, 1, 1, 2], "y": ["a", "a", "a", "b"]})
    codec = _fit(learner, secret, rows)

    assert codec.decode(codec.encode(rows)).equals(rows)


@pytest.mark.parametrize("learner", LEARNERS)
def test_no_rows_are_encoded_to_none_and_not_fitted(table, secret, learner):
    codec = _fit(learner, secret, table)

    assert codec.encode(table[:0]).height == 0
    assert codec.decode(codec.encode(table[:0])).equals(table[:0])
    assert "no rows" in _raised(lambda: _fit(learner, secret, table[:0]), DataError)
    assert "no batch" in _raised(lambda: Codec(learner=learner).fit_batches([]))


def test_times_between_the_steps_of_a_grid_are_refused(secret):
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    rows = pl.DataFrame({"at": [start + dt.timedelta(days=day) for day in (0, 1, 400)]})
    codec = _fit("distances", secret, rows)

    hours = rows.with_columns(pl.col("at") + pl.duration(hours=5))

    assert "'at' has 3 cells between the steps" in _raised(lambda: codec.encode(hours))
    assert codec.decode(codec.encode(rows)).equals(rows)


def test_what_a_schema_says_is_followed_or_refused(secret):
    rows = pl.DataFrame({"name": ["a", "b", "c"], "floor": [1, 2, 3], "age": [41, 17, 30]})

    def schema(name_role, name_kind, floor_kind):
        return Schema(
            columns=(
                Column(name="name", role=name_role, kind=name_kind),
                Column(name="floor", role="insensitive", kind=floor_kind),
                Column(name="age", role="quasi_identifier", kind="numeric"),
            )
        )

    codec = Codec(learner="trees", secret=secret).fit(
        rows, schema=schema("sensitive", "categorical", "ordinal")
    )
    assert {codes.name for codes in codec.plan_.codes} == {"name", "floor"}
    assert codec.decode(codec.encode(rows)).equals(rows)
    for role, kind, said in (
        ("identifier", "categorical", "is an identifier"),
        ("insensitive", "text", "of kind text"),
        ("insensitive", "numeric", "is declared numeric and holds String"),
    ):
        assert said in _raised(
            lambda role=role, kind=kind: Codec(learner="trees").fit(
                rows, schema=schema(role, kind, "ordinal")
            )
        )


def test_columns_that_are_asked_for_must_be_there(table, secret):
    with pytest.raises(ColumnNotFoundError, match="'twon'"):
        Codec(learner="trees", secret=secret).fit(table, target="twon")
    with pytest.raises(SchemaError, match="no column but the target"):
        Codec(learner="trees", secret=secret).fit(table.select("town"), target="town")
    with pytest.raises(SchemaError, match="'income' is no categorical feature"):
        Codec(learner="linear", secret=secret, by="income").fit(table)
    with pytest.raises(ColumnNotFoundError, match="'age'"):
        Codec(learner="linear", secret=secret).fit_batches([table, table.drop("age")])
