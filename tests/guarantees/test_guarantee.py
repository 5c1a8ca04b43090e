"""What all guarantees have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError, HierarchyError, ParameterError
from halfmask.data import Hierarchy
from halfmask.guarantees import Classes, DistinctLDiversity, Guarantee, KAnonymity, TCloseness

TREE = Hierarchy.from_rows(
    [("flu", "lung"), ("cold", "lung"), ("burn", "skin"), ("CANARY", "skin")], column="ill"
)


@pytest.mark.parametrize("classes", [Classes.from_codes([], 0), Classes.from_codes([0, 0], 2)])
def test_nothing_keeps_no_promise(classes):
    """An empty table would keep every promise, and look like one that was kept."""
    with pytest.raises(ParameterError, match="can't be judged"):
        KAnonymity(k=2).judge(classes)


def test_a_column_that_was_not_counted_is_not_judged():
    with pytest.raises(ColumnNotFoundError, match="'ill'"):
        DistinctLDiversity(l=2, column="ill").judge(Classes.from_codes([0], 1))


def test_parameters_are_plain_numbers():
    guarantee = KAnonymity(k=np.int64(5))  # type: ignore[arg-type] # numpy's count as integers

    assert guarantee.parameters == {"k": 5}
    assert type(guarantee.parameters["k"]) is int


def test_most_guarantees_are_the_same_for_any_values():
    guarantee = DistinctLDiversity(l=2, column="ill")

    assert guarantee.restricted(pl.Series(["flu"])) is guarantee
    assert guarantee.order is None
    assert not guarantee.relative


def test_a_tree_is_cut_down_to_the_values_that_occur():
    promised = TCloseness(t=0.2, column="ill", distance="ordered", hierarchy=TREE)

    cut = promised.restricted(pl.Series(["burn", None, "cold", "burn"]))

    assert cut.order == ("cold", "burn")
    assert (cut.t, cut.distance, cut.relative) == (0.2, "ordered", True)


def test_a_value_without_a_leaf_is_counted_and_not_named():
    promised = TCloseness(t=0.2, column="ill", distance="ordered", hierarchy=TREE)

    with pytest.raises(HierarchyError, match="lacks 1 value") as error:
        promised.restricted(pl.Series(["SECRET"]))
    assert "SECRET" not in str(error.value)


def test_no_leaf_is_in_the_repr():
    assert "CANARY" not in repr(TCloseness(t=0.1, column="ill", distance="ordered", hierarchy=TREE))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class KMapLike(Guarantee):
    """Every class has k people of the population: judged by what no release holds."""

    model: ClassVar[str] = "k-map-like"
    bounded: ClassVar[str] = "k"
    needs_population: ClassVar[bool] = True
    k: int

    def _measure(self, classes):
        return classes.population.astype(float), classes.population >= self.k


def test_a_population_is_judged_where_a_model_asks_for_it():
    sizes = np.array([1, 2, 1])
    classes = Classes(sizes, population=np.array([4, 9, 2]))

    judgement = KMapLike(k=5).judge(classes)
    assert (judgement.achieved, judgement.failing.tolist()) == (2.0, [0, 2])
    merged = classes.coarsened([0, 1, 0], 2)
    assert merged.population.tolist() == [6, 9]  # type: ignore[union-attr] # it is there
    assert KMapLike(k=5).judge(merged).holds
    assert not KMapLike(k=7).judge(merged).holds
    assert KMapLike(k=9).judge(classes.without([0, 2])).holds
    with pytest.raises(ParameterError, match="population weren't counted"):
        KMapLike(k=5).judge(Classes(sizes))
