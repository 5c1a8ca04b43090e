"""The search for minimal sample uniques: from a table to what is found for each row."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask.assess.risk._matching import Combinations, agreeing

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from halfmask.assess._arrays import Floats, Ints
    from halfmask.kernels.uniques.minimal import Alone


#: The search keeps a bit for each candidate and set of columns: so many bytes at most.
MAX_BYTES = 1 << 31

#: Entries of the groups of one set of columns: rows with missing cells stand in several groups.
MAX_ENTRIES = 1 << 27


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MinimalUniques:
    """What was found, row by row."""

    agreeing: Ints
    score: Floats
    parts: Floats
    smallest: Ints
    by_size: tuple[int, ...]


def minimal_uniques(
    table: pl.DataFrame, columns: Sequence[str], *, weights: Floats, wildcards: bool
) -> MinimalUniques:
    """Find the sets of columns on which a row is alone, and on no part of them."""
    met = Combinations.of(table, columns)
    of_row, n_classes = met.of_row, met.n
    codes = met.wild if wildcards else met.codes
    rows = np.bincount(of_row, minlength=n_classes)
    if wildcards:
        rows = agreeing(codes, codes, [rows])[0].astype(np.int64)
    alone = np.flatnonzero(rows == 1)
    found, parts = _searched(codes, alone, weights)
    places = np.full(n_classes, -1, dtype=np.int64)
    places[alone] = np.arange(len(alone))
    at = places[of_row]
    there = np.flatnonzero(at >= 0)
    at = at[there]
    score, smallest = np.zeros(table.height), np.zeros(table.height, dtype=np.int64)
    of_columns = np.zeros((table.height, len(columns)))
    score[there], smallest[there] = found.score[at], found.smallest[at]
    of_columns[there] = parts[at]
    return MinimalUniques(
        agreeing=rows[of_row],
        score=score,
        parts=of_columns,
        smallest=smallest,
        by_size=tuple(found.by_size[1:].tolist()),
    )


def _searched(codes: Ints, alone: Ints, weights: Floats) -> tuple[Alone, Floats]:
    """Return what is found for the candidates, and their parts in the order of the columns."""
    from halfmask.kernels.uniques.minimal import (  # noqa: PLC0415 # compiles
        Alone,
        minimal_uniques,
    )

    n_columns, n_classes = codes.shape
    largest = len(weights)
    sets = sum(comb(n_columns, size) for size in range(1, largest))
    n_bytes = sets * -(-len(alone) // 8)
    if n_bytes > MAX_BYTES:
        raise _too_much(f"{sets:,} sets of columns for {len(alone):,} unique rows")
    # Sets start with the last column: with most values there, groups get small at once.
    order = np.argsort(codes.max(axis=1, initial=0), kind="stable")
    candidate = np.full(n_classes, -1, dtype=np.int32)
    candidate[alone] = np.arange(len(alone))
    found = Alone(
        score=np.zeros(len(alone)),
        parts=np.zeros((len(alone), n_columns)),
        smallest=np.zeros(len(alone), dtype=np.int8),
        by_size=np.zeros(largest + 1, dtype=np.int64),
        bits=np.zeros((max(sets, 1), max(-(-len(alone) // 8), 1)), dtype=np.uint8),
    )
    binomials = np.array(
        [[comb(n, size) for size in range(largest + 1)] for n in range(n_columns + 1)]
    )
    complete = minimal_uniques(
        np.ascontiguousarray(codes[order], dtype=np.int32),
        candidate,
        np.concatenate(([0.0], weights)),
        binomials,
        max(MAX_ENTRIES, 2 * n_classes),
        found,
    )
    if not complete:
        raise _too_much("so many rows with missing cells that each may belong to many groups")
    parts = np.empty_like(found.parts)
    parts[:, order] = found.parts
    return found, parts


def _too_much(what: str) -> ParameterError:
    return ParameterError(
        f"The search for minimal uniques takes too much memory: there are {what}.",
        hint="Search smaller sets with largest, or take fewer quasi-identifiers.",
    )
