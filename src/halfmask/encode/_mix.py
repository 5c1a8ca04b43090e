"""All numeric and date columns as one vector that an invertible matrix mixes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask.encode._one_thread import one_blas_thread
from halfmask.encode._ticks import to_ticks
from halfmask.engines import map_in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from halfmask.encode._flow import Flow, MonotoneMap
    from halfmask.encode._keyed_stream import KeyedStream
    from halfmask.encode._scaling import Scaling

#: The largest condition number of a matrix.
CONDITION = 100.0
# Rows that go through a flow at once: what its layers need stays in the cache.
_CHUNK = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Affine:
    """``y = A x + b``, with the inverse of A, for rows."""

    matrix: NDArray[np.float64]
    inverse: NDArray[np.float64]
    shift: NDArray[np.float64]

    @classmethod
    def keyed(cls, size: int, *, numbers: str, stream: KeyedStream) -> Affine:
        """Return the map that follows from a stream.

        ``"turned"``: an orthogonal matrix, which gradient descent doesn't notice.
        ``"orthogonal"``: the same and one shift for all coordinates, which keeps distances and
        the variance of all coordinates together, from which scikit-learn takes a kernel's width.
        ``"affine"``: ``A = U diag(s) V'`` with s from 0.1 to 10 on a logarithmic scale, so that
        its condition is at most 100 and what it does to a float can be undone to 1e-12; and a
        shift of each coordinate.
        """
        left = stream.orthogonal(size)
        shift = 4 * stream.uniform(size) - 2
        if numbers != "affine":
            shift = np.full(size, shift[0] if numbers == "orthogonal" else 0.0)
            return cls(matrix=left, inverse=np.ascontiguousarray(left.T), shift=shift)
        half = np.log(CONDITION) / 2
        stretch = np.exp(half * (2 * stream.uniform(size) - 1))
        right = stream.orthogonal(size)
        return cls(
            matrix=(left * stretch) @ right, inverse=(right.T / stretch) @ left.T, shift=shift
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """Standardised columns through scalar maps, a matrix, a flow; and back."""

    columns: tuple[Scaling, ...]
    tokens: tuple[str, ...]
    flags: tuple[str, ...]
    by: str
    maps: tuple[Affine, ...]
    bend: MonotoneMap | None
    flow: Flow | None

    def encode(
        self, batch: pl.DataFrame, group: NDArray[np.int64] | None, *, threads: bool = True
    ) -> list[pl.Series]:
        """Return the coordinates of a batch, and the flags of missing cells."""
        cells = [to_ticks(batch[column.name]) for column in self.columns]
        plain = np.empty((len(cells), batch.height))
        for place, (column, (ticks, present)) in enumerate(zip(self.columns, cells, strict=True)):
            plain[place] = column.standardized(ticks, present)
        mixed = self._forward(plain, group, threads=threads)
        back = self._backward(mixed, group, threads=threads)
        flagged = []
        for place, (column, flag) in enumerate(zip(self.columns, self.flags, strict=True)):
            ticks, present = cells[place]
            column.check(ticks, present, back[place], ~present if flag else None)
            if flag:
                flagged.append(pl.Series(flag, (~present).astype(np.int8)))
        return [pl.Series(name, mixed[i]) for i, name in enumerate(self.tokens)] + flagged

    def decode(
        self, encoded: pl.DataFrame, group: NDArray[np.int64] | None, *, threads: bool = True
    ) -> list[pl.Series]:
        """Return the columns that were mixed."""
        mixed = np.empty((len(self.tokens), encoded.height))
        for place, name in enumerate(self.tokens):
            mixed[place] = encoded[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
        unmarked = sum(encoded[flag].null_count() for flag in self.flags if flag)
        if unmarked or not np.isfinite(mixed).all():
            lost = int((~np.isfinite(mixed).all(axis=0)).sum())
            raise DataError(
                f"{lost or unmarked} encoded rows have coordinates that are missing or not finite.",
                hint="Decode the encoded rows unchanged.",
            )
        plain = self._backward(mixed, group, threads=threads)
        marks = [(encoded[flag] != 0).to_numpy() if flag else None for flag in self.flags]
        return [
            column.restore(plain[place], mark)
            for place, (column, mark) in enumerate(zip(self.columns, marks, strict=True))
        ]

    def standard(self, batch: pl.DataFrame) -> NDArray[np.float64]:
        """Return the vectors before any key, a row each: standardised columns, in order."""
        return np.column_stack([column.standard(batch[column.name]) for column in self.columns])

    def _forward(
        self, plain: NDArray[np.float64], group: NDArray[np.int64] | None, *, threads: bool
    ) -> NDArray[np.float64]:
        def forward(part: NDArray[np.float64], one: Affine) -> NDArray[np.float64]:
            bent = self.bend.forward(part) if self.bend else part
            moved = one.matrix @ bent
            moved += one.shift[:, None]
            return self.flow.forward(moved) if self.flow else moved

        return self._in_parts(plain, group, forward, threads=threads)

    def _backward(
        self, mixed: NDArray[np.float64], group: NDArray[np.int64] | None, *, threads: bool
    ) -> NDArray[np.float64]:
        def backward(part: NDArray[np.float64], one: Affine) -> NDArray[np.float64]:
            moved = self.flow.backward(part) if self.flow else part
            bent = one.inverse @ (moved - one.shift[:, None])
            return self.bend.backward(bent) if self.bend else bent

        return self._in_parts(mixed, group, backward, threads=threads)

    def _in_parts(
        self,
        vectors: NDArray[np.float64],
        group: NDArray[np.int64] | None,
        function: Callable[[NDArray[np.float64], Affine], NDArray[np.float64]],
        *,
        threads: bool,
    ) -> NDArray[np.float64]:
        """Map vectors, that stand as columns, chunk by chunk: one thread a chunk."""
        mapped = np.empty_like(vectors)

        def map_part(part: tuple[NDArray[np.int64] | slice, int]) -> None:
            where, which = part
            mapped[:, where] = function(vectors[:, where], self.maps[which])

        parts = _parts(vectors.shape[1], group, len(self.maps))
        with one_blas_thread():
            for _ in map_in_order(parts, map_part) if threads else map(map_part, parts):
                pass
        return mapped


def _parts(
    n_rows: int, group: NDArray[np.int64] | None, n_maps: int
) -> Iterator[tuple[NDArray[np.int64] | slice, int]]:
    """Return the rows of each map, in chunks."""
    if group is None:
        for start in range(0, n_rows, _CHUNK):
            yield slice(start, start + _CHUNK), 0
        return
    which = np.where((group < 0) | (group >= n_maps - 1), n_maps - 1, group)
    for number in range(n_maps):
        rows = np.flatnonzero(which == number)
        for start in range(0, len(rows), _CHUNK):
            yield rows[start : start + _CHUNK], number
