"""Linkability: two parts of a row that share a nearest released row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.assess.attacks import TableTarget
from halfmask.assess.attacks.tables import Linkability
from halfmask.assess.attacks.tables._links import nearest_few

if TYPE_CHECKING:
    import polars as pl


def test_the_raw_table_is_broken(raw: TableTarget):
    (outcome,) = Linkability(n_neighbours=1).run(raw, random_state=0)

    assert outcome.excess.bounds(0.01)[0] > 0.5
    assert outcome.details["residual_risk"] == pytest.approx(outcome.success.value, abs=0.05)


def test_shuffled_columns_resist(permuted: TableTarget):
    for n in (1, 10):
        (outcome,) = Linkability(n_neighbours=n).run(permuted, random_state=0)
        assert outcome.excess.bounds(0.01)[0] <= 0
        assert outcome.success.value <= outcome.details["by_chance"] + 0.05


def test_more_neighbours_share_more(raw: TableTarget):
    parts = (("city", "age"), ("job", "born"))
    shares = [
        Linkability(n_neighbours=n, parts=parts).run(raw, random_state=0)[0].success.value
        for n in (1, 5, 20)
    ]

    assert shares == sorted(shares)


def test_the_nearest_few_are_the_nearest_and_ties_are_drawn():
    rng = np.random.default_rng(0)
    distances = np.tile(np.array([[0.5, 0, 0.5, 0.5, 2.0]]), (3000, 1))
    few = nearest_few(distances, 2, rng)

    assert (few == 1).any(axis=1).all()
    others = np.bincount(few[few != 1], minlength=5)
    assert others[4] == 0
    assert others[[0, 2, 3]].tolist() == pytest.approx([1000] * 3, abs=120)


def test_parts_must_be_disjoint_and_there(raw: TableTarget):
    with pytest.raises(ParameterError, match="disjoint"):
        Linkability(parts=(("age",), ("age",)))
    with pytest.raises(ColumnNotFoundError, match="aeg"):
        Linkability(parts=(("aeg",), ("city",))).run(raw, random_state=0)


def test_what_is_missing_is_named(original: pl.DataFrame):
    one = original.select("age")

    assert "two columns" in Linkability().missing_inputs(TableTarget(released=one, original=one))
    assert "control" in Linkability().missing_inputs(
        TableTarget(released=original, original=original)
    )
