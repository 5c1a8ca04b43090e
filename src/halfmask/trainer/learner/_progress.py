"""How well a learner predicted rows before it learnt from them."""

from __future__ import annotations

from dataclasses import dataclass


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
