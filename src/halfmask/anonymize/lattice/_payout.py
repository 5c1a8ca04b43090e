"""Publisher's payout: what a release earns when an attacker acts for gain."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from halfmask._errors import ParameterError
from halfmask._validation import number_between, one_of
from halfmask.anonymize.lattice._objective import (
    Factors,
    Objective,
    Scorer,
    bounds_of_sums,
    column_means,
    factors_of,
    rounded_down,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize.lattice._lattice import LatticeColumn, Levels
    from halfmask.anonymize.lattice._objective import ColumnMeans, NodeClasses


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherPayout(Objective):
    """What the publisher forgoes of the largest payout: money, summed over all rows.

    A released row earns ``publisher_benefit * (1 - l)``, where l is the share of its information
    that is lost: the log of the combinations of raw values that its nodes cover, by the log of all
    combinations. An attacker who succeeds with probability p attacks it where
    ``adversary_gain * p > adversary_cost``; the publisher then loses ``publisher_loss * p``. A
    suppressed row earns nothing. Source: Z. Wan et al., "A game theoretic framework for analyzing
    re-identification risk", PLOS ONE 10(3), 2015; ARX's "Publisher payout".

    Parameters
    ----------
    publisher_benefit
        What the publisher earns for a row with all its information, above 0.
    publisher_loss
        What the publisher loses for a row that is re-identified.
    adversary_gain
        What the attacker gains from a row that is re-identified.
    adversary_cost
        What an attack on one row costs the attacker.
    attacker
        ``"prosecutor"``: p is 1 over the rows of the class. ``"journalist"``: p is 1 over the rows
        of the population in the class.
    gs_factor
        In [0, 1]. Below 0.5 a suppressed row forgoes ``2 * gs_factor`` times the benefit. Above
        0.5 what a released row forgoes counts ``2 - 2 * gs_factor``.

    Raises
    ------
    ParameterError
        When an amount is negative, or a journalist is asked for without a population.

    Notes
    -----
    **Guarantees.** The bound leaves the attacker out, whom no generalization can make earn less
    than nothing.

    **Edge cases.** What a row forgoes is more than the benefit where an attack costs more than it
    earns. A table of one combination loses no information. Weights of columns don't change it.

    Examples
    --------
    >>> payout = PublisherPayout(
    ...     publisher_benefit=1200, publisher_loss=300, adversary_gain=300, adversary_cost=4
    ... )
    >>> payout.attacker
    'prosecutor'
    """

    name: ClassVar[str] = "publisher-payout"
    sentence: ClassVar[str] = (
        "What the publisher forgoes for generalized, suppressed and attacked rows."
    )

    publisher_benefit: float = field(metadata={"gt": 0})
    publisher_loss: float = field(metadata={"ge": 0})
    adversary_gain: float = field(metadata={"ge": 0})
    adversary_cost: float = field(metadata={"ge": 0})
    attacker: Literal["prosecutor", "journalist"] = "prosecutor"
    gs_factor: float = field(default=0.5, metadata={"ge": 0, "le": 1})

    def __post_init__(self) -> None:
        owner = "PublisherPayout"
        number_between(
            0.0, inf, owner=owner, low_open=True, publisher_benefit=self.publisher_benefit
        )
        number_between(
            0.0,
            inf,
            owner=owner,
            publisher_loss=self.publisher_loss,
            adversary_gain=self.adversary_gain,
            adversary_cost=self.adversary_cost,
        )
        one_of(("prosecutor", "journalist"), owner=owner, attacker=self.attacker)
        factors_of(self.gs_factor, owner=owner)

    def scorer(
        self,
        columns: Sequence[LatticeColumn],
        *,
        n_rows: int,
        min_rows: int = 1,  # noqa: ARG002 # of no use for this bound
    ) -> Scorer:
        """Return the objective for one table."""
        whole = float(sum(np.log2(max(len(column.rows), 1)) for column in columns))

        def lost(values: NDArray[np.int64], n_values: int) -> NDArray[np.float64]:  # noqa: ARG001 # as asked
            return np.log2(values) / (whole or 1.0)

        return _PayoutScorer(
            terms=self,
            lost=column_means(columns, lost),
            factors=factors_of(self.gs_factor, owner="PublisherPayout"),
            n_rows=n_rows,
        )

    def attacked(self, chance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the publisher loses to attacks, for each row.

        Parameters
        ----------
        chance
            With which probability an attack on the row succeeds.
        """
        pays = self.adversary_gain * chance > self.adversary_cost
        return np.where(pays, self.publisher_loss * chance, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _PayoutScorer(Scorer):
    terms: PublisherPayout
    lost: tuple[ColumnMeans, ...]
    factors: Factors
    n_rows: int

    def loss(self, classes: NodeClasses) -> float:
        benefit = self.terms.publisher_benefit
        information = sum(column.released(classes, place) for place, column in enumerate(self.lost))
        attacks = float(self.terms.attacked(self._chance(classes)) @ classes.sizes)
        released = self.factors.generalization * (benefit * information + attacks)
        return released + self.factors.suppression * benefit * classes.suppressed

    def bound(self, levels: Levels) -> float:
        information = sum(
            column.means[level] for column, level in zip(self.lost, levels, strict=True)
        )
        # A row forgoes this share of the benefit or, suppressed, the factor of suppression: the
        # product is at most the smaller of the two, for both are at most 1.
        of_released, of_suppressed = self.factors
        least = of_released * of_suppressed * information
        return rounded_down(self.terms.publisher_benefit * least * self.n_rows)

    def bounds(self, nodes: NDArray[np.intp]) -> NDArray[np.float64]:
        of_released, of_suppressed = self.factors
        scale = of_released * of_suppressed * self.terms.publisher_benefit * self.n_rows
        return bounds_of_sums([[scale * mean for mean in it.means] for it in self.lost], nodes)

    def _chance(self, classes: NodeClasses) -> NDArray[np.float64]:
        """Return the probability with which an attack on a row of each class succeeds."""
        if self.terms.attacker == "prosecutor":
            return 1.0 / classes.sizes
        if classes.population is None:
            raise ParameterError(
                'The objective PublisherPayout with attacker = "journalist" needs a population.'
            )
        return 1.0 / np.maximum(classes.population, classes.sizes)
