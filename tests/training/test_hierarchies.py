"""Hierarchies: a class holds values of one branch, or whole branches."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import halfmask as hm
from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.data import Groups, Intervals
from halfmask.training import AnonymizedEstimator, accuracy_by_k

CITIES = {"south": ("lyon", "rome"), "north": ("oslo", "riga")}
TREE = Groups({node: list(leaves) for node, leaves in CITIES.items()})
NODES = {*map(frozenset, CITIES.values()), frozenset(sum(CITIES.values(), ()))} | {
    frozenset([city]) for leaves in CITIES.values() for city in leaves
}


def people(n: int = 400) -> tuple[pl.DataFrame, np.ndarray]:
    """One city of each node earns more, and so do the young of each decade."""
    rng = np.random.default_rng(0)
    city = rng.choice(["lyon", "rome", "oslo", "riga"], n)
    age = rng.integers(20, 60, n)
    y = (np.isin(city, ["lyon", "oslo"]) & (age % 10 < 5)) | (rng.random(n) < 0.05)
    return pl.DataFrame({"city": city, "age": age}), y.astype(int)


def of(column: str, *, k: int, **settings):
    return AnonymizedEstimator(
        LogisticRegression(),
        guarantees=[hm.KAnonymity(k=k)],
        quasi_identifiers=[column],
        split_targets="labels",
        **{"representative": "centroid"} | settings,
    )


def values_of_classes(model, rows, y, column):
    cells = model.fit(rows, y).anonymizer_.cells_
    return [frozenset(rows[column].filter(pl.Series(cells == cell))) for cell in np.unique(cells)]


@pytest.mark.slow
@pytest.mark.parametrize("representative", ["centroid", "chosen"])
def test_categories_of_a_class_are_a_node(representative):
    rows, y = people()
    free = values_of_classes(of("city", k=150), rows, y, "city")
    assert frozenset(["lyon", "oslo"]) in free, "cities of one label, of two nodes"
    model = of("city", k=150, hierarchies={"city": TREE}, representative=representative)
    bound = values_of_classes(model, rows, y, "city")
    assert set(bound) == {frozenset(leaves) for leaves in CITIES.values()}
    fine = of("city", k=50, hierarchies={"city": TREE})
    assert set(values_of_classes(fine, rows, y, "city")) <= NODES


def test_numbers_of_a_class_are_of_one_interval_while_it_can_be_cut():
    rows, y = people()
    free = values_of_classes(of("age", k=20), rows, y, "age")
    assert any(len({age // 10 for age in ages}) > 1 for ages in free)
    model = of("age", k=20, hierarchies={"age": Intervals(widths=(10,), origin=0)})
    bound = values_of_classes(model, rows, y, "age")
    assert all(len({age // 10 for age in ages}) == 1 for ages in bound)


@pytest.mark.slow
def test_each_k_is_measured_with_them():
    """In half of the rows no city is a class of 60, and a node has both labels."""
    rows, _ = people()
    y = rows["city"].is_in(["lyon", "oslo"]).to_numpy()
    free, bound = (
        accuracy_by_k(of("city", k=2, hierarchies=tree), rows, y, ks=[60], cv=2).score(k=60)
        for tree in (None, {"city": TREE})
    )
    assert free > bound + 0.2


@pytest.mark.parametrize(
    ("hierarchies", "error", "message"),
    [
        (TREE, ParameterError, "by column"),
        ({"city": "tree"}, ParameterError, "no hierarchy for column 'city'"),
        ({"town": TREE}, ColumnNotFoundError, "'town'"),
        ({0: TREE}, ParameterError, "names columns by text"),
        ({"age": Intervals(widths=(10,))}, ParameterError, "'age' has a hierarchy and isn't"),
    ],
)
def test_what_is_no_hierarchy_is_refused(hierarchies, error, message):
    rows, y = people()
    with pytest.raises(error, match=message):
        of("city", k=10, hierarchies=hierarchies).fit(rows, y)
