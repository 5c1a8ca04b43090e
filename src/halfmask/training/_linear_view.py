"""The linear view: how each column moves what the guide says, the other columns held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.training._points import ClassRows

__all__ = ["LinearView", "Score", "log_odds", "unconfounded"]

#: Probabilities nearer to 0 or 1 than this count as this: their log-odds know no end.
LEAST_PROBABILITY = 0.01
#: The penalty of scikit-learn's logistic regression, as its inverse.
INVERSE_PENALTY = 0.1
RIDGE = 1e-3
#: Guides with more outputs than this are viewed by those that vary most.
MOST_OUTPUTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a model says as numbers that add up: log-odds of shares, numbers as they are.

    Made once of the guide, so that all that is compared with it is measured alike.

    Parameters
    ----------
    shares
        Whether it says shares.
    of_two
        Whether there are two shares, of which the second says all.
    """

    shares: bool
    of_two: bool

    @classmethod
    def of(cls, rows: ClassRows) -> Self:
        """Return the one of a guide."""
        said = rows.guide
        shares = rows.shares and said.min(initial=0.0) >= 0 and said.max(initial=1.0) <= 1
        of_two = shares and said.shape[1] == 2 and np.allclose(said.sum(axis=1), 1.0)
        return cls(shares=bool(shares), of_two=bool(of_two))

    def viewed(self, said: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the columns of (rows, outputs) that say all."""
        return said[:, 1:] if self.of_two else said

    def __call__(self, said: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of (rows, outputs)."""
        said = self.viewed(said)
        return log_odds(said) if self.shares else said


def log_odds(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log-odds of shares, those near 0 and 1 bounded."""
    shares = np.clip(shares, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    odds: NDArray[np.float64] = np.log(shares) - np.log1p(-shares)
    return odds


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearView:
    """A linear model of the guide's score.

    Parameters
    ----------
    weights
        How the score changes with each column that is recoded, (columns, outputs).
    other_weights
        The same of the columns that aren't, (others, outputs).
    middle
        The mean of the recoded columns, (columns,).
    level
        The score at the mean of all columns, (outputs,).
    outputs
        Which of the guide's scores are viewed, (outputs,).
    score
        How the guide is measured.
    """

    weights: NDArray[np.float64]
    other_weights: NDArray[np.float64]
    middle: NDArray[np.float64]
    level: NDArray[np.float64]
    outputs: NDArray[np.int64]
    score: Score

    @classmethod
    def of(cls, rows: ClassRows) -> Self:
        """Fit one: logistic regression of soft labels for shares, least squares for numbers."""
        measure = Score.of(rows)
        score, said = measure(rows.guide), measure.viewed(rows.guide)
        outputs = np.sort(np.argsort(-score.var(axis=0), kind="stable")[:MOST_OUTPUTS])
        columns = np.hstack([rows.encoded, rows.others])
        mean = columns.mean(axis=0)
        fitted = [
            _odds(columns - mean, said[:, j])
            if measure.shares
            else _line(columns - mean, said[:, j])
            for j in outputs
        ]
        weights = np.stack([slope for slope, _ in fitted], axis=1)
        width = rows.encoded.shape[1]
        return cls(
            weights=weights[:width],
            other_weights=weights[width:],
            middle=mean[:width],
            level=np.array([level for _, level in fitted]),
            outputs=outputs,
            score=measure,
        )

    @classmethod
    def known(cls, rows: ClassRows) -> LinearView:
        """Return the rows' view, fitted once for all classes that share it."""
        if not rows.views:
            rows.views.append(cls.of(rows))
        return rows.views[0]

    def __repr__(self) -> str:
        return f"LinearView({len(self.weights)} columns, {len(self.level)} outputs)"

    def moved(self, change: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the shortest moves that change the score by so much, (classes, columns)."""
        moves: NDArray[np.float64] = change @ np.linalg.pinv(self.weights, rcond=1e-6)
        return moves


def _odds(
    columns: NDArray[np.float64], share: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Fit the log-odds of a share that is given for each row."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 # only who needs it pays

    share = np.clip(share, 0.0, 1.0)
    if share.max() - share.min() < 1e-9:
        return np.zeros(columns.shape[1]), float(log_odds(share[:1])[0])
    n = len(columns)
    model = LogisticRegression(C=INVERSE_PENALTY, max_iter=300).fit(
        np.vstack([columns, columns]),
        np.repeat([1, 0], n),
        sample_weight=np.concatenate([share, 1 - share]),
    )
    return model.coef_[0], float(model.intercept_[0])


def _line(
    columns: NDArray[np.float64], value: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Fit a number by least squares with a small penalty."""
    gram = columns.T @ columns / len(columns)
    penalty = RIDGE * max(1e-12, float(np.trace(gram)) / len(gram)) * np.eye(len(gram))
    level = float(value.mean())
    slope = np.linalg.solve(gram + penalty, columns.T @ (value - level) / len(columns))
    return slope.astype(np.float64), level


def unconfounded(rows: ClassRows, view: LinearView, *, strength: float) -> NDArray[np.float64]:
    """Return class means moved so that they say what the guide says, and less of its companions.

    Parameters
    ----------
    rows
        The rows and their classes.
    view
        How the columns move the guide's score.
    strength
        How much of what goes along with the score is taken away, in [0, 1].

    Notes
    -----
    A class mean differs from the others in *every* column that is correlated with the prediction,
    and a model that sees few means can't tell causes from companions: it spreads its weights over
    all of them, and errs on rows whose columns don't go together. So a mean's part along the view's
    directions is set to what its class's mean prediction asks for, and of what the means do
    besides, in step with the prediction, `strength` is taken away. Rows, labels and the means'
    spread in every other direction stay.
    """
    sizes = rows.sizes[:, None]
    of_class = view.score(rows.means(rows.guide))[:, view.outputs]
    away = rows.means(rows.encoded) - view.middle
    along = view.moved(away @ view.weights)
    across = away - along
    rest = rows.means(rows.others) - rows.others.mean(axis=0) if rows.others.size else None
    elsewhere = 0.0 if rest is None else rest @ view.other_weights
    wanted = view.moved(of_class - view.level - elsewhere)
    centred = of_class - (sizes * of_class).sum(axis=0) / sizes.sum()
    weighted = centred * sizes
    gram = weighted.T @ centred
    gram = gram + 1e-9 * max(1e-12, float(np.trace(gram))) * np.eye(len(gram))
    companions: NDArray[np.float64] = centred @ np.linalg.solve(gram, weighted.T @ across)
    return view.middle + wanted + across - strength * companions
