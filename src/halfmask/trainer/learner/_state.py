"""What an online learner is: settings, weights, optimizer, progress, and the way back one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least, number_between, one_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


Loss = Literal["logistic", "hinge", "squared", "softmax", "quantile"]
Optimizer = Literal["sgd", "adagrad", "ftrl"]
#: The first four in the order of :mod:`halfmask.kernels.online.losses`.
LOSSES: tuple[Loss, ...] = ("logistic", "hinge", "squared", "quantile", "softmax")
#: How many numbers a slot has: the weight, and the state of the optimizer.
OPTIMIZERS: dict[Optimizer, int] = {"sgd": 1, "adagrad": 2, "ftrl": 3}
_RATES: dict[Optimizer, float] = {"sgd": 0.5, "adagrad": 0.5, "ftrl": 0.1}
_OWNER = "OnlineLearner"
_MAX_BITS = 31
#: 16 GiB of 32-bit numbers: a mistyped size shouldn't take all memory.
_MAX_NUMBERS = 1 << 32


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerSettings:
    """The settings of an `OnlineLearner`, checked; see there."""

    loss: Loss
    bits: int
    optimizer: Optimizer
    rate: float
    decay: float
    l1: float
    l2: float
    beta: float
    classes: int
    tau: float
    normalized: bool
    invariant: bool
    intercept: bool
    threads: int
    random_state: int

    def __post_init__(self) -> None:
        one_of(LOSSES, owner=_OWNER, loss=self.loss)
        one_of(OPTIMIZERS, owner=_OWNER, optimizer=self.optimizer)
        integer_at_least(1, owner=_OWNER, bits=self.bits, threads=self.threads)
        integer_at_least(2, owner=_OWNER, classes=self.classes)
        integer_at_least(0, owner=_OWNER, random_state=self.random_state)
        number_between(0.0, 1e6, owner=_OWNER, low_open=True, rate=self.rate)
        number_between(0.0, 1.0, owner=_OWNER, decay=self.decay)
        number_between(0.0, 1e6, owner=_OWNER, l1=self.l1, l2=self.l2)
        number_between(0.0, 1e6, owner=_OWNER, low_open=True, beta=self.beta)
        number_between(0.0, 1.0, owner=_OWNER, low_open=True, high_open=True, tau=self.tau)
        for name in ("normalized", "invariant", "intercept"):
            if not isinstance(getattr(self, name), bool):
                raise ParameterError(f"The {name!r} parameter of {_OWNER} must be True or False.")
        self._check_together()

    def _check_together(self) -> None:
        if (self.l1 or self.l2) and self.optimizer != "ftrl":
            raise ParameterError(
                f"The 'l1' and 'l2' parameters of {_OWNER} need the optimizer 'ftrl'.",
                hint="Choose optimizer='ftrl', or leave them at 0.",
            )
        if self.classes > 2 and self.loss != "softmax":
            raise ParameterError(
                f"More than 2 classes need the loss 'softmax'. Got {self.loss!r}.",
                hint="Choose loss='softmax'.",
            )
        if self.bits > _MAX_BITS or self.slots * self.lanes * self.outputs > _MAX_NUMBERS:
            raise ParameterError(
                f"{_OWNER} has at most {_MAX_BITS} bits and {_MAX_NUMBERS:,} numbers in all. "
                f"Got {self.bits} bits and {self.classes} classes.",
                hint="Choose fewer bits.",
            )

    @property
    def slots(self) -> int:
        """How many indices there are; the bias has a slot behind them."""
        return 1 << int(self.bits)

    @property
    def lanes(self) -> int:
        """How many numbers a slot has for each output."""
        return OPTIMIZERS[self.optimizer]

    @property
    def answers(self) -> bool:
        """Whether predictions are right or wrong, rather than near or far."""
        return self.loss in ("logistic", "hinge", "softmax")

    @property
    def outputs(self) -> int:
        """How many predictions a row has: one, or one for each class."""
        return int(self.classes) if self.loss == "softmax" else 1


def rate_of(rate: float | None, optimizer: Optimizer) -> float:
    """Return the rate, or the default of the optimizer."""
    # Of an unknown optimizer, which Settings refuses, any will do.
    return _RATES.get(optimizer, 0.5) if rate is None else rate


@dataclass(slots=True, kw_only=True, eq=False)
class LearnerState:
    """The part of a learner that changes."""

    model: NDArray[np.float32]
    scales: NDArray[np.float32] | None
    counts: NDArray[np.float64]
    progress: ProgressiveValidation
    bound: float

    @classmethod
    def fresh(cls, settings: LearnerSettings) -> LearnerState:
        """Return the state of a learner that has seen nothing."""
        return cls(
            model=np.zeros((settings.slots + 1, settings.lanes, settings.outputs), np.float32),
            scales=None,
            counts=np.zeros(2),
            progress=ProgressiveValidation.none(answers=settings.answers),
            bound=0.0,
        )

    def copy(self) -> LearnerState:
        """Return a state that shares no array with this one."""
        return LearnerState(
            model=self.model.copy(),
            scales=None if self.scales is None else self.scales.copy(),
            counts=self.counts.copy(),
            progress=self.progress,
            bound=self.bound,
        )

    def need_scales(self) -> NDArray[np.float32]:
        """Return the scales; if there are none yet, each is what rows without values left it at.

        A value that isn't given is one: the scale of every slot, where such rows came before.
        """
        if self.scales is None:
            start = 1.0 if self.counts[0] else 0.0
            self.scales = np.full(len(self.model) - 1, start, np.float32)
        return self.scales


@dataclass(slots=True, kw_only=True, eq=False)
class Undo:
    """The slots of a batch as they were before it; all of them where that is less."""

    indices: NDArray[np.uint32] | None
    model: NDArray[np.float32]
    scales: NDArray[np.float32] | None
    bias: NDArray[np.float32]
    counts: NDArray[np.float64]

    @classmethod
    def of(cls, state: LearnerState, indices: NDArray[np.uint32]) -> Undo:
        """Keep what rows of these indices may change."""
        rest = {"bias": state.model[-1].copy(), "counts": state.counts.copy()}
        if len(indices) >= len(state.model):
            scales = None if state.scales is None else state.scales.copy()
            return cls(indices=None, model=state.model.copy(), scales=scales, **rest)
        scales = None if state.scales is None else _read(state.scales, indices)
        return cls(indices=indices, model=_read(state.model, indices), scales=scales, **rest)

    def restore(self, state: LearnerState) -> None:
        """Bring the state back to what it was."""
        for now, kept in ((state.model, self.model), (state.scales, self.scales)):
            if now is None or kept is None:
                continue
            if self.indices is None:
                now[...] = kept
            else:
                from halfmask.kernels.online.slots import scatter  # noqa: PLC0415 # numba: a second

                scatter(now.reshape(len(now), -1), self.indices, kept)
        state.model[-1] = self.bias
        state.counts[...] = self.counts


def _read(array: NDArray[np.float32], indices: NDArray[np.uint32]) -> NDArray[np.float32]:
    from halfmask.kernels.online.slots import gather  # noqa: PLC0415 # numba: a second

    slots = array.reshape(len(array), -1)
    kept = np.empty((len(indices), slots.shape[1]), np.float32)
    gather(slots, indices, kept)
    return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressiveValidation:
    """Progressive validation: each row is predicted first, and learnt from then.

    So its mean is that of rows that the model hadn't seen, at no cost of rows held out
    (Blum, Kalai and Langford, "Beating the hold-out", COLT 1999).

    Parameters
    ----------
    rows
        How many rows were learnt.
    weight
        The sum of their weights.
    loss_sum
        The weighted sum of their losses: natural logarithms for ``logistic`` and ``softmax``, half
        of the squared error for ``squared``.
    right_sum
        The weighted sum of right answers; None for numbers.

    Examples
    --------
    >>> one = ProgressiveValidation(rows=2, weight=2.0, loss_sum=1.0, right_sum=1.0)
    >>> (one + one).loss, (one + one).accuracy, (one + one).rows
    (0.5, 0.5, 4)
    """

    rows: int
    weight: float
    loss_sum: float
    right_sum: float | None

    @classmethod
    def none(cls, *, answers: bool) -> ProgressiveValidation:
        """Return the progress before any row, for a loss with or without classes.

        Parameters
        ----------
        answers
            Whether the loss has classes, so that predictions can be right or wrong.
        """
        return cls(rows=0, weight=0.0, loss_sum=0.0, right_sum=0.0 if answers else None)

    @property
    def loss(self) -> float:
        """The mean loss before each update; 0 if no row had a weight."""
        return self.loss_sum / self.weight if self.weight else 0.0

    @property
    def accuracy(self) -> float | None:
        """The share of right answers before each update; None for numbers."""
        if self.right_sum is None or not self.weight:
            return None
        return self.right_sum / self.weight

    def __add__(self, other: ProgressiveValidation) -> ProgressiveValidation:
        right = (
            None
            if self.right_sum is None or other.right_sum is None
            else self.right_sum + other.right_sum
        )
        return ProgressiveValidation(
            rows=self.rows + other.rows,
            weight=self.weight + other.weight,
            loss_sum=self.loss_sum + other.loss_sum,
            right_sum=right,
        )
