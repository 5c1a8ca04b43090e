"""What each model guarantees: its parameters, its level, and which levels keep it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from halfmask._errors import ParameterError
from halfmask.verifier.tables._risk_checks import (
    average_journalist_risk,
    average_risk,
    delta_presence,
    estimated_k_map,
    journalist_payout,
    journalist_records_at_risk,
    journalist_without_attack,
    k_map,
    largest_journalist_risk,
    marketer_risk,
    population_uniqueness,
    prosecutor_payout,
    prosecutor_without_attack,
    records_at_risk,
    sample_uniqueness,
)
from halfmask.verifier.tables._rules import (
    SLACK,
    LevelRule,
    ModelCheck,
    Parameters,
    PeopleRule,
    TableRule,
    Unjudgeable,
    entropy_values,
    equal_distances,
    hierarchical_distances,
    largest_gains,
    largest_log_ratios,
    largest_shares,
    number,
    ordered_distances,
    recursive_ratios,
    values_to_cover,
    whole,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.claims import ClassClaim
    from halfmask.verifier.tables._counting import ClassCells
    from halfmask.verifier.tables._support import Tree

Levels: TypeAlias = "NDArray[np.float64]"

UNKNOWN_MODEL: Final = "its model is none that the verifier knows, without the module that adds it"


def register_check(model: str, check: ModelCheck) -> None:
    """Let the verifier check a model, by the name that claims call it.

    The check counts on its own: it must not call the guarantee that it judges.

    Parameters
    ----------
    model
        The name of the model in a claim.
    check
        Returns the guarantee that a claim's parameters state.

    Raises
    ------
    ParameterError
        When the model has a check already.
    """
    if _checks.setdefault(model, check) is not check:
        raise ParameterError(f"The verifier has a check of {model!r} already.")


def level_rule_of(claim: ClassClaim) -> LevelRule | TableRule | PeopleRule:
    """Return what a claim guarantees."""
    if claim.model not in _checks:
        raise Unjudgeable(UNKNOWN_MODEL)
    check = _checks[claim.model]
    if set(claim.parameters) - check.optional != check.parameters:
        raise Unjudgeable(f"its parameters aren't {' and '.join(sorted(check.parameters))}")
    if (claim.column is not None) != check.of_column:
        raise Unjudgeable("it names a column that its model doesn't have, or lacks the one it has")
    if claim.unit == "person" and not check.of_persons:
        raise Unjudgeable("its model isn't defined for persons")
    if claim.basis != check.basis:
        raise Unjudgeable(f"it says that it is {claim.basis}, and it is {check.basis}")
    return check.make(claim.parameters)


def takes_several_values(claim: ClassClaim) -> bool:
    """Return whether a claim is defined where a person has several values of its column."""
    return _checks[claim.model].several_values


def rows_asked(claim: ClassClaim) -> float:
    """Return the k that a claim asks for in rows of a class; 1 if none."""
    check, k = _checks.get(claim.model), claim.parameters.get("k", 1)
    counts_rows = check is None or check.k_of_rows
    return k if counts_rows and not isinstance(k, str) else 1


def _k_anonymity(parameters: Parameters) -> LevelRule:
    k = whole(parameters, "k", 2)
    return LevelRule(
        levels=lambda cells, _totals, _tree: cells.sizes.astype(np.float64),
        worst=min,
        keeps=lambda level: level >= k,
    )


def _distinct(parameters: Parameters) -> LevelRule:
    l = whole(parameters, "l", 2)
    return LevelRule(
        levels=lambda cells, _totals, _tree: values_to_cover(cells),
        worst=min,
        keeps=lambda level: level >= l,
    )


def _entropy(parameters: Parameters) -> LevelRule:
    l = number(parameters, "l", 1)
    return LevelRule(
        levels=lambda cells, _totals, _tree: entropy_values(cells),
        worst=min,
        keeps=lambda level: level >= l - SLACK,
    )


def _recursive(parameters: Parameters) -> LevelRule:
    c, l = number(parameters, "c", 0), whole(parameters, "l", 2)
    return LevelRule(
        levels=lambda cells, _totals, _tree: recursive_ratios(cells, l),
        worst=max,
        # Strictly below. A ratio that equals c as typed rounds to the same float, and misses.
        keeps=lambda level: level < c,
    )


def _t_closeness(parameters: Parameters) -> LevelRule:
    t, distance = number(parameters, "t", 0), parameters["distance"]
    distances = {"equal": _equal, "ordered": _ordered, "hierarchical": _hierarchical}
    if distance not in distances:
        raise Unjudgeable("its distance is none of equal, ordered and hierarchical")
    return LevelRule(
        levels=distances[str(distance)],
        worst=max,
        keeps=lambda level: level <= t + SLACK,
        ordered=distance == "ordered",
        needs_tree=distance == "hierarchical",
    )


def _equal(cells: ClassCells, totals: NDArray[np.int64], tree: Tree | None) -> Levels:  # noqa: ARG001 # one signature for all
    return equal_distances(cells, totals)


def _ordered(cells: ClassCells, totals: NDArray[np.int64], tree: Tree | None) -> Levels:
    if tree is None:
        return ordered_distances(cells, totals)
    return ordered_distances(tree.ordered(cells), _reordered(totals, tree))


def _hierarchical(cells: ClassCells, totals: NDArray[np.int64], tree: Tree | None) -> Levels:
    if tree is None:
        raise Unjudgeable("the release has no tree of the column's values")
    return hierarchical_distances(tree.ordered(cells), _reordered(totals, tree), tree.parents)


def _alpha_k(parameters: Parameters) -> LevelRule:
    alpha, k = number(parameters, "alpha", 0), whole(parameters, "k", 2)
    return LevelRule(
        levels=lambda cells, _totals, _tree: largest_shares(cells, k),
        worst=max,
        # A share that equals alpha as typed rounds to the same float, and keeps.
        keeps=lambda level: level <= alpha,
    )


def _delta_disclosure(parameters: Parameters) -> LevelRule:
    delta = number(parameters, "delta", 0)
    return LevelRule(
        levels=lambda cells, totals, _tree: largest_log_ratios(cells, totals),
        worst=max,
        keeps=lambda level: level < delta + SLACK,
    )


def _basic_beta(parameters: Parameters) -> LevelRule:
    return _gains(number(parameters, "beta", 0), slack=None)


def _enhanced_beta(parameters: Parameters) -> LevelRule:
    return _gains(number(parameters, "beta", 0), slack=SLACK)


def _gains(beta: float, *, slack: float | None) -> LevelRule:
    return LevelRule(
        levels=lambda cells, totals, _tree: largest_gains(cells, totals, slack=slack),
        worst=max,
        keeps=lambda level: level <= beta + SLACK,
    )


def _largest_risk(parameters: Parameters) -> LevelRule:
    risk = number(parameters, "risk", 0)
    return LevelRule(
        levels=lambda cells, _totals, _tree: 1.0 / cells.sizes,
        worst=max,
        # A risk that equals the threshold as typed rounds to the same float, and keeps.
        keeps=lambda level: level <= risk,
    )


def _subset_k(parameters: Parameters) -> LevelRule:
    return replace(_k_anonymity({"k": parameters["k"]}), subsets=whole(parameters, "m", 1))


def _lkc(parameters: Parameters) -> LevelRule:
    shares = _alpha_k({"alpha": number(parameters, "c", 0), "k": parameters["k"]})
    return replace(shares, subsets=whole(parameters, "l", 1))


def _reordered(totals: NDArray[np.int64], tree: Tree) -> NDArray[np.int64]:
    ordered = np.empty_like(totals)
    ordered[tree.place_of] = totals
    return ordered


_checks: dict[str, ModelCheck] = {
    "k-anonymity": ModelCheck(_k_anonymity, frozenset({"k"}), of_column=False, of_persons=True),
    "distinct-l-diversity": ModelCheck(
        _distinct, frozenset({"l"}), of_persons=True, several_values=True
    ),
    "entropy-l-diversity": ModelCheck(_entropy, frozenset({"l"}), of_persons=True),
    "recursive-cl-diversity": ModelCheck(_recursive, frozenset({"c", "l"}), of_persons=True),
    "t-closeness": ModelCheck(_t_closeness, frozenset({"t", "distance"}), of_persons=True),
    "alpha-k-anonymity": ModelCheck(
        _alpha_k, frozenset({"alpha", "k"}), of_persons=True, several_values=True
    ),
    "delta-disclosure-privacy": ModelCheck(
        _delta_disclosure, frozenset({"delta"}), of_persons=True
    ),
    "basic-beta-likeness": ModelCheck(_basic_beta, frozenset({"beta"}), of_persons=True),
    "enhanced-beta-likeness": ModelCheck(_enhanced_beta, frozenset({"beta"}), of_persons=True),
    "largest-risk": ModelCheck(
        _largest_risk, frozenset({"risk"}), of_column=False, of_persons=True
    ),
    "average-risk": ModelCheck(average_risk, frozenset({"risk"}), of_column=False, of_persons=True),
    "sample-uniqueness": ModelCheck(
        sample_uniqueness, frozenset({"share"}), of_column=False, of_persons=True
    ),
    "records-at-risk": ModelCheck(
        records_at_risk, frozenset({"share", "risk"}), of_column=False, of_persons=True
    ),
    "profitability-prosecutor": ModelCheck(
        prosecutor_payout,
        frozenset({"publisher_benefit", "publisher_loss", "adversary_gain", "adversary_cost"}),
        of_column=False,
    ),
    "profitability-prosecutor-no-attack": ModelCheck(
        prosecutor_without_attack,
        frozenset({"adversary_gain", "adversary_cost"}),
        of_column=False,
        of_persons=True,
    ),
    "population-uniqueness": ModelCheck(
        population_uniqueness,
        frozenset({"share", "estimator"}),
        of_column=False,
        optional=frozenset({"population", "sampling_fraction"}),
        basis="estimated",
    ),
    "k-map": ModelCheck(k_map, frozenset({"k"}), of_column=False, k_of_rows=False),
    "estimated-k-map": ModelCheck(
        estimated_k_map,
        frozenset({"k", "sampling_fraction", "significance", "estimator"}),
        of_column=False,
        basis="estimated",
        k_of_rows=False,
    ),
    "delta-presence": ModelCheck(
        delta_presence, frozenset({"delta_min", "delta_max"}), of_column=False
    ),
    "largest-journalist-risk": ModelCheck(
        largest_journalist_risk, frozenset({"risk"}), of_column=False
    ),
    "average-journalist-risk": ModelCheck(
        average_journalist_risk, frozenset({"risk"}), of_column=False
    ),
    "journalist-records-at-risk": ModelCheck(
        journalist_records_at_risk, frozenset({"share", "risk"}), of_column=False
    ),
    "profitability-journalist": ModelCheck(
        journalist_payout,
        frozenset({"publisher_benefit", "publisher_loss", "adversary_gain", "adversary_cost"}),
        of_column=False,
    ),
    "profitability-journalist-no-attack": ModelCheck(
        journalist_without_attack, frozenset({"adversary_gain", "adversary_cost"}), of_column=False
    ),
    "marketer-risk": ModelCheck(marketer_risk, frozenset({"risk"}), of_column=False),
    "subset-k-anonymity": ModelCheck(_subset_k, frozenset({"k", "m"}), of_column=False),
    "lkc-privacy": ModelCheck(_lkc, frozenset({"l", "k", "c"})),
}
