"""Hashed rows where no two values share an index, beside plain one-hot rows: nothing may differ."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix
from scipy.special import expit, wrightomega
from sklearn.linear_model import SGDClassifier

from bars import Bar
from halfmask.hashing import HashedRows, KeyedHasher
from halfmask.trainer.learner import OnlineLearner
from quality.hashings import subjects
from quality.hashings.streams import secret_of
from quality.hashings.tables import CRITEO

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quality.hashings.subjects import Subject

__all__ = ["measure"]

#: Rows of Criteo that are taken, and bits; all have so many values that two always meet.
CRITEO_ROWS, CRITEO_BITS, ADULT_BITS = 2_000, 26, 22
QUICK_ROWS = 5_000
BINS, RATE, SGD_RATE = 32, 0.5, 0.05
CLOSE = 1e-6
KINDS: tuple[dict[str, Any], ...] = (
    {},
    {"loss": "hinge"},
    {"loss": "squared"},
    {"loss": "quantile"},
    {"loss": "softmax"},
    {"optimizer": "sgd"},
    {"optimizer": "ftrl"},
)
MOST_KEYS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """One-hot rows: the number of each value among the values of all columns."""

    indices: NDArray[np.uint32]
    values: int
    labels: NDArray[np.int32]


def one_hot(subject: Subject) -> Plain:
    """Number the values of each column as they are, and numbers by their bins: no hash."""
    numbered, start = [], 0
    for column in subject.table.iter_columns():
        texts = column if column.dtype == pl.String else _bins(column)
        codes = texts.rank("dense").fill_null(0).to_numpy().astype(np.uint32)
        _, codes = np.unique(codes, return_inverse=True)
        numbered.append(codes + start)
        start += int(codes.max()) + 1
    indices = np.ascontiguousarray(np.stack(numbered, axis=1), dtype=np.uint32)
    return Plain(indices=indices, values=start, labels=subject.labels)


def _bins(column: pl.Series) -> pl.Series:
    """Return the number of the quantile that a number is in; bins of no row are left out."""
    numbers = column.cast(pl.Float64).to_numpy()
    there = np.sort(numbers[~np.isnan(numbers)])
    edges = np.unique(there[np.arange(1, BINS) * len(there) // BINS])
    bins = np.searchsorted(edges[edges > there[0]], numbers, side="right")
    return pl.Series(column.name, bins).set(pl.Series(np.isnan(numbers)), None)


def learnt_plainly(plain: Plain) -> NDArray[np.float64]:
    """Return what a loop of a few lines predicts that has learnt the rows once, in order.

    AdaGrad, normalized by the rows' mean norm, with steps that can't go beyond the label: from the
    papers, and by another way to the step than the kernel's (Wright's omega function).
    """
    weights = np.zeros(plain.values + 1, np.float32)  # the bias is the last
    squares = np.zeros(plain.values + 1, np.float32)
    bias = np.full((len(plain.indices), 1), plain.values, np.uint32)
    rows = np.hstack([plain.indices, bias])
    rate = RATE / math.sqrt(rows.shape[1])
    for row, label in zip(rows, plain.labels.tolist(), strict=True):
        sign = 2.0 * label - 1.0
        margin = sign * float(weights[row].sum(dtype=np.float64))
        pull = float(expit(-margin))
        rates = rate / np.sqrt(squares[row].astype(np.float64) + pull * pull)
        reach = float(rates.sum())
        # d + exp(margin) (exp(d) - 1) = reach, solved for how far the margin gets
        far = reach + math.exp(margin) - wrightomega(reach + math.exp(margin) + margin).real
        weights[row] += (sign * far / reach * rates).astype(np.float32)
        squares[row] += np.float32(pull * pull)
    found: NDArray[np.float64] = expit(weights[rows].sum(axis=1, dtype=np.float64))
    return found


def learnt_by_scikit_learn(plain: Plain) -> NDArray[np.float64]:
    """Return what scikit-learn's SGD predicts that has learnt the one-hot rows once, in order."""
    n_rows, width = plain.indices.shape
    matrix = csr_matrix(
        (np.ones(plain.indices.size), plain.indices.ravel(), np.arange(n_rows + 1) * width),
        shape=(n_rows, plain.values),
    )
    # It slows its bias down where rows are sparse; without one, both are the same.
    model = SGDClassifier(
        loss="log_loss", penalty=None, learning_rate="constant", eta0=SGD_RATE, shuffle=False,
        max_iter=1, tol=None, fit_intercept=False,
    )  # fmt: skip
    found: NDArray[np.float64] = model.fit(matrix, plain.labels).predict_proba(matrix)[:, 1]
    return found


def hashed(subject: Subject, values: int, bits: int) -> tuple[HashedRows, int]:
    """Hash under the first key that gives every value an index of its own; return its number."""
    for number in range(MOST_KEYS):
        hasher = KeyedHasher(secret=secret_of(number), bits=bits, bins=BINS)
        rows = hasher.fit(subject.table).hash_batch(subject.table, subject.labels)
        if len(np.unique(rows.indices)) == values:
            return rows, number
    raise RuntimeError(f"no key of {MOST_KEYS:,} without a shared index")


def in_the_order_of(rows: HashedRows, plain: Plain) -> Plain:
    """Return one-hot rows whose columns come as the hashed ones do, which have an order by key.

    Sums of 32 bits depend on the order of their terms. Columns that group the rows alike are one.
    """
    places = {_groups(column): number for number, column in enumerate(plain.indices.T)}
    order = [places[_groups(column)] for column in rows.indices.T]
    return replace(plain, indices=np.ascontiguousarray(plain.indices[:, order]))


def _groups(column: NDArray[np.uint32]) -> bytes:
    """Return where each row's value came for the first time."""
    _, first, codes = np.unique(column, return_index=True, return_inverse=True)
    return first[codes].tobytes()


def _learnt(rows: HashedRows, **settings: Any) -> tuple[OnlineLearner, NDArray[np.float32]]:  # noqa: ANN401 # the learner's
    learner = OnlineLearner(bits=rows.bits, **settings)
    learner.learn(rows)
    return learner, learner.predict(rows)


def _beside(subject: Subject, bits: int) -> tuple[list[Bar], str]:
    plain = one_hot(subject)
    rows, key = hashed(subject, plain.values, bits)
    plain = in_the_order_of(rows, plain)
    plainly = HashedRows(indices=plain.indices, bits=bits, labels=plain.labels)
    differ = 0
    for settings in KINDS:
        one, ours = _learnt(rows, **settings)
        other, same = _learnt(plainly, **settings)
        # where each value's weight is, on either side
        moved = np.count_nonzero(one.weights[rows.indices] != other.weights[plain.indices])
        differ += int(np.count_nonzero(ours != same)) + int(moved)
    _, ours = _learnt(rows)
    loop = float(np.abs(ours - learnt_plainly(plain)).max())
    _, sgd = _learnt(
        rows, optimizer="sgd", rate=SGD_RATE, normalized=False, invariant=False, intercept=False
    )
    peer = float(np.abs(sgd - learnt_by_scikit_learn(plain)).max())
    what = f"{subject.name}, {len(rows):,} rows, {plain.values:,} values, {bits} bits"
    bars = [
        Bar(name=f"{what}: predictions and weights that differ from one-hot rows', by the bit",
            value=float(differ), goal=0, side="at most"),
        Bar(name=f"{what}: furthest from a plain loop over one-hot rows",
            value=loop, goal=CLOSE, side="at most"),
        Bar(name=f"{what}: furthest from scikit-learn's SGD over one-hot rows",
            value=peer, goal=CLOSE, side="at most"),
    ]  # fmt: skip
    return bars, (
        f"| {subject.name} | {len(rows):,} | {plain.values:,} | {bits} | {key} | {differ} "
        f"| {loop:.1e} | {peer:.1e} |"
    )


def measure(*, quick: bool, orders: int) -> tuple[list[Bar], str]:
    """Adult as a whole, and as much of Criteo as fits without two values that meet."""
    del orders  # the file's order, and the first key that fits
    chosen = [(subjects.adult(), ADULT_BITS)]
    bars: list[Bar] = []
    if CRITEO.is_file():
        chosen.append((subjects.criteo().head(CRITEO_ROWS), CRITEO_BITS))
    else:
        bars.append(Bar(name="Criteo beside one-hot", value=None, goal=0, side="at most",
                        why="the sample isn't there"))  # fmt: skip
    lines = [
        "| data | rows | values | bits | key | differ by a bit | from a loop | from scikit-learn |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for subject, bits in chosen:
        found, line = _beside(subject.head(QUICK_ROWS) if quick else subject, bits)
        bars += found
        lines.append(line)
    return bars, "\n".join(lines)
