"""What a release claims, on what kind of evidence, and what it doesn't protect from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from halfmask._validation import one_of

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Basis: TypeAlias = Literal["counted", "accounted", "measured", "estimated", "stated"]

#: The kinds of evidence, and what a sentence says of each.
BASES: Final[Mapping[Basis, str]] = MappingProxyType(
    {
        "counted": "counted in the files",
        "accounted": (
            "accounted by the arithmetic of the stated evidence; the random draws themselves were "
            "not seen"
        ),
        "measured": "measured by an attack, with its interval; not proven",
        "estimated": "estimated by a model of the population from counts in the files",
        "stated": "stated by the maker of the release; the files can't show it, so nothing is "
        "verified",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One claim of a release, with its evidence.

    Attributes
    ----------
    model
        ``"k-anonymity"``, ``"epsilon"``, ...: the verifier's check is found by it.
    parameters
        ``{"k": 10}``; numbers and words only.
    about
        What it is about: columns, file, unit of privacy.
    basis
        The kind of evidence: ``"counted"`` in the files, ``"accounted"`` by arithmetic,
        ``"measured"`` by an attack, ``"estimated"`` for a population, or ``"stated"``, which nobody
        can verify.
    evidence
        The numbers that were found.

    Raises
    ------
    ParameterError
        If the basis is none of these.

    Examples
    --------
    >>> claim = Claim(
    ...     model="epsilon", parameters={"epsilon": 1.0}, about={"unit": "person"},
    ...     basis="accounted", evidence={"scale": 2.0},
    ... )
    >>> print(claim.sentence())
    epsilon with epsilon = 1.0: accounted by the arithmetic of the stated evidence; the random \
    draws themselves were not seen.
    """

    model: str
    parameters: Mapping[str, float | int | str]
    about: Mapping[str, Json]
    basis: Basis
    evidence: Mapping[str, Json]

    def __post_init__(self) -> None:
        one_of(BASES, owner="Claim", basis=self.basis)
        for name in ("parameters", "about", "evidence"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def sentence(self, *, unchecked: str = "") -> str:
        """Return the claim in words, with the kind of its evidence.

        Parameters
        ----------
        unchecked
            What a check needs and wasn't given: then the sentence states no evidence.
        """
        numbers = ", ".join(f"{name} = {value}" for name, value in self.parameters.items())
        evidence = f"not checked: that takes {unchecked}" if unchecked else BASES[self.basis]
        return f"{self.model}{f' with {numbers}' if numbers else ''}: {evidence}."

    def to_dict(self) -> dict[str, Json]:
        """Return the claim as the manifest has it."""
        return {
            "model": self.model,
            "parameters": dict(self.parameters),
            "about": dict(self.about),
            "basis": self.basis,
            "evidence": dict(self.evidence),
        }


#: What each weakness that an artefact names means.
WEAKNESSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "averaging": (
            "Repeated readings average out: n of them reduce the variance of the noise to one n-th."
        ),
        "background-knowledge": (
            "An attacker who can exclude some values for a person narrows down the rest of the "
            "class."
        ),
        "between-two-places": (
            "A written point is as far from two places: an attacker who has a map of all places "
            "finds both, and one of them is the person's."
        ),
        "differences-kept": (
            "Differences between numbers of one entity are exact: one known number reveals the "
            "others."
        ),
        "downcoding": (
            "An attacker who has the algorithm and the hierarchies can sometimes infer finer "
            "values than a generalized one (Cohen 2022)."
        ),
        "equality-leaking": "The output shows which values are equal.",
        "exact-averages": (
            "The average of a group is written exactly or rounded: an attacker who knows all other "
            "rows of the group can compute the last one."
        ),
        "exact-other-columns": (
            "A moved point next to exact other columns protects nothing: the row is still unique."
        ),
        "few-known-columns": (
            "A guarantee covers attackers who know only so many quasi-identifiers: one who knows "
            "more may find a single row."
        ),
        "few-known-items": (
            "A guarantee covers attackers who know only so many items of a person's set: one who "
            "knows more, or what the person doesn't have, may find a single row; rows that share "
            "known items may share others."
        ),
        "format-leaking": "The output shows which characters were digits, letters or others.",
        "free-text": "The text keeps everything that no pattern matches, and the author's style.",
        "frequency-leaking": (
            "The output shows how often each value occurs, which identifies frequent values."
        ),
        "grouped-by-column": (
            "Each column is grouped by itself, so that a combination of written values can be "
            "unique."
        ),
        "heaped-at-bounds": "The output shows how many values lie beyond a bound.",
        "interval-fingerprint": (
            "Times between an entity's events are exact; a few of them can single an entity out."
        ),
        "interval-leaking": "The output shows times between events to within a cell of the grid.",
        "known-in-sample": (
            "A row that is unique in the sample may not be unique in the population, but an "
            "attacker who knows that a person is in the sample can rely on a match."
        ),
        "joinable": "The table is no key: outputs made with the same table can be joined.",
        "known-date": "One known time of an entity reveals its other times.",
        "known-points": (
            "From the true places of two written points, an attacker can compute all others."
        ),
        "left-out-values": "A written value can be one that only suppressed rows have.",
        "length-leaking": "The output shows how long a value was, exactly or in steps.",
        "minimality": (
            "An attacker who has the policy and the method can learn something from the cuts that "
            "were not made."
        ),
        "mostly-true": (
            "Most written values are true where the probability of keeping a value is high."
        ),
        "names-kept": "Field names that a wildcard matched are written unchanged.",
        "no-diversity": (
            "All rows of a class can share one sensitive value, which reveals it for everyone in "
            "the class (homogeneity)."
        ),
        "learnt-from-people": (
            "Rows are drawn from models of people's rows: how much they reveal about them is "
            "measured, not bounded. An attack that wasn't measured may tell more."
        ),
        "near-original-rows": (
            "Each row lies near the row of a person: an attacker who knows parts of that row may "
            "find it."
        ),
        "no-privacy-model": (
            "The techniques guarantee no privacy model: how many people can be found is measured, "
            "not bounded."
        ),
        "nulls-visible": "The output shows which values are missing.",
        "one-release": (
            "The guarantees cover this release alone; an attacker who joins it with a second "
            "release about the same people can break them (composition)."
        ),
        "order-leaking": "The output shows which value came earlier or was larger.",
        "other-columns": (
            "Columns that are not quasi-identifiers are released unchanged or masked; an attacker "
            "who knows a person's values in them can find the row."
        ),
        "outlier-visible": "The largest numbers stay among the largest.",
        "partly-kept": "A part of the value is written unchanged.",
        "places-of-others": (
            "A written point is a place where other people live, who may be taken for the person."
        ),
        "range-ends-are-values": "Both ends of a range are values of people in the class.",
        "ratios-kept": "Ratios between numbers are exact: one known number reveals the factor.",
        "representative-is-a-record": (
            "Each class is written as the quasi-identifiers of one of its rows; the release does "
            "not state which row."
        ),
        "rows-not-persons": (
            "Each row is protected: a person with several rows is protected less, by a multiple of "
            "epsilon."
        ),
        "shared-substitutes": "Two different values can have the same substitute.",
        "trips-between-ends-kept": (
            "Rows between the ends of a trip stay: a few places and times can single a person out."
        ),
        "unchanged-cells": (
            "Cells that weren't drawn are those of people; an attacker who knows a person's "
            "values in them can find the row."
        ),
        "unmasked-columns": (
            "Some columns are released without a technique; an attacker who knows a person's "
            "values in them can find the row."
        ),
        "small-strata-kept": "All rows of small strata are in the sample.",
        "unseen-sampling": (
            "No file shows that rows were drawn at random, that levels were chosen with the stated "
            "epsilon, or that the table has no other release: their epsilons would add up."
        ),
        "value-kept": "The value is written unchanged.",
        "values-between-bounds-kept": "Values between the bounds are written unchanged.",
        "wildcard-counts": (
            "A missing cell counts as agreeing with every value. A row can be the only one with "
            "its values, or the only one that agrees with a person's true values."
        ),
        "within-distance": (
            "The true value lies within a stated distance of the written one; several columns "
            "together can leave one row (Nin, Herranz and Torra 2008)."
        ),
        "zero-kept": "A value of 0 stays 0.",
    }
)


def weakness_sentence(word: str) -> str:
    """Return a weakness as a manifest of a table states it.

    Examples
    --------
    >>> weakness_sentence("zero-kept")
    'zero-kept: a value of 0 stays 0.'
    """
    meaning = WEAKNESSES[word]
    return f"{word}: {meaning[0].lower()}{meaning[1:]}"
