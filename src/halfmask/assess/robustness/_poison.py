"""Poisons: training rows that an attacker relabels or inserts, as a share of all rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask._foreign import foreign
from halfmask.assess._one_thread import one_thread
from halfmask.assess.robustness._budget import is_number, numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.assess._arrays import Floats, Ints, Values

#: Of numbers with more different values than this a trigger has the least or the greatest.
FEW: Final = 20
#: Cells of which the rarest pair is a trigger: the rarest ones alone.
MOST_CELLS: Final = 40
#: Rows that the surrogate model learns; more don't order rows better.
MOST_LEARNED: Final = 5_000
_NONE: Final = np.array([], dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Hostile:
    """Rows that get another label, and rows that are copied and inserted behind all others."""

    labels: Values  # of all rows, those inserted last
    flipped: Ints = field(default_factory=_NONE.copy)
    copied: Ints = field(default_factory=_NONE.copy)
    towards: Any = None  # the label that the attacker wants; None: any that is wrong
    trigger: Mapping[str, Any] = field(default_factory=dict)  # what copies hold, by column

    def inserted(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the training rows with the inserted ones behind."""
        return pl.concat([rows, self.triggered(rows[self.copied])])

    def triggered(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows with the trigger in them."""
        return rows.with_columns(
            pl.lit(cell).cast(rows.schema[name]).alias(name) for name, cell in self.trigger.items()
        )


def flip_randomly(
    rows: pl.DataFrame,  # noqa: ARG001 # as the others
    labels: Values,
    share: float,
    rng: np.random.Generator,
) -> Hostile:
    """Give rows drawn at random another label, drawn too."""
    flipped = np.sort(rng.choice(len(labels), _n_flipped(labels, share), replace=False))
    classes, codes = np.unique(labels, return_inverse=True)
    steps = rng.integers(1, len(classes), len(flipped))
    return _relabelled(labels, flipped, classes[(codes[flipped] + steps) % len(classes)])


def flip_typical(
    rows: pl.DataFrame, labels: Values, share: float, rng: np.random.Generator
) -> Hostile:
    """Relabel rows of other classes as the largest class, those first that are most typical.

    They move a boundary further than rows near it. At most all rows of other classes are hostile.
    """
    n = _n_flipped(labels, share)
    towards, typical = _typical(rows, labels, rng)
    return _relabelled(labels, np.sort(typical[:n]), towards, towards)


def insert_typical(
    rows: pl.DataFrame, labels: Values, share: float, rng: np.random.Generator
) -> Hostile:
    """Insert copies of the rows that `flip_typical` chooses, under the largest class."""
    n = _n_inserted(labels, share)
    towards, typical = _typical(rows, labels, rng)
    return _inserted(labels, np.resize(typical[:n], n), towards)


def insert_triggered(
    rows: pl.DataFrame, labels: Values, share: float, rng: np.random.Generator,
    names: Sequence[str],
) -> Hostile:  # fmt: skip
    """Insert copies of rows with a trigger, a rare pair of values of some columns.

    Their label is the one that fewest rows with either value have, and fewest at all. After Gu,
    Dolan-Gavitt and Garg, "BadNets" (2017).
    """
    n, pair = _n_inserted(labels, share), _rare_pair(rows, names)
    classes, counts = np.unique(labels, return_counts=True)
    alike = labels[(pair[0][2] > 0) | (pair[1][2] > 0)]
    near = [(alike == each).sum() for each in classes]
    towards = classes.tolist()[int(np.lexsort((counts, near))[0])]
    others = np.flatnonzero(labels != towards)
    copied = rng.choice(others, n, replace=n > len(others))
    return _inserted(labels, copied, towards, trigger={it[0]: it[1] for it in pair})


def _n_flipped(labels: Values, share: float) -> int:
    """Return how many of the rows are hostile."""
    if (kinds := len(np.unique(labels))) < 2:
        raise DataError(f"Poisoning needs training rows of two classes or more. Got {kinds}.")
    if share * len(labels) < 1:
        raise DataError(f"{len(labels):,} rows are too few for {100 * share:g} % hostile ones.")
    return round(share * len(labels))


def _n_inserted(labels: Values, share: float) -> int:
    """Return how many rows are inserted, so that they are this share of all."""
    return round(_n_flipped(labels, share) / (1 - share))


def _relabelled(labels: Values, flipped: Ints, others: Values, towards: Any = None) -> Hostile:  # noqa: ANN401 # a label
    changed = labels.copy()
    changed[flipped] = others
    return Hostile(changed, flipped=flipped, towards=towards)


def _inserted(labels: Values, copied: Ints, towards: Any, **trigger: Any) -> Hostile:  # noqa: ANN401 # a label
    every = np.concatenate([labels, np.full(len(copied), towards, dtype=labels.dtype)])
    return Hostile(every, copied=copied, towards=towards, **trigger)


def _typical(rows: pl.DataFrame, labels: Values, rng: np.random.Generator) -> tuple[Any, Ints]:
    """Return the largest class, and rows of others, by the confidence of a surrogate model."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 # loads late

    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    most = max(1, MOST_LEARNED // len(classes))
    of_class = [rng.permutation(np.flatnonzero(codes == it))[:most] for it in range(len(classes))]
    learned = np.concatenate(of_class)
    model = HistGradientBoostingClassifier(max_iter=30, early_stopping=False, random_state=0)
    failed = f"The surrogate model couldn't be fitted to {len(learned):,} rows"
    with foreign(failed), one_thread():  # of so few rows
        cells = [it if is_number(it) else it.cast(pl.String).rank("dense") for it in rows]
        features = np.nan_to_num(np.column_stack([numbers(each) for each in cells]))
        chances = model.fit(features[learned], codes[learned]).predict_proba(features)
    largest = int(counts.argmax())
    others = np.flatnonzero(codes != largest)
    order = np.argsort(-chances[others, codes[others]], kind="stable")
    return classes.tolist()[largest], others[order]


def _rare_pair(rows: pl.DataFrame, names: Sequence[str]) -> list[tuple[str, Any, Floats]]:
    """Return two values of two columns that occur, each rarely, and hardly ever together."""
    cells = [(name, *it) for name in names for it in _rare_cells(rows[name])]
    cells = sorted(cells, key=lambda cell: cell[2].sum())[:MOST_CELLS]
    held = np.stack([far for *_, far in cells]) if cells else np.zeros((0, 0))
    together, alone = held @ held.T, held.sum(axis=1)
    pairs = [
        (together[i, j], alone[i] + alone[j], i, j)
        for i, j in combinations(range(len(cells)), 2)
        if cells[i][0] != cells[j][0]
    ]
    if not pairs:
        raise DataError("A trigger needs two columns that have two values or more.")
    return [cells[it] for it in min(pairs)[2:]]


def _rare_cells(cells: pl.Series) -> list[tuple[Any, Floats]]:
    """Return the rarest values of a column, or its ends, each with the rows that are as far out."""
    if cells.dtype.is_nested() or cells.dtype == pl.Object:
        return []
    cells = cells.fill_nan(None) if cells.dtype.is_float() else cells
    counts = cells.drop_nulls().alias("cell").value_counts(name="n").sort("n", "cell")
    if counts.height < 2:
        return []
    if is_number(cells) and counts.height > FEW:
        floats = numbers(cells)
        low, high = np.nanquantile(floats, [0.01, 0.99])
        return [(cells.min(), 1.0 * (floats <= low)), (cells.max(), 1.0 * (floats >= high))]
    rarest = counts["cell"].head(3).to_list()
    return [(it, 1.0 * (cells == it).fill_null(value=False).to_numpy()) for it in rarest]
