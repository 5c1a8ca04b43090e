"""Transitions between values: a matrix of probabilities, made or given, and draws from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.data import as_text
from halfmask.masks._numbers import is_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The probability of keeping a value: one for all, or one for each value.
Keep: TypeAlias = float | dict[str, float]
#: The probabilities of what is written for each value; those of a value sum to one.
Matrix: TypeAlias = dict[str, dict[str, float]]

_FROM_ONE = 1e-9


def check_keep(keep: Keep, *, mask: str) -> None:
    """Raise unless probabilities of keeping a value are such, and one at least is below 1."""
    if not isinstance(keep, Mapping):
        if not (is_number(keep) and 0 <= keep < 1):
            raise ParameterError(
                f"The 'keep' of the mask {mask!r} must be at least 0 and below 1. Got "
                f"{keep if is_number(keep) else type(keep).__name__}."
            )
        return
    if not all(is_number(it) and 0 <= it <= 1 for it in keep.values()) or all(
        it == 1 for it in keep.values()
    ):
        raise ParameterError(
            f"The probabilities 'keep' of the mask {mask!r} must be from 0 to 1, not all of them 1."
        )


def check_matrix(matrix: Matrix, *, mask: str) -> None:
    """Raise unless a matrix has a row for each value, and its rows sum to one."""
    given: object = matrix  # any caller's
    if not isinstance(given, Mapping) or not all(isinstance(it, Mapping) for it in given.values()):
        raise ParameterError(
            f"The 'matrix' of the mask {mask!r} must map each value to a mapping of probabilities.",
            hint='Write {"cook": {"cook": 0.9, "nurse": 0.1}, "nurse": {"nurse": 1.0}}.',
        )
    for number, row in enumerate(matrix.values(), start=1):
        if not all(is_number(it) and 0 <= it <= 1 for it in row.values()):
            raise ParameterError(
                f"Row {number} of the 'matrix' of the mask {mask!r} has a number that is no "
                "probability."
            )
        if abs(sum(row.values()) - 1) > _FROM_ONE:
            raise ParameterError(
                f"Row {number} of the 'matrix' of the mask {mask!r} sums to "
                f"{sum(row.values()):.6g}. It must sum to 1."
            )
        unknown = len(row.keys() - matrix.keys())
        if unknown:
            raise ParameterError(
                f"Row {number} of the 'matrix' of the mask {mask!r} writes {unknown} values that "
                "have no row.",
                hint="Give each value a row, also those that no other value becomes.",
            )
    if all(row.get(value) == 1 for value, row in matrix.items()):
        raise ParameterError(f"The 'matrix' of the mask {mask!r} changes no value.")


def codes_of(cells: pl.Series, values: pl.Series) -> NDArray[np.int64]:
    """Return the place of each cell among different values; -1 where it is missing."""
    places = pl.DataFrame({"value": values, "place": np.arange(len(values))})
    found = pl.DataFrame({"value": cells}).join(
        places, on="value", how="left", maintain_order="left"
    )
    return found["place"].fill_null(-1).to_numpy()


def redrawn(
    cells: pl.Series,
    values: pl.Series,
    transitions: KeptOrDrawn | Moved,
    u: NDArray[np.float64],
) -> pl.Series:
    """Return what is written for cells, from a number between 0 and 1 for each."""
    if isinstance(transitions, KeptOrDrawn) and isinstance(transitions.keep, float):
        keep = transitions.keep
        changes = (u >= keep) & cells.is_not_null().to_numpy()
        rows = np.flatnonzero(changes)
        places = np.zeros(len(u), np.uint32)
        places[rows] = transitions.drawn((u[rows] - keep) / (1.0 - keep))
        drawn = values.gather(pl.Series(places)).alias(cells.name)
        return drawn.zip_with(pl.Series(changes), cells)
    codes = codes_of(cells, values)
    unseen = int((codes < 0).sum()) - cells.null_count()
    if unseen:
        raise SchemaError(
            f"Column {cells.name!r} has {unseen} cells with values that the fit of its mask 'pram' "
            "never saw, so that the matrix has no probabilities for them.",
            hint="Fit again with rows that have them.",
        )
    codes = np.maximum(codes, 0)
    found = values.gather(transitions.places(codes, u)).alias(cells.name)
    return found.zip_with(cells.is_not_null(), cells)


@dataclass(frozen=True, slots=True, repr=False)
class KeptOrDrawn:
    """Keep a value with its probability, else draw one by weights: an invariant matrix."""

    keep: float | NDArray[np.float64]
    reached: NDArray[np.float64]

    @classmethod
    def of(
        cls, keep: Keep, values: pl.Series, counts: NDArray[np.int64], *, of: str
    ) -> KeptOrDrawn:
        """Return the transitions for values and how often each occurs."""
        if not isinstance(keep, Mapping):
            return cls(float(keep), np.cumsum(counts * (1.0 - keep)))
        labels = _labels(values, keep, parameter="keep", column=of)
        each = np.array([keep[it] for it in labels], dtype=np.float64)
        return cls(each, np.cumsum(counts * (1.0 - each)))

    def places(self, codes: NDArray[np.int64], u: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the place of what is written for each cell, from numbers between 0 and 1."""
        keep = self.keep if isinstance(self.keep, float) else self.keep[codes]
        changes = u >= keep
        found = codes.copy()
        found[changes] = self.drawn(((u - keep) / np.where(changes, 1.0 - keep, 1.0))[changes])
        return found

    def drawn(self, u: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return places that are drawn by weight."""
        found = np.searchsorted(self.reached, u * self.reached[-1], side="right")
        last = np.argmax(self.reached)  # where u is nearly 1
        return np.asarray(np.minimum(found, last), np.int64)


@dataclass(frozen=True, slots=True, repr=False)
class Moved:
    """Draw what is written for each value from its row of a matrix."""

    ends: NDArray[np.float64]
    last: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        matrix: Matrix,
        values: pl.Series,
        counts: NDArray[np.int64],
        *,
        invariant: bool,
        of: str,
    ) -> Moved:
        """Return the transitions for values and how often each occurs."""
        labels = _labels(values, matrix, parameter="matrix", column=of)
        rows = np.array([[matrix[a].get(b, 0.0) for b in labels] for a in labels])
        if invariant:
            rows = rows @ _reverse(rows, counts / counts.sum())
        last = len(labels) - 1 - np.argmax(rows[:, ::-1] > 0, axis=1)
        ends = np.cumsum(rows, axis=1)
        ends[np.arange(len(labels)) >= last[:, None]] = 1.0
        return cls(np.ravel(ends + np.arange(len(labels))[:, None]), np.asarray(last, np.int64))

    def places(self, codes: NDArray[np.int64], u: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the place of what is written for each cell, from numbers between 0 and 1."""
        found = np.searchsorted(self.ends, codes + u, side="right") - codes * len(self.last)
        return np.asarray(np.minimum(found, self.last[codes]), np.int64)  # where u is nearly 1


def _reverse(rows: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the second stage: the probability of each original value, given what is written."""
    joint = (rows * shares[:, None]).T
    sums = joint.sum(axis=1, keepdims=True)
    # What is never written after the first stage has no original value.
    return np.where(sums > 0, joint / np.where(sums > 0, sums, 1.0), np.eye(len(rows)))


def _labels(
    values: pl.Series, given: Mapping[str, object], *, parameter: str, column: str
) -> list[str]:
    """Return the values as texts, or raise where they aren't those of a parameter."""
    labels: list[str] = as_text(values).to_list()
    lacking, unknown = len(set(labels) - given.keys()), len(given.keys() - set(labels))
    if lacking:
        raise DataError(
            f"Column {column!r} has {lacking} values that {parameter!r} of its mask 'pram' doesn't "
            "name.",
            hint="Name all values of the column, numbers and dates as texts.",
        )
    if unknown:
        raise DataError(
            f"The {parameter!r} of the mask 'pram' names {unknown} values that column {column!r} "
            "doesn't have.",
            hint="Take them out, or check how they are written.",
        )
    return labels
