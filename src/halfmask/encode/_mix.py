"""All numeric and date columns as one vector that an invertible matrix mixes, in keyed parts."""

from __future__ import annotations

import hashlib
import hmac
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask._random import keyed_integers
from halfmask.encode._ticks import to_ticks
from halfmask.engines import map_in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from halfmask.encode._scaling import Scaling


_lock = threading.Lock()
_users: list[None] = []
_limits: list[Any] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS take one thread until the last of all blocks of this process has ended.

    Threads of BLAS would wait for each other more than they work on narrow matrices, and would
    round differently on machines with other numbers of processors. The limit is one of the whole
    process: each block with a limit of its own would end that of another thread.
    """
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 # only matrices need it

    with _lock:
        if not _users:
            _limits.append(threadpool_limits(1, user_api="blas"))
        _users.append(None)
    try:
        yield
    finally:
        with _lock:
            _users.pop()
            if not _users:
                _limits.pop().restore_original_limits()


# 64 bits: two names of a table of 10,000 columns share a token once in 10**11 codecs.
_TOKEN_BYTES = 8


class KeyedStream:
    """Numbers drawn one after the other from the ChaCha20 keystream of one key.

    The same key gives the same integers on every machine. Floats that went through ``log``,
    ``cos`` or LAPACK may differ in their last bit, so plans store them and never derive them again.
    """

    __slots__ = ("_drawn", "_key")

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._drawn = 0

    def uniform(self, n: int) -> NDArray[np.float64]:
        """Return ``n`` numbers of the open interval (0, 1), in steps of 2**-52."""
        self._drawn += 1
        integers = keyed_integers(n, key=self._key, stream=self._drawn) >> np.uint64(12)
        return (integers.astype(np.float64) + 0.5) * 2.0**-52

    def normal(self, *shape: int) -> NDArray[np.float64]:
        """Return standard normal numbers (Box and Muller 1958)."""
        n = int(np.prod(shape))
        radius = np.sqrt(-2 * np.log(self.uniform(n)))
        normal: NDArray[np.float64] = radius * np.cos(2 * np.pi * self.uniform(n))
        return normal.reshape(shape)

    def order(self, n: int) -> NDArray[np.int64]:
        """Return a permutation of ``range(n)``."""
        return np.argsort(self.uniform(n), kind="stable").astype(np.int64)

    def orthogonal(self, size: int) -> NDArray[np.float64]:
        """Return a matrix that is uniform among the rotations and reflections.

        The QR decomposition of normal numbers with the signs of R's diagonal (Mezzadri 2007).
        """
        q, r = np.linalg.qr(self.normal(size, size))
        return np.ascontiguousarray(q * np.where(np.diag(r) < 0, -1.0, 1.0))


def token(key: bytes, name: str) -> str:
    """Return the name that stands for ``name``: HMAC-SHA256, cut to 16 hexadecimal digits.

    Without the key a dictionary of all names of the world tells nothing of it.

    Examples
    --------
    >>> token(bytes(32), "age")
    'c...'
    """
    return "c" + hmac.new(key, name.encode(), hashlib.sha256).digest()[:_TOKEN_BYTES].hex()


@dataclass(frozen=True, slots=True, kw_only=True)
class MonotoneMap:
    """A strictly increasing function for each coordinate: ``sinh(tail * asinh(x) + shift)``.

    The sinh-arcsinh transformation of Jones and Pewsey (Biometrika 2009), whose inverse is of the
    same form.
    """

    tail: NDArray[np.float64]
    shift: NDArray[np.float64]

    @classmethod
    def keyed(cls, size: int, *, strength: float, stream: KeyedStream) -> MonotoneMap:
        """Return the maps that follow from a stream; the larger ``strength``, the less linear."""
        spread = 0.35 * min(strength, 2.0)
        tail = np.exp(spread * (2 * stream.uniform(size) - 1))
        return cls(tail=tail, shift=spread * (2 * stream.uniform(size) - 1))

    def forward(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map vectors, that stand as columns."""
        return np.asarray(np.sinh(self.tail[:, None] * np.arcsinh(x) + self.shift[:, None]))

    def backward(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Straighten vectors, that stand as columns."""
        return np.asarray(np.sinh((np.arcsinh(y) - self.shift[:, None]) / self.tail[:, None]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Coupling:
    """An additive coupling layer: some coordinates move by a function of the others.

    NICE (Dinh, Krueger and Bengio 2015): what was added is known from what did not move, so it is
    subtracted again without solving anything.
    """

    still: NDArray[np.int64]
    moved: NDArray[np.int64]
    inner: NDArray[np.float64]
    bias: NDArray[np.float64]
    outer: NDArray[np.float64]

    @classmethod
    def keyed(cls, size: int, *, strength: float, stream: KeyedStream) -> Coupling:
        """Return the layer that follows from a stream, for at least two coordinates."""
        order = stream.order(size)
        still, moved = order[: size // 2], order[size // 2 :]
        hidden = 2 * size
        return cls(
            still=still,
            moved=moved,
            inner=1.5 * stream.normal(len(still), hidden) / np.sqrt(len(still)),
            bias=stream.normal(hidden),
            outer=strength * stream.normal(hidden, len(moved)) * np.sqrt(2 / hidden),
        )

    def added(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what is added to the coordinates that move."""
        hidden = self.inner.T @ vectors[self.still]
        hidden += self.bias[:, None]
        return np.asarray(self.outer.T @ np.tanh(hidden, out=hidden))


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Coupling layers, then a monotone map of each coordinate."""

    layers: tuple[Coupling, ...]
    bend: MonotoneMap

    @classmethod
    def keyed(cls, size: int, *, strength: float, stream: KeyedStream) -> Flow:
        """Return the flow that follows from a stream.

        Its number of layers grows with the strength as in the measurements of the
        documentation: 4 up to 0.5, 6 up to 1, 8 beyond.
        """
        n_layers = 4 if strength <= 0.5 else 6 if strength <= 1 else 8
        layers = tuple(
            Coupling.keyed(size, strength=strength, stream=stream)
            for _ in range(n_layers if size > 1 else 0)
        )
        return cls(layers=layers, bend=MonotoneMap.keyed(size, strength=strength, stream=stream))

    def forward(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map vectors, that stand as columns."""
        vectors = vectors.copy()
        for layer in self.layers:
            vectors[layer.moved] += layer.added(vectors)
        return self.bend.forward(vectors)

    def backward(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map vectors back."""
        vectors = self.bend.backward(vectors)
        for layer in reversed(self.layers):
            vectors[layer.moved] -= layer.added(vectors)
        return vectors


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
