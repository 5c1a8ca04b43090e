"""Columns that follow from others take their role, and say from which."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

from halfmask.description.tables import describe

N = 600
DAY = dt.date(2020, 1, 1)
BANDS = {region: ord(region) % 3 for region in "abcdefgh"}
CODES = {region: region * 2 for region in "abcdefgh"}


def people():
    """Draw people; what isn't named here says nothing of them."""
    rng = np.random.default_rng(11)
    height, weight = rng.normal(172, 9, N).round(0), rng.normal(74, 12, N).round(1)
    born = [dt.date(1940, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 22_000, N)]
    arrested = [DAY + dt.timedelta(days=int(d)) for d in rng.integers(0, 700, N)]
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, N),
            "height": height,
            "weight": weight,
            "sex": rng.choice(["m", "f"], N),
            "birth date": born,
            "arrest date": arrested,
            "salary": rng.normal(3_000, 800, N).round(0),
            "bonus": rng.normal(300, 80, N).round(0),
            "region": rng.choice(list("abcdefgh"), N),
            "noise": rng.integers(0, 3, N),
        }
    )


def found_for(name, expression):
    return describe(people().with_columns(expression.alias(name)))[name]


@pytest.mark.parametrize(
    ("name", "expression", "sources"),
    [
        ("bmi", (pl.col("weight") / (pl.col("height") / 100) ** 2).round(1), ("height", "weight")),
        ("v1", pl.col("weight") * 703 / pl.col("height") ** 2, ("height", "weight")),
        ("v2", pl.col("age").log(), ("age",)),
        ("v3", pl.col("age") ** 2, ("age",)),
        ("v4", pl.col("age") // 10, ("age",)),
        ("v5", (pl.col("age") > 40).cast(pl.Int8), ("age",)),
        ("v6", pl.col("region").replace_strict(BANDS), ("region",)),
        ("v7", pl.col("region").replace_strict(CODES), ("region",)),
        ("v8", (DAY - pl.col("birth date")).dt.total_days() // 365, ("birth date",)),
        (
            "v9",
            (pl.col("arrest date") - pl.col("birth date")).dt.total_days(),
            ("birth date", "arrest date"),
        ),
        ("v10", pl.col("height") - pl.col("weight"), ("height", "weight")),
        ("disease", pl.col("region").replace_strict(CODES), ("region",)),
    ],
)  # fmt: skip
def test_what_follows_from_quasi_identifiers_is_one(name, expression, sources):
    found = found_for(name, expression)

    assert found.role == "quasi_identifier"
    assert found.reasons[0].startswith("It follows from")
    assert all(f"`{source}`" in found.reasons[0] for source in sources)


def test_one_row_in_a_hundred_may_disagree():
    wrong = pl.int_range(pl.len()) % 100 == 0
    bmi = pl.col("weight") / (pl.col("height") / 100) ** 2

    assert found_for("bmi", pl.when(wrong).then(1_000.0).otherwise(bmi)).role == "quasi_identifier"
    assert found_for("bmi", pl.when(wrong).then(None).otherwise(bmi)).role == "quasi_identifier"


@pytest.mark.parametrize(
    "expression",
    [
        pl.col("salary") + pl.col("bonus"),
        pl.col("salary") * 12,
        pl.col("salary").log(),
        pl.col("bonus") / pl.col("salary"),
    ],
)
def test_what_follows_from_sensitive_columns_is_sensitive(expression):
    found = found_for("v1", expression)

    assert found.role == "sensitive"
    assert "`salary`" in found.reasons[0]


def test_what_only_goes_along_with_others_does_not_follow_from_them():
    """Half of it is noise; a body mass index without height and weight is of health."""
    rng = np.random.default_rng(3)
    noisy = people().with_columns(
        bmi=pl.col("weight") / (pl.col("height") / 100) ** 2 + pl.Series(rng.normal(0, 2, N)),
        rare=pl.Series([0] * (N - 2) + [1] * 2),
        v1=pl.Series(rng.integers(0, 2, N)),
    )
    found = describe(noisy)

    assert found["bmi"].role == "sensitive"
    assert describe(noisy.drop("height"))["bmi"].role == "sensitive"
    for name in ("bmi", "rare", "v1", "noise"):
        assert not any("follows" in reason for reason in found[name].reasons), name


def test_a_sorted_table_is_judged_as_a_shuffled_one():
    table = people().with_columns(v1=pl.Series(np.arange(N) // 150)).sort("age")

    assert "follows" not in describe(table)["v1"].reasons[0]


@pytest.mark.parametrize("others", [0, 3])
def test_one_text_in_nearly_all_rows_follows_from_nothing(others):
    """Though it stands in every e-mail address."""
    table = people().with_columns(
        pl.Series("email", [f"u{i}@example.com" for i in range(N)]),
        pl.Series("else", ["example"] * (N - others) + ["zz"] * others),
    )

    assert describe(table)["else"].role == "insensitive"


@pytest.mark.slow
def test_what_stands_in_a_full_name_is_a_name():
    table = people().with_columns(
        pl.Series("client name", [f"zo{i} ka{i % 290}" for i in range(N)]),
        pl.Series("part one", [f"zo{i}" for i in range(N)]),
        pl.Series("part two", [f"KA{i % 290}" for i in range(N)]),
        pl.Series("else", [f"be{i % 290}" for i in range(N)]),
    )

    found = describe(table)

    assert found["part two"].role == "identifier"
    assert "`client name`" in found["part two"].reasons[0]
    assert found["else"].role == "quasi_identifier"


def test_no_cell_stands_in_the_reasons():
    table = people().with_columns(v1=pl.lit("CANARY") + (pl.col("age") // 10).cast(pl.String))

    found = describe(table)["v1"]

    assert found.role == "quasi_identifier"
    assert "CANARY" not in repr(found)


@pytest.mark.parametrize("height", [1, 2, 29])
def test_few_rows_show_nothing(height):
    table = people().head(height).with_columns(v1=pl.col("age") // 10)

    assert "follows" not in describe(table)["v1"].reasons[0]
