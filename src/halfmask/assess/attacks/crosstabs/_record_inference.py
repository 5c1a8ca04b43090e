"""RecordInference: a category of single records, by the counts that a few tables publish."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask.assess.attacks._arms import SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack, Found, given, required
from halfmask.assess.attacks._crosstab_target import CrosstabTarget
from halfmask.crosstabs import along, covers_of

if TYPE_CHECKING:
    from halfmask.assess._arrays import Bools, Floats, Ints

#: Combinations of codes at the bottom that are solved for.
_MOST = 1_000_000
_SURE = 0.999


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordInference(
    DeclaredAttack,
    name="crosstabs/record-inference",
    target=CrosstabTarget,
    needs=(given("records", "records"), given("holdout", "held-out records")),
):
    """Infer a category of records with known other codes, from published counts.

    Parameters
    ----------
    n_targets
        How many records are drawn at most, of those in the tables and of those held out.
    n_steps
        How often counts are fitted to the published ones.

    Notes
    -----
    After Mao, Stevanoski and de Montjoye, "DeSIA: attribute inference attacks against limited fixed
    aggregate statistics" (2025), by one fit: inner counts from 0 that meet all published cells,
    found by the Richardson-Lucy iteration from equal counts, so that they have about the greatest
    entropy. A record is guessed by the largest count among those with its known codes. Measures:
    *categories guessed*; *categories inferred for certain*, where only one is left. Control:
    held-out records. Baseline: the most frequent category.
    """

    n_targets: int = field(default=2000, metadata={"ge": 1})
    n_steps: int = field(default=500, metadata={"ge": 1})

    def _measure(self, target: CrosstabTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        dimensions = target.cells.dimensions
        shape = tuple(len(each.leaves) for each in dimensions)
        if prod(shape) > _MOST:
            raise DataError(f"The tables have {prod(shape):,} inner cells, at most {_MOST:,} fit.")
        axis = [each.name for each in dimensions].index(target.secret)
        fitted = np.moveaxis(_fit(target, shape, self.n_steps), axis, -1)
        usual = fitted.reshape(-1, shape[axis]).sum(axis=0)
        arms = []
        for frame, what in ((target.records, "records"), (target.holdout, "held-out records")):
            codes = _places(required(frame, what), target)
            codes = codes[rng.permutation(len(codes))[: self.n_targets]]
            true = codes[:, axis]
            counts = fitted[tuple(np.delete(codes, axis, axis=1).T)]
            right = _guess(counts, usual) == true
            arms.append((right, _is_alone(counts) & right, true == usual.argmax()))
        guessed, certain, frequent = (
            [SuccessCount(int(each.sum()), len(each)) for each in both]
            for both in zip(*arms, strict=True)
        )
        needed = (200, "records")
        return (
            self._make_outcome("categories guessed", *guessed, baseline=frequent[0], needed=needed),
            self._make_outcome("categories inferred for certain", *certain, needed=needed),
        )


def _guess(counts: Floats, usual: Floats) -> Ints:
    """Return the category of the largest count; of equal ones the more frequent."""
    return np.asarray((counts + 1e-9 * usual / max(1.0, float(usual.sum()))).argmax(axis=1))


def _is_alone(counts: Floats) -> Bools:
    total = counts.sum(axis=1)
    return np.asarray((total > 0.5) & (counts.max(axis=1) >= _SURE * total))


def _places(frame: pl.DataFrame, target: CrosstabTarget) -> Ints:
    """Return the places of records' codes among those at the bottom; other records are left out."""
    columns = []
    for each in target.cells.dimensions:
        texts = frame[each.name].cast(pl.String)
        known = pl.Series(each.leaves, dtype=pl.String)
        numbers = pl.Series(np.arange(len(known)))
        columns.append(texts.replace_strict(known, numbers, default=None, return_dtype=pl.Int64))
    placed = pl.DataFrame({str(at): each for at, each in enumerate(columns)}).drop_nulls()
    return placed.to_numpy().astype(np.int64)


def _fit(target: CrosstabTarget, shape: tuple[int, ...], n_steps: int) -> Floats:
    """Return inner counts that meet the published ones."""
    dimensions = target.cells.dimensions
    cells = np.isfinite(target.known)
    places = tuple(target.cells.codes[cells].T)
    published = np.maximum(target.known[cells], 0.0)
    covers = covers_of(dimensions, frozenset(range(len(dimensions))))
    turned = [each.T.tocsr() for each in covers]
    weights = np.zeros([len(each.codes) for each in dimensions])
    weights[places] = 1.0
    times = along(turned, weights)
    counts = np.full(shape, max(1.0, float(published.max())) / prod(shape))
    for _ in range(n_steps):
        fitted = along(covers, counts)[places]
        weights[places] = np.divide(published, fitted, out=np.zeros_like(fitted), where=fitted > 0)
        more = along(turned, weights)
        counts = counts * np.divide(more, times, out=np.ones_like(times), where=times > 0)
    return counts
