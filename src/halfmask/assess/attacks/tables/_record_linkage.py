"""Record linkage by distance: which released row is a person's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._attack import DeclaredAttack
from halfmask.assess.attacks._targets import TableTarget
from halfmask.assess.attacks.tables._d_risk import d_risk
from halfmask.assess.attacks.tables._distances import Comparison
from halfmask.assess.attacks.tables._expected import Expected
from halfmask.assess.attacks.tables._knowledge import lacking_links
from halfmask.assess.attacks.tables._links import (
    ALL,
    QUASI_IDENTIFIERS,
    Linkable,
    expected_right,
    link_outcome,
    look_alike,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks._outcome import Outcome
    from halfmask.assess.attacks.tables._distances import Metric, Silence
    from halfmask.assess.attacks.tables._matching import Matched

METRICS: tuple[Metric, ...] = ("gower", "standardised")
SILENCES: tuple[Silence, ...] = ("anything", "average")


@dataclass(frozen=True, slots=True, kw_only=True)
class DistanceLinkage(
    DeclaredAttack,
    name="tables/record-linkage-distance",
    target=TableTarget,
    needs=(lacking_links,),
):
    """Link each person to the released row that is nearest by what is known.

    Parameters
    ----------
    n_attacks
        How many people are attacked at most.
    interval
        For the detail ``d_risk``: how many standard deviations of a released column around its
        value count as the same, above 0.

    Notes
    -----
    Distance-based record linkage after Pagliuca and Seri, "Some results of individual ranking
    method on the system of enterprise accounts annual survey" (1999), and Domingo-Ferrer and Torra,
    "Distance-based and probabilistic record linkage for re-identification of records with
    categorical variables" (2002). The worst is reported of Gower's and standardised distances, and
    of reading suppressed cells as anything or as an average value:

    - by quasi-identifiers: all of them, and 50 % and 25 % of them, drawn at random;
    - by any columns: the same, all columns, all but the quasi-identifiers, and numbers only.

    A link is right with probability 1/k where the person's row ties with k - 1 others; the success
    is the mean. Guessing at random reaches one in the number of rows. No person outside the table
    can be linked rightly, so that this is the control too. The detail ``look_alike`` is how often
    the values of the most similar other person, of the control table or else of the original, hit
    the same row.

    ``d_risk``: the share of people with *every* number within `interval` standard deviations of
    what was released; Mateo-Sanz et al., "Outlier protection in continuous microdata masking"
    (2004), "SDID".
    """

    n_attacks: int = field(default=2000, metadata={"ge": 1})
    interval: float = field(default=0.05, metadata={"gt": 0, "le": 1e9})

    def run(self, target: TableTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Link by what an attacker may know, and report the worst."""
        rng = np.random.default_rng(random_state)
        linkable = Linkable.of(target, self.n_attacks, rng)
        worst, rates = worst_links(linkable, rng)
        rates["d_risk"] = d_risk(linkable, self.interval)
        return tuple(
            link_outcome(
                self.name,
                measure,
                Expected(float(right.sum()), len(right)),
                target,
                n_rows=target.released.height,
                details={**rates, **look_alike(best, linkable, target)},
            )
            for measure, (right, best) in worst.items()
        )


def worst_links(
    linkable: Linkable, rng: np.random.Generator
) -> tuple[dict[str, tuple[NDArray[np.float64], Comparison]], dict[str, float]]:
    """Link by what an attacker may know, in every way of comparing."""
    rates: dict[str, float] = {}
    worst: dict[str, tuple[NDArray[np.float64], Comparison]] = {}
    for measure, scenario, columns in _scenarios(linkable, rng):
        for comparison in _comparisons(columns):
            blocks = comparison.blocks(linkable.known)
            right = expected_right(blocks, linkable.people, linkable.owners)
            rates[scenario] = max(rates.get(scenario, 0.0), float(right.mean()))
            for counted in dict.fromkeys((measure, ALL)):
                if counted not in worst or right.mean() > worst[counted][0].mean():
                    worst[counted] = right, comparison
    return dict(sorted(worst.items(), reverse=True)), rates


def _scenarios(
    linkable: Linkable, rng: np.random.Generator
) -> list[tuple[str, str, tuple[Matched, ...]]]:
    """Return what an attacker may know: for which measure, under which name, which columns."""
    known, columns = linkable.quasi_identifiers, linkable.columns
    order = rng.permutation(len(known))
    found = []
    for percent in (100, 50, 25) if known else ():
        some = sorted(order[: max(1, round(len(known) * percent / 100))].tolist())
        scenario = f"{percent}% of quasi-identifiers"
        found.append((QUASI_IDENTIFIERS, scenario, tuple(known[i] for i in some)))
    found.append((ALL, "all columns", columns))
    others = tuple(column for column in columns if column not in known)
    if known and others:
        found.append((ALL, "other columns", others))
    numbers = tuple(column for column in columns if column.is_number)
    if numbers and numbers != columns:
        found.append((ALL, "numeric columns", numbers))
    return found


def _comparisons(columns: tuple[Matched, ...]) -> list[Comparison]:
    """Return the ways to compare that may differ."""
    metrics = METRICS if any(column.is_number for column in columns) else METRICS[:1]
    silences = SILENCES if Comparison(columns=columns).has_silence else SILENCES[:1]
    return [
        Comparison(columns=columns, metric=metric, silence=silence)
        for metric in metrics
        for silence in silences
    ]
