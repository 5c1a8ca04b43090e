"""The codec: there and back, in every profile, for every library's frames."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from halfmask import DataError, ParameterError, SchemaError
from halfmask._errors import KeyMismatchError
from halfmask.data import to_polars
from halfmask.encode import Codec
from halfmask.vault import Secret

LEARNERS = ("trees", "distances", "linear", "networks")
FLOATS = ("income",)


def _same(left, right):
    """Compare bit by bit, floats by 1e-12 of their column's magnitude."""
    exact = [name for name in right.columns if name not in FLOATS]
    assert left.columns == right.columns
    assert left.dtypes == right.dtypes
    assert left.select(exact).equals(right.select(exact))
    for name in set(FLOATS) & set(right.columns):
        most = float(right[name].abs().max() or 0)
        assert_frame_equal(
            left.select(name), right.select(name), rel_tol=1e-12, abs_tol=1e-12 * most
        )


def _mix(codec):
    assert codec.plan_.mix is not None
    return codec.plan_.mix


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("missing", ["visible", "hidden"])
@pytest.mark.parametrize("split", [False, True])
def test_rows_come_back(table, secret, learner, missing, split):
    codec = Codec(learner=learner, secret=secret, missing=missing, split=split).fit(table)

    _same(codec.decode(codec.encode(table)), table)


@pytest.mark.parametrize("learner", ["distances", "linear", "networks"])
@pytest.mark.parametrize("missing", ["visible", "hidden"])
def test_rows_come_back_from_a_matrix_for_each_category(table, secret, learner, missing):
    strength = 1.0 if learner == "networks" else 0.0
    codec = Codec(learner=learner, secret=secret, missing=missing, by="town", strength=strength)

    encoded = codec.fit(table).encode(table)

    _same(codec.decode(encoded), table)
    one = Codec(learner=learner, secret=secret, missing=missing, strength=strength).fit(table)
    assert len(_mix(codec).maps) == 5 + (missing == "hidden")
    assert not one.encode(table).equals(encoded)


@pytest.mark.parametrize("learner", LEARNERS)
def test_batches_of_any_size_are_encoded_alike(table, secret, learner):
    codec = Codec(learner=learner, secret=secret, rows="kept").fit(table)

    whole = codec.encode(table)
    parts = pl.concat([codec.encode(table[:7]), codec.encode(table[7:7]), codec.encode(table[7:])])

    assert_frame_equal(parts, whole, abs_tol=1e-12)


def test_rows_leave_in_a_keyed_order_that_is_undone(table, secret):
    kept = Codec(learner="trees", secret=secret, rows="kept").fit(table).encode(table)
    codec = Codec(learner="trees", secret=secret).fit(table)

    keyed = codec.encode(table, batch=3)

    assert not keyed.equals(kept)
    assert keyed.sort(keyed.columns).equals(kept.sort(kept.columns))
    assert not codec.encode(table, batch=4).equals(keyed)
    assert codec.decode(keyed, batch=3).equals(table)
    assert codec.decode(keyed[::-1], batch=None).height == table.height


@pytest.mark.parametrize("learner", LEARNERS)
def test_frames_of_other_libraries_come_back_as_such(secret, learner):
    plain = pl.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "x"], "c": [0.5, 1.25, -3.0]})
    codec = Codec(learner=learner, secret=secret).fit(plain)
    pandas = pd.DataFrame({name: plain[name].to_list() for name in plain.columns})
    for frame in (plain, plain.lazy(), plain.to_arrow(), pandas):
        encoded = codec.encode(frame)
        back = codec.decode(encoded)

        assert type(encoded) is type(frame)
        assert type(back) is type(frame)
        assert to_polars(back).equals(plain)


def test_names_are_keyed(table, secret):
    """Neither a dictionary nor another codec of the same secret tells what a name stands for."""
    one = Codec(learner="trees", secret=secret).fit(table).encode(table).columns
    again = Codec(learner="trees", secret=secret).fit(table).encode(table).columns
    other = Codec(learner="trees", secret=secret, name="next year").fit(table).encode(table).columns
    stranger = Codec(learner="trees").fit(table).encode(table).columns

    assert all(re.fullmatch("c[0-9a-f]{16}", name) for name in one)
    assert one == sorted(one)
    assert one == again
    assert not set(one) & set(other)
    assert not set(one) & set(stranger)


def test_the_same_secret_gives_the_same_bytes(table, secret):
    first = Codec(learner="linear", secret=secret).fit(table, target="member")
    second = Codec(learner="linear", secret=secret).fit(table, target="member")

    assert first.to_bytes() == second.to_bytes()
    assert first.encode(table).equals(second.encode(table))


def test_the_target_goes_with_the_rows_or_alone(table, secret):
    codec = Codec(learner="trees", secret=secret).fit(table, target="member")

    encoded = codec.encode(table)

    assert encoded.columns[-1] == codec.target_name_
    assert codec.encode_target(table)[codec.target_name_].equals(encoded[codec.target_name_])
    assert codec.encode(table.drop("member")).equals(encoded.drop(codec.target_name_))
    assert codec.decode(encoded).select(table.columns).equals(table)
    assert codec.decode(encoded.drop(codec.target_name_)).equals(table.drop("member"))


@pytest.mark.parametrize("learner", LEARNERS)
def test_summaries_of_batches_make_the_plan_of_the_whole(table, secret, learner):
    whole = Codec(learner=learner, secret=secret, split=True).fit(table)
    halves = [table[200:], table[:200]]
    parts = Codec(learner=learner, secret=secret, split=True).fit_batches(halves)

    assert_frame_equal(
        whole.encode(table).sort(pl.all()), parts.encode(table).sort(pl.all()), abs_tol=1e-9
    )


def test_an_unfitted_codec_says_so(table):
    for use in (lambda it: it.encode(table), lambda it: it.weaknesses, lambda it: it.to_bytes()):
        with pytest.raises(ParameterError, match="isn't fitted"):
            use(Codec(learner="trees"))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"learner": "forests"}, "learner"),
        ({"learner": "trees", "missing": "gone"}, "missing"),
        ({"learner": "trees", "unseen": "ignore"}, "unseen"),
        ({"learner": "trees", "out_of_range": "clip"}, "out_of_range"),
        ({"learner": "trees", "rows": "sorted"}, "rows"),
        ({"learner": "trees", "strength": 1}, "strength"),
        ({"learner": "networks", "strength": 5}, "strength"),
        ({"learner": "trees", "by": "town"}, "by"),
        ({"learner": "trees", "min_sibling_rows": 0}, "min_sibling_rows"),
        ({"learner": "trees", "name": ""}, "name"),
    ],
)
def test_wrong_parameters_are_refused_by_name(wrong, said):
    with pytest.raises(ParameterError, match=f"'{said}'"):
        Codec(**wrong)


def test_neither_codec_nor_plan_shows_a_key(table):
    secret = Secret.from_bytes(b"\x41" * 32)
    codec = Codec(learner="trees", secret=secret).fit(table)

    shown = repr(codec) + repr(codec.plan_)

    assert "AAAA" not in shown
    assert "Bree" not in shown
    assert not codec.publishable
    assert not codec.plan_.publishable


def test_rows_of_another_codec_are_refused(table, secret):
    mine = Codec(learner="trees", secret=secret).fit(table)
    other = Codec(learner="trees").fit(table)

    with pytest.raises(KeyMismatchError, match="None of the 7 encoded columns"):
        mine.decode(other.encode(table))
    with pytest.raises(SchemaError, match="1 of 7 encoded columns are not in the table"):
        mine.decode(mine.encode(table)[:, 1:])


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_fit_to_other_rows_has_other_keys(table, secret, learner):
    """So its plan never reads these rows as garbage, and what is learnt of one tells no other."""
    one = Codec(learner=learner, secret=secret).fit(table)
    other = Codec(learner=learner, secret=secret).fit(table[1:])

    assert not set(one.plan_.tokens) & set(other.plan_.tokens)
    assert one.plan_.row_key != other.plan_.row_key
    with pytest.raises(KeyMismatchError):
        other.decode(one.encode(table))
    if learner != "trees":
        assert not np.allclose(_mix(one).maps[0].matrix, _mix(other).maps[0].matrix)


def test_codes_that_nobody_gave_are_refused(table, secret):
    codec = Codec(learner="distances", secret=secret).fit(table.drop_nulls())
    encoded = codec.encode(table.drop_nulls())
    token = next(it.token for it in codec.plan_.codes if it.name == "town")
    mixed = _mix(codec).tokens[0]

    with pytest.raises(DataError, match="'town' has 1 codes"):
        codec.decode(encoded.with_columns(pl.Series(token, [99, *encoded[token][1:]])))
    with pytest.raises(DataError, match="1 encoded rows have coordinates"):
        codec.decode(encoded.with_columns(pl.Series(mixed, [None, *encoded[mixed][1:]])))
    assert np.isfinite(encoded[mixed].to_numpy()).all()


@pytest.mark.parametrize("learner", ["trees", "distances"])
@pytest.mark.parametrize("cell", [0.5, 1e300, float("inf"), float("-inf")])
def test_codes_that_are_no_whole_numbers_are_refused(table, secret, learner, cell):
    """They were read as the code below, and decoded to a value that nobody sent."""
    rows = table.drop_nulls()
    codec = Codec(learner=learner, secret=secret).fit(rows, target="member")
    encoded = codec.encode(rows)
    whole = [name for name, dtype in encoded.schema.items() if dtype == pl.Int64]

    assert codec.target_name_ in whole
    for name in whole:
        damaged = pl.Series(name, [cell, *encoded[name].cast(pl.Float64)[1:]])
        with pytest.raises(DataError, match="1 codes that are no whole numbers"):
            codec.decode(encoded.with_columns(damaged))
    read = encoded.with_columns(pl.col(whole).cast(pl.Float64))
    assert codec.decode(read).equals(codec.decode(encoded))


@pytest.mark.parametrize("learner", ["trees", "distances"])
def test_a_missing_code_is_refused_where_missing_cells_are_hidden(table, secret, learner):
    codec = Codec(learner=learner, secret=secret, missing="hidden").fit(table)
    encoded = codec.encode(table)
    name = next(name for name, dtype in encoded.schema.items() if dtype == pl.Int64)

    with pytest.raises(DataError, match="1 missing codes"):
        codec.decode(encoded.with_columns(pl.Series(name, [None, *encoded[name][1:]])))


@pytest.mark.parametrize("kind", [pl.Date, pl.Int8, pl.UInt16])
def test_coordinates_that_no_cell_has_are_refused_without_showing_one(secret, kind):
    rows = pl.DataFrame({"held": pl.Series([1, 5, 90]).cast(kind), "more": [1, 2, 4]})
    codec = Codec(learner="linear", secret=secret).fit(rows)

    with pytest.raises(DataError, match=r"'held' has 3 cells that \w+ has no room for") as caught:
        codec.decode(codec.encode(rows) * 1e15)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("cell", [float("inf"), float("-inf")])
def test_a_target_that_is_not_finite_is_refused(table, secret, cell):
    rows = table.drop_nulls()
    codec = Codec(learner="distances", secret=secret).fit(rows, target="income")
    encoded, name = codec.encode(rows), codec.target_name_

    with pytest.raises(DataError, match="'income' has 1 encoded cells that are not finite"):
        codec.decode(encoded.with_columns(pl.Series(name, [cell, *encoded[name][1:]])))


@pytest.mark.parametrize("batch", [-1, 1.5, "1", True, 2**64])
@pytest.mark.parametrize("rows", ["keyed", "kept"])
def test_a_batch_has_a_number_of_64_bits(table, secret, batch, rows):
    codec = Codec(learner="trees", secret=secret, rows=rows).fit(table, target="member")
    encoded = codec.encode(table)

    for use in (
        lambda: codec.encode(table, batch=batch),
        lambda: codec.encode_target(table, batch=batch),
        lambda: codec.plain(table, batch=batch),
        lambda: codec.decode(encoded, batch=batch),
        lambda: codec.decode_predictions(encoded[codec.target_name_], batch=batch),
    ):
        with pytest.raises(ParameterError, match="'batch' parameter"):
            use()
    assert codec.decode(codec.encode(table, batch=2**64 - 1), batch=2**64 - 1).height == 400


@pytest.mark.slow
def test_codes_of_categories_and_classes_are_any_permutation_alike():
    """Over 300 secrets, each order of three values comes about as often (chi square)."""
    rows = pl.DataFrame({"town": ["a", "b", "c"], "class": ["x", "y", "z"], "n": [1, 2, 3]})
    orders: dict[str, list[tuple[int, ...]]] = {"town": [], "class": []}
    for number in range(300):
        secret = Secret.from_bytes(number.to_bytes(32, "little"))
        codec = Codec(learner="trees", secret=secret, rows="kept").fit(rows, target="class")
        sent = codec.encode(rows)
        orders["town"].append(tuple(sent[codec.plan_.codes[0].token]))
        orders["class"].append(tuple(sent[codec.target_name_]))

    for found in orders.values():
        counts = [found.count(order) for order in set(found)]
        assert len(counts) == 6
        assert sum((count - 50) ** 2 / 50 for count in counts) < 20.5  # 0.1 % of five degrees


@pytest.mark.slow
def test_a_hidden_missing_cell_has_any_rank():
    rows = pl.DataFrame({"n": [1, 2, 3, None]})
    ranks = set()
    for number in range(60):
        secret = Secret.from_bytes(bytes([number]) * 32)
        codec = Codec(learner="trees", secret=secret, missing="hidden", rows="kept").fit(rows)
        ranks.add(codec.encode(rows).to_series()[3])

    assert ranks == {0, 4, 8, 12}
