"""How a learner did as it learned: the loss on each row before it was learned from."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

#: When there are as many, neighbours are joined: at least half as many are always shown.
MAX_POINTS = 256
FIRST_SPAN = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Sums over a stretch of rows."""

    rows: int = 0
    weight: float = 0.0
    loss: float = 0.0
    right: float = 0.0

    def __add__(self, other: Point) -> Point:
        return Point(
            rows=self.rows + other.rows,
            weight=self.weight + other.weight,
            loss=self.loss + other.loss,
            right=self.right + other.right,
        )

    def means(self, *, classes: bool) -> dict[str, Any]:
        """Return the mean loss, and the accuracy where labels are classes; None without rows."""
        known = self.weight > 0
        return {
            "loss": self.loss / self.weight if known else None,
            "accuracy": self.right / self.weight if known and classes else None,
        }


@dataclass(slots=True, kw_only=True)
class Curve:
    """Sums of progressive validation, in all and over stretches of rows.

    Examples
    --------
    >>> curve = Curve()
    >>> curve.add(Point(rows=1_000, weight=1_000.0, loss=690.0, right=500.0))
    >>> curve.summary()["loss"]
    0.69
    """

    classes: bool = True
    total: Point = field(default_factory=Point)
    span: int = FIRST_SPAN
    points: list[Point] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """How many rows there were."""
        return self.total.rows

    def add(self, point: Point) -> None:
        """Count rows."""
        self.total += point
        if self.points and self.points[-1].rows < self.span:
            point = self.points.pop() + point
        self.points.append(point)
        if len(self.points) > MAX_POINTS:
            self.span *= 2
            pairs = zip(self.points[::2], [*self.points[1::2], Point()], strict=False)
            self.points = [one + two for one, two in pairs]

    def summary(self) -> dict[str, Any]:
        """Return the means as they are shown; those of a point are of its own stretch."""
        behind, curve = 0, []
        for point in self.points:
            behind += point.rows
            curve.append({"rows": behind, **point.means(classes=self.classes)})
        return {"rows": self.rows, **self.total.means(classes=self.classes), "curve": curve}

    def to_dict(self) -> dict[str, Any]:
        """Return what a snapshot keeps of it."""
        return {
            "classes": self.classes,
            "total": asdict(self.total),
            "span": self.span,
            "points": [asdict(each) for each in self.points],
        }

    @classmethod
    def from_dict(cls, kept: dict[str, Any]) -> Curve:
        """Return what a snapshot kept."""
        return cls(
            classes=bool(kept["classes"]),
            total=Point(**kept["total"]),
            span=int(kept["span"]),
            points=[Point(**each) for each in kept["points"]],
        )
