"""Record linkage by assignment: one row for each person, at the least total distance."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask.assess.attacks._attack import DeclaredAttack
from halfmask.assess.attacks._targets import TableTarget
from halfmask.assess.attacks.tables._distances import Comparison
from halfmask.assess.attacks.tables._expected import Expected
from halfmask.assess.attacks.tables._knowledge import (
    known_people,
    lacking_links,
    matched_columns,
    quasi_identifiers_of,
    shared_columns,
)
from halfmask.assess.attacks.tables._links import ALL, QUASI_IDENTIFIERS, link_outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks._outcome import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentLinkage(
    DeclaredAttack,
    name="tables/record-linkage-assignment",
    target=TableTarget,
    needs=(lacking_links,),
):
    """Link people and released rows one to one, at the least total distance.

    Parameters
    ----------
    n_attacks
        How many people are attacked at most; the cost grows with the third power.

    Notes
    -----
    The optimal assignment of Kuhn, "The Hungarian method for the assignment problem" (1955), over
    Gower's distances, as Herranz, Nin, Rodriguez and Tassa, "Revisiting distance-based record
    linkage for privacy-preserving release of statistical datasets" (DKE 2015), use it: it can be
    right where each nearest row alone isn't.

    A larger table is attacked on a part of it, of whole classes of rows that were released alike,
    since a part of a class would make its rows rarer than they are. Rows that are alike can be
    exchanged, so that a link to a class of k counts as 1/k.
    """

    n_attacks: int = field(default=1000, metadata={"ge": 1})

    def run(self, target: TableTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Link by quasi-identifiers and by all columns."""
        known = {QUASI_IDENTIFIERS: quasi_identifiers_of(target), ALL: shared_columns(target)}
        outcomes = []
        for place, (measure, names) in enumerate(known.items()):
            if not names:
                continue
            rng = np.random.default_rng([random_state, place])
            right = _right(target, names, self.n_attacks, rng)
            success = Expected(float(right.sum()), len(right))
            outcomes.append(
                link_outcome(self.name, measure, success, target, n_rows=len(right), details={})
            )
        return tuple(outcomes)


def _right(
    target: TableTarget, names: tuple[str, ...], most: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return for each person of a part the probability of the right link."""
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 # scipy loads late

    classes = _classes(target.released, names)
    rows = _whole_classes(classes, most, rng)
    owners, of_class = target.owner_of_row[rows], classes[rows]
    people = np.unique(owners)
    columns = matched_columns(replace(target, released=target.released[rows], owners=owners), names)
    known = known_people(columns, target.original[people])
    costs = np.concatenate([block for _, block in Comparison(columns=columns).blocks(known)])
    linked, rows_of_linked = linear_sum_assignment(costs)
    row_of = np.full(len(people), -1, dtype=np.int64)
    row_of[linked] = rows_of_linked
    is_owner = owners[None, :] == people[:, None]
    in_class = (of_class[None, :] == of_class[row_of][:, None]) & (row_of >= 0)[:, None]
    # A class that is too large to be taken whole is as large as it was released.
    sizes = np.bincount(classes)[of_class[row_of]]
    return np.asarray((is_owner & in_class).sum(axis=1) / sizes)


def _classes(released: pl.DataFrame, names: tuple[str, ...]) -> NDArray[np.int64]:
    """Return for each released row the number of the class of rows with the same cells."""
    # Columns have any names: here their places name them.
    places = [str(place) for place in range(len(names))]
    columns = [released[name].alias(at) for name, at in zip(names, places, strict=True)]
    rows = pl.DataFrame(columns).with_row_index("row")
    first = rows.select(pl.col("row").min().over(places)).to_series()
    return np.unique(first.to_numpy(), return_inverse=True)[1].astype(np.int64)


def _whole_classes(
    classes: NDArray[np.int64], most: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return rows of whole classes drawn at random, in a random order, or of one if none fits."""
    sizes = np.bincount(classes)
    order = rng.permutation(len(sizes))
    fitting = order[np.cumsum(sizes[order]) <= most]
    # The order of rows must not decide ties between assignments.
    rows = rng.permutation(np.flatnonzero(np.isin(classes, fitting if len(fitting) else order[:1])))
    return rows[:most].astype(np.int64)
