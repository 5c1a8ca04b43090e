"""Secrets that some people lack: one value, whatever stands for it, and never the positive one."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB

from halfmask._errors import ParameterError
from halfmask.assess.attacks import ModelTarget
from halfmask.assess.attacks.attributes import QueryInference
from halfmask.assess.attacks.attributes._inference_setup import factorised, secret_of

CANARY = "xqcanary"
N = 200


def spread(values: list[Any]) -> list[Any]:
    """Return each value, and None, equally often."""
    return [[*values, None][place % (len(values) + 1)] for place in range(N)]


SECRETS: dict[str, tuple[Any, Any]] = {
    "pandas, string": (pd.array(spread(["a", "b"]), dtype="string"), "a"),
    "pandas, str": (pd.array(spread(["a", "b"]), dtype="str"), "a"),
    "pandas, objects": (np.array(spread(["a", "b"]), dtype=object), "a"),
    "pandas, NA among objects": (
        np.array([pd.NA if cell is None else cell for cell in spread(["a", "b"])], dtype=object),
        "a",
    ),
    "pandas, category": (pd.Categorical(spread(["a", "b"])), "a"),
    "pandas, Int64": (pd.array(spread([3, 5]), dtype="Int64"), 3),
    "pandas, Float64": (pd.array(spread([0.5, 2.0]), dtype="Float64"), 2.0),
    "pandas, boolean": (pd.array(spread([True, False]), dtype="boolean"), True),
    "pandas, decimals": (np.array(spread([Decimal(1), Decimal(2)]), dtype=object), Decimal(1)),
    "polars, texts": (pl.Series(spread(["a", "b"])), "a"),
    "polars, whole numbers": (pl.Series(spread([3, 5])), 3),
    "polars, days": (pl.Series(spread([date(2020, 1, 1), date(2021, 1, 1)])), date(2020, 1, 1)),
}


def frame_of(cells: Any) -> Any:
    made: Any = pl.DataFrame if isinstance(cells, pl.Series) else pd.DataFrame
    return made({"other": np.arange(N) / 7, "secret": cells})


def target_of(cells: Any) -> ModelTarget:
    rows, labels = frame_of(cells), np.tile([0, 1], N // 2)
    return ModelTarget(
        model=lambda asked: np.full((len(asked), 2), 0.5),
        members=rows,
        member_labels=labels,
        non_members=rows,
        non_member_labels=labels,
    )


@pytest.mark.parametrize("kind", SECRETS)
def test_what_is_missing_is_one_value_and_not_the_positive_one(kind):
    cells, positive = SECRETS[kind]
    rows = frame_of(cells)

    secret = secret_of(rows, rows, "secret", bins=5, positive=positive)

    assert len(secret) == 3
    assert secret.candidates[secret.positive] == positive
    assert (secret.members == secret.positive).sum() == len(range(0, N, 3))
    assert sorted(np.bincount(secret.members)) == [66, 67, 67]


@pytest.mark.parametrize("kind", SECRETS)
def test_the_model_is_asked_about_each_and_precision_is_of_the_positive_one(kind):
    cells, positive = SECRETS[kind]
    made = QueryInference(column="secret", positive=positive, learner=GaussianNB())

    accuracy, _, recall = made.run(target_of(cells), random_state=0)

    assert accuracy.details["values"] == 3
    assert recall.success.trials == len(range(0, N, 3))


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize(
    "positive", [CANARY, None, np.nan, pd.NA, pd.NaT, ["a"], np.array(["a"]), object()]
)
def test_what_is_no_value_is_told_and_so_is_what_is_missing(kind, positive):
    rows = frame_of(SECRETS[kind][0])
    if positive is None:  # which asks for none
        assert secret_of(rows, rows, "secret", bins=5, positive=None).positive == -1
        return
    with pytest.raises(
        ParameterError, match=r"'positive' .* no value of column 'secret'"
    ) as caught:
        secret_of(rows, rows, "secret", bins=5, positive=positive)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("dtype", ["Int64", "int64", "Float64"])
def test_many_numbers_of_pandas_are_binned(dtype):
    numbers = list(range(50)) * 4
    cells = pd.array(numbers, dtype=dtype)
    if dtype != "int64":
        cells[::10] = pd.NA
    made = QueryInference(column="secret", bins=4, positive=7, learner=GaussianNB())

    found = made.run(target_of(cells), random_state=0)

    assert found[0].details["values"] == 4 + (dtype != "int64")
    assert len(found) == 3


@pytest.mark.parametrize("positive", [CANARY, np.nan, pd.NA, None, [7], {}])
def test_a_bin_is_of_numbers_alone(positive):
    rows = np.arange(100.0)[:, None]
    rows[::10] = np.nan
    if positive is None:
        assert secret_of(rows, rows, 0, bins=4, positive=None).positive == -1
        return
    with pytest.raises(ParameterError, match="no value of column 0") as caught:
        secret_of(rows, rows, 0, bins=4, positive=positive)
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_text_that_reads_like_nothing_is_a_value():
    codes, values = factorised(np.array(["None", None, "nan", np.nan, pd.NA, "<NA>"], dtype=object))

    assert len(set(codes.tolist())) == 4
    assert codes[1] == codes[3] == codes[4]
    assert [values[code] for code in codes[[0, 2, 5]]] == ["None", "nan", "<NA>"]


def test_without_a_value_there_is_nothing_to_tell_apart():
    codes, values = factorised(np.array([None, np.nan], dtype=object))

    assert codes.tolist() == [0, 0]
    assert values.tolist() == [None]


@pytest.mark.parametrize("of_a_library", [False, True])
@pytest.mark.parametrize(
    ("dtype", "origin"), [(pl.Int64, 2**60), (pl.Int64, -(2**63)), (pl.UInt64, 2**64 - 301)]
)
def test_secrets_of_many_digits_have_the_bins_of_small_ones(dtype, origin, of_a_library):
    """As floats they were one value, which each guess of it found."""
    small = np.arange(301) * 7 % 301
    rows = pl.DataFrame({"secret": small})
    large = pl.DataFrame({"secret": pl.Series([origin + int(it) for it in small], dtype=dtype)})
    positive = large["secret"].to_numpy()[10] if of_a_library else origin + 70

    expected = secret_of(rows, rows, "secret", bins=5, positive=70)
    found = secret_of(large, large, "secret", bins=5, positive=positive)

    assert found.members.tolist() == expected.members.tolist()
    middles = [int(it) - origin for it in found.candidates]
    assert middles == expected.candidates.tolist()
    assert found.positive == expected.positive


@pytest.mark.parametrize("origin", [2**60, -(2**62)])
def test_known_numbers_of_many_digits_tell_of_the_secret(origin):
    """Whose account was opened early has the secret: floats tell no account from another."""
    chances = []
    for first in (0, origin):
        known = pl.Series([first + it for it in range(N)])
        rows = pl.DataFrame({"account": known, "secret": np.arange(N) > N // 2})
        target = replace(target_of(pl.Series([0] * N)), members=rows, non_members=rows)
        target = replace(target, secrets=("secret",))
        (outcome,) = QueryInference(learner=GaussianNB()).run(target, random_state=0)
        chances.append((outcome.success.value, outcome.control.value))

    assert chances[0] == chances[1]
    assert chances[0][1] > 0.9
