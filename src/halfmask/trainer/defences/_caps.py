"""NormClip and ClientCaps: how far one row may move a model, and how much one client."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from halfmask._validation import number_between

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.hashing import HashedRows


@dataclass(frozen=True, slots=True, kw_only=True)
class NormClip:
    """Bounds of a row's weight and of the length of its values.

    Parameters
    ----------
    weight
        The largest weight that a row may have, above 0.
    norm
        The largest Euclidean length of a row's values, above 0. Rows without values have the square
        root of the number of their features. ``None``: any length.

    Notes
    -----
    **Guarantees.** The gradient of a row is its weight times the slope of the loss times its
    values: of a loss whose slope is at most 1 (logistic, hinge, quantile) no row's gradient is
    longer than `weight` times `norm`, and n rows move a model of plain gradient descent by no more
    than n times that and the rate. A squared loss has no such slope.

    **Edge cases.** Rows within both bounds are returned as they are, without a copy.

    Clipping what a client contributes to a norm: Sun, Kairouz, Suresh and McMahan, "Can you really
    backdoor federated learning?" (2019).

    Examples
    --------
    >>> from halfmask.hashing import HashedRows
    >>> rows = HashedRows(
    ...     indices=np.array([[1, 2]], dtype=np.uint32),
    ...     values=np.array([[30.0, 40.0]], dtype=np.float32),
    ...     weights=np.array([1000.0], dtype=np.float32),
    ...     bits=4,
    ... )
    >>> clipped = NormClip(weight=1.0, norm=5.0).clipped(rows)
    >>> clipped.values.tolist(), clipped.weights.tolist()
    ([[3.0, 4.0]], [1.0])
    """

    weight: float = 1.0
    norm: float | None = None

    def __post_init__(self) -> None:
        number_between(0, 1e15, owner="NormClip", low_open=True, weight=self.weight)
        if self.norm is not None:
            number_between(0, 1e15, owner="NormClip", low_open=True, norm=self.norm)

    def clipped(self, rows: HashedRows) -> HashedRows:
        """Return rows within the bounds.

        Parameters
        ----------
        rows
            The rows to clip.
        """
        found = rows
        if rows.weights is not None and (rows.weights > self.weight).any():
            lighter = np.minimum(rows.weights, np.float32(self.weight))
            found = replace(found, weights=lighter)
        return found if self.norm is None else self._shortened(found, self.norm)

    def beyond(self, rows: HashedRows) -> int:
        """Return how many rows are beyond a bound.

        Parameters
        ----------
        rows
            The rows to count.
        """
        found = np.zeros(len(rows), dtype=bool)
        if rows.weights is not None:
            found |= rows.weights > self.weight
        if self.norm is not None:
            found |= _lengths(rows) > self.norm
        return int(found.sum())

    def _shortened(self, rows: HashedRows, norm: float) -> HashedRows:
        size = _lengths(rows)
        if not (size > norm).any():
            return rows
        bounds, _, values = rows.flat()
        scale = np.repeat(np.minimum(1.0, norm / np.maximum(size, 1e-300)), np.diff(bounds))
        shorter = scale if values is None else values * scale
        return replace(rows, values=shorter.astype(np.float32).reshape(rows.indices.shape))


def _lengths(rows: HashedRows) -> NDArray[np.float64]:
    """Return the Euclidean length of each row's values."""
    bounds, _, values = rows.flat()
    lengths = np.diff(bounds)
    if values is None:
        return np.sqrt(lengths.astype(np.float64))
    of_row = np.repeat(np.arange(len(rows)), lengths)
    squares = values.astype(np.float64) ** 2
    return np.sqrt(np.bincount(of_row, weights=squares, minlength=len(rows)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCaps:
    """A bound on one client's part of all weight that a model has learned.

    Parameters
    ----------
    share
        The largest part, in (0, 1], of all weight that may be one client's. With fewer than
        1 / `share` clients all of them reach it: name who is trusted then.
    free
        The weight that each client has without any cap, at least 0: rows, where none claims a
        weight of its own.
    trusted
        Clients without a cap, such as the owner's own.

    Notes
    -----
    **Guarantees.** At any time the weight learned of a client is at most the larger of `free` and
    `share` of all weight learned, unless it is trusted.

    **Edge cases.** Rows above the cap aren't lost to an error: all rows of that batch count less,
    down to nothing.

    Examples
    --------
    >>> ledger = Ledger()
    >>> caps = ClientCaps(share=0.25, free=100.0)
    >>> caps.allowed(ledger, "new")
    100.0
    >>> for client in ("a", "b", "c"):
    ...     ledger.add(client, 1000.0)
    >>> round(caps.allowed(ledger, "new"), 6)
    1000.0
    """

    share: float
    free: float = 1000.0
    trusted: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        number_between(0, 1, owner="ClientCaps", low_open=True, share=self.share)
        number_between(0, 1e15, owner="ClientCaps", free=self.free)

    def allowed(self, ledger: Ledger, client: str) -> float:
        """Return how much more weight of this client may be learned now.

        Parameters
        ----------
        ledger
            The weight that was learned of each client.
        client
            The name of the client.
        """
        if client in self.trusted or self.share == 1:
            return float("inf")
        learned = ledger.learned.get(client, 0.0)
        others = ledger.total - learned
        return max(0.0, max(self.free, others * self.share / (1 - self.share)) - learned)


@dataclass(slots=True)
class Ledger:
    """The weight that was learned of each client."""

    learned: dict[str, float] = field(default_factory=dict)
    total: float = 0.0

    def add(self, client: str, weight: float) -> None:
        """Note weight that was learned of a client; less than nothing takes it back."""
        self.learned[client] = self.learned.get(client, 0.0) + weight
        self.total += weight
