"""Nonlinear maps of a vector with an exact inverse: monotone maps and coupling layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.encode._keyed_stream import KeyedStream


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
