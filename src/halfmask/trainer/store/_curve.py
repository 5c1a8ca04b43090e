"""How a learner did as it learned: the loss on each row before it was learned from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Curve"]

#: Twice as many points as are shown at least: when they are full, neighbours are joined.
MOST_POINTS = 256
FIRST_SPAN = 1_024


@dataclass(slots=True, kw_only=True)
class Curve:
    """Sums of progressive validation, in all and over stretches of rows.

    Parameters
    ----------
    rows, loss, right
        How many rows there were, and the sums of their losses and of those that were right.
    span
        How many rows a point stands for at least.
    points
        Rows, loss and right of each stretch, the oldest first.

    Examples
    --------
    >>> curve = Curve()
    >>> curve.add(1_000, 690.0, 500.0)
    >>> curve.summary()["loss"]
    0.69
    """

    rows: int = 0
    loss: float = 0.0
    right: float = 0.0
    span: int = FIRST_SPAN
    points: list[tuple[int, float, float]] = field(default_factory=list)

    def add(self, rows: int, loss: float, right: float) -> None:
        """Count rows, with the sums of their losses and of those that were right."""
        self.rows += rows
        self.loss += loss
        self.right += right
        if self.points and self.points[-1][0] < self.span:
            rows, loss, right = _joined(self.points.pop(), (rows, loss, right))
        self.points.append((rows, loss, right))
        if len(self.points) > MOST_POINTS:
            self.span *= 2
            pairs = zip(self.points[::2], [*self.points[1::2], None], strict=False)
            self.points = [one if two is None else _joined(one, two) for one, two in pairs]

    def summary(self) -> dict[str, Any]:
        """Return the means as they are shown: None where nothing was learned."""
        behind, curve = 0, []
        for rows, loss, right in self.points:
            behind += rows
            curve.append({"rows": behind, "loss": loss / rows, "accuracy": right / rows})
        return {
            "rows": self.rows,
            "loss": self.loss / self.rows if self.rows else None,
            "accuracy": self.right / self.rows if self.rows else None,
            "curve": curve,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return what a snapshot keeps of it."""
        return {
            "rows": self.rows,
            "loss": self.loss,
            "right": self.right,
            "span": self.span,
            "points": self.points,
        }

    @classmethod
    def from_dict(cls, kept: dict[str, Any]) -> Curve:
        """Return what a snapshot kept."""
        points = [(int(rows), float(loss), float(right)) for rows, loss, right in kept["points"]]
        return cls(
            rows=int(kept["rows"]),
            loss=float(kept["loss"]),
            right=float(kept["right"]),
            span=int(kept["span"]),
            points=points,
        )


def _joined(
    one: tuple[int, float, float], two: tuple[int, float, float]
) -> tuple[int, float, float]:
    return one[0] + two[0], one[1] + two[1], one[2] + two[2]
