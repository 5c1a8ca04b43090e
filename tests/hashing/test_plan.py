"""What a hasher gives is what the wire format's page says, for each kind of column."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halfmask._errors import (
    ColumnNotFoundError,
    ColumnWarning,
    DataError,
    KeyMismatchError,
    SchemaError,
)
from halfmask.hashing import HasherSettings, HashPlan
from halfmask.hashing._plan import fit_plan
from halfmask.vault import Secret
from hashing.plain_hasher import (  # type: ignore[import-not-found] # beside, not in a package
    Oracle,
    rows_of,
)

BOTH = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=12)
CELLS = {
    "text": st.none() | st.text(max_size=12),
    "integer": st.none() | st.integers(-(2**63), 2**63 - 1),
    "float": st.none() | st.floats(),
    "boolean": st.none() | st.booleans(),
    "bytes": st.none() | st.binary(max_size=12),
    "date": st.none() | st.dates(),
    "datetime": st.none() | st.datetimes(timezones=st.just(dt.UTC)),
}
TYPES = {
    "text": pa.string(),
    "integer": pa.int64(),
    "float": pa.float64(),
    "boolean": pa.bool_(),
    "bytes": pa.binary(),
    "date": pa.date32(),
    "datetime": pa.timestamp("us", "UTC"),
}


def plan_of(table, secret, **said):
    return fit_plan([table], settings=HasherSettings(**said), secret=secret)


def edges_of(plan, place):
    edges = plan.columns[place].edges
    assert edges is not None
    return edges.tolist()


@pytest.mark.mostly_slow
@pytest.mark.parametrize("kind", CELLS)
@BOTH
@given(data=st.data())
def test_categories(secret, oracle, kind, data):
    """A cell's bytes are hashed with its column's key; a missing one with a key of its own."""
    cells = data.draw(st.lists(CELLS[kind], min_size=1, max_size=8))
    column = pa.array(cells, TYPES[kind])
    plan = plan_of(pa.table({"a": column}), secret, categorical=("a",))

    found = rows_of(plan.rows(pa.table({"a": column})))

    assert found == [oracle.row([oracle.category(cell, "a")]) for cell in cells]
    if kind != "boolean":  # Arrow has no dictionary of them
        coded = pa.table({"a": column.dictionary_encode()})
        assert rows_of(plan.rows(coded)) == found
        assert rows_of(plan.rows(pa.concat_tables([coded, coded.slice(1)]))) == found + found[1:]
    sliced = pa.table({"a": pa.concat_arrays([column, column]).slice(1, len(cells))})
    assert rows_of(plan.rows(sliced)) == [*found[1:], found[0]]


@pytest.mark.parametrize("bins", [2, 5, 300])
@BOTH
@given(cells=st.lists(st.none() | st.floats(), min_size=1, max_size=30))
def test_bins_of_quantiles(secret, oracle, bins, cells):
    table = pa.table({"a": pa.array(cells, pa.float64())})
    plan = plan_of(table, secret, bins=bins)
    edges = edges_of(plan, 0)

    assert rows_of(plan.rows(table)) == [oracle.row([oracle.bin(it, "a", edges)]) for it in cells]
    assert len(edges) < bins
    assert edges == sorted(set(edges))


@pytest.mark.parametrize("bins_per_octave", [1, 4, 16])
@BOTH
@given(cells=st.lists(st.none() | st.floats(), min_size=1, max_size=30))
def test_bins_of_logarithms(secret, oracle, bins_per_octave, cells):
    table = pa.table({"a": pa.array(cells, pa.float64())})
    plan = plan_of(table, secret, numbers="log", bins_per_octave=bins_per_octave)

    expected = [oracle.row([oracle.log_bin(it, "a", bins_per_octave)]) for it in cells]
    assert rows_of(plan.rows(table)) == expected


def test_a_logarithm_s_bins_are_of_equal_ratio(secret):
    """Within a power of two there are four; a power of two begins one."""
    plan = plan_of(pa.table({"a": [1.0]}), secret, numbers="log")

    def same(one, other):
        found = rows_of(plan.rows(pa.table({"a": [float(one), float(other)]})))
        return found[0] == found[1]

    assert same(1024, 1279)
    assert not same(1279, 1280)
    assert not same(1023, 1024)
    assert not same(-1.0, 1.0)
    assert same(0.0, -0.0)


@BOTH
@given(cells=st.lists(st.none() | st.floats(width=32, allow_infinity=False), min_size=1))
def test_raw_numbers(secret, oracle, cells):
    table = pa.table({"a": pa.array(cells, pa.float64())})
    plan = plan_of(table, secret, numbers="raw")

    found = plan.rows(table)

    own, missing = oracle.hash(b"", "number", "a"), oracle.hash(b"", "missing", "a")
    gone = [it is None or math.isnan(it) for it in cells]
    assert rows_of(found) == [[oracle.index(missing if it else own)] for it in gone]
    _, _, values = found.flat()
    assert values is not None
    assert values.tolist() == [1.0 if lost else it for it, lost in zip(cells, gone, strict=True)]


@pytest.mark.parametrize(
    "cell",
    [1_700_000_060, 2**60 + 1, dt.datetime(2026, 1, 1, 0, 1, tzinfo=dt.UTC), 16_777_217.0],
    ids=lambda cell: type(cell).__name__,
)
def test_whole_numbers_that_are_sent_rounded_are_warned_of(secret, cell):
    """The wire has 32-bit floats: they hold whole numbers up to 2 ** 24."""
    plan = plan_of(pa.table({"a": [cell]}), secret, numbers="raw")

    with pytest.warns(ColumnWarning, match="'a' has whole numbers or times beyond"):
        plan.rows(pa.table({"a": [cell, None]}))


def test_numbers_that_are_sent_as_nothing_are_warned_of(secret):
    plan = plan_of(pa.table({"a": [1.0]}), secret, numbers="raw")

    with pytest.warns(ColumnWarning, match="'a' has whole numbers"):
        plan.rows(pa.table({"a": [1e-50, 1.0]}))


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([Decimal("12345678901234567890.12")] * 2, pa.decimal128(38, 2)),
        pa.array([Decimal("0.12345678901234567"), None], pa.decimal128(38, 18)),
        pa.array([1_700_000_000_000_000_001, None], pa.timestamp("ns")),
        pa.array([1, 2], pa.time64("ns")),
        pa.array([Decimal("1234567890123456.78")] * 2, pa.decimal128(38, 2)).dictionary_encode(),
    ],
    ids=["decimals", "digits", "moments", "times of day", "dictionary"],
)
def test_categories_that_others_would_be_taken_for_are_refused(secret, cells):
    """By 64 bits two decimals of twenty digits are one category."""
    table = pa.table({"a": cells})
    plan = plan_of(table, secret, categorical=("a",), numbers="log")

    with pytest.raises(DataError, match=r"'a' has [12] categories") as caught:
        plan.rows(table)
    assert "123456" not in str(caught.value)


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([Decimal("12345678901.23"), Decimal("0.10"), None], pa.decimal128(38, 2)),
        pa.array([Decimal("0.1")], pa.decimal128(38, 20)),
        pa.array([1_700_000_000_000_001_000, None], pa.timestamp("ns")),
    ],
)
def test_categories_of_fewer_digits_are_hashed(secret, cells):
    table = pa.table({"a": cells})

    assert len(plan_of(table, secret, categorical=("a",), numbers="log").rows(table)) == len(table)


@pytest.mark.parametrize("cell", [0.1, 1_234.567, 2.0**60, -16_777_216, dt.date(9999, 12, 31)])
def test_measurements_and_small_whole_numbers_are_not_warned_of(secret, cell):
    """Warnings are errors in tests."""
    table = pa.table({"a": [cell]})
    _, _, values = plan_of(table, secret, numbers="raw").rows(table).flat()

    assert values is not None


@pytest.mark.parametrize("number", [np.inf, 1e39, -1e39])
def test_infinite_raw_numbers_are_refused(secret, number):
    plan = plan_of(pa.table({"a": [1.0]}), secret, numbers="raw")

    with pytest.raises(DataError, match="'a'"):
        plan.rows(pa.table({"a": [number]}))


@BOTH
@given(texts=st.lists(st.none() | st.text("aB ,é漢_9\n", max_size=15), min_size=1, max_size=6))
def test_texts(secret, oracle, texts):
    table = pa.table({"a": pa.array(texts, pa.string()), "b": pa.array(["x"] * len(texts))})
    plan = plan_of(table, secret, text=("a",), ngrams=(1, 2), characters=(3, 3))

    found = plan.rows(table)

    assert rows_of(found) == [
        oracle.row([
            oracle.category("x", "b"),
            *oracle.runs(it, "a", 1, 2),
            *(oracle.runs(it, "a", 3, 3, "character") if it is not None else []),
        ])
        for it in texts
    ]  # fmt: skip
    coded = table.set_column(0, "a", table["a"].dictionary_encode())
    assert plan.rows(coded).equals(found)


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list], ids=["list", "large_list"])
@BOTH
@given(
    sets=st.lists(
        st.none() | st.lists(st.none() | st.text(max_size=3), max_size=5), min_size=1, max_size=6
    )
)
def test_sets(secret, oracle, kind, sets):
    column = pa.array(sets, kind(pa.string()))
    table = pa.table({"a": column})
    plan = plan_of(table, secret, sets=("a",))

    found = rows_of(plan.rows(table))

    assert found == [oracle.row(oracle.members(it, "a")) for it in sets]
    assert rows_of(plan.rows(table.slice(1))) == found[1:]


def test_sets_of_a_fixed_size_and_of_numbers(secret, oracle):
    column = pa.array([[1, 2], None, [2, 2]], pa.list_(pa.int32(), 2))
    plan = plan_of(pa.table({"a": column}), secret, sets=("a",))

    expected = [oracle.row(oracle.members(it, "a")) for it in ([1, 2], None, [2])]
    assert rows_of(plan.rows(pa.table({"a": column}))) == expected


def test_interactions(secret, oracle):
    table = pa.table({"a": ["x", None, "y"], "b": [1.0, 2.0, None], "c": ["z", "z", "z"]})
    plan = plan_of(table, secret, interactions=[("a", "b"), ("c", "b", "a")])
    edges = edges_of(plan, 1)

    found = rows_of(plan.rows(table))

    expected = []
    for a, b, c in zip(*table.to_pydict().values(), strict=True):
        own = {
            "a": oracle.category(a, "a"),
            "b": oracle.bin(b, "b", edges),
            "c": oracle.category(c, "c"),
        }
        crossed = [oracle.crossed([own[n] for n in names], names) for names in ("ab", "cba")]
        expected.append(oracle.row([*own.values(), *crossed]))
    assert found == expected
    assert plan.width == 5


def test_signs(secret, oracle):
    table = pa.table({"a": ["x", "y", None] * 5, "n": [1.5, 2.5, None] * 5, "t": ["u v"] * 15})
    said = {"signed": True, "numbers": "raw", "text": ("t",)}
    plan = plan_of(table, secret, **said)

    found = plan.rows(table)

    bounds, indices, values = found.flat()
    assert values is not None
    for row, cells in enumerate(table.to_pylist()):
        own = oracle.hash(b"", "missing" if cells["n"] is None else "number", "n")
        hashes = [oracle.category(cells["a"], "a"), own, *oracle.runs("u v", "t", 1, 1)]
        numbers = [1.0, 1.0 if cells["n"] is None else cells["n"], 1.0, 1.0]
        expected = {
            oracle.index(it): oracle.sign(it) * number
            for it, number in zip(hashes, numbers, strict=True)
        }
        some = slice(bounds[row], bounds[row + 1])
        assert dict(zip(indices[some].tolist(), values[some].tolist(), strict=True)) == expected
    assert {-1.0, 1.0} <= set(values.tolist())


def test_a_column_without_a_value(secret, oracle):
    for column in (pa.nulls(3), pa.array([None] * 3, pa.string()), pa.array([None] * 3, pa.int8())):
        table = pa.table({"a": column, "b": column})
        plan = plan_of(table, secret)

        hashes = [oracle.category(None, name) for name in "ab"]
        assert rows_of(plan.rows(table)) == 3 * [oracle.row(hashes)]


def test_texts_and_sets_without_a_value(secret, oracle):
    table = pa.table({"a": pa.nulls(2), "b": pa.nulls(2)})
    plan = plan_of(table, secret, text=("a",), sets=("b",), characters=(2, 2))

    hashes = [oracle.category(None, name) for name in "ab"]
    assert rows_of(plan.rows(table)) == 2 * [oracle.row(hashes)]


PEOPLE = {
    "age": [41, 17, 33, 90],
    "wage": [1.5, 2.0, None, 7.25],
    "town": ["Bree", "Dale", None, "Bree"],
    "member": [True, False, True, False],
}


def test_libraries_and_types_make_no_difference(secret):
    table = pa.table(PEOPLE)
    said = {"categorical": ("age", "wage"), "interactions": [("age", "town")]}
    plan = plan_of(table, secret, **said)
    frame = pl.DataFrame(PEOPLE)

    expected = plan.rows(table)

    others = [
        frame,
        frame.lazy(),
        pd.DataFrame(PEOPLE),
        pd.DataFrame(PEOPLE).astype({"town": "category", "age": "float64"}),
        frame.with_columns(pl.col("town").cast(pl.Categorical), pl.col("age").cast(pl.UInt8)),
        frame.with_columns(pl.col("wage").cast(pl.Float32)),
        frame.to_arrow(compat_level=pl.CompatLevel.newest()),
        frame.select("town", "age", "member", "wage"),
        table.combine_chunks().to_batches()[0],
        PEOPLE,
    ]
    for other in others:
        assert plan.rows(other).equals(expected), type(other)


@pytest.mark.slow
def test_the_order_of_features_tells_nothing_of_the_columns():
    """It follows from the key: two secrets have two orders, and the table's has no say."""
    names = [f"c{i}" for i in range(12)]
    table = pa.table({name: [name] for name in names})
    orders = set()
    for number in range(5):
        other = Secret.from_bytes(bytes([number]) * 32)
        rows = plan_of(table, other).rows(table)
        turned = plan_of(table.select(names[::-1]), other).rows(table.select(names[::-1]))
        assert rows.equals(turned)
        oracle = Oracle(bytes([number]) * 32)
        placed = {oracle.index(oracle.category(name, name)): name for name in names}
        orders.add(tuple(placed[it] for it in rows.indices[0].tolist()))
    assert len(orders) == 5


def test_keys_are_of_their_own(secret):
    """The same cell in another column, hasher or secret is another index."""
    table = pa.table({"a": ["x"] * 1, "b": ["x"] * 1})
    seen = set()
    for other in (secret, Secret.from_bytes(bytes(32))):
        for name in ("hasher", "other"):
            seen |= set(plan_of(table, other, name=name, bits=31).rows(table).indices[0].tolist())
    assert len(seen) == 8


def test_bins_do_not_depend_on_batches(secret):
    rng = np.random.default_rng(0)
    column = np.where(rng.random(150_000) < 0.1, np.nan, rng.lognormal(0, 3, 150_000))
    table = pa.table({"a": column, "b": pa.array(rng.integers(0, 9, 150_000))})
    cut = [table.slice(at, 7_919) for at in range(0, 150_000, 7_919)]
    late = [table.slice(0, 10).set_column(0, "a", pa.nulls(10)), table.slice(10)]

    whole = plan_of(table, secret)
    parts = fit_plan(cut, settings=HasherSettings(), secret=secret)

    assert whole.to_bytes() == parts.to_bytes()
    assert whole.columns[0].edges is not None
    assert whole.columns[1].edges is not None
    assert whole.columns[1].edges.tolist() == list(range(1, 9))
    shares = np.bincount(
        np.searchsorted(whole.columns[0].edges, column[~np.isnan(column)], "right")
    )
    assert np.abs(shares / shares.sum() - 1 / 32).max() < 0.005
    edges = fit_plan(late, settings=HasherSettings(), secret=secret).columns[0].edges
    assert edges is not None
    assert len(edges) == 31


def test_a_plan_as_bytes(secret):
    table = pa.table(PEOPLE)
    plan = plan_of(table, secret, interactions=[("age", "town")], bins=3)

    again = HashPlan.from_bytes(plan.to_bytes(), secret=secret)

    assert again.rows(table).equals(plan.rows(table))
    assert again.to_bytes() == plan.to_bytes()
    assert bytes(range(32)).hex() not in plan.to_bytes().decode()
    with pytest.raises(KeyMismatchError):
        HashPlan.from_bytes(plan.to_bytes(), secret=Secret.from_bytes(bytes(32)))


@pytest.mark.parametrize(
    ("numbers", "stored", "indices", "values"),
    [("log", "log", [3697281, 2734470], None), ("raw", "kept", [1871249, 1871249], [1.5, 2.5])],
)
def test_a_plan_of_0_1_is_read_and_written(numbers, stored, indices, values):
    """Stored hashers keep the names of 0.1: that version reads what this one writes."""
    data = (
        '{"format": "halfmask hasher", "version": 1, "secret": "1ede84a0", '
        f'"settings": {{"bits": 22, "signed": false, "interactions": [], "numbers": "{stored}", '
        '"bins": 32, "per_doubling": 8, "categorical": [], "text": [], "ngrams": [1, 1], '
        '"characters": null, "sets": [], "name": "hasher"}, "columns": [{"name": "n", '
        '"kind": "float", "role": "number", "edges": null}]}'
    ).encode()

    plan = HashPlan.from_bytes(data, secret=Secret.from_bytes(bytes(range(32))))

    assert (plan.settings.numbers, plan.settings.bins_per_octave) == (numbers, 8)
    _, found, sent = plan.rows(pa.table({"n": [1.5, 2.5]})).flat()
    assert found.tolist() == indices
    assert (None if sent is None else sent.tolist()) == values
    assert json.loads(plan.to_bytes()).items() >= json.loads(data).items()


@pytest.mark.parametrize(
    "change",
    [
        lambda _: b"",
        lambda _: b"[]",
        lambda it: it[:-5],
        lambda it: it.replace(b'"version": 1', b'"version": 2'),
        lambda it: it.replace(b'"bits": 22', b'"bits": 99'),
        lambda it: it.replace(b'"role": "category"', b'"role": "spell"'),
        lambda it: it.replace(b'"edges": [', b'"edges": [1e999, '),
        lambda it: it.replace(b'"edges": [', b'"edges": [9e9, '),
        lambda it: it.replace(b'"columns"', b'"column"'),
    ],
    ids=range(9),
)
def test_damaged_bytes_are_reported(secret, change):
    data = plan_of(pa.table(PEOPLE), secret).to_bytes()
    assert change(data) != data

    with pytest.raises(DataError):
        HashPlan.from_bytes(change(data), secret=secret)


CANARY = "CANARY"
GOOD = {"age": [1, 2], "town": ["a", "b"], "tags": [["x"], []], "note": ["hi", "ho"]}
BAD_TABLES = {
    "missing": ({"age": [1], "town": ["a"], "tags": [["x"]]}, ColumnNotFoundError),
    "more": (GOOD | {"more": [CANARY, CANARY]}, SchemaError),
    "numbers as texts": (GOOD | {"age": [CANARY, CANARY]}, SchemaError),
    "texts as numbers": (GOOD | {"town": [1, 2]}, SchemaError),
    "no lists": (GOOD | {"tags": [CANARY, CANARY]}, SchemaError),
    "lists of others": (GOOD | {"tags": [[1], []]}, SchemaError),
    "lists of lists": (GOOD | {"tags": [[[CANARY]], []]}, SchemaError),
    "structs": (GOOD | {"town": [{"a": CANARY}] * 2}, SchemaError),
    "no frame": (CANARY, DataError),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_other_tables_are_refused(secret, name):
    plan = plan_of(pa.table(GOOD), secret, text=("note",), sets=("tags",))
    table, kind = BAD_TABLES[name]

    with pytest.raises(kind) as caught:
        plan.rows(table)
    assert CANARY not in str(caught.value)


def test_a_table_may_be_empty(secret):
    plan = plan_of(pa.table(GOOD), secret, text=("note",), sets=("tags",))

    assert len(plan.rows(pa.table(GOOD).slice(0, 0))) == 0
    with pytest.raises(DataError, match="without rows"):
        plan_of(pa.table(GOOD).slice(0, 0), secret, text=("note",), sets=("tags",))


def test_many_rows_in_pieces(secret):
    """More rows than are hashed at once, on several threads, come in order."""
    rng = np.random.default_rng(3)
    table = pa.table({"a": rng.integers(0, 1000, 300_000), "t": rng.choice(["u v", "w"], 300_000)})
    plan = plan_of(table, secret, categorical=("a",), text=("t",))

    whole = plan.rows(table)

    some = rng.integers(0, 300_000, 50)
    for at in some:
        assert whole.slice(at, at + 1).equals(plan.rows(table.slice(at, 1)))
    parts = list(plan.batches([table.slice(0, 100_000), table.slice(100_000)]))
    assert [len(it) for it in parts] == [100_000, 200_000]
    assert type(whole).concat(parts).equals(whole)
