"""Quality of synthetic rows: tables of one to three columns, and learners tested on other rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._facts import Facts
from halfmask.assess._one_thread import one_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.assess._arrays import Floats, Ints
    from halfmask.assess.masking.pairs import ColumnPair


#: Amounts are cut at quantiles into so many bins; of categories so many are separate.
BINS = 8
#: Of more sets of columns than this, a sample is compared.
MOST_SETS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalDistance(Facts):
    """How far tables of some columns are apart.

    Parameters
    ----------
    columns, tables
        How many columns a table has, and how many tables were compared.
    mean, largest
        The total variation distance, in [0, 1]: the share of rows that would have to move.
    worst
        The columns of the table that is farthest apart.
    by_chance
        The mean distance of rows that weren't learnt from; ``None`` without any.
    """

    columns: int
    tables: int
    mean: float
    largest: float
    worst: tuple[str, ...]
    by_chance: float | None


def marginal_distances(
    pairs: Sequence[ColumnPair], control: Sequence[ColumnPair] | None, *, random_state: int
) -> tuple[MarginalDistance, ...]:
    """Compare all tables of one, two and three columns.

    Parameters
    ----------
    pairs
        The columns of the original and the synthetic table.
    control
        The same columns of the original and of rows that weren't learnt from.
    random_state
        Which tables are compared where there are more than 300.

    Notes
    -----
    Amounts are cut into 8 bins at quantiles of the original; the 7 most frequent categories are
    separate, and all others are one. Missing is a bin of its own. More rows make
    tables agree better by chance: `by_chance` is of as many rows as the control has.
    """
    ours = [binned(pair) for pair in pairs]
    theirs = None if control is None else [binned(pair) for pair in control]
    rng = np.random.default_rng(random_state)
    found = []
    for size in range(1, min(3, len(pairs)) + 1):
        sets = list(combinations(range(len(pairs)), size))
        if len(sets) > MOST_SETS:
            sets = [sets[i] for i in np.sort(rng.choice(len(sets), MOST_SETS, replace=False))]
        apart = np.array([_distance([ours[i] for i in one]) for one in sets])
        chance = None
        if theirs is not None:
            chance = float(np.mean([_distance([theirs[i] for i in one]) for one in sets]))
        found.append(
            MarginalDistance(
                columns=size,
                tables=len(sets),
                mean=float(apart.mean()),
                largest=float(apart.max()),
                worst=tuple(pairs[i].name for i in sets[int(apart.argmax())]),
                by_chance=chance,
            )
        )
    return tuple(found)


def binned(pair: ColumnPair) -> tuple[Ints, Ints]:
    """Return both columns in bins of the original's, 0 for missing."""
    known = pair.original[~np.isnan(pair.original)]
    if not len(known):
        return tuple(np.isnan(each).astype(np.int64) for each in (pair.original, pair.masked))  # type: ignore[return-value] # two
    if pair.is_number:
        edges = np.unique(np.quantile(known, np.arange(1, BINS) / BINS))
        both = [np.searchsorted(edges, each, side="left") for each in (pair.original, pair.masked)]
    else:
        codes, counts = np.unique(known, return_counts=True)
        common = np.sort(codes[np.argsort(-counts, kind="stable")[: BINS - 1]])
        both = []
        for each in (pair.original, pair.masked):
            places = np.minimum(np.searchsorted(common, each), len(common) - 1)
            both.append(np.where(common[places] == each, places, BINS - 1))
    missing = [np.isnan(each) for each in (pair.original, pair.masked)]
    first, second = (
        np.where(gone, 0, bins + 1).astype(np.int64)
        for gone, bins in zip(missing, both, strict=True)
    )
    return first, second


def _distance(columns: Sequence[tuple[Ints, Ints]]) -> float:
    shares = []
    for side in (0, 1):
        keys = np.zeros(len(columns[0][side]), dtype=np.int64)
        for column in columns:
            keys = keys * (BINS + 1) + column[side]
        counts = np.bincount(keys, minlength=(BINS + 1) ** len(columns))
        shares.append(counts / max(1, counts.sum()))
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


#: Learners see so many rows at most, and categories of a column.
MOST_ROWS, CATEGORIES = 50_000, 20
#: A label of more values than this is a number.
MOST_CLASSES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerScores(Facts):
    """One learner's score on rows that neither table has.

    Parameters
    ----------
    learner, measure
        ``"linear"``, ``"forest"`` or ``"boosting"``; ``"AUC"`` (of each class against the others,
        weighted) or ``"R2"``.
    original, synthetic
        The score of a model of original rows, and of one of synthetic rows.
    """

    learner: str
    measure: str
    original: float
    synthetic: float


def trained_models(
    pairs: Sequence[ColumnPair], control: Sequence[ColumnPair], label: str, *, random_state: int
) -> tuple[LearnerScores, ...]:
    """Train three learners on either table, and test them on the control rows.

    Parameters
    ----------
    pairs
        The columns of the original and the synthetic table.
    control
        The same columns of the original and of rows that weren't learnt from.
    label
        The column to predict.
    random_state
        The seed of samples and learners.

    Returns
    -------
    tuple of LearnerScores
        Empty where the label has one value, or fewer than 50 rows could be tested.
    """
    aim = next(pair for pair in pairs if pair.name == label)
    test = next(pair for pair in control if pair.name == label)
    features = [
        _features([pair for pair in each if pair.name != label]) for each in (pairs, control)
    ]
    rng = np.random.default_rng(random_state)
    tables = [
        _complete(features[0][0], aim.original, rng),
        _complete(features[0][1], aim.masked, rng),
        _complete(features[1][1], test.masked, rng),
    ]
    by_class = not aim.is_number or len(np.unique(tables[0][1])) <= MOST_CLASSES
    if by_class:
        tables = _common_classes(tables)
    if len(tables[2][1]) < 50 or any(len(np.unique(y)) < 2 for _, y in tables):
        return ()
    with one_thread(None):
        return tuple(
            LearnerScores(
                learner=name,
                measure="AUC" if by_class else "R2",
                original=_score(name, tables[0], tables[2], by_class, random_state),
                synthetic=_score(name, tables[1], tables[2], by_class, random_state),
            )
            for name in ("linear", "forest", "boosting")
        )


def _features(pairs: Sequence[ColumnPair]) -> tuple[Floats, Floats]:
    """Return both tables as features: amounts with a mark for missing, categories by 0 and 1."""
    before, after = [], []
    for pair in (pair for pair in pairs if pair.varies):
        if pair.is_number:
            both = pair.standardised()
            parts = [np.stack([np.nan_to_num(x), np.isnan(x)], axis=1) for x in both]
        else:
            parts = list(pair.dummies(CATEGORIES))
        before.append(parts[0])
        after.append(parts[1])
    empty = np.zeros((len(pairs[0].original), 1)), np.zeros((len(pairs[0].masked), 1))
    return np.hstack([empty[0], *before]), np.hstack([empty[1], *after])


Rows = tuple["Floats", "Floats"]


def _complete(x: Floats, y: Floats, rng: np.random.Generator) -> Rows:
    rows = np.flatnonzero(~np.isnan(y))
    if len(rows) > MOST_ROWS:
        rows = rng.choice(rows, MOST_ROWS, replace=False)
    return x[rows], y[rows]


def _common_classes(tables: Sequence[Rows]) -> list[Rows]:
    """Return the rows of classes that every table has."""
    known = set(tables[0][1]) & set(tables[1][1]) & set(tables[2][1])
    kept = [np.isin(y, list(known)) for _, y in tables]
    return [(x[rows], y[rows]) for (x, y), rows in zip(tables, kept, strict=True)]


def _score(name: str, train: Rows, test: Rows, by_class: bool, seed: int) -> float:  # noqa: FBT001
    from sklearn.metrics import r2_score, roc_auc_score  # noqa: PLC0415 # 1 s to import

    model = _learner(name, by_class, seed).fit(*train)
    if not by_class:
        return float(r2_score(test[1], model.predict(test[0])))
    shares = model.predict_proba(test[0])
    if shares.shape[1] == 2:
        return float(roc_auc_score(test[1], shares[:, 1]))
    return float(roc_auc_score(test[1], shares, multi_class="ovr", average="weighted"))


def _learner(name: str, by_class: bool, seed: int) -> Any:  # noqa: ANN401, FBT001 # untyped library
    from sklearn import ensemble, linear_model  # noqa: PLC0415 # 1 s to import

    if name == "linear":
        return linear_model.LogisticRegression(max_iter=500) if by_class else linear_model.Ridge()
    if name == "forest":
        forest = ensemble.RandomForestClassifier if by_class else ensemble.RandomForestRegressor
        return forest(n_estimators=30, min_samples_leaf=5, random_state=seed)
    if by_class:
        return ensemble.HistGradientBoostingClassifier(random_state=seed)
    return ensemble.HistGradientBoostingRegressor(random_state=seed)
