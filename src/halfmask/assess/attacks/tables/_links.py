"""Links of people to released rows, and how many of them are expected to be right."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._arms import Certain
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks.tables._distances import nearest
from halfmask.assess.attacks.tables._knowledge import (
    known_people,
    matched_columns,
    quasi_identifiers_of,
    sample,
    shared_columns,
)
from halfmask.assess.attacks.tables._matching import match
from halfmask.guarantees import size_asked

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl
    from numpy.typing import NDArray

    from halfmask.assess.attacks._targets import TableTarget
    from halfmask.assess.attacks.tables._distances import Comparison, Known
    from halfmask.assess.attacks.tables._expected import Expected
    from halfmask.assess.attacks.tables._matching import Matched

#: What an attacker may know, as measures call it.
QUASI_IDENTIFIERS = "quasi-identifiers"
ALL = "any columns"
#: The detail that says how often the values of the most similar other person hit a person's row.
LOOK_ALIKE = "look_alike"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Linkable:
    """People whose row was released, and what there is to link them by."""

    columns: tuple[Matched, ...]
    quasi_identifiers: tuple[Matched, ...]
    people: NDArray[np.int64]
    known: Known
    owners: NDArray[np.int64]

    @classmethod
    def of(cls, target: TableTarget, n_attacks: int, rng: np.random.Generator) -> Linkable:
        """Draw the people."""
        columns = matched_columns(target, shared_columns(target))
        named = quasi_identifiers_of(target)
        released = np.unique(target.owner_of_row)
        people = rng.permutation(released[sample(rng, len(released), n_attacks)])
        return cls(
            columns=columns,
            quasi_identifiers=tuple(column for column in columns if column.name in named),
            people=people,
            known=known_people(columns, target.original[people]),
            owners=target.owner_of_row,
        )


def expected_right(
    blocks: Iterable[tuple[slice, NDArray[np.float64]]],
    people: NDArray[np.int64],
    owners: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return for each person the probability of the right link, ties broken at random."""
    right = np.zeros(len(people))
    for some, distances in blocks:
        right[some] = right_of_block(distances, people[some], owners)
    return right


def right_of_block(
    distances: NDArray[np.float64], people: NDArray[np.int64], owners: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the same for the people of one block."""
    tied = nearest(distances)
    is_owner = owners[None, :] == people[:, None]
    return np.asarray((tied & is_owner).sum(axis=1) / tied.sum(axis=1))


def claimed_links(target: TableTarget) -> float | None:
    """Return which share of right links the release concedes: 1/k of k-anonymity."""
    k = size_asked(target.guarantees, least=0)
    return 1 / k if k else None


def link_outcome(
    name: str,
    measure: str,
    success: Expected,
    target: TableTarget,
    *,
    n_rows: int,
    details: dict[str, float],
) -> Outcome:
    """Return how many links are right, compared with a guess among the rows and the claim."""
    return Outcome(
        attack=name,
        measure=f"share of right links by {measure}",
        success=success,
        control=Certain(1 / n_rows),
        claimed=claimed_links(target),
        needed=100,
        needed_of="people",
        details=details,
    )


def look_alike(comparison: Comparison, linkable: Linkable, target: TableTarget) -> dict[str, float]:
    """Return how often another person's values hit the row of the attacked."""
    alike = most_similar(comparison, linkable, target)
    if alike is None:
        return {}
    known = known_people(comparison.columns, alike)
    right = expected_right(comparison.blocks(known), linkable.people, linkable.owners)
    return {LOOK_ALIKE: float(right.mean())}


def most_similar(
    comparison: Comparison, linkable: Linkable, target: TableTarget
) -> pl.DataFrame | None:
    """Return for each of the attacked the most similar other person; None if there is no other."""
    names = [column.name for column in comparison.columns]
    original, control = target.original, target.control
    has_control = control is not None and control.height and set(names) <= set(control.columns)
    others = control if control is not None and has_control else original
    if not has_control and original.height < 2:
        return None
    tables = (original, others)
    columns = tuple(match(name, others[name], [t[name] for t in tables]) for name in names)
    alike = np.empty(len(linkable.people), dtype=np.int64)
    for some, distances in replace(comparison, columns=columns).blocks(linkable.known):
        if not has_control:
            people = linkable.people[some]
            distances[np.arange(len(people)), people] = np.inf
        alike[some] = distances.argmin(axis=1)
    return others[alike]
