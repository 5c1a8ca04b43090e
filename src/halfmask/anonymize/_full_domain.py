"""FullDomain: one level of its hierarchy for each column, in every row."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from math import inf
from typing import TYPE_CHECKING, ClassVar, get_args

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least, number_between, one_of
from halfmask.anonymize._growth import GrowthPlan
from halfmask.anonymize.lattice import (
    LatticeSearch,
    Loss,
    Objective,
    SearchLimit,
    SearchStrategy,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class FullDomain:
    """Generalize each column to one level of its hierarchy, the same in every row.

    Parameters
    ----------
    objective
        What the levels lose, such as :class:`halfmask.anonymize.lattice.Loss`; the search looks
        for the least.
    search
        ``"optimal"`` proves that no other levels lose less. ``"best-effort"`` returns the best
        that it meets within the limit. ``"auto"``: ``"optimal"`` up to a million combinations of
        levels, ``"best-effort"`` above.
    steps, seconds
        How many nodes the search judges at most, and how long it takes at most; ``None``: no
        limit, and 5,000 nodes if the search isn't exact.
    seed
        The random choices of ``"best-effort"``. It protects nothing.
    rounds
        More than 1 is local recoding: the rows that one round suppresses get levels of their own
        in the next, at most so many times. Steps and seconds are those of each round.

    Notes
    -----
    **Guarantees.** Every released class keeps every guarantee. The values of a column are the same
    disjoint groups in all rows. Classes that miss a guarantee are suppressed whole, at most as many
    rows as may be; no other classes are. A guarantee that isn't monotone is judged at every node
    and nothing is concluded from it.

    **Edge cases.** Level 0 is the raw value. The levels of a column without a hierarchy are the
    value and ``*``. A missing cell is a value of its own at each level but the highest, which
    stands for all cells. Rows that come later are written only if a released class has their nodes.
    The table must be in memory: a sample has no optimum.

    With ``rounds``, groups of different rounds overlap, and the classes of all rounds are judged
    together in the end. Each round but the last releases at least half of its rows. An objective
    that counts suppression less, such as ``Loss(gs_factor=0.25)``, leaves more rows to the next
    round. Guarantees must be monotone, because classes of two rounds may be written alike. If the
    rounds leave more rows than may be suppressed, a single one decides.

    K. LeFevre, D. DeWitt, R. Ramakrishnan, "Incognito: efficient full-domain k-anonymity", SIGMOD
    2005; F. Kohlmayer, F. Prasser et al., "Flash: efficient, stable and optimal k-anonymity",
    PASSAT 2012.

    See Also
    --------
    Level : The recoding that writes the levels.
    Mondrian : Classes of their own levels each: less is lost, and groups overlap.

    Examples
    --------
    >>> FullDomain().objective, FullDomain(steps=500).search
    (Loss(gs_factor=0.5), 'auto')
    """

    name: ClassVar[str] = "full-domain"
    sentence: ClassVar[str] = "One level of its hierarchy for each column, the same in every row."
    judges_release: ClassVar[bool] = True

    objective: Objective = field(
        default_factory=Loss, metadata={"description": "What the levels lose."}
    )
    search: SearchStrategy = field(
        default="auto", metadata={"description": "How the lattice is searched."}
    )
    steps: int | None = field(
        default=None, metadata={"ge": 1, "description": "Nodes that are judged at most."}
    )
    seconds: float | None = field(
        default=None, metadata={"gt": 0, "description": "Seconds that the search takes at most."}
    )
    seed: int = field(
        default=0, metadata={"ge": 0, "description": "Random choices of a search that isn't exact."}
    )

    rounds: int = field(
        default=1,
        metadata={"ge": 1, "description": "How often at most suppressed rows are generalized."},
    )

    def __post_init__(self) -> None:
        if not isinstance(self.objective, Objective):
            raise ParameterError(
                "The 'objective' parameter of FullDomain must be an objective, such as Loss(). "
                f"Got a {type(self.objective).__name__}."
            )
        one_of(get_args(SearchStrategy), owner="FullDomain", search=self.search)
        integer_at_least(0, owner="FullDomain", seed=self.seed)
        integer_at_least(1, owner="FullDomain", rounds=self.rounds)
        if self.steps is not None:
            integer_at_least(1, owner="FullDomain", steps=self.steps)
        if self.seconds is not None:
            number_between(0, inf, owner="FullDomain", low_open=True, seconds=self.seconds)

    @property
    def needs_guide(self) -> bool:
        """Whether the objective needs a label."""
        return self.objective.needs_label

    def plan_growth(self, guides: NDArray[np.float64] | None) -> GrowthPlan:  # noqa: ARG002 # the judge counts them
        """Return how classes are found.

        Parameters
        ----------
        guides
            Labels or predictions, (rows, outputs); ``None`` without any.
        """
        limit = SearchLimit(steps=self.steps, seconds=self.seconds)
        return GrowthPlan(
            search="lattice",
            lattice=LatticeSearch(
                objective=self.objective,
                strategy=self.search,
                limit=limit,
                seed=self.seed,
                rounds=self.rounds,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NearBest(FullDomain):
    """A search that keeps several nodes with little loss; the classes are those of the best."""

    n_best: int

    @classmethod
    def of(cls, method: FullDomain, n_best: int) -> NearBest:
        """Return the search of a method that keeps so many nodes."""
        given = {each.name: getattr(method, each.name) for each in fields(FullDomain)}
        return cls(**given, n_best=n_best)

    def plan_growth(self, guides: NDArray[np.float64] | None) -> GrowthPlan:
        """Return how classes are found, with several nodes kept."""
        plan = FullDomain.plan_growth(self, guides)
        assert plan.lattice is not None  # noqa: S101 # a full-domain search is one of a lattice
        return replace(plan, lattice=replace(plan.lattice, n_best=self.n_best))
