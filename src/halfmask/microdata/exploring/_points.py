"""The points of an exploration: the risk and the utility of one policy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halfmask.microdata.exploring._grid import GridPolicy
    from halfmask.microdata.exploring._levels import ColumnLevel

#: Risks of a point that can be an axis, in words.
RISKS: Final[Mapping[str, str]] = {
    "highest": "highest prosecutor risk",
    "average": "average prosecutor risk",
    "journalist-highest": "highest journalist risk",
    "journalist-average": "average journalist risk",
    "all-columns": "average risk over all released columns",
}
#: Measures of utility that can be an axis, in words; ``detail:COLUMN`` is one for each column.
UTILITIES: Final[Mapping[str, str]] = {
    "loss": "information loss",
    "detail": "lost detail, by the weights of columns",
    "non-uniform-entropy": "non-uniform entropy",
    "ambiguity": "ambiguity",
    "squared-error": "squared error of numbers",
    "discernibility": "discernibility",
    "suppressed": "suppressed rows",
    "accuracy": "score of a model of the label",
}
DETAIL: Final = "detail:"
#: What stands wherever an exploration is shown.
NOTE: Final = (
    "This is for the owner of the table: it shows the risk of the raw table, and which releases "
    "are possible. It is no release: keep it like the table."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PointMeasures:
    """Risk and utility of a release that isn't written.

    Parameters
    ----------
    classes, suppressed
        How many classes the release has, and how many rows are left out.
    highest, average
        The prosecutor risk: 1 by the smallest class, and the mean over the rows.
    journalist_highest, journalist_average
        The same by the classes of the population; ``None`` without one.
    all_columns, unique
        Over all released columns: the mean over the rows of 1 by the rows that share them, and the
        share of rows that are unique.
    loss, ncp
        Information loss: granularity and normalized certainty penalty, in [0, 1].
    discernibility
        Sum of the squared class sizes, and for each suppressed row the number of all rows.
    non_uniform_entropy, ambiguity, squared_error
        As of the report: the lost share of information, the log2 of the combinations that a row
        could stand for, and the share of the variation of numbers within classes (``None`` without
        numbers).
    kept
        The share of the detail that is kept, columns by their weights, in [0, 1].
    detail
        The share of the detail that each quasi-identifier keeps, in [0, 1].
    levels
        The level of each quasi-identifier with full-domain generalization; otherwise empty, since
        each class has its own.
    objective
        What the search of levels counts as the loss; ``None`` without one, or with rounds.
    score, score_raw, score_name
        How well a model of the release predicts the label, a model of the raw rows, and by which
        measure; ``None`` where it wasn't asked for.
    """

    classes: int
    suppressed: int
    highest: float
    average: float
    journalist_highest: float | None
    journalist_average: float | None
    all_columns: float
    unique: float
    loss: float
    ncp: float
    discernibility: int
    non_uniform_entropy: float
    ambiguity: float
    squared_error: float | None
    kept: float
    detail: Mapping[str, float]
    levels: Mapping[str, ColumnLevel] = field(default_factory=lambda: MappingProxyType({}))
    objective: float | None = None
    score: float | None = None
    score_raw: float | None = None
    score_name: str | None = None

    def risk(self, axis: str) -> float | None:
        """Return a risk by its name in `RISKS`; ``None`` where it wasn't measured.

        Parameters
        ----------
        axis
            The name.
        """
        found: float | None = getattr(self, axis.replace("-", "_"))
        return found

    def lost(self, axis: str) -> float | None:
        """Return what is lost by a measure of utility: less is better.

        Parameters
        ----------
        axis
            A name in `UTILITIES`, or ``detail:COLUMN``.
        """
        if axis.startswith(DETAIL):
            return 1 - self.detail[axis.removeprefix(DETAIL)]
        if axis == "accuracy":
            return None if self.score is None else 1 - self.score
        if axis == "detail":
            return 1 - self.kept
        found: float | None = getattr(self, axis.replace("-", "_"))
        return None if found is None else float(found)

    def to_dict(self) -> dict[str, object]:
        """Return the numbers under their names, for JSON."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        levels = {name: each.to_dict() for name, each in self.levels.items()}
        return {**found, "detail": dict(self.detail), "levels": levels}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploredPoint:
    """One policy that the table can keep, with its measures.

    Parameters
    ----------
    asked
        The policy, and what the grid varies in it.
    measures
        Its risk and utility.
    also
        Other policies whose release has the same rows: they are no points of their own.
    released
        A digest of what would be released.
    """

    asked: GridPolicy
    measures: PointMeasures
    also: tuple[GridPolicy, ...] = ()
    released: bytes = field(default=b"", repr=False, compare=False)

    @property
    def is_given(self) -> bool:
        """Whether its release is that of the given policy."""
        return any(not each.number for each in (self.asked, *self.also))

    @property
    def name(self) -> str:
        """The levels of a node, or what the grid calls it."""
        return self.levels_in_words if self.asked.is_node else self.asked.name

    @property
    def levels_in_words(self) -> str:
        """The level of each quasi-identifier; empty without full-domain."""
        return ", ".join(f"{name}: {each.words}" for name, each in self.measures.levels.items())

    @property
    def remark(self) -> str:
        """Its levels, and the policies whose release has the same rows."""
        same = ", ".join(f"{each.number} {each.name}" for each in self.also)
        return "; ".join(filter(None, [self.levels_in_words, same and f"the same rows: {same}"]))

    def to_dict(self) -> dict[str, object]:
        """Return everything under its name, for JSON."""
        also = [each.to_dict() for each in self.also]
        return {**self.asked.to_dict(), "also": also, **self.measures.to_dict()}


def merged(points: Iterable[ExploredPoint]) -> tuple[ExploredPoint, ...]:
    """Return one point for each release: policies whose releases have the same rows are one."""
    found: dict[object, ExploredPoint] = {}
    for each in points:
        # A model is learnt by the policy, and not from the release alone.
        key = each.released, each.measures.score
        before = found.get(key)
        joined = each if before is None else replace(before, also=(*before.also, each.asked))
        found[key] = joined
    return tuple(found.values())
