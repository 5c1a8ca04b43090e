"""Links of rows: to a person by missing cells, and to another upload by equal cells or traits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import ParameterError
from halfmask.assess.attacks._arms import Certain
from halfmask.assess.attacks._attack import DeclaredAttack, Found, Outcome
from halfmask.assess.attacks._encoding_target import EncodingTarget
from halfmask.assess.attacks._rows import some_rows
from halfmask.assess.attacks.encodings._cells import codes, is_number, number_columns, numbers
from halfmask.assess.attacks.tables import Expected

if TYPE_CHECKING:
    from halfmask.assess._arrays import Bools, Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class NullPatterns(DeclaredAttack, name="encodings/null-patterns", target=EncodingTarget):
    """Link a person's row to the encoded rows that have the same cells missing.

    Notes
    -----
    The attacker knows which answers a person didn't give. Missing cells are seen where they are
    missing in the encoded table, too, or as a column of two values; which of them stands
    for which column is granted. A link to a pattern that r rows share counts as 1/r. Control:
    guessing one of the rows.
    """

    def missing_inputs(self, target: EncodingTarget) -> str:
        """Return what is missing: missing cells."""
        return (
            ""
            if any(target.original[n].null_count() for n in target.original.columns)
            else ("missing cells")
        )

    def _measure(self, target: EncodingTarget, random_state: int) -> Found:  # noqa: ARG002 # exact
        truth = np.column_stack(
            [
                column.is_null().to_numpy()
                for column in target.original.iter_columns()
                if column.null_count()
            ]
        )
        masks = _masks(target.encoded)
        seen = np.zeros_like(truth)
        for place, mask in enumerate(truth.T):
            agreeing = [_phi(each, mask) for each in masks]
            if max(agreeing, default=0.0) > 0:
                seen[:, place] = masks[int(np.argmax(agreeing))]
        weights = 1 << np.arange(min(truth.shape[1], 62), dtype=np.int64)
        mine, theirs = (table[:, : len(weights)] @ weights for table in (truth, seen))
        patterns, counts = np.unique(theirs, return_counts=True)
        n_alike = counts[np.minimum(np.searchsorted(patterns, mine), len(patterns) - 1)]
        right = np.where(mine == theirs, 1 / n_alike, 0.0)
        n = len(right)
        return self._make_outcome(
            "rows linked by missing cells",
            Expected(float(right.sum()), n),
            Certain(1 / n),
            needed=(100, "rows"),
            details={
                "patterns": float(len(patterns)),
                "missing_cells_seen": float((seen & truth).sum() / max(1, truth.sum())),
            },
        )


def _masks(encoded: pl.DataFrame) -> list[Bools]:
    """Return the indicators of missing cells: missing cells themselves, and columns of 0 and 1."""
    found = []
    for column in encoded.iter_columns():
        if column.null_count():
            found.append(column.is_null().to_numpy())
        if is_number(column.dtype) or column.dtype == pl.Boolean:
            values = numbers(column.cast(pl.Int8) if column.dtype == pl.Boolean else column)
            if set(np.unique(values[np.isfinite(values)]).tolist()) == {0.0, 1.0}:
                found.append(values == 1.0)
    return found


def _phi(first: Bools, second: Bools) -> float:
    """Return how far two masks agree: their correlation."""
    spread = float(first.std() * second.std())
    both = float((first & second).mean())
    return (both - float(first.mean() * second.mean())) / spread if spread else 0.0


# Cells of one column that differ more often than this are numbers, whose codes aren't counted.
_ROWS_A_CODE = 2


def lacking_later(target: EncodingTarget) -> str:
    if target.later is None:
        return "a second upload"
    return "" if target.encoded.height else "rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretReuse(
    DeclaredAttack, name="encodings/secret-reuse", target=EncodingTarget, needs=(lacking_later,)
):
    """Link rows of two uploads by equal cells in columns of the same name.

    Notes
    -----
    Where a secret is used again for the same rows, their encodings are equal, and what is learnt of
    one upload is known of the other. A link to r equal rows counts as 1/r. Control: guessing.
    """

    def _measure(self, target: EncodingTarget, random_state: int) -> Found:  # noqa: ARG002 # exact
        later = _later(target)
        shared = [name for name in target.encoded.columns if name in later.columns]
        n = target.encoded.height
        right = np.full(n, 1 / n)
        if shared:
            first, second = (_words(table, shared) for table in (target.encoded, later))
            both, _ = codes(pl.concat([first, second]))
            counts = np.bincount(both[n:], minlength=int(both.max()) + 1)
            right = (both[:n] == both[n:]) / np.maximum(counts[both[:n]], 1)
        return (
            _linked(
                self.name,
                "rows of two uploads linked by equal cells",
                right,
                {"columns_of_the_same_name": float(len(shared))},
                n,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprints(
    DeclaredAttack, name="encodings/fingerprints", target=EncodingTarget, needs=(lacking_later,)
):
    """Link rows of two uploads by what a new key doesn't change.

    Parameters
    ----------
    n_rows
        How many rows are linked at most, to all rows of the other upload.

    Notes
    -----
    How many rows share each cell stays as it is under any renaming of codes, and how far a row lies
    from the mean, in units of the covariance, under any invertible matrix (Mahalanobis 1936). Rows
    whose sorted counts and distance are nearest are linked; of ties each counts as its share.
    Control: guessing one of the rows.
    """

    n_rows: int = field(default=2000, metadata={"ge": 1})

    def _measure(self, target: EncodingTarget, random_state: int) -> Found:
        from scipy.spatial import cKDTree  # noqa: PLC0415 # scipy loads late

        first, second = _fingerprints(target.encoded), _fingerprints(_later(target))
        n = len(first)
        rows = some_rows(n, self.n_rows, np.random.default_rng(random_state))
        width = min(first.shape[1], second.shape[1])
        tree = cKDTree(second[:, :width])
        nearest, _ = tree.query(first[rows, :width])
        right = np.zeros(len(rows))
        for place, row in enumerate(rows):
            near = tree.query_ball_point(first[row, :width], nearest[place] + 1e-6)
            right[place] = (row in near) / max(1, len(near))
        measure = "rows of two uploads linked by fingerprints"
        return _linked(self.name, measure, right, {"parts": float(width)}, n)


def _later(target: EncodingTarget) -> pl.DataFrame:
    if target.later is None:
        raise ParameterError("This attack needs a second upload.")
    return target.later


def _words(table: pl.DataFrame, names: list[str]) -> pl.Series:
    """Return each row as one text: the cells in their order, a control sign between them."""
    cells = [pl.col(name).cast(pl.String).fill_null("\0") for name in names]
    return table.select(pl.concat_str(cells, separator="\x1f").alias("row")).to_series()


def _fingerprints(table: pl.DataFrame) -> Floats:
    """Return for each row its distance from the mean, and how frequent its cells are, sorted."""
    counted, mixed = [], []
    ordered = set(number_columns(table))
    for column in table.iter_columns():
        of_row, n = codes(column)
        if n * _ROWS_A_CODE <= table.height:
            counted.append(np.log(np.bincount(of_row)[of_row]))
        elif column.name in ordered:
            values = numbers(column)
            mixed.append(np.where(np.isfinite(values), values, np.nanmean(values)))
    parts = []
    if mixed:
        matrix = np.column_stack(mixed)
        matrix = matrix - matrix.mean(axis=0)
        _, s, vt = np.linalg.svd(matrix, full_matrices=False)
        white = matrix @ vt.T[:, s > 1e-9 * s[0]] / s[s > 1e-9 * s[0]]
        parts.append(np.sqrt((white**2).sum(axis=1) * table.height)[:, None])
    if counted:
        parts.append(np.sort(np.column_stack(counted), axis=1)[:, ::-1])
    return np.concatenate(parts, axis=1) if parts else np.zeros((table.height, 1))


def _linked(attack: str, measure: str, right: Floats, details: dict[str, float], n: int) -> Outcome:
    return Outcome(
        attack=attack,
        measure=measure,
        success=Expected(float(right.sum()), len(right)),
        control=Certain(1 / n),
        needed=100,
        needed_of="rows",
        details=details,
    )
