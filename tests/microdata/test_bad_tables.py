"""Tables and policies that can't be protected, in Python: one clear error each, nothing written."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from halfmask._errors import (
    ColumnNotFoundError,
    DataError,
    GuaranteeNotMetError,
    HierarchyError,
    PolicyError,
    SchemaError,
)
from halfmask.microdata import Policy, protect, protect_to
from halfmask.verifier.tables import verify
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    COLUMNS,
    KEY,
    QUASI,
    K,
    classes,
    people,
    policy,
    promise,
    released,
)


@pytest.fixture(autouse=True)
def no_page(monkeypatch):
    monkeypatch.setattr("halfmask.microdata._classes.render_report", lambda _facts: "")


def one(column, value):
    """Return people of whom the fourth has another value."""
    return people().with_columns(
        pl.when(pl.col("row") == 3).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)
    )


def mixed():
    frame = people().to_pandas()
    frame["age"] = frame["age"].astype(object)
    frame.loc[3, "age"] = "CANARY"
    return frame


def twice():
    return pd.concat([people().to_pandas(), people().to_pandas()[["age"]]], axis=1)


LACKING = {"town": {"hierarchy": {"groups": {"a": ["Aa", "Bee", "Cee, upper", "=Dee"]}}}}
ORDER = {"illness": {"hierarchy": {"order": ["flu", "cold", "ache", "none"]}}}
ORDERED = promise("t-closeness", "illness", t=0.9, distance="ordered")

BAD = {
    "no rows": (people().clear, policy(), DataError, ["no rows"]),
    "no columns": (pl.DataFrame, policy(), DataError, []),
    "no frame": (lambda: 42, policy(), DataError, ["int"]),
    "a list of dicts": (lambda: people().to_dicts(), policy(), DataError, ["list"]),
    "one row": (lambda: people(1), policy(), GuaranteeNotMetError, ["k=5", "1 rows"]),
    "k above n": (lambda: people(4), policy(), GuaranteeNotMetError, ["k=5", "4 rows"]),
    "all suppressed": (
        lambda: people().with_columns(town=pl.lit(None, pl.String)),
        policy(columns={"town": {"missing": "suppress"}}),
        GuaranteeNotMetError,
        ["no rows"],
    ),
    "fewer than k left": (
        lambda: people().with_columns(town=pl.when(pl.col("row") < 4).then("town")),
        policy(columns={"town": {"missing": "suppress"}}),
        GuaranteeNotMetError,
        ["4 rows"],
    ),
    "too little diversity": (
        lambda: people().with_columns(illness=pl.lit("flu")),
        policy(K, promise("distinct-l-diversity", "illness", l=2)),
        GuaranteeNotMetError,
        ["l=2", "'illness'"],
    ),
    "an infinite age": (
        lambda: one("age", float("inf")), policy(), SchemaError, ["'age'", "infinite"]
    ),
    "minus infinity": (
        lambda: one("age", -float("inf")), policy(), SchemaError, ["'age'", "infinite"]
    ),
    "mixed types": (mixed, policy(), SchemaError, ["'age'", "more than one type"]),
    "a name twice": (twice, policy(), SchemaError, []),
    "text for a number": (
        lambda: people().with_columns(pl.format("CANARY{}", "age").alias("age")),
        policy(),
        SchemaError,
        ["'age'", "numeric"],
    ),
    "lists in cells": (
        lambda: people().with_columns(pl.concat_list("note")), policy(), SchemaError, ["'note'"]
    ),
    "a column misspelt": (
        lambda: people().rename({"town": "twon"}),
        policy(),
        ColumnNotFoundError,
        ["'town'", "'twon'"],
    ),
    "a column too many": (
        lambda: people().with_columns(extra=pl.lit("CANARY")), policy(), SchemaError, ["'extra'"]
    ),
    "a column too few": (lambda: people().drop("note"), policy(), ColumnNotFoundError, ["'note'"]),
    "a tree that lacks a value": (
        people, policy(columns=LACKING), HierarchyError, ["'town'", "lacks 1"]
    ),
    "an order that lacks a value": (
        people, policy(ORDERED, columns=ORDER), HierarchyError, ["'illness'", "lacks 1"]
    ),
    "NaN as a missing cell": (
        lambda: one("age", float("nan")),
        policy(columns={"age": {"missing": "reject"}}),
        SchemaError,
        ["'age'", "1 missing"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("table", "wanted", "error", "says"), BAD.values(), ids=BAD)
def test_bad_tables(tmp_path, table, wanted, error, says):
    """Each is one of our errors that names column and counts, and no folder."""
    with pytest.raises(error) as caught:
        protect_to(table(), wanted, tmp_path / "out", key=KEY)

    told = str(caught.value)
    assert all(words in told for words in says), told
    assert "CANARY" not in told
    assert not list(tmp_path.iterdir())


FINE = {
    "all alike": lambda: people().with_columns(pl.col(name).first() for name in QUASI),
    "all unique": lambda: people().with_columns(pl.col("row").alias("age")),
    "NaN": lambda: one("age", float("nan")),
    "k of them": lambda: people(5),
    "large numbers": lambda: people().with_columns(age=pl.col("row") + (2**63 - 1000)),
    "tiny numbers": lambda: people().with_columns(age=pl.col("row") * 5e-324),
    "minus zero": lambda: people().with_columns(
        age=pl.when(pl.col("row") % 2 == 0).then(-0.0).otherwise(0.0)
    ),
    "unsigned": lambda: people().with_columns(age=(pl.col("row").cast(pl.UInt64) + 2**63)),
    "small floats": lambda: people().with_columns(age=pl.col("age").cast(pl.Float32) / 7),
    "an integer column with gaps in pandas": lambda: one("age", None).to_pandas(),
}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("table", FINE.values(), ids=FINE)
@pytest.mark.parametrize("fmt", ["parquet", "csv"])
def test_odd_tables(tmp_path, table, fmt):
    """Odd tables that can be protected are, and hold on disk."""
    wanted = policy(K, columns={"buys": {"label": True}}, output={"format": fmt})

    release = protect_to(table(), wanted, tmp_path / "out", key=KEY)

    assert verify(tmp_path / "out").holds
    assert min(map(len, classes(released(tmp_path / "out"), QUASI))) >= 5
    assert release.rows["suppressed"] == 0


def test_all_alike_is_one_class(tmp_path):
    """Where nobody differs there is one class, and nothing is lost."""
    release = protect_to(FINE["all alike"](), policy(), tmp_path / "out")

    assert release.claims[0].evidence.classes == 1
    assert release.utility.loss.ncp == 0


@pytest.mark.slow
def test_two_thousand_columns(tmp_path):
    """A wide table is protected, and whoever forgets columns reads which."""
    rng = np.random.default_rng(1)
    wide = pl.DataFrame({f"w{i}": rng.integers(0, 9, 60) for i in range(2000)})
    said = {
        name: {"role": "quasi_identifier" if i < 8 else "insensitive", "kind": "numeric"}
        for i, name in enumerate(wide.columns)
    }

    release = protect_to(
        wide, Policy(halfmask=1, columns=said, guarantees=[K]), tmp_path / "out", key=KEY
    )
    few = Policy(halfmask=1, columns=dict(list(said.items())[:10]), guarantees=[K])
    with pytest.raises(SchemaError) as caught:
        protect_to(wide, few, tmp_path / "other")

    assert release.claims[0].evidence.achieved >= 5
    assert str(caught.value).count("'w") == 1990
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_hundreds_of_quasi_identifiers(tmp_path):
    """Each column may be a quasi-identifier."""
    rng = np.random.default_rng(1)
    wide = pl.DataFrame({f"w{i}": rng.integers(0, 3, 40) for i in range(300)})
    said = {name: {"role": "quasi_identifier", "kind": "numeric"} for name in wide.columns}

    release = protect_to(wide, Policy(halfmask=1, columns=said, guarantees=[K]), tmp_path / "out")

    assert release.rows["out"] == 40


def test_values_that_a_hierarchy_lacks_are_not_counted_as_rows():
    """Four values in six rows are four values: of rows nothing is said that wasn't counted."""
    table = pl.DataFrame({"town": ["a", "a", "b", "b", "c", "d"]})
    columns = {
        "town": {
            "role": "quasi_identifier",
            "kind": "categorical",
            "hierarchy": {"groups": {"x": ["e"]}},
        }
    }

    with pytest.raises(HierarchyError) as raised:
        protect(table, Policy(halfmask=1, columns=columns, guarantees=[{**K, "k": 2}]))

    assert "lacks 4 values of the column" in raised.value.what
    assert "rows" not in raised.value.what


def test_a_policy_that_cant_be():
    """What a policy says is checked when it is made, before any table is read."""
    for changes in (
        {"age": {"role": "quasi"}},
        {"age": {"role": "sensitive"}, "town": {"role": "sensitive"}, "born": {"role": "sensitive"},
         "smoker": {"role": "sensitive"}},
        {"name": {"role": "identifier", "label": True}},
    ):  # fmt: skip
        with pytest.raises(PolicyError):
            policy(columns=changes)
    assert set(QUASI) < set(COLUMNS)
