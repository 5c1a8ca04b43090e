"""What the verifier found: values that a program, a person and an exit code can be made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import VerificationError

if TYPE_CHECKING:
    from halfmask.claims import Claim
    from halfmask.claims.claim import Json

IMPORT_CHECK: Final = "Import the module that adds the check, and verify in Python."
MAKE_AGAIN: Final = "Don't hand it over; make the release again from the table and the policy."


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCheck:
    """One file of the release, compared with the manifest.

    Attributes
    ----------
    name
        Its name in the manifest.
    n_rows
        The rows or lines that were counted in it; ``None`` for a support file or where it can't be
        read.
    holds
        Whether it is there, and has the size, hash, rows and columns that are stated.
    """

    name: str
    n_rows: int | None
    holds: bool


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
        names = ("k", "stated_unique", "stated_under_k", "unique", "under_k", "holds")
        return {"columns": list(self.columns), **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedClaim:
    """One claim, checked again.

    Parameters
    ----------
    claim
        As the manifest states it.
    holds
        Whether its check bears it out.
    sentence
        The same in words, with the basis of its evidence.
    found
        What the check found; empty where there is none.
    checked
        Whether it could be checked. A claim about persons, a population or copied rows can't
        without what only the owner has, and one that is only stated can't at all: then ``holds`` is
        false, and nothing was found that is wrong with it.
    cure
        What helps where it doesn't hold; empty: to make the release again.
    """

    claim: Claim
    holds: bool
    sentence: str
    found: Mapping[str, Json] = field(default_factory=dict)
    checked: bool = True
    cure: str = ""

    @property
    def model(self) -> str:
        """The model of the claim."""
        return self.claim.model

    @property
    def is_stated(self) -> bool:
        """Whether nobody can check it, so that nothing follows from it."""
        return self.claim.basis == "stated" and not self.checked

    def to_dict(self) -> dict[str, Json]:
        """Return the check as a JSON object."""
        return {
            **self.claim.to_dict(),
            "holds": self.holds,
            "checked": self.checked,
            "sentence": self.sentence,
            "found": dict(self.found),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRelease:
    """A release of any kind, checked again.

    Parameters
    ----------
    kind
        The manifest's.
    claims
        Every claim of the manifest, in its order: each a `CheckedClaim`. Those of tables and events
        say more of what was counted.
    problems
        What is wrong with the release as a whole; empty when nothing is.
    weaknesses
        What the release doesn't protect from; no failure.
    files
        Every file of the manifest.
    rows
        The rows or lines of all data files as counted, or ``None`` where they can't be read.
    column_sets
        Of a protected table: each set of released columns whose unique rows the manifest states.
    unverified
        Sentences that name the manifest's numbers that can't be counted again.
    differences
        In what the manifest isn't what a policy guarantees, in sentences; ``None`` where it wasn't
        held against a policy.
    of_lines
        Whether it is an output of lines, of events, which may claim nothing.

    Notes
    -----
    **Guarantees.** Holds names of columns, fields and files, numbers and sentences; never a cell's
    value, a category or a path.
    """

    kind: str
    claims: tuple[CheckedClaim, ...]
    problems: tuple[str, ...]
    weaknesses: tuple[str, ...]
    files: tuple[FileCheck, ...] = ()
    rows: int | None = None
    column_sets: tuple[ColumnSetCheck, ...] = ()
    unverified: tuple[str, ...] = ()
    differences: tuple[str, ...] | None = None
    of_lines: bool = False

    @property
    def holds(self) -> bool:
        """Whether claims can be checked, all of these hold, and nothing else is wrong."""
        return self.bears_out and not self.differences

    @property
    def bears_out(self) -> bool:
        """Whether the files bear the manifest out, whatever a policy guarantees."""
        checked = [each for each in self.claims if not each.is_stated]
        claims = self.of_lines or bool(checked)
        return claims and not self.problems and all(each.holds for each in checked)

    @property
    def is_broken(self) -> bool:
        """Whether something is wrong; false where claims only couldn't be checked."""
        broken = any(each.checked and not each.holds for each in self.claims)
        nothing = not self.claims and not self.of_lines
        return broken or nothing or bool(self.problems or self.differences)

    def sentences(self) -> tuple[str, ...]:
        """Return what is wrong or couldn't be checked."""
        unmet = (it.sentence for it in self.claims if not it.holds and not it.is_stated)
        return (*self.problems, *unmet, *(self.differences or ()))

    def raise_if_broken(self) -> None:
        """Raise unless everything was checked and holds.

        Raises
        ------
        VerificationError
            With a sentence for each thing that doesn't hold.
        """
        if self.holds:
            return
        said = " ".join(self.sentences())
        if not self.is_broken:
            raise VerificationError(
                f"Not every claim of the release could be checked. {said}",
                hint="Give verify what they need, such as persons, a population or the originals.",
            )
        raise VerificationError(
            f"The release on disk doesn't bear out what it claims. {said}",
            hint=next(filter(None, (it.cure for it in self.claims)), MAKE_AGAIN),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON object: the same keys for each kind."""
        rows = "lines" if self.of_lines else "rows"
        policy: Json = None
        if self.differences is not None:
            policy = {"holds": not self.differences, "problems": list(self.differences)}
        return {
            "holds": self.holds,
            "kind": self.kind,
            rows: self.rows,
            "files": [{"name": it.name, rows: it.n_rows, "holds": it.holds} for it in self.files],
            "claims": [each.to_dict() for each in self.claims],
            "column_sets": [each.to_dict() for each in self.column_sets],
            "problems": list(self.problems),
            "unverified": list(self.unverified),
            "weaknesses": list(self.weaknesses),
            "policy": policy,
        }

    def _repr_html_(self) -> str:
        """Show in a notebook what holds."""
        said = "holds" if self.holds else "doesn't hold"
        what = (*self.problems, *(each.sentence for each in self.claims), *(self.differences or ()))
        listed = "".join(f"<li>{escape(each)}</li>" for each in what)
        return f"<p>The release {said}.</p><ul>{listed}</ul>"
