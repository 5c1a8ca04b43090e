"""Tree models as what they store: rows of each class at a node, however often each was drawn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from halfmask.assess.attacks.structure._tree_structure import Trees, trees_of

CLASSES = 3


@pytest.fixture(scope="module")
def learned():
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(120, 4)).astype(np.float32)
    return rows, rng.integers(0, CLASSES, size=120)


def stored(model) -> Trees:
    """Return the trees of a model that has some."""
    found = trees_of(model)
    assert found is not None
    return found


def counted(tree, rows, labels):
    """Count the rows of each class that pass each node, one by one."""
    found = np.zeros((tree.tree_.node_count, CLASSES))
    passed = tree.decision_path(rows).toarray()
    for row, label in enumerate(labels):
        found[passed[row].astype(bool), label] += 1
    return found


def test_rows_of_a_tree_count_once(learned):
    rows, labels = learned
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(rows, labels)
    (found,) = stored(tree).class_counts
    np.testing.assert_allclose(found, counted(tree, rows, labels), atol=1e-9)


def test_rows_of_a_tree_count_by_their_weight(learned):
    rows, labels = learned
    times = np.arange(len(rows)) % 3
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    tree.fit(rows, labels, sample_weight=times)
    (found,) = stored(tree).class_counts
    often = np.repeat(np.arange(len(rows)), times)
    np.testing.assert_allclose(found, counted(tree, rows[often], labels[often]), atol=1e-9)


def test_rows_of_a_forest_count_as_often_as_each_tree_drew_them(learned):
    rows, labels = learned
    forest = RandomForestClassifier(5, max_depth=4, random_state=0).fit(rows, labels)
    found = stored(forest).class_counts
    assert len(found) == len(forest.estimators_)
    for tree, drawn, counts in zip(
        forest.estimators_, forest.estimators_samples_, found, strict=True
    ):
        assert len(np.unique(drawn)) < len(drawn)
        np.testing.assert_allclose(counts, counted(tree, rows[drawn], labels[drawn]), atol=1e-9)


def test_a_pipeline_leads_rows_to_the_leaves_of_what_its_steps_make_of_them(learned):
    rows, labels = learned
    line = make_pipeline(StandardScaler(), ExtraTreesClassifier(3, random_state=0))
    line.fit(rows, labels)
    trees = stored(line)
    np.testing.assert_array_equal(trees.leaves(rows), line[-1].apply(line[0].transform(rows)))
    assert trees.kind == "forest"
    assert repr(trees) == "Trees(forest)"


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (DecisionTreeClassifier(), "tree"),
        (RandomForestClassifier(2), "forest"),
        (GradientBoostingClassifier(n_estimators=2), "boosted"),
        (HistGradientBoostingClassifier(max_iter=2), "histogram"),
    ],
    ids=lambda each: each if isinstance(each, str) else type(each).__name__,
)
def test_what_is_learned_is_told_by_what_is_stored(model, kind, learned):
    rows, labels = learned
    trees = stored(model.fit(rows, labels))
    assert trees.kind == kind
    assert trees.rows_learned == len(rows)


def test_what_has_no_trees_has_none(learned):
    assert trees_of(LogisticRegression().fit(*learned)) is None
