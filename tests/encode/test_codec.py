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


def test_a_hidden_missing_cell_has_any_rank():
    rows = pl.DataFrame({"n": [1, 2, 3, None]})
    ranks = set()
    for number in range(60):
        secret = Secret.from_bytes(bytes([number]) * 32)
        codec = Codec(learner="trees", secret=secret, missing="hidden", rows="kept").fit(rows)
        ranks.add(codec.encode(rows).to_series()[3])

    assert ranks == {0, 4, 8, 12}
