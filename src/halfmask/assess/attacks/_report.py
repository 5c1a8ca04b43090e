"""AttackReport: what a battery found, in one value."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halfmask.data import atomic_file

if TYPE_CHECKING:
    from pathlib import Path

    from halfmask.assess.attacks._finding import Finding

__all__ = ["AttackReport"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackReport:
    """What every attack of a battery found.

    Parameters
    ----------
    findings
        One for each attack, measure and group, in the order in which they were run.
    skipped
        Attacks that weren't run, with what they would have needed.
    tolerance, least_power, confidence, seed
        As the battery was called.
    measures
        Words of the names of the measures that were wanted; ``None``: all.
    left_out
        Attacks that were run, and none of whose measures was wanted.
    versions
        The libraries that took part.
    """

    findings: tuple[Finding, ...]
    skipped: tuple[tuple[str, str], ...]
    tolerance: float
    least_power: float
    confidence: float
    seed: int
    measures: tuple[str, ...] | None = None
    left_out: tuple[str, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        counted = dict.fromkeys(("resisted", "broken", "INVALID"), 0)
        for finding in self.findings:
            counted[finding.verdict] += 1
        said = ", ".join(f"{n} {verdict}" for verdict, n in counted.items())
        by = "" if self.measures is None else f"; measures: {', '.join(self.measures)}"
        return f"AttackReport({said}, {len(self.skipped)} skipped{by})"

    @property
    def resisted(self) -> bool:
        """Whether all findings are resisted; an INVALID one is not.

        It is about the attacks that were run and the measures that were wanted.
        """
        return bool(self.findings) and all(f.verdict == "resisted" for f in self.findings)

    @property
    def worst(self) -> Finding | None:
        """The finding whose excess may be highest by its measure's scale, of those that are valid.

        So one that is broken is worse than any that is resisted.
        """
        valid = [finding for finding in self.findings if finding.verdict != "INVALID"]
        return max(valid, key=lambda each: each.excess_high / each.outcome.scale, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return everything under its name, for JSON."""
        return {
            "resisted": self.resisted,
            "tolerance": self.tolerance,
            "least_power": self.least_power,
            "confidence": self.confidence,
            "seed": self.seed,
            "measures": None if self.measures is None else list(self.measures),
            "left_out": list(self.left_out),
            "versions": dict(self.versions),
            "findings": [finding.to_dict() for finding in self.findings],
            "skipped": [{"attack": name, "lacks": why} for name, why in self.skipped],
        }

    def to_svg(self) -> str:
        """Draw the findings: protected, unprotected and reference, a line for each."""
        from halfmask.assess.attacks._picture import picture  # noqa: PLC0415 # only who asks pays

        return picture(self)

    def write(self, where: Path, *, picture: Path | None = None, overwrite: bool = False) -> None:
        """Write the numbers as JSON and, if asked, the picture as SVG; each whole or not at all.

        Parameters
        ----------
        where, picture
            The files; their folders must be there.
        overwrite
            Whether files of those names may be replaced.

        Raises
        ------
        ReleaseError
            If a file is there and may not be replaced, or its folder isn't there.
        """
        with atomic_file(where, overwrite=overwrite) as file:
            file.write(json.dumps(self.to_dict(), indent=1, allow_nan=False).encode())
        if picture is not None:
            with atomic_file(picture, overwrite=overwrite) as file:
                file.write(self.to_svg().encode())
