"""Membership: people whose neighbourhood has more released rows than it should are in the table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask.assess.attacks._arms import SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack, Found
from halfmask.assess.attacks._rows import some_rows
from halfmask.assess.attacks._targets import TableTarget
from halfmask.assess.attacks.tables._links import (
    known_people,
    lacking_control,
    matched_columns,
    shared_columns,
)

if TYPE_CHECKING:
    import polars as pl

    from halfmask.assess._arrays import Floats
    from halfmask.assess.attacks._attack import Outcome
    from halfmask.assess.attacks.tables._matching import Matched

#: Below so many people whose membership is guessed, nothing is shown.
NEEDED = 100
#: Outliers are this share of people, the farthest from other people.
OUTLIERS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class DensityMembership(
    DeclaredAttack, name="tables/density-membership", target=TableTarget, needs=(lacking_control,)
):
    """Call people members to whom a released row is near, and other people are not.

    Parameters
    ----------
    n_attacks
        How many people of either kind at most.
    false_positives
        The share of other people who are called members, in (0, 0.5].

    Notes
    -----
    The score of a person is the distance to the nearest other person over the distance to the
    nearest released row: the ratio of two densities by their nearest neighbours, after van Breugel
    et al., "Membership inference attacks against synthetic data through overfitting detection"
    (AISTATS 2023), section 4. Distances are Gower's, over ranks. One half of the control table are
    the other people that densities are compared with; the other half are the people who aren't in
    the table. The threshold is the score that a share of these exceeds, so the attack knows the
    best threshold. The second measure is about outliers: the tenth of people farthest from others.
    The third has no other people to compare with: its score is the distance to the nearest released
    row alone (Chen et al., "GAN-Leaks", CCS 2020, section 4.2).

    **Edge cases.** A control table of fewer than 200 rows shows nothing.
    """

    n_attacks: int = field(default=3000, metadata={"ge": 1})
    false_positives: float = field(default=0.1, metadata={"gt": 0, "le": 0.5})

    def _measure(self, target: TableTarget, random_state: int) -> Found:
        if target.control is None:
            raise ParameterError("Membership needs a control table.")
        rng = np.random.default_rng(random_state)
        order = rng.permutation(target.control.height)
        half = len(order) // 2
        columns = matched_columns(target, shared_columns(target))
        space = _Space.of(columns, target.original)
        others = space.points(target.control[np.sort(order[:half])])
        released = space.released()
        scores, gaps, near = [], [], []
        for people in (target.original, target.control[np.sort(order[half:])]):
            points = space.points(people[some_rows(people.height, self.n_attacks, rng)])
            gap = _nearest(others, points)
            gaps.append(gap)
            distance = _nearest(released, points)
            near.append(-distance)
            scores.append(gap / (distance + 1e-6))
        far = float(np.quantile(np.concatenate(gaps), 1 - OUTLIERS)) if half else 0.0
        return (
            self._judged(scores[0], scores[1], "members found"),
            self._judged(
                scores[0][gaps[0] >= far], scores[1][gaps[1] >= far], "outliers found as members"
            ),
            self._judged(near[0], near[1], "members found by distance alone"),
        )

    def _judged(self, members: Floats, others: Floats, what: str) -> Outcome:
        """Return how many members and other people are above the threshold."""
        allowed = int(self.false_positives * len(others))
        threshold = np.sort(others)[::-1][allowed] if len(others) > allowed else np.inf
        return self._make_outcome(
            f"share of {what} at {self.false_positives:.0%} false ones",
            SuccessCount(int((members > threshold).sum()), len(members)),
            SuccessCount(int((others > threshold).sum()), len(others)),
            needed=(NEEDED, "people"),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Space:
    """Columns as coordinates: amounts by rank among the original's, categories by number."""

    columns: tuple[Matched, ...]
    known: tuple[Floats, ...]

    @classmethod
    def of(cls, columns: tuple[Matched, ...], original: pl.DataFrame) -> _Space:
        values = known_people(columns, original)
        return cls(
            columns,
            tuple(np.sort(each[~np.isnan(each)]) for each in (values[it.name] for it in columns)),
        )

    def points(self, people: pl.DataFrame) -> Floats:
        values = known_people(self.columns, people)
        return self._placed([values[it.name] for it in self.columns])

    def released(self) -> Floats:
        return self._placed([it.as_known() for it in self.columns])

    def _placed(self, values: list[Floats]) -> Floats:
        placed = []
        for column, known, cells in zip(self.columns, self.known, values, strict=True):
            place = cells
            if column.is_number:
                low = np.searchsorted(known, cells, side="left")
                high = np.searchsorted(known, cells, side="right")
                place = (low + high) / 2 / max(1, len(known))
            # Missing is as far as can be from all values, and at no distance from missing.
            placed.append(np.where(np.isnan(cells), -1.0, place))
        return np.ascontiguousarray(np.stack(placed, axis=1))


def _nearest(points: Floats, queries: Floats) -> Floats:
    """Return Gower's distance to the nearest point, a mean over columns."""
    from halfmask.kernels.partition.mdav import nearest_points  # noqa: PLC0415 # compiles

    if not len(points) or not len(queries):
        return np.ones(len(queries))
    nearest = points[nearest_points(points, queries, capped=True)]
    return np.asarray(np.minimum(np.abs(nearest - queries), 1.0).mean(axis=1))
