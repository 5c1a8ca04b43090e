"""What is found for a claim, how it is compared with what the claim states, and its sentence.

Sentences hold column names, parameters and counts, never a cell's value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halfmask.claims.table_claims import AREAS_OF_PLACES
from halfmask.verifier._result import CheckedClaim

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from halfmask.claims import ClassClaim, TableManifest
    from halfmask.claims.claim import Json
    from halfmask.verifier._result import ColumnSetCheck
    from halfmask.verifier.tables._counting import ClassCells
    from halfmask.verifier.tables._rules import LevelRule, PeopleRule, Rule, TableRule
    from halfmask.verifier.tables._support import Tree


Ints: TypeAlias = NDArray[np.int64]


@dataclass(slots=True)
class Finding:
    """What was counted for one claim, and every reason why it doesn't hold."""

    counted: float | None = None
    wildcard: float | None = None
    of_table: bool = False
    classes: int | None = None
    rows: int | None = None
    smallest: int | None = None
    reasons: list[str] = field(default_factory=list)
    unchecked: str | None = None
    words: str | None = None


@dataclass(frozen=True, slots=True)
class ClassTask:
    """A claim that can be counted, and where its level goes."""

    finding: Finding
    claim: ClassClaim
    rule: LevelRule
    tree: Tree | None

    def worst(self, cells: ClassCells, totals: Ints) -> float:
        levels = self.rule.levels(cells, totals, self.tree)
        return float(levels.min() if self.rule.worst is min else levels.max())


@dataclass(frozen=True, slots=True)
class WholeTask:
    """A claim about the whole table that can be counted, and where its level goes."""

    finding: Finding
    claim: ClassClaim
    rule: TableRule


@dataclass(frozen=True, slots=True)
class PeopleTask:
    """A claim about the population that can be counted, and where its level goes."""

    finding: Finding
    claim: ClassClaim
    rule: PeopleRule


def compare(finding: Finding, claim: ClassClaim, rule: Rule) -> None:
    """Compare what was counted with the guarantee and with the evidence."""
    evidence, reasons = claim.evidence, finding.reasons
    if finding.counted is None or finding.wildcard is None:
        return
    if not rule.keeps(finding.counted):
        reasons.append("the guarantee isn't kept")
    elif not rule.keeps(finding.wildcard):
        reasons.append("the guarantee isn't kept when missing cells are wildcards")
    if not rule.states_no_better(evidence.achieved, finding.counted):
        reasons.append("its evidence states a better level than was counted")
    compare_rows(finding, claim)


def compare_rows(finding: Finding, claim: ClassClaim) -> None:
    """Compare the classes and rows that were counted with the evidence."""
    evidence, reasons = claim.evidence, finding.reasons
    if evidence.classes != finding.classes or evidence.rows != finding.rows:
        reasons.append("its evidence states another number of classes or rows than was counted")
    if finding.smallest is not None and evidence.smallest_class > finding.smallest:
        reasons.append("its evidence states a larger smallest class than was counted")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCheck(CheckedClaim):
    """A claim about classes, counted again.

    Attributes
    ----------
    claim, holds, sentence, found, checked, cure
        As of `halfmask.verifier.CheckedClaim`.
    stated
        The claim as the manifest states it: its model, parameters, columns and unit.
    counted
        The level of the worst class, or of the whole table, as counted, missing being a value of
        its own; ``None`` where it couldn't be counted, ``inf`` where a class has no finite level,
        such as recursive (c,l)-diversity with fewer values than l.
    counted_wildcard
        The level of the worst record when a missing quasi-identifier agrees with everything: each
        record is judged by all rows that are compatible with it. Equal to ``counted`` where
        nothing is missing.
    classes, smallest_class
        As counted, a missing cell being a value of its own.
    """

    stated: ClassClaim
    counted: float | None
    counted_wildcard: float | None
    classes: int | None
    smallest_class: int | None

    def to_dict(self) -> dict[str, Json]:
        """Return the check as a JSON object; an infinite level is the text ``"inf"``."""
        found: dict[str, Json] = {
            "counted": _finite(self.counted),
            "counted_wildcard": _finite(self.counted_wildcard),
            "classes": self.classes,
            "smallest_class": self.smallest_class,
        }
        return {
            **super(ClaimCheck, self).to_dict(),
            "found": found,
            # As versions before 0.3 had it.
            "column": self.stated.column,
            "quasi_identifiers": list(self.stated.quasi_identifiers),
            "claimed": self.stated.evidence.achieved,
            **found,
            "unit": self.stated.unit,
        }


def _finite(level: float | None) -> float | str | None:
    return "inf" if level == float("inf") else level


def sentence_of(claim: ClassClaim, finding: Finding) -> str:
    """Return one sentence that says whether a claim holds, what was counted, and why not."""
    parameters = ", ".join(f"{name} = {value}" for name, value in claim.parameters.items())
    about = "" if claim.column is None else f" of column {claim.column!r}"
    about += " in persons" if claim.unit == "person" else ""
    verdict = "does not hold" if finding.reasons else "holds"
    if finding.unchecked is not None and not finding.reasons:
        verdict = "is not checked"
    of = f"{claim.model}{f' with {parameters}' if parameters else ''}{about}"
    if finding.words is None:
        of += f" over {len(claim.quasi_identifiers)} quasi-identifiers"
    sentence = f"{of} {verdict}"
    if finding.words is not None:
        sentence += f": {finding.words}"
    elif finding.counted is not None:
        what = f"the worst of {finding.classes} classes reaches"
        if finding.of_table:
            what = f"the table of {finding.classes} classes reaches"
        sentence += f": {what} {finding.counted:.6g}"
        if claim.basis == "estimated":
            sentence += " by a model of the population"
        if finding.wildcard != finding.counted:
            sentence += f", and {finding.wildcard:.6g} with missing cells as wildcards"
    if finding.reasons:
        sentence += f" ({'; '.join(finding.reasons)})"
    elif finding.unchecked is not None:
        sentence += f" ({finding.unchecked})"
    return f"{sentence}."


def weaknesses_of(
    manifest: TableManifest, missing: Collection[str], *, unchanged: ColumnSetCheck | None = None
) -> tuple[str, ...]:
    """Name what no claim protects from."""
    diverse = {claim.column for claim in manifest.claims if claim.model != AREAS_OF_PLACES}
    sensitive = _names(manifest, "sensitive")
    unclaimed = [name for name in sensitive if name not in diverse]
    uncounted = _names(manifest, "insensitive")
    visible = [each.name for each in manifest.columns if each.name in missing]
    sentences = []
    if unclaimed:
        sentences.append(
            f"No claim bounds what a class reveals of the sensitive columns {_listed(unclaimed)}."
        )
    if unchanged is not None:
        masks = {it.name for it in manifest.columns if it.mask} & set(unchanged.columns)
        treated = "released unchanged or masked" if masks else "released unchanged"
        sentences.append(
            f"The {len(unchanged.columns)} columns that are {treated} are in no class: "
            f"{unchanged.unique:,} of {manifest.rows.n_out:,} rows are unique on them, and "
            f"{unchanged.under_k:,} are in classes under k = {unchanged.k}."
        )
    elif uncounted:
        sentences.append(
            f"The columns {_listed(uncounted)} are released as insensitive: nobody counted whether "
            "they single people out."
        )
    counted = set() if unchanged is None else set(unchanged.columns)
    masked = [it.name for it in manifest.columns if it.mask and it.name not in counted]
    if masked and unchanged is not None:
        sentences.append(
            f"The columns {_listed(masked)} have a mask by the manifest: nobody counted whether "
            "they single people out."
        )
    models = [claim.model for claim in manifest.claims if claim.basis == "estimated"]
    if models:
        sentences.append(
            f"The claims {_listed(models)} are estimates for the population: they hold as far as "
            "the rows were drawn from it at random and the model of the estimate fits."
        )
    if visible:
        sentences.append(f"nulls-visible: which cells are missing shows in {_listed(visible)}.")
    with_missing = [name for name in visible if name in sensitive]
    if with_missing:
        sentences.append(
            f"A missing cell counts as a value of its own in the sensitive columns "
            f"{_listed(with_missing)}; an attacker who knows the value can exclude it."
        )
    return tuple(sentences)


def _names(manifest: TableManifest, role: str) -> list[str]:
    return [each.name for each in manifest.columns if each.role == role]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
