"""What models about a population guarantee, counted from the people who fit each class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.verifier.tables._rules import Parameters, PeopleRule, whole

if TYPE_CHECKING:
    from halfmask.verifier.tables._fitting import ClassPeople

__all__ = ["k_map"]


def k_map(parameters: Parameters) -> PeopleRule:
    """Return the rule of k-map: each class fits k people."""
    k = whole(parameters, "k", 2)
    return PeopleRule(level=_fewest, worst=min, keeps=lambda level: level >= k)


def _fewest(fitting: ClassPeople) -> float:
    return float(fitting.people.min())
