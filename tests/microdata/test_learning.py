"""The comparison of models: on rows that no release holds, for every kind of label."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from halfmask.assess import utility
from halfmask.assess.utility import _reference
from halfmask.microdata import _classes, _learning, opening, protect
from halfmask.microdata._learning import learn
from microdata.learned_people import (  # type: ignore[import-not-found] # beside, not in a package
    compared,
)
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    KEY,
    QUASI,
    K,
    people,
    policy,
    promise,
    with_gaps,
)


@pytest.fixture
def split(monkeypatch):
    """What the comparison was given: the protection's rows, and the rows of each model."""
    seen: dict[str, Any] = {}
    plan = _learning._Cells.raw
    whole = utility.model_utility

    def raw(self, frame):
        seen.setdefault("raw", []).append(frame["row"].to_list())
        return plan(self, frame)

    def told(**rows):
        seen["rows"] = rows
        return whole(**rows)

    released = _learning._Cells.released

    def leaving(self, frame, cells):
        seen["released"] = frame["row"].to_list()
        seen["plan"] = self.plan
        return released(self, frame, cells)

    monkeypatch.setattr(_learning._Cells, "raw", raw)
    monkeypatch.setattr(_learning._Cells, "released", leaving)
    monkeypatch.setattr(_learning, "model_utility", told)
    return seen


def test_rows_held_out_are_in_no_release(split):
    """The rows that models are tested on shaped neither classes nor what is written for them."""
    table = people()
    model = compared(table)

    train, test = split["raw"]
    assert (len(train), len(test)) == (180, 60)
    assert not set(test) & {*train, *split["released"]}
    assert split["plan"].partition.sizes.sum() == 180
    ages = split["plan"].codings[0].values
    known = table.filter(pl.col("row").is_in(train))["age"].unique().sort()
    assert ages.to_list() == known.to_list()
    assert (model.train_rows, model.released_rows, model.test_rows) == (180, 180, 60)


@pytest.mark.slow
def test_a_peeking_comparison_shows(monkeypatch):
    """A label that nothing tells can only be learnt from the test rows themselves.

    Every row has an age of its own and a random label: a fair score is chance, and one of models
    that saw the test rows is far above it.
    """
    rng = np.random.default_rng(2)
    n = 400
    table = people(n).with_columns(
        age=pl.Series(rng.permutation(n)), buys=pl.Series(rng.choice(["a", "b"], n))
    )
    table = table.drop("row", "spent", "pay", "visit")
    said = dict.fromkeys(("row", "spent", "pay", "visit"))
    wanted = policy(columns={"buys": {"label": True}})
    wanted = type(wanted)(
        halfmask=1,
        columns={n: c for n, c in wanted.model_dump()["columns"].items() if n not in said},
        guarantees=[K],
    )

    # The last stage knows its rows by heart; a stage that is chosen on others would not.
    monkeypatch.setattr(_reference, "_best_stage", lambda *_: _reference.STAGES)
    fair: Any = protect(table, wanted, key=KEY).utility.model
    whole = utility.model_utility

    def on_the_same_rows(**given):
        return whole(**{**given, "test": given["raw"]})

    monkeypatch.setattr(_learning, "model_utility", on_the_same_rows)
    peeking: Any = protect(table, wanted, key=KEY).utility.model

    assert fair.raw.accuracy < 0.65
    assert peeking.raw.accuracy > 0.8


def test_the_same_rows_are_raw_and_released(split):
    """Both models learn from the same people, with the labels that they have."""
    compared(with_gaps(people(), ["town", "age"]))

    assert split["raw"][0] == split["released"]
    rows = split["rows"]
    assert rows["raw"].label.tolist() == rows["released"].label.tolist()
    assert rows["raw"].features.shape == rows["released"].features.shape
    assert not np.array_equal(rows["raw"].features, rows["released"].features)


@pytest.mark.slow
def test_the_label_is_no_feature(split):
    """A model that predicts a column doesn't see it, nor any other label."""
    compared(people(), columns={"spent": {"label": True}})

    n_untouched = split["rows"]["raw"].features.shape[1]
    compared(people())
    assert split["rows"]["raw"].features.shape[1] == n_untouched + 1, "spent is a feature again"


@pytest.mark.parametrize("column", ["town", "illness", "spent", "buys"])
def test_missing_cells_that_suppress(column):
    """Rows that a missing cell leaves out are in neither model, whatever the column's role."""
    table = with_gaps(people(), ["town", "illness", "spent", "buys", "pay"])

    model = compared(
        table,
        columns={column: {"missing": "suppress"}},
        suppression={"max_fraction": 0.2},
    )

    assert model.train_rows == model.released_rows < 180
    assert model.raw.accuracy > 0.5


LABELS = {
    "text": (pl.col("buys"), "categorical", "classification"),
    "boolean": (pl.col("buys") == "yes", "categorical", "classification"),
    "few numbers": (pl.col("age") // 20, "numeric", "classification"),
    "whole numbers": (pl.col("age") * 3, "numeric", "regression"),
    "floats": (pl.col("spent"), "numeric", "regression"),
    "two floats": ((pl.col("age") // 45).cast(pl.Float64), "numeric", "classification"),
    "decimals": (pl.col("spent").cast(pl.Decimal(9, 2)), "numeric", "regression"),
    "dates": (pl.col("visit"), "datetime", "regression"),
    "codes": (pl.col("age"), "categorical", None),
    "free text": (pl.format("note {}", "row"), "text", None),
    "one value": (pl.lit("yes"), "categorical", None),
    "one number": (pl.lit(1.5), "numeric", None),
    "nothing": (pl.lit(None, dtype=pl.String), "categorical", None),
    "no number": (pl.lit(None, dtype=pl.Float64), "numeric", None),
    "an infinite number": (
        pl.when(pl.col("row") == 1).then(float("inf")).otherwise("spent"),
        "numeric",
        None,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("label", "kind", "task"), LABELS.values(), ids=LABELS)
def test_every_kind_of_label(label, kind, task):
    """Classes and numbers are learnt as such; where nothing can be learnt there is no figure."""
    model = compared(people().with_columns(buys=label), columns={"buys": {"kind": kind}})

    assert (None if model is None else model.task) == task


def test_a_label_with_gaps():
    """Rows without a label teach nothing and test nothing."""
    model = compared(
        people().with_columns(pl.when(pl.col("row") % 3 > 0).then("buys").alias("buys"))
    )

    assert (model.train_rows, model.test_rows) == (120, 40)


def test_a_label_that_is_a_quasi_identifier():
    """A column that is generalized itself is not what is compared."""
    assert compared(people(), label="smoker", method={"name": "guided"}) is None


@pytest.mark.slow
def test_a_label_that_is_sensitive():
    """A sensitive column can be the label: guarantees are kept in the comparison, too."""
    promises = promise("distinct-l-diversity", "illness", l=3)
    model: Any = protect(
        people(), policy(K, promises, columns={"illness": {"label": True}}), key=KEY
    ).utility.model

    assert model.task == "classification"


def test_too_few_rows():
    """Where three quarters of the rows can't be protected there is nothing to compare."""
    assert compared(people(5)) is None
    assert compared(people(8)) is not None


def test_columns_without_values():
    """Columns that are all missing, of each type and role, are no obstacle."""
    table = people().with_columns(
        age=pl.lit(None, pl.Float64),
        town=pl.lit(None, pl.String),
        born=pl.lit(None, pl.Date),
        pay=pl.lit(None, pl.Int64),
        note=pl.lit(None, pl.String),
    )

    assert compared(table).raw.accuracy > 0.5


@pytest.mark.slow
def test_the_same_table_gives_the_same_figure():
    """The split and the models are the same each time, whatever the key."""
    wanted = policy(columns={"buys": {"label": True}})
    figures = [protect(people(), wanted).utility.model for _ in range(2)]

    assert figures[0] == figures[1]


def test_large_tables_lend_some_rows(monkeypatch):
    """Of a table with more rows than the comparison wants about as many are drawn."""
    monkeypatch.setattr(_classes, "LEARNING_ROWS", 200)
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 100)

    model = compared(people(1000))

    assert 150 < model.train_rows + model.test_rows < 250


def test_learning_refuses_nothing_but_says_none():
    """A guarantee that fewer rows can't keep ends the comparison, not the release."""
    wanted = policy({"model": "k-anonymity", "k": 200}, columns={"buys": {"label": True}})
    release = protect(people(), wanted, key=KEY)

    assert release.utility.model is None
    assert release.utility.label == "buys"
    protection = opening.protection_of(wanted, wanted.schema())
    assert learn(people(), protection, features=[*QUASI], label="buys") is None
