"""The nodes of a lattice that lose least: the given policy at fixed levels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halfmask._errors import PolicyError
from halfmask.anonymize import FullDomain, LatticePartition, NearBest, SearchFacts
from halfmask.microdata.exploring._grid import GridPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.microdata._policy import Policy
    from halfmask.microdata.exploring._explored_table import ExploredTable

#: A longer name isn't one of a file everywhere.
_LONGEST = 80


def near_best_nodes(
    table: ExploredTable, policy: Policy, n_best: int, *, seconds: float
) -> tuple[list[GridPolicy], SearchFacts]:
    """Return a policy for each of the nodes that lose least, the best first, numbered from 1."""
    protection = table.protection(policy)
    method = protection.method
    if not isinstance(method, FullDomain):
        raise PolicyError(
            "The nodes of a lattice are those of the method 'full-domain'. The policy has "
            f"{policy.method.named!r}.",
            hint='Write [method] name = "full-domain".',
        )
    if method.rounds > 1:
        raise PolicyError(
            "With rounds, rows have levels of their own, and there is no node of all rows.",
            hint="Leave rounds out of [method].",
        )
    if method.seconds is None and method.steps is None:
        method = replace(method, seconds=seconds)
    fitted = replace(protection, method=NearBest.of(method, n_best)).fit(table.summary)
    assert isinstance(fitted.partition, LatticePartition)  # noqa: S101 # of a single round
    names = [coding.column.name for coding in fitted.codings]
    facts = fitted.partition.facts
    return [
        _node(policy, dict(zip(names, score.levels, strict=True)), number)
        for number, score in enumerate(facts.near, start=1)
    ], facts


def _node(policy: Policy, levels: Mapping[str, int], number: int) -> GridPolicy:
    """Return the policy with the level of each column fixed."""
    columns: dict[str, Any] = policy.model_dump(
        mode="json", by_alias=True, exclude_defaults=True, exclude_none=True
    )["columns"]
    for name, level in levels.items():
        columns[name] |= {"least_level": level, "greatest_level": level}
    called = "-".join(["levels", *map(str, levels.values())])
    return GridPolicy(
        number=number,
        name=called if len(called) <= _LONGEST else "levels",
        method=policy.method.named,
        recoding=policy.recoding.named,
        max_suppression=float(policy.suppression.max_fraction),
        parameters={},
        policy=policy.changed(columns=columns),
        is_node=True,
    )
