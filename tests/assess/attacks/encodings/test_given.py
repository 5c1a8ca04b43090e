"""What an encoding's target is given: of any library, of types that fit, and not in vain."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.assess.attacks import ATTACKS as ALL
from halfmask.assess.attacks import EncodingTarget, attack
from halfmask.assess.attacks.encodings import (
    ATTACKS,
    DateRecovery,
    FrequencyMatching,
    KnownPlaintext,
    QuantileMatching,
)

CANARY = "xqcanary"


def table(n: int = 60, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    days = pl.Series(rng.integers(0, 900, n)).cast(pl.Date)
    return pl.DataFrame(
        {"age": rng.integers(0, 90, n), "sort": list("aab" * (n // 3)), "day": days}
    )


def target(**more: Any) -> EncodingTarget:
    settings: dict[str, Any] = {
        "encoded": table().rename({"age": "x", "sort": "y", "day": "z"}),
        "original": table(),
        "population": table(seed=1),
    }
    return EncodingTarget(**{**settings, **more})


@pytest.mark.slow
@pytest.mark.parametrize("turned", [pl.DataFrame.to_pandas, pl.DataFrame.lazy])
def test_tables_of_other_libraries_are_attacked_as_polars_are(turned):
    own = target(later=table())
    others = target(
        **{name: turned(getattr(own, name)) for name in ("encoded", "original", "population")},
        later=turned(table()),
    )
    names = [f"encodings/{name}" for name in ("known-plaintext", "re-merge", "fingerprints")]
    found = [attack(each, attacks=names).to_dict()["findings"] for each in (own, others)]
    assert found[0] == found[1]


def test_bytes_are_attacked_as_the_text_that_spells_them():
    sent = table().with_columns(pl.col("sort").cast(pl.Binary) + b"\xff")
    spelt = sent.with_columns(pl.col("sort").bin.encode("hex"))
    names = [f"encodings/{name}" for name in ("frequency-matching", "secret-reuse")]
    found = [
        attack(target(encoded=each, later=each), attacks=names).findings for each in (sent, spelt)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("which", ["encoded", "original", "population", "later"])
def test_what_is_no_table_is_refused(which):
    with pytest.raises(DataError, match="must be a frame"):
        target(**{which: [1, 2]})
    with pytest.raises(SchemaError, match=f"Column 'l' of {which} holds values of type List"):
        target(**{which: table().with_columns(l=pl.lit([1]))})


@pytest.mark.parametrize("which", ["encoded", "original"])
def test_there_must_be_a_table(which):
    with pytest.raises(DataError):
        target(**{which: None})


@pytest.mark.parametrize(
    ("changed", "given"),
    [
        (pl.lit(CANARY).alias("age"), "'age' holds numbers in the original and texts in the pop"),
        (pl.lit(7).alias("sort"), "'sort' holds texts in the original and numbers in the"),
        (pl.lit(7).alias("day"), "'day' holds dates or times in the original and numbers in"),
    ],
)
def test_a_population_of_other_types_is_refused_without_a_cell(changed, given):
    with pytest.raises(SchemaError, match=given) as caught:
        target(population=table(seed=1).with_columns(changed))
    assert CANARY not in str(caught.value)


def test_times_of_the_population_are_in_the_originals_units():
    rows = table(seed=1)
    moments = rows.with_columns(pl.col("day").cast(pl.Datetime("ms")))

    made = [target(population=each) for each in (rows, moments)]

    found = [QuantileMatching().run(each, random_state=0)[0].success.value for each in made]
    assert found[0] == found[1] > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    "emptied",
    [
        pl.lit(None, dtype=pl.Int64).alias("age"),
        pl.lit(None, dtype=pl.String).alias("age"),
        pl.lit(None).alias("age"),
        [pl.lit(None, dtype=pl.Int64).alias("age"), pl.lit(None, dtype=pl.Date).alias("day")],
        pl.lit(None, dtype=pl.String).alias("sort"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_population_without_a_value_ends_no_battery(emptied):
    population = table(seed=1).with_columns(emptied)
    report = attack(target(population=population, later=table()))
    assert {finding.outcome.attack for finding in report.findings} >= {
        "encodings/quantile-matching",
        "encodings/population-sample",
    }


def test_numbers_that_the_population_lacks_are_invalid():
    none = [pl.lit(None, dtype=pl.Int64).alias("age"), pl.lit(None, dtype=pl.Date).alias("day")]
    with pytest.raises(DataError, match="No ordered column has values in the population"):
        QuantileMatching().run(target(population=table(seed=1).with_columns(none)), random_state=0)


def test_an_empty_population_is_lacking():
    empty = target(population=table()[:0])
    for each in (FrequencyMatching(), QuantileMatching()):
        assert each.missing_inputs(empty) == "a sample of the population"


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5])
def test_tables_of_few_rows_end_no_battery(n):
    rows = table()[:n]
    report = attack(target(encoded=rows, original=rows, later=rows, periods=(2,)))
    assert {name for name, _ in report.skipped} | {f.outcome.attack for f in report.findings} == {
        name for name, made in ALL.items() if made in ATTACKS
    }


def test_one_stretch_cant_be_learnt_from_and_judged_by():
    def made(n: int) -> EncodingTarget:
        rows = pl.DataFrame({"sold": np.arange(float(n)) % 7})
        return target(encoded=rows, original=rows, population=None, periods=[2])

    with pytest.raises(DataError, match="too few rows for a period of 2"):
        DateRecovery().run(made(6), random_state=0)
    assert DateRecovery().run(made(8), random_state=0)[0].details["windows"] == 1


@pytest.mark.parametrize(
    ("others", "given"),
    [
        ({"dictionary": "age"}, "'dictionary' .* must be a list of names. Got .* str"),
        ({"periods": 7}, "'periods' .* must be a list of periods. Got a value of type int"),
        ({"periods": ["week"]}, "'periods' parameter of EncodingTarget must be an int"),
    ],
)
def test_a_lone_setting_is_told_to_go_into_a_list(others, given):
    with pytest.raises(ParameterError, match=given):
        target(**others)


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_rows_that_are_drawn_may_all_lack_a_number():
    lone = pl.when(pl.int_range(pl.len()) < 2).then("age").alias("age")
    rows = table().with_columns(lone)
    found = KnownPlaintext(known=5, n_rows=10).run(
        target(encoded=rows, original=rows), random_state=0
    )
    assert {outcome.measure for outcome in found} >= {"variance of numbers, 5 known rows"}
