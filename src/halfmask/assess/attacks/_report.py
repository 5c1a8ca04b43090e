"""AttackReport: the findings of a battery, in one value."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halfmask.assess.attacks._finding import VERDICTS, explain_verdicts
from halfmask.data import atomic_file

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from halfmask.assess.attacks._finding import Finding

#: So many broken findings are named in a line.
NAMED = 3
#: What a row of the table of findings has, besides attack, measure, group and verdict.
NUMBERS = (
    *("value", "low", "high", "reference", "claimed", "unprotected"),
    *("excess", "excess_low", "excess_high", "tolerance"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackReport:
    """The findings of all attacks of a battery.

    Parameters
    ----------
    findings
        One for each attack, measure and group, in the order in which they were run.
    skipped
        Attacks that weren't run, with their missing inputs.
    tolerance, min_control_effect, confidence, random_state
        The arguments of `attack`.
    measures
        Words of the names of the wanted measures; ``None``: all with enough people.
    left_out
        Attacks that were run, without a wanted measure.
    too_few
        Measures that were left out because they need more people, and how many.
    versions
        The versions of Python and of the libraries.
    """

    findings: tuple[Finding, ...]
    skipped: tuple[tuple[str, str], ...]
    tolerance: float
    min_control_effect: float
    confidence: float
    random_state: int
    measures: tuple[str, ...] | None = None
    left_out: tuple[str, ...] = ()
    too_few: tuple[tuple[str, str], ...] = ()
    versions: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        counted = Counter(finding.verdict for finding in self.findings)
        shown = [each for each in VERDICTS if counted[each] or each != "nothing to resist"]
        counts = ", ".join(f"{counted[verdict]} {verdict}" for verdict in shown)
        by = "" if self.measures is None else f"; measures: {', '.join(self.measures)}"
        few = f"; left out for too few people: {len(self.too_few)}" if self.too_few else ""
        return f"AttackReport({counts}, {len(self.skipped)} skipped{by}{few}{self._broken})"

    def __str__(self) -> str:
        """Say what was found: a sentence for each finding, and what the verdicts mean."""
        lines = [finding.sentence for finding in self.findings] or ["There are no findings."]
        lines += [f"{name}: not run, the target lacks {why}." for name, why in self.skipped]
        lines += [f"{name}: left out, it {why}." for name, why in self.too_few]
        return "\n".join([*lines, *explain_verdicts(self.findings)])

    @property
    def _broken(self) -> str:
        """Name what is broken, the worst first; empty if nothing is."""
        names = [finding.name for finding in self.broken]
        more = f"; and {len(names) - NAMED} more" if len(names) > NAMED else ""
        return f"; broken: {'; '.join(names[:NAMED])}{more}" if names else ""

    def _repr_html_(self) -> str:
        """Show the findings as a table in a notebook."""
        from halfmask.assess.attacks._notebook import as_html  # noqa: PLC0415 # loads late

        return as_html(self)

    def to_frame(self) -> pl.DataFrame:
        """Return the findings as a table of polars, one row each.

        Columns: ``attack``, ``measure``, ``group``, ``verdict``, ``value`` (with ``low`` and
        ``high``), ``reference``, ``claimed``, ``unprotected``, ``excess`` (with ``excess_low`` and
        ``excess_high``), ``tolerance``, ``trials``, ``trials_needed``, ``why``.
        """
        import polars as pl  # noqa: PLC0415 # a tenth of a second

        rows = [
            {**each.to_dict(), "reference": each.outcome.reference.value, "why": each.why}
            for each in self.findings
        ]
        words = dict.fromkeys(("attack", "measure", "group", "verdict"), pl.String)
        counts = dict.fromkeys(("trials", "trials_needed"), pl.Int64)
        numbers = dict.fromkeys(NUMBERS, pl.Float64)
        schema: dict[str, Any] = {**words, **numbers, **counts, "why": pl.String}
        return pl.DataFrame(rows, schema=schema)

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The findings that are broken, those with the highest excess by its scale first."""
        found = (finding for finding in self.findings if finding.verdict == "broken")
        return tuple(sorted(found, key=lambda each: -each.excess_low / each.outcome.scale))

    @property
    def resisted(self) -> bool:
        """Whether all findings are resisted; one of any other verdict is not.

        It is about the attacks that were run and the measures that were wanted and had people
        enough. It holds with the report's confidence however many findings there are.
        """
        return bool(self.findings) and all(f.verdict == "resisted" for f in self.findings)

    @property
    def passed(self) -> bool:
        """Whether each finding is resisted, or a raw model has nothing to resist.

        Weaker than `resisted`: an attack that gains nothing from the raw model isn't shown to work.
        """
        good = {"resisted", "nothing to resist"}
        return bool(self.findings) and all(f.verdict in good for f in self.findings)

    @property
    def worst(self) -> Finding | None:
        """The worst finding that isn't INVALID: a broken one if there is any.

        Among them it is the one whose excess may be highest by its measure's scale.
        """
        valid = self.broken or tuple(each for each in self.findings if each.verdict != "INVALID")
        return max(valid, key=lambda each: each.excess_high / each.outcome.scale, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return everything under its name, for JSON."""
        return {
            "resisted": self.resisted,
            "passed": self.passed,
            "tolerance": self.tolerance,
            "least_power": self.min_control_effect,
            "confidence": self.confidence,
            "seed": self.random_state,
            "measures": None if self.measures is None else list(self.measures),
            "left_out": list(self.left_out),
            "too_few": [{"finding": name, "why": why} for name, why in self.too_few],
            "versions": dict(self.versions),
            "findings": [finding.to_dict() for finding in self.findings],
            "skipped": [{"attack": name, "lacks": why} for name, why in self.skipped],
        }

    def to_svg(self) -> str:
        """Draw the findings: protected, unprotected and reference, a line for each."""
        from halfmask.assess.attacks._picture import picture  # noqa: PLC0415 # loads late

        return picture(self)

    def write(self, where: Path, *, picture: Path | None = None, overwrite: bool = False) -> None:
        """Write the numbers as JSON and, if asked, the picture as SVG.

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
