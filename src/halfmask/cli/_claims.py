"""Claims and findings for readers: levels claimed and counted, and what attacks found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask.cli import _rooms as rooms
from halfmask.cli._console import console, listing, mark, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from rich.text import Text

    from halfmask.assess.attacks import AttackReport, Finding
    from halfmask.cli._options import SayingOptions


def say_findings(
    found: AttackReport, out: str | None, picture: str | None, protected: str, saying: SayingOptions
) -> int:
    """Write the files that are wanted, and say what attacks found."""
    if out is not None:
        found.write(Path(out))
    if picture is not None:
        with rooms.data.atomic_file(Path(picture)) as file:
            file.write(found.to_svg().encode())
    return saying.say(found.to_dict(), lambda: _show_findings(found, protected))


def _show_findings(report: AttackReport, protected: str) -> None:
    """Show what attacks found; `protected` is the title of what was attacked, such as encoded."""
    table = listing("attack and measure", "raw", protected, "reference", "verdict")
    for column in table.columns[1:]:
        column.no_wrap = True
    for finding in report.findings:
        outcome, control = finding.outcome, finding.positive_control
        table.add_row(
            printable(_short(finding)) + "\n" + printable(outcome.measure),
            "-" if control is None else f"{control.success.value:.3f}",
            _interval(finding),
            f"{outcome.reference.value:.3f}",
            finding.verdict,
        )
    console().print(table)
    for finding in report.findings:
        fewest = finding.outcome.details.get("k50")
        if fewest is not None:
            line = f"{fewest:.0f} known rows" if fewest < 1e9 else "no number of rows tried"
            console().print(f"{finding.outcome.measure}: half comes back from {line}.")
        if finding.why:
            what = f"{_short(finding)}, {finding.outcome.measure}"
            line = f"{what}: {finding.verdict}, it {finding.why}."
            console().print(printable(line), soft_wrap=True)
    show_legend(report.findings)
    for name, why in report.too_few:
        console().print(printable(f"{name}: left out, it {why}."), soft_wrap=True)
    for name in report.left_out:
        console().print(
            f"{name.rpartition('/')[2]}: has none of the measures asked for.", soft_wrap=True
        )
    lacking: dict[str, list[str]] = {}
    for name, why in report.skipped:
        lacking.setdefault(why, []).append(name.rpartition("/")[2])
    for why, names in lacking.items():
        console().print(f"{', '.join(names)}: not run, for want of {why}.", soft_wrap=True)


def show_legend(findings: Iterable[Finding]) -> None:
    """Say what each verdict of some findings means."""
    for meaning in rooms.assess.attacks.explain_verdicts(findings):
        console().print(meaning, soft_wrap=True)


def _short(finding: Finding) -> str:
    """Return the name of the attack without its family."""
    return finding.outcome.attack.rpartition("/")[2]


def _interval(finding: Finding) -> str:
    risk = finding.risk
    return f"{risk.value:.3f} [{risk.low:.3f}, {risk.high:.3f}]"


def show_claims(claims: Sequence[rooms.verifier.CheckedClaim], out: Console) -> None:
    """Show each claim with the level that was stated and the one that was counted on disk."""
    of_classes = [each for each in claims if isinstance(each, rooms.verifier.tables.ClaimCheck)]
    for each in claims:
        if not isinstance(each, rooms.verifier.tables.ClaimCheck):
            sign = marked(each, out)
            style = None if each.holds else sign.style
            out.print(f"{sign.plain} {printable(each.sentence)}", style=style, soft_wrap=True)
    if of_classes:
        _show_levels(of_classes, out)


def _show_levels(claims: Sequence[rooms.verifier.tables.ClaimCheck], out: Console) -> None:
    from rich.text import Text  # noqa: PLC0415 - --help needs none

    table = listing("", "guarantee", "claimed", "counted", "classes", right=("claimed", "counted"))
    table.columns[4].justify = "right"
    for each in claims:
        sign = marked(each, out)
        table.add_row(
            sign,
            claim_text(each),
            level(each.stated.evidence.achieved),
            Text(_counted(each), style=sign.style),
            "-" if each.classes is None else f"{each.classes:,}",
        )
    out.print(table)
    for each in claims:
        if not each.checked:
            out.print(f"? {printable(each.sentence)}", style="yellow", soft_wrap=True)
        elif not each.holds:
            out.print(f"{mark(False, out)} {printable(each.sentence)}", style="red", soft_wrap=True)


def marked(claim: rooms.verifier.CheckedClaim, out: Console) -> Text:
    """Return the sign of a claim: it holds, it doesn't, or it wasn't checked."""
    from rich.text import Text  # noqa: PLC0415 - --help needs none

    style = "green" if claim.holds else "red" if claim.checked else "yellow"
    return Text(mark(claim.holds, out) if claim.checked else "?", style=style)


def claim_text(claim: rooms.verifier.tables.ClaimCheck) -> str:
    """Return a guarantee in a few words: ``distinct-l-diversity of occupation, l = 3``."""
    stated = claim.stated
    about = "" if stated.column is None else f" of {stated.column}"
    unit = " in persons" if stated.unit == "person" else ""
    numbers = (f"{name} = {value}" for name, value in stated.parameters.items())
    return printable(", ".join([f"{stated.model}{about}{unit}", *numbers]))


def level(number: float | None) -> str:
    """Return a level for readers: ``10``, ``0.1873``, ``-`` where none was counted."""
    return "-" if number is None else f"{number:.4g}" if number < 1000 else f"{number:,.0f}"


def _counted(claim: rooms.verifier.tables.ClaimCheck) -> str:
    """Return the level that was counted; with missing cells as wildcards where that differs."""
    if claim.counted_wildcard in {claim.counted, None}:
        return level(claim.counted)
    return f"{level(claim.counted)} (missing as wildcard: {level(claim.counted_wildcard)})"


def percent(share: float) -> str:
    """Return a share as a percentage that never rounds something to nothing, or all but one to all.

    Examples
    --------
    >>> percent(0.1), percent(0.0001), percent(0.0), percent(0.9999), percent(1.0)
    ('10.0%', '< 0.1%', '0%', '> 99.9%', '100%')
    """
    if share in {0.0, 1.0}:
        return f"{share:.0%}"
    if share < 0.001:
        return "< 0.1%"
    return "> 99.9%" if share > 0.999 else f"{share:.1%}"


def some(n: int, what: str) -> str:
    """Return a number with its noun: ``1 class``, ``2 classes``."""
    plural = f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{n:,} {what if n == 1 else plural}"
