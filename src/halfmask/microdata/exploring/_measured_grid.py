"""The measured policies of an exploration: where they lie, and which are on the frontier."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.microdata.exploring._dominance import undominated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.anonymize import SearchFacts
    from halfmask.microdata.exploring._grid import GridPolicy
    from halfmask.microdata.exploring._guarantee_trials import GuaranteeTrial
    from halfmask.microdata.exploring._points import ExploredPoint


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredGrid:
    """The policies that were tried on a table; `Exploration` says what its fields are."""

    points: tuple[ExploredPoint, ...]
    refused: tuple[GridPolicy, ...]
    trials: tuple[GuaranteeTrial, ...]
    rows: int
    table_rows: int
    grid_policies: int
    random_state: int
    raw: Mapping[str, float]
    risk: str
    utility: str
    search: SearchFacts | None = None

    @property
    def n_tried(self) -> int:
        """How many policies were tried: several may be one point."""
        return len(self.refused) + sum(1 + len(each.also) for each in self.points)

    @property
    def listed(self) -> tuple[ExploredPoint, ...]:
        """The points to choose from: the frontier of a grid, or all nodes of a lattice."""
        return self.frontier if self.search is None else self.points

    @property
    def search_sentence(self) -> str:
        """How the nodes of a lattice were found; empty for a grid."""
        facts = self.search
        if facts is None:
            return ""
        least = "no other loses less" if facts.optimal else "others may lose less"
        return (
            f"{len(self.points):,} of {facts.nodes:,} combinations of levels, by the loss that the "
            f"search counts; {facts.judged:,} were judged, and {least}"
        )

    @property
    def shown(self) -> tuple[ExploredPoint, ...]:
        """The points that have both measures of the axes."""
        return tuple(
            each
            for each in self.points
            if each.measures.risk(self.risk) is not None
            and each.measures.lost(self.utility) is not None
        )

    @property
    def frontier(self) -> tuple[ExploredPoint, ...]:
        """The points that no other dominates in risk and utility, by risk, then by loss."""
        found = [(*self.place(each), each) for each in self.shown]
        best = undominated([risk for risk, _, _ in found], [lost for _, lost, _ in found])
        kept = [each for each, is_best in zip(found, best.tolist(), strict=True) if is_best]
        return tuple(point for *_, point in sorted(kept, key=lambda each: each[:2]))

    def place(self, point: ExploredPoint) -> tuple[float, float]:
        """Return the risk and the loss of a point on the axes; one of `shown`.

        Parameters
        ----------
        point
            The point.
        """
        risk, lost = point.measures.risk(self.risk), point.measures.lost(self.utility)
        return float(risk or 0.0), float(lost or 0.0)

    @property
    def reasons(self) -> dict[str, tuple[str, ...]]:
        """The names of refused policies by the reason, most frequent first."""
        counted = Counter(each.why for each in self.refused)
        return {
            why: tuple(each.name for each in self.refused if each.why == why)
            for why, _ in counted.most_common()
        }
