"""A column drawn from what a classifier or a regression predicts of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.synth._column_codes import Donors, Drawn
from halfmask.synth._features import MAX_CATEGORIES, FeatureTables, target_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.synth._column_codes import ColumnCodes

#: A number is drawn from so many rows, at least, whose predictions are nearest.
NEAREST_ROWS = 20


class PredictedModel:
    """What is predicted first is the state of a cell, then its amount.

    States are the frequent categories, or values of numbers that many rows have, and missing; all
    other cells are one more state. Its categories are drawn by frequency, its numbers from the rows
    with the nearest predicted rank (predictive mean matching: Little, "Missing-data adjustments in
    large surveys", 1988).
    """

    def __init__(
        self,
        columns: Sequence[ColumnCodes],
        codes: Sequence[NDArray[np.int32]],
        target: ColumnCodes,
        own: NDArray[np.int32],
        *,
        boosted: bool,
        min_leaf: int,
        seed: int,
    ) -> None:
        self._features = FeatureTables.of(columns, codes, target_columns(target, own))
        drawable = own >= 0
        matrix, own = self._features.matrix(codes)[drawable], own[drawable]
        state_of_code, self._code_of_state = _states(target)
        states = state_of_code[own]
        self._rest = len(self._code_of_state)
        self._classifier: Any = None
        if len(np.unique(states)) > 1:
            self._classifier = _classifier(boosted=boosted, min_leaf=min_leaf, seed=seed).fit(
                matrix, states
            )
        self._only = int(states[0])
        rest = np.flatnonzero(states == self._rest)
        self._regression: Any = None
        self._donors = Donors.of(np.zeros(0, dtype=np.int64), own[:0], 1)
        if len(rest):
            self._fit_rest(
                matrix[rest], own[rest], target, boosted=boosted, min_leaf=min_leaf, seed=seed
            )

    def _fit_rest(
        self,
        matrix: NDArray[np.float32],
        own: NDArray[np.int32],
        target: ColumnCodes,
        *,
        boosted: bool,
        min_leaf: int,
        seed: int,
    ) -> None:
        if not target.is_number or len(own) < 2 * max(NEAREST_ROWS, min_leaf):
            self._donors = Donors.of(np.zeros(len(own), dtype=np.int64), own, 1)
            return
        self._regression = _regression(boosted=boosted, min_leaf=min_leaf, seed=seed).fit(
            matrix, target.ranks[own]
        )
        predicted = self._regression.predict(matrix)
        n_groups = len(own) // max(NEAREST_ROWS, min_leaf)
        order = np.argsort(predicted, kind="stable")
        groups = np.empty(len(own), dtype=np.int64)
        groups[order] = np.arange(len(own)) * n_groups // len(own)
        self._donors = Donors.of(groups, own, n_groups)
        firsts = np.searchsorted(groups[order], np.arange(1, n_groups))
        self._edges = predicted[order][firsts]

    def drawn(self, codes: Sequence[NDArray[np.int32]], n: int, rng: np.random.Generator) -> Drawn:
        """Return a code for each row, of the state that is drawn for it."""
        matrix = self._features.matrix(codes)
        states = np.full(n, self._only)
        if self._classifier is not None:
            shares = np.cumsum(self._classifier.predict_proba(matrix), axis=1)
            places = (rng.random(n)[:, None] > shares).sum(axis=1)
            states = self._classifier.classes_[np.minimum(places, shares.shape[1] - 1)]
        codes_drawn = np.append(self._code_of_state, 0)[states].astype(np.int32)
        found = Drawn(codes=codes_drawn, neighbour=codes_drawn.copy())
        rest = np.flatnonzero(states == self._rest)
        if len(rest):
            groups = np.zeros(len(rest), dtype=np.int64)
            if self._regression is not None:
                predicted = self._regression.predict(matrix[rest])
                groups = np.searchsorted(self._edges, predicted, side="right")
            drawn = self._donors.drawn(groups, rng)
            found.codes[rest], found.neighbour[rest] = drawn.codes, drawn.neighbour
        return found


def _states(column: ColumnCodes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the state of each code, and the code of each state but the last."""
    shares = column.counts / max(1, column.counts.sum())
    if column.is_number:
        single = shares > 0.05
        single[column.missing] = column.counts[column.missing] > 0
    else:
        single = np.zeros(column.n_codes, dtype=np.bool_)
        single[np.argsort(-column.counts, kind="stable")[:MAX_CATEGORIES]] = True
        single &= column.counts > 0
    code_of_state = np.flatnonzero(single)
    state_of_code = np.full(column.n_codes, len(code_of_state))
    state_of_code[code_of_state] = np.arange(len(code_of_state))
    return state_of_code, code_of_state


def _classifier(*, boosted: bool, min_leaf: int, seed: int) -> Any:  # noqa: ANN401 # untyped library
    if boosted:
        from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 # loads late

        return HistGradientBoostingClassifier(
            max_iter=40, min_samples_leaf=min_leaf, random_state=seed, early_stopping=False
        )
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 # loads late
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))


def _regression(*, boosted: bool, min_leaf: int, seed: int) -> Any:  # noqa: ANN401 # untyped library
    if boosted:
        from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415 # loads late

        return HistGradientBoostingRegressor(
            max_iter=40, min_samples_leaf=min_leaf, random_state=seed, early_stopping=False
        )
    from sklearn.linear_model import LinearRegression  # noqa: PLC0415 # loads late

    return LinearRegression()
