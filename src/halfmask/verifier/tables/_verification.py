"""What the verifier found: values that a program, a person and an exit code can be made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask._errors import VerificationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.claims._claim import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCheck:
    """One file of the release, compared with the manifest.

    Attributes
    ----------
    name
        Its name in the manifest.
    n_rows
        The rows that were counted in it; ``None`` for a support file or where it can't be read.
    holds
        Whether it is there, and has the size, hash, rows and columns that are stated.
    """

    name: str
    n_rows: int | None
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCheck:
    """One claim, counted again.

    Attributes
    ----------
    model, parameters, column, quasi_identifiers
        The claim as the manifest states it.
    claimed
        The level that its evidence states for the worst class, or for the whole table.
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
    holds
        Whether the guarantee holds by both counts, and the evidence states nothing better than was
        counted.
    sentence
        The same in words.
    checked
        Whether it could be checked. A claim about persons can't without the file that says whose
        rows they are, nor one about a population without the population: then ``holds`` is false,
        and nothing was found that is wrong with it.
    unit
        What it counts: ``"row"``, or ``"person"``, each once in a class.
    """

    model: str
    parameters: Mapping[str, float | int | str]
    column: str | None
    quasi_identifiers: tuple[str, ...]
    claimed: float
    counted: float | None
    counted_wildcard: float | None
    classes: int | None
    smallest_class: int | None
    holds: bool
    sentence: str
    checked: bool = True
    unit: str = "row"

    def to_dict(self) -> dict[str, Json]:
        """Return the check as a JSON object; an infinite level is the text ``"inf"``."""
        return {
            "model": self.model,
            "parameters": dict(self.parameters),
            "column": self.column,
            "quasi_identifiers": list(self.quasi_identifiers),
            "claimed": self.claimed,
            "counted": _finite(self.counted),
            "counted_wildcard": _finite(self.counted_wildcard),
            "classes": self.classes,
            "smallest_class": self.smallest_class,
            "holds": self.holds,
            "checked": self.checked,
            "unit": self.unit,
            "sentence": self.sentence,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSetCheck:
    """A set of released columns, and the rows that few others equal on it, counted again."""

    columns: tuple[str, ...]
    k: int
    stated_unique: int
    stated_under_k: int
    unique: int
    under_k: int
    holds: bool

    def to_dict(self) -> dict[str, Json]:
        """Return the check as a JSON object."""
        return {
            "columns": list(self.columns),
            "k": self.k,
            "stated_unique": self.stated_unique,
            "stated_under_k": self.stated_under_k,
            "unique": self.unique,
            "under_k": self.under_k,
            "holds": self.holds,
        }


def _finite(level: float | None) -> float | str | None:
    return "inf" if level == float("inf") else level


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What was found when a release was counted again.

    Attributes
    ----------
    claims
        Every claim of the manifest, in its order.
    files
        Every data and support file of the manifest.
    problems
        What is wrong with the release as a whole; empty when nothing is.
    weaknesses
        What nothing in the release protects from, as far as the verifier can see; no failure.
    rows
        The rows of all data files as counted, or ``None`` where they can't be read.
    column_sets
        Each set of released columns whose unique rows the manifest states; none in releases of
        versions before 0.2.

    Notes
    -----
    **Guarantees.** Holds column names, numbers and sentences; never a cell's value, a category
    or a path.
    """

    claims: tuple[ClaimCheck, ...]
    files: tuple[FileCheck, ...]
    problems: tuple[str, ...]
    weaknesses: tuple[str, ...]
    rows: int | None
    column_sets: tuple[ColumnSetCheck, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether there is a claim, every claim holds, and nothing else is wrong."""
        return bool(self.claims) and not self.problems and all(each.holds for each in self.claims)

    @property
    def is_broken(self) -> bool:
        """Whether something is wrong; false where claims only couldn't be checked."""
        broken = any(each.checked and not each.holds for each in self.claims)
        return broken or bool(self.problems) or not self.claims

    def raise_if_broken(self) -> None:
        """Raise unless everything was checked and holds.

        Raises
        ------
        VerificationError
            With a sentence for each thing that doesn't hold.
        """
        if self.holds:
            return
        broken = [each.sentence for each in self.claims if not each.holds]
        if not self.is_broken:
            raise VerificationError(
                "Not every claim of the release could be checked. " + " ".join(broken),
                hint="Give verify what they need: persons, or population and hierarchies.",
            )
        raise VerificationError(
            "The release on disk doesn't bear out what it claims. "
            + " ".join([*self.problems, *broken]),
            hint="Don't hand it over; make the release again from the table and the policy.",
        )

    def to_dict(self) -> dict[str, Json]:
        """Return everything as a JSON object."""
        return {
            "holds": self.holds,
            "rows": self.rows,
            "claims": [each.to_dict() for each in self.claims],
            "files": [
                {"name": each.name, "rows": each.n_rows, "holds": each.holds} for each in self.files
            ],
            "column_sets": [each.to_dict() for each in self.column_sets],
            "problems": list(self.problems),
            "weaknesses": list(self.weaknesses),
        }
