"""Settings of an online learner: its loss, its optimizer and their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least, number_between, one_of

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
