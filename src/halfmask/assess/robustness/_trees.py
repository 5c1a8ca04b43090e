"""The nodes of tree-based models of four libraries, as arrays of one kind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.assess._arrays import Bools, Floats, Ints, Model, Value

_NEAR = 1e-5
_SIDES = ("left", "right")


class ScoredTree(NamedTuple):
    """Nodes of all trees; a row's scores are the base and the values of its leaves."""

    feature: Ints
    threshold: Floats
    left: Ints  # -1 in leaves
    right: Ints
    missing_left: Bools
    value: Floats  # (nodes, scores)
    roots: Ints
    base: Floats
    on_left: dict[int, frozenset[float]]  # of splits by sets of categories
    precision: type[np.floating[Any]] = np.float64
    is_strict: bool = False  # whether the threshold itself goes right

    def goes_left(self, node: int, values: Floats) -> Bools:
        """Return which values of a node's feature go left."""
        read, cut = values.astype(self.precision), self.threshold[node]
        left = read < cut if self.is_strict else read <= cut
        if node in self.on_left:
            left = np.isin(values, list(self.on_left[node]))
        return np.asarray(np.where(np.isnan(values), self.missing_left[node], left))

    def edges(self, cuts: Floats) -> Floats:
        """Return where numbers begin to be read as past thresholds: features may be rounded."""
        if self.precision is np.float64:
            return cuts
        below = cuts.astype(np.float32)
        over = (below >= cuts) if self.is_strict else (below > cuts)
        below = np.where(over, np.nextafter(below, np.float32(-np.inf)), below)
        return (below.astype(np.float64) + np.nextafter(below, np.float32(np.inf))) / 2


def read_trees(model: Model) -> tuple[ScoredTree, Value] | None:
    """Return a model's trees, and what scores of it they must add up to."""
    name = next((it.__name__ for it in type(model).__mro__ if it.__name__ in _READERS), None)
    return _READERS[name](model) if name else None


def with_base(trees: ScoredTree, raw: Value, rows: Floats, leaves: Ints) -> ScoredTree | None:
    """Return the trees with what scores begin with; ``None`` if rows have other scores."""
    sums = trees.value[leaves].sum(axis=1)
    if hasattr(raw, "classes_"):  # the model itself: its leaves hold classes, or shares of them
        own = np.searchsorted(raw.classes_, raw.predict(rows))
        near = sums[np.arange(len(rows)), own] >= sums.max(axis=1) - _NEAR
        return trees if near.all() else None
    own = np.asarray(raw(rows), dtype=np.float64).reshape(len(rows), -1)
    left_out = sums.shape[1] - own.shape[1]  # the first of two classes
    apart = np.concatenate([np.zeros((len(rows), left_out)), own], axis=1) - sums
    near = np.abs(apart - apart[0]) <= _NEAR * (1 + np.abs(sums))
    return trees._replace(base=apart[0]) if near.all() else None


def _joined(parts: Iterator[tuple[Value, ...]], *reading: Value) -> ScoredTree:
    """Join trees: feature, threshold, left, right, missing, value and sets of each."""
    features, cuts, *sides, missing, values, sets = zip(*parts, strict=True)
    roots = np.cumsum([0, *map(len, features)])[:-1]
    left, right = (
        np.concatenate([np.where(it < 0, -1, it + n) for it, n in zip(side, roots, strict=True)])
        for side in sides
    )
    on_left = {
        node + int(root): it
        for found, root in zip(sets, roots, strict=True)
        for node, it in found.items()
    }
    cut, value = np.concatenate(cuts).astype(np.float64), np.concatenate(values)
    cut[list(on_left)] = list(on_left)  # sets stay apart
    ways = np.concatenate(features), cut, left, right, np.concatenate(missing).astype(bool)
    return ScoredTree(*ways, value, roots, np.zeros(value.shape[1]), on_left, *reading)


def _of_scikit(trees: list[Value], values: list[Floats]) -> ScoredTree:
    sides = [(it.children_left, it.children_right, it.missing_go_to_left) for it in trees]
    each = zip(trees, sides, values, strict=True)
    return _joined(((it.feature, it.threshold, *by, of, {}) for it, by, of in each), np.float32)


def _in_column(value: Floats, k: int, model: Model) -> Floats:
    """Return the scores of all classes: of two, boosting has the second's alone."""
    n = len(getattr(model, "classes_", (0,)))
    return np.outer(value, np.arange(n) == k + (n == 2))  # two classes


def _raw(model: Model) -> Value:
    return model.decision_function if hasattr(model, "classes_") else model.predict


def _read_forest(model: Model) -> tuple[ScoredTree, Value] | None:
    trees = [it.tree_ for it in getattr(model, "estimators_", [model])]
    if trees[0].value.shape[1] > 1:  # several targets
        return None
    values = [it.value[:, 0] for it in trees]
    if not hasattr(model, "classes_"):
        return _of_scikit(trees, [it / len(trees) for it in values]), model.predict
    if len(trees) == 1:
        return _of_scikit(trees, [np.eye(it.shape[1])[it.argmax(axis=1)] for it in values]), model
    return _of_scikit(trees, [it / it.sum(axis=1, keepdims=True) for it in values]), model


def _read_boosting(model: Model) -> tuple[ScoredTree, Value]:
    trees = [(it.tree_, k) for together in model.estimators_ for k, it in enumerate(together)]
    rate = model.learning_rate
    values = [_in_column(it.value[:, 0, 0] * rate, k, model) for it, k in trees]
    return _of_scikit([it for it, _ in trees], values), _raw(model)


def _read_histograms(model: Model) -> tuple[ScoredTree, Value] | None:
    if model._preprocessor is not None:  # noqa: SLF001 # its features aren't those of the map
        return None
    parts = []
    for together in model._predictors:  # noqa: SLF001 # the only place of the trees
        for k, it in enumerate(tree.nodes for tree in together):
            ways = (np.where(it["is_leaf"], -1, it[side].astype(np.int64)) for side in _SIDES)
            value = _in_column(it["value"], k, model)
            feature = it["feature_idx"].astype(np.int64)
            parts.append((feature, it["num_threshold"], *ways, it["missing_go_to_left"], value, {}))
    return _joined(iter(parts)), _raw(model)


def _read_lightgbm(model: Model) -> tuple[ScoredTree, Value] | None:
    dump = model.booster_.dump_model()
    trees, each, parts = dump["tree_info"], dump["num_tree_per_iteration"], []
    scale = len(trees) // each if dump["average_output"] else 1
    for t, tree in enumerate(trees):
        flat: list[dict[str, Any]] = []
        _flatten(tree["tree_structure"], flat)
        if any("leaf_coeff" in it or it.get("missing_type") == "Zero" for it in flat):
            return None
        by_set = [node for node, it in enumerate(flat) if it.get("decision_type") == "=="]
        sets = {node: frozenset(map(float, flat[node]["threshold"].split("||"))) for node in by_set}
        cut = [0.0 if n in sets else it.get("threshold", 0.0) for n, it in enumerate(flat)]
        missing = [  # without NaN in training, LightGBM reads NaN as 0
            it["default_left"] if it.get("missing_type") == "NaN" else cut[n] >= 0 and n not in sets
            for n, it in enumerate(flat)
        ]
        names = ("split_feature", *_SIDES)
        feature, *ways = (np.array([it.get(name, -1) for it in flat]) for name in names)
        value = np.array([it.get("leaf_value", 0.0) for it in flat]) / scale
        parts.append((feature, cut, *ways, missing, _in_column(value, t % each, model), sets))
    is_class = hasattr(model, "classes_")
    raw = (lambda rows: model.predict(rows, raw_score=True)) if is_class else model.predict
    return _joined(iter(parts)), raw


def _flatten(node: dict[str, Any], flat: list[dict[str, Any]]) -> int:
    own, place = dict(node), len(flat)
    flat.append(own)
    for side in _SIDES if "left_child" in node else ():
        own[side] = _flatten(node[f"{side}_child"], flat)
    return place


def _read_xgboost(model: Model) -> tuple[ScoredTree, Value] | None:
    dump = json.loads(model.get_booster().save_raw("json"))["learner"]["gradient_booster"]
    trees = dump.get("model", {}).get("trees", ())
    if dump["name"] != "gbtree" or any(any(it.get("split_type", ())) for it in trees):
        return None  # linear models, dropout, sets of categories
    parts: list[tuple[Value, ...]] = []
    for k, it in zip(dump["model"]["tree_info"], trees, strict=True):
        left, right = np.array(it["left_children"]), np.array(it["right_children"])
        cut = np.array(it["split_conditions"], dtype=np.float32).astype(np.float64)
        value = _in_column(np.where(left < 0, cut, 0.0), k, model)
        feature = np.array(it["split_indices"])
        parts.append((feature, cut, left, right, it["default_left"], value, {}))
    is_class = hasattr(model, "classes_")  # numbers must be the sums themselves, not their exp
    raw = (lambda rows: model.predict(rows, output_margin=True)) if is_class else model.predict
    return _joined(iter(parts), np.float32, True), raw


_READERS: dict[str, Any] = {
    "BaseDecisionTree": _read_forest,
    "BaseForest": _read_forest,
    "BaseGradientBoosting": _read_boosting,
    "BaseHistGradientBoosting": _read_histograms,
    "LGBMModel": _read_lightgbm,
    "XGBModel": _read_xgboost,
}
