"""AttackReport: which findings are reported, and all of them in one value and as a table."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halfmask._errors import ParameterError
from halfmask.assess.attacks._finding import VERDICTS, explain_verdicts
from halfmask.assess.attacks._inputs import several
from halfmask.data import atomic_file
from halfmask.plots.svg import AFTER, BAD, BEFORE, SOFT, safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import polars as pl

    from halfmask.assess.attacks._attack import Outcome
    from halfmask.assess.attacks._finding import Finding, Verdict


def wanted_measures(measures: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the words that are asked for, each once; None if every measure is."""
    if measures is None:
        return None
    words = several(measures, parameter="measures", owner="attack", of="names of measures")
    if isinstance(measures, set | frozenset):
        words = tuple(sorted(words, key=str))  # so that the report doesn't hang on hashes
    found: dict[str, str] = {}
    for word in words:
        if not isinstance(word, str) or not word.strip():
            got = repr(word) if isinstance(word, str) else f"a value of type {type(word).__name__}"
            raise ParameterError(
                "The 'measures' parameter of attack must be a list of names of measures. "
                f"Got {got} in it.",
                hint="Such as ['accuracy', 'AUC'], or other words of the names in a report.",
            )
        found.setdefault(word.strip().casefold(), word.strip())
    return tuple(found.values())


def only(outcomes: Iterable[Outcome], words: Iterable[str]) -> tuple[Outcome, ...]:
    """Return the outcomes whose measure has any of the words in its name, small or large.

    Examples
    --------
    >>> from halfmask.assess.attacks import SuccessCount, Outcome
    >>> arm = SuccessCount(5, 10)
    >>> rare = Outcome(attack="a", measure="TPR at 0.1 % FPR", success=arm, control=arm)
    >>> len(only([rare], ["tpr"])), len(only([rare], ["1 % FPR"])), len(only([rare], ["T"]))
    (1, 0, 0)
    """
    return tuple(each for each in outcomes if any(_is_called(each, word) for word in words))


def affordable(findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Return the findings to report, and those whose measure so few people can't have.

    A measure is only left out if its attack has another one for the same people and column: an
    attack with too few people by every measure is reported as not shown.
    """
    kept = [finding for finding in findings if not _is_short(finding)]
    there = {_people_of(finding.outcome) for finding in kept}
    short = [each for each in findings if _is_short(each) and _people_of(each.outcome) in there]
    return [each for each in findings if each not in short], short


def _is_short(finding: Finding) -> bool:
    """Whether it is undecided for want of the trials that its measure needs at least."""
    return finding.has_few and finding.verdict == "not shown"


def _people_of(outcome: Outcome) -> tuple[str, str, str]:
    return outcome.attack, outcome.group, outcome.column


def without_outcome(outcomes: Iterable[Outcome], words: Iterable[str]) -> list[str]:
    """Return the words that are in the name of no outcome's measure."""
    there = list(outcomes)
    return [word for word in words if not any(_is_called(each, word) for each in there)]


def _is_called(outcome: Outcome, word: str) -> bool:
    """Tell whether whole words of the measure are these; what a column is called doesn't count."""
    whole = rf"(?<![\w.]){re.escape(word)}(?!\w)"
    return re.search(whole, outcome.kind, re.IGNORECASE) is not None


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


COLOURS: dict[Verdict, str] = {
    "broken": BAD,
    "not shown": BEFORE,
    "INVALID": SOFT,
    "nothing to resist": SOFT,
    "resisted": AFTER,
}
HEADS = ("verdict", "attack", "measure", "group", "success", "reference", "excess", "why")


def as_html(report: AttackReport) -> str:
    """Return a table of all findings, those that are broken first; no words become markup."""
    counted = dict.fromkeys(VERDICTS, 0)
    for finding in report.findings:
        counted[finding.verdict] += 1
    counts = ", ".join(f"{many} {verdict}" for verdict, many in counted.items() if many)
    heads = "".join(f"<th>{head}</th>" for head in HEADS)
    order = {verdict: place for place, verdict in enumerate(COLOURS)}
    rows = sorted(report.findings, key=lambda finding: order[finding.verdict])
    notes = [f"Not run: {name}, the target lacks {why}." for name, why in report.skipped]
    notes += [f"Left out: {name}: {why}." for name, why in report.too_few]
    notes += explain_verdicts(report.findings)
    return (
        f"<div><p><b>Attack report:</b> {counts or 'no findings'}</p>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(map(_line, rows))}</tbody></table>"
        f"{''.join(f'<p><small>{safe(note)}</small></p>' for note in notes)}</div>"
    )


def _line(finding: Finding) -> str:
    outcome, verdict = finding.outcome, finding.verdict
    measured = not finding.failure and outcome.trials > 0
    risk = finding.risk
    numbers = (
        f"{risk.value:.3f} [{risk.low:.3f}, {risk.high:.3f}]",
        f"{outcome.reference.value:.3f}",
        f"{outcome.excess.value:.3f} [{finding.excess_low:.3f}, {finding.excess_high:.3f}]",
    )
    words = (outcome.attack, outcome.measure, outcome.group)
    cells = [*words, *(numbers if measured else ("-",) * len(numbers)), finding.why]
    return (
        f'<tr><td style="color:{COLOURS[verdict]}"><b>{verdict}</b></td>'
        f"{''.join(f'<td>{safe(cell)}</td>' for cell in cells)}</tr>"
    )
