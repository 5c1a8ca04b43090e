"""Intersection: a person's class in each of several releases, and what these classes share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import ParameterError
from halfmask.assess.attacks._arms import SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack
from halfmask.assess.attacks._rows import some_rows
from halfmask.assess.attacks._targets import TableTarget
from halfmask.assess.attacks.classes._disclosure import secret_columns
from halfmask.assess.attacks.releases._candidates import (
    find_candidates,
    number_people,
    released_with,
)
from halfmask.data import leaf_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.assess._arrays import Bools, Ints
    from halfmask.assess.attacks._attack import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Intersection(DeclaredAttack, name="releases/intersection", target=TableTarget):
    """Find a person in each release, and intersect the secrets of these classes.

    Parameters
    ----------
    candidates
        Numbers of candidates that count as exposed. With n of them the attacker's confidence is
        1/n.
    n_people
        How many people are attacked at most.

    Notes
    -----
    Ganta, Kasiviswanathan, Smith, "Composition attacks and auxiliary information in data privacy"
    (KDD 2008). The share of people with at most n candidates, their own value among them, is the
    percentage of vulnerable population at confidence 1/n. Attacked are people who are in two
    releases or more. A person's classes are those whose cells may stand for the quasi-identifiers,
    or the nearest ones where none does. A person with several rows has the candidates of all. The
    secret is taken to be the same in all releases.

    Control: people who are in no release, looked up in the same way; without a control table the
    same candidates for another person. Baseline: the n most frequent values for the same people.
    The details have the highest share that one release exposes (``best_single``), the share that
    none exposes alone (``only_together``), and the mean and lowest number of candidates.

    **Edge cases.** Missing is a value. A release without the secret, or without a class for a
    person, says nothing of it. A secret with n values or fewer isn't attacked with n candidates.
    Without ``person``, people are found by their rows, equal in all columns that the tables have.
    """

    candidates: tuple[int, ...] = field(default=(1, 2, 3, 4), metadata={"of": "numbers", "ge": 1})
    n_people: int = field(default=2000, metadata={"ge": 1})

    def missing_inputs(self, target: TableTarget) -> str:
        """Return what the target would have to have; empty if it has it all."""
        if not target.earlier:
            return "an earlier release"
        if not target.quasi_identifiers:
            return "quasi-identifiers"
        absent = {*secret_columns(target), *target.quasi_identifiers}
        absent -= set(absent if target.control is None else target.control.columns)
        if absent:
            return f"columns {sorted(absent)} in the control table"
        shared = [len(_shared(target, name)) for name in secret_columns(target)]
        return "" if any(shared) else "people in two releases that have a secret unchanged"

    def _measure(self, target: TableTarget, random_state: int) -> Iterator[Outcome]:
        for name in secret_columns(target):
            rng = np.random.default_rng(random_state)
            shared = _shared(target, name)
            if len(shared):
                people = shared[some_rows(len(shared), self.n_people, rng)]
                yield from self._outcomes(target, name, people, rng)

    def _outcomes(
        self, target: TableTarget, name: str, people: Ints, rng: np.random.Generator
    ) -> Iterator[Outcome]:
        others = None
        if target.control is not None and target.control.height:
            others = target.control[some_rows(target.control.height, self.n_people, rng)]
        every = find_candidates(target, name, people, others)
        found, control = every[: len(people)], every[len(people) :]
        shift = 0
        if others is None:
            control, shift = found, int(rng.integers(1, max(2, len(people))))
        sizes = np.diff(found.joint.indptr)
        for most in dict.fromkeys(self.candidates):
            if most >= found.n_values:
                continue
            together = found.is_exposed(most)
            alone = [found.is_exposed(most, by) for by in found.alone]
            yield self._make_outcome(
                f"{name} exposed at confidence 1" + ("" if most == 1 else f"/{most}"),
                _count(together),
                _count(control.is_exposed(most, shift=shift)),
                baseline=_count(found.is_frequent(most)),
                needed=(100, "people in two releases"),
                column=name,
                details={
                    "best_single": max(float(each.mean()) for each in alone),
                    "only_together": float((together & ~np.any(alone, axis=0)).mean()),
                    "mean_candidates": float(sizes.mean()),
                    "fewest_candidates": float(sizes.min()),
                },
            )


def _shared(target: TableTarget, secret: str) -> Ints:
    """Return the people who are in two releases that have a secret unchanged."""
    tables = [rows for _, rows in released_with(target, secret)]
    if len(tables) < 2:
        return np.empty(0, dtype=np.int64)
    whose = np.concatenate([np.unique(each) for each in number_people(tables, target.person)])
    return np.flatnonzero(np.bincount(whose) > 1).astype(np.int64)


def _count(right: Bools) -> SuccessCount:
    return SuccessCount(int(right.sum()), len(right))


def count_candidates(target: TableTarget, secret: str) -> pl.DataFrame:
    """Return how many values of a secret each person may have.

    The result is as secret as the rows of people.

    Parameters
    ----------
    target
        The releases, the rows they were made of, and what an attacker knows.
    secret
        The column.

    Returns
    -------
    polars.DataFrame
        One row a person, in the order in which the rows of the earlier releases, and then those of
        the last, first have them: ``person``, its value in the column of the person, or the place
        of that row; ``alone``, the fewest candidates by one release; ``together``, those by all;
        and ``exposed``, whether one is left and it is theirs. 0: no release says anything.

    Raises
    ------
    ParameterError
        If there are no quasi-identifiers, or no release has the secret unchanged.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.assess.attacks import TableTarget
    >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "ill": ["a", "b", "a", "c"]})
    >>> first = people.with_columns(age=pl.Series(["20-30", "20-30", "40-50", "40-50"]))
    >>> second = people.with_columns(age=pl.Series(["20-40", "20-40", "20-40", "50"]))
    >>> target = TableTarget(
    ...     released=second, original=people, earlier=[(first, people)], quasi_identifiers=["age"]
    ... )
    >>> count_candidates(target, "ill")["together"].to_list()
    [2, 2, 1, 1]
    """
    tables = [rows for _, rows in released_with(target, secret)]
    if not tables or not target.quasi_identifiers:
        raise ParameterError(
            "count_candidates needs quasi-identifiers, and a secret that was released unchanged."
        )
    whose = np.concatenate(number_people(tables, target.person))
    first = np.unique(whose, return_index=True)[1]
    found = find_candidates(target, secret, np.arange(len(first)), None)
    sizes = np.array([np.diff(by.indptr) for by in found.alone])
    person = pl.Series(first)
    if target.person is not None:
        person = pl.concat([leaf_text(each[target.person]).alias("") for each in tables])[first]
    return pl.DataFrame(
        {
            "person": person,
            "alone": np.where(sizes > 0, sizes, sizes.max(axis=0)).min(axis=0),
            "together": np.diff(found.joint.indptr),
            "exposed": found.is_exposed(1),
        }
    )
