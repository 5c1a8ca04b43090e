"""Claim: what a release says of itself, and on what kind of evidence it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

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
