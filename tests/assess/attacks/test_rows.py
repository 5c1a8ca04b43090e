"""Rows of members, of others and as they were trained on: the same columns, of types that fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB

from halfmask._errors import ColumnNotFoundError, ParameterError, SchemaError
from halfmask.assess.attacks import ModelTarget, attack
from halfmask.assess.attacks.attributes import QueryInference
from halfmask.assess.attacks.membership import Gap, Lira, Rmia, ShadowModels

CANARY = "xqcanary"
N = 60
LABELS = np.tile([0, 1], N // 2)
LIBRARIES = {"polars": pl.DataFrame, "pandas": pd.DataFrame}


def even(rows: Any) -> np.ndarray:
    return np.full((len(rows), 2), 0.5)


def target(members: Any, others: Any, **more: Any) -> ModelTarget:
    return ModelTarget(
        model=even,
        members=members,
        member_labels=LABELS[: len(members)],
        non_members=others,
        non_member_labels=LABELS[: len(others)],
        **more,
    )


def ages(values: Any = None) -> dict[str, Any]:
    return {"age": range(N) if values is None else values, "pay": np.arange(N) / 7}


def gone(values: list[Any]) -> list[Any]:
    return [None if place % 5 == 0 else value for place, value in enumerate(values)]


@pytest.mark.parametrize("frame", LIBRARIES.values(), ids=LIBRARIES)
def test_columns_in_another_order_are_put_into_the_members(frame):
    rows, turned = frame(ages()), frame(ages())[["pay", "age"]]

    made = target(rows, turned, trained_rows=turned)

    for each in (made.non_members, made.trained_rows):
        assert list(each.columns) == ["age", "pay"]
        assert np.array_equal(np.asarray(each), np.asarray(rows))
    assert target(rows, rows).non_members is rows


@pytest.mark.parametrize("frame", LIBRARIES.values(), ids=LIBRARIES)
@pytest.mark.parametrize("which", ["non_members", "trained_rows"])
def test_columns_that_only_one_has_are_named(frame, which):
    rows, fewer = frame(ages()), frame({"age": range(N)})

    for members, others, found in ((rows, fewer, f"'pay'.* {which}"), (fewer, rows, "in members")):
        given = {"non_members": members, which: others}
        with pytest.raises(ColumnNotFoundError, match="not in ") as caught:
            target(members, given.pop("non_members"), **given)
        assert "'pay'" in str(caught.value)
        assert found.rpartition(" ")[2] in str(caught.value)


def test_arrays_must_be_as_wide():
    rows = np.zeros((N, 3))
    for which in ("non_members", "trained_rows"):
        given: dict[str, Any] = {"non_members": rows, which: np.zeros((N, 2))}
        with pytest.raises(SchemaError, match=f"members and {which} must be as wide. Got 3 and 2"):
            target(rows, given.pop("non_members"), **given)
    with pytest.raises(SchemaError, match="Got 4 x 4 and one cell"):
        target(np.zeros((N, 4, 4)), ["a"] * N)
    with pytest.raises(ParameterError, match="rows of non_members must be of the same length"):
        target([[1, 2]] * N, [[1, 2]] * (N - 1) + [[1]])


def test_rows_are_of_one_kind():
    frames = pl.DataFrame(ages()), pd.DataFrame(ages()), np.zeros((N, 2))
    for first in frames:
        for second in frames:
            if first is not second:
                with pytest.raises(ParameterError, match=r"must be of one kind\. Got"):
                    target(first, second)
    assert target(frames[0], frames[0], trained_rows=frames[2]).trained_rows is frames[2]


def test_a_name_that_is_there_twice_cant_be_put_in_order():
    rows = pd.DataFrame(np.zeros((N, 3)), columns=["a", "a", "b"])
    assert target(rows, rows.copy()).n_members == N
    with pytest.raises(SchemaError, match="Column 'a' is several times"):
        target(rows, rows[["b"]].join(rows["a"]))


@pytest.mark.parametrize("frame", LIBRARIES.values(), ids=LIBRARIES)
def test_texts_beside_numbers_are_told_without_a_cell(frame):
    numbers, texts = frame(ages()), frame(ages([CANARY] * N))
    with pytest.raises(SchemaError, match="'age' holds numbers in members and texts in") as caught:
        target(numbers, texts)
    assert CANARY not in str(caught.value)
    with pytest.raises(SchemaError, match="'age' holds texts in members and numbers"):
        target(texts, numbers)
    assert target(numbers, numbers, trained_rows=texts).trained_rows is texts


def test_arrays_of_texts_and_of_numbers_are_told():
    with pytest.raises(SchemaError, match="The rows hold numbers in members and texts in non_mem"):
        target(np.zeros((N, 1)), np.full((N, 1), CANARY))


def test_categories_that_a_type_names_are_in_no_error():
    coded = pl.DataFrame({"age": pl.Series([CANARY] * N, dtype=pl.Enum([CANARY]))})
    with pytest.raises(SchemaError, match="'age'") as caught:
        target(coded, pl.DataFrame({"age": range(N)}))
    assert CANARY not in str(caught.value)


PAIRS: dict[str, tuple[Any, Any]] = {
    "polars, whole and not": (pl.DataFrame(ages()), pl.DataFrame(ages(np.arange(N) / 2))),
    "polars, nulls": (
        pl.DataFrame(ages()),
        pl.DataFrame(ages(pl.Series(gone(list(range(N))), dtype=pl.Float64))),
    ),
    "polars, no value": (pl.DataFrame(ages()), pl.DataFrame(ages([None] * N))),
    "polars, no text": (
        pl.DataFrame(ages(list("abc" * 20))),
        pl.DataFrame(ages(pl.Series([None] * N, dtype=pl.Int64))),
    ),
    "polars, coded texts": (
        pl.DataFrame(ages(list("abc" * 20))),
        pl.DataFrame(ages(pl.Series(list("abc" * 20), dtype=pl.Categorical))),
    ),
    "polars, other codes": (
        pl.DataFrame(ages(pl.Series(list("abc" * 20), dtype=pl.Enum(["a", "b", "c"])))),
        pl.DataFrame(ages(pl.Series(list("abb" * 20), dtype=pl.Enum(["a", "b"])))),
    ),
    "polars, order": (pl.DataFrame(ages()), pl.DataFrame(ages()).select("pay", "age")),
    "pandas, whole and not": (pd.DataFrame(ages()), pd.DataFrame(ages(np.arange(N) / 2))),
    "pandas, missing": (
        pd.DataFrame(ages()),
        pd.DataFrame(ages(pd.array(gone(list(range(N))), dtype="Int64"))),
    ),
    "pandas, no value": (
        pd.DataFrame(ages(list("abc" * 20))),
        pd.DataFrame(ages(np.full(N, np.nan))),
    ),
    "pandas, order": (pd.DataFrame(ages()), pd.DataFrame(ages())[["pay", "age"]]),
    "arrays": (np.arange(2 * N).reshape(N, 2), np.arange(2 * N).reshape(N, 2) / 7),
    "objects": (np.full((N, 2), "a", dtype=object), np.arange(2 * N).reshape(N, 2)),
    "texts": (["a"] * N, ["b"] * N),
    "a column": (pl.Series(["a"] * N), pl.Series(["b"] * N)),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_shadow_models_learn_of_rows_whose_types_differ_harmlessly(pair):
    seen: list[Any] = []

    def train(rows: Any, _labels: Any, _seed: int) -> Any:
        seen.append(rows)
        return even

    attacks: list[Any] = [Gap(), Lira(n_shadows=6), Rmia(n_shadows=6)]
    report = attack(target(*pair, train=train), attacks=attacks)

    assert not [finding.why_invalid for finding in report.findings if finding.failure]
    assert len(seen) == 6
    both = {type(rows) for rows in seen}
    assert both == ({np.ndarray} if isinstance(pair[0], list) else {type(pair[0])})


def test_whole_numbers_beside_others_are_joined_as_such():
    schemas = set()

    def train(rows: Any, _labels: Any, _seed: int) -> Any:
        schemas.add(tuple(rows.dtypes))
        return even

    for pair in ("polars, whole and not", "polars, nulls", "polars, coded texts"):
        ShadowModels(n_shadows=4, trees=2).run(target(*PAIRS[pair], train=train), random_state=0)

    assert schemas == {(pl.Float64, pl.Float64), (pl.String, pl.Float64)}


def test_rows_that_no_type_joins_make_an_attack_invalid_and_end_no_battery():
    moments = pl.Series([0] * N).cast(pl.Datetime("us"))
    members = pl.DataFrame({"at": moments})
    zoned = pl.DataFrame({"at": moments.dt.replace_time_zone("UTC")})

    made = target(members, zoned, train=lambda *_: even)
    report = attack(made, attacks=["membership/lira", "membership/gap"])

    why = "failed: The rows of members and non-members couldn't be joined (SchemaError)"
    assert {finding.failure for finding in report.findings} == {why, ""}


def test_a_secret_that_is_missing_on_one_side_alone_is_asked_about():
    numbers = np.tile(np.arange(3), 100)
    missing = np.where(np.arange(300) % 4 == 0, np.nan, numbers)
    for pair in (
        (pd.DataFrame({"age": numbers}), pd.DataFrame({"age": missing})),
        (np.c_[numbers, numbers], np.c_[numbers, missing]),
    ):
        made = ModelTarget(
            model=even,
            members=pair[0],
            member_labels=np.tile([0, 1], 150),
            non_members=pair[1],
            non_member_labels=np.tile([0, 1], 150),
        )
        column = "age" if isinstance(pair[0], pd.DataFrame) else 1
        found = QueryInference(column=column, learner=GaussianNB()).run(made, random_state=0)
        assert found[0].details["values"] == 4  # three numbers, and what is missing
