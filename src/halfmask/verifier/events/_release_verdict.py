"""What a recount of a whole release says: of its files, its lines and its claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halfmask._errors import VerificationError

if TYPE_CHECKING:
    from halfmask.verifier.events._verdict import Check


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCheck:
    """A file of the output, compared with the manifest.

    Parameters
    ----------
    name
        Its name in the manifest.
    lines
        How many were counted; None where it isn't there.
    holds
        Whether hash, size and lines are those of the manifest.
    """

    name: str
    lines: int | None
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseVerdict:
    """Result of counting an output of events again.

    Parameters
    ----------
    files
        Every file of the manifest.
    claims
        Every claim of the run's stage, as `verify_events` recounts them.
    lines
        How many lines were read.
    problems
        Sentences that state what is wrong, with counts and line numbers; empty if nothing is.
    unverified
        Sentences that name the manifest's numbers that can't be counted again from the lines.
    differences
        In what the manifest isn't what a policy guarantees, in sentences; None where it wasn't held
        against a policy.

    Notes
    -----
    **Guarantees.** The verdict holds names of files, numbers and sentences. It never holds a value,
    or the name of a field that isn't in the manifest.
    """

    files: tuple[OutputCheck, ...]
    claims: tuple[Check, ...]
    lines: int
    problems: tuple[str, ...]
    unverified: tuple[str, ...] = ()
    differences: tuple[str, ...] | None = None

    @property
    def holds(self) -> bool:
        """Whether nothing contradicts the output, its manifest or the policy."""
        return self.bears_out and not self.differences

    @property
    def bears_out(self) -> bool:
        """Whether the output bears its manifest out, whatever a policy guarantees."""
        files = all(check.holds for check in self.files)
        return files and not self.problems and all(check.holds for check in self.claims)

    def raise_if_broken(self) -> None:
        """Raise unless everything holds.

        Raises
        ------
        VerificationError
            With a sentence for each thing that doesn't.
        """
        if not self.holds:
            raise VerificationError(
                " ".join(self.sentences()),
                hint="Don't hand it over, or don't trust it; make it again.",
            )

    def sentences(self) -> tuple[str, ...]:
        """Return what is wrong, of files and claims, too."""
        changed = [f"The file {it.name!r} isn't as stated." for it in self.files if not it.holds]
        unmet = [
            f"The claim {it.claim!r} doesn't hold. {it.problem}".rstrip()
            for it in self.claims
            if not it.holds
        ]
        return (*changed, *self.problems, *unmet, *(self.differences or ()))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "holds": self.holds,
            "lines": self.lines,
            "files": [{"name": it.name, "lines": it.lines, "holds": it.holds} for it in self.files],
            "claims": [
                {
                    "claim": it.claim,
                    "guarantee": it.guarantee,
                    "windows": it.windows,
                    "holds": it.holds,
                    "counted": it.counted,
                    "least": it.least,
                    "failures": it.failures,
                    "stated": it.stated,
                    "problem": it.problem or None,
                    "unverified": it.unverified or None,
                }
                for it in self.claims
            ],
            "problems": list(self.problems),
            "unverified": list(self.unverified),
            "policy": None
            if self.differences is None
            else {"holds": not self.differences, "problems": list(self.differences)},
        }
