"""What `synthetic.py` measures of synthetic rows: the same for every synthesizer.

A part of the script; not run by itself. The boosting model and the membership attack are written
here with scikit-learn; marginals and the propensity score are those of `assess_synthetic`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from halfmask.assess.masking.pairs import column_pairs, separation
from halfmask.assess.synthesis.quality import marginal_distances
from halfmask.kernels.partition.mdav import nearest_points

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from synthetic_tables import Halves

#: Categories of a column that boosting sees one by one. The others are one: they only add noise.
CATEGORIES = 20
#: People of either kind whom the attack is tried on.
PEOPLE = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One synthesizer on one table and seed.

    Parameters
    ----------
    auc
        The AUC of boosting trained on the rows, on held-back rows.
    membership
        The AUC of an attacker who separates learnt people from held-back ones; 0.5 is a guess.
    logistic, cart
        The pMSE ratio by either propensity model; 1 is as good as new rows.
    marginals
        The mean total variation of tables of three columns.
    """

    auc: float
    membership: float
    logistic: float
    cart: float
    marginals: float


def measured(
    halves: Halves, synthetic: pl.DataFrame, *, seed: int, are_learnt: bool = True
) -> Measured:
    """Measure synthetic rows beside those they were learnt from and those held back.

    Parameters
    ----------
    halves
        The table.
    synthetic
        The synthetic rows.
    seed
        Of samples and learners.
    are_learnt
        ``False`` for the held-back rows themselves, which can't be held back from a model.
    """
    pairs = column_pairs(halves.learnt, synthetic, halves.learnt.columns)
    owners = np.arange(synthetic.height) % halves.learnt.height
    fits = {each.model: each.ratio for each in separation(pairs, owners, seed)}
    return Measured(
        auc=boosting_auc(halves, synthetic, seed=seed) if are_learnt else np.nan,
        membership=membership_auc(halves, synthetic, seed=seed) if are_learnt else np.nan,
        logistic=fits["logistic"],
        cart=fits["cart"],
        marginals=marginal_distances(pairs, None, random_state=seed)[-1].mean,
    )


def boosting_auc(halves: Halves, train: pl.DataFrame, *, seed: int) -> float:
    """Return the AUC on held-back rows of boosting trained on `train`, weighted over classes."""
    names = [name for name in halves.learnt.columns if name != halves.label]
    codes = {
        name: halves.learnt[name].drop_nulls().value_counts(sort=True)[name][:CATEGORIES]
        for name in names
        if halves.learnt.schema[name] == pl.String
    }
    fitted = HistGradientBoostingClassifier(
        categorical_features=[name in codes for name in names], random_state=seed
    ).fit(_features(train, names, codes), train[halves.label].to_numpy())
    shares = fitted.predict_proba(_features(halves.held_back, names, codes))
    known = halves.held_back[halves.label].to_numpy()
    if shares.shape[1] == 2:
        return float(roc_auc_score(known == fitted.classes_[1], shares[:, 1]))
    return float(roc_auc_score(known, shares, multi_class="ovr", average="weighted"))


def membership_auc(halves: Halves, synthetic: pl.DataFrame, *, seed: int) -> float:
    """Return how well a density ratio tells learnt people from others.

    The score of a person is the distance to the nearest of other people over the distance to the
    nearest synthetic row, as in DOMIAS (van Breugel et al., 2023). One half of the held-back rows
    are the other people whom the attacker knows, the other half are people to be told apart.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(halves.held_back.height)
    half = len(order) // 2
    known, absent = halves.held_back[order[:half]], halves.held_back[order[half:]]
    others, rows = _places(halves, known), _places(halves, synthetic)
    scores = []
    for people in (halves.learnt, absent):
        some = people[rng.permutation(people.height)[:PEOPLE]]
        points = _places(halves, some)
        scores.append(np.log(_gap(others, points)) - np.log(_gap(rows, points)))
    members = np.repeat([1, 0], [len(each) for each in scores])
    return float(roc_auc_score(members, np.concatenate(scores)))


def _gap(rows: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    nearest = rows[nearest_points(rows, points, capped=True)]
    gaps: NDArray[np.float64] = np.minimum(np.abs(nearest - points), 1.0).mean(axis=1)
    return gaps + 1e-6


def _places(halves: Halves, rows: pl.DataFrame) -> NDArray[np.float64]:
    """Return numbers by their rank, categories by number; different categories are 1 apart."""
    placed = []
    for name in halves.learnt.columns:
        cells, values = rows[name], halves.learnt[name].drop_nulls()
        if values.dtype == pl.String:
            places = _codes(cells, values.unique(maintain_order=True))
        else:
            known, own = np.sort(values.to_numpy()), cells.cast(pl.Float64).to_numpy()
            low, high = (np.searchsorted(known, own, side=side) for side in ("left", "right"))
            places = (low + high) / 2 / len(known)
        placed.append(np.where(cells.is_null().to_numpy(), -2.0, places))
    return np.ascontiguousarray(np.stack(placed, axis=1).astype(np.float64))


def _features(
    rows: pl.DataFrame, names: list[str], codes: dict[str, pl.Series]
) -> NDArray[np.float64]:
    """Return numbers, and the codes of categories; a missing cell is not a number."""
    columns = []
    for name in names:
        cells = rows[name]
        coded = (
            _codes(cells, codes[name]) if name in codes else cells.cast(pl.Float64).to_numpy()
        ).astype(np.float64)
        columns.append(np.where(cells.is_null().to_numpy(), np.nan, coded))
    return np.stack(columns, axis=1)


def _codes(cells: pl.Series, values: pl.Series) -> NDArray[np.int64]:
    """Return the number of each category; those that aren't among `values` share the last."""
    numbers = dict(zip(values.to_list(), range(len(values)), strict=True))
    found = [numbers.get(each, len(values)) for each in cells.to_list()]
    return np.asarray(found, dtype=np.int64)
