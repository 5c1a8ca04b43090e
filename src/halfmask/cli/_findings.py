"""Findings of attacks for readers: a table, and a line for each that proves nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from halfmask.cli._console import console, listing, printable, say_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halfmask.assess.attacks import AttackReport, Finding
    from halfmask.assess.attacks.encodings import Frontier


def answer_findings(
    found: AttackReport | Frontier, out: str | None, picture: str | None, *, as_json: bool
) -> bool:
    """Write the files that are wanted, and the findings as JSON; return whether as JSON."""
    from halfmask.data import atomic_file  # noqa: PLC0415 # half a second

    if out is not None:
        found.write(Path(out))
    if picture is not None:
        with atomic_file(Path(picture)) as file:
            file.write(found.to_svg().encode())
    if as_json:
        say_json({"ok": True, **found.to_dict()})
    return as_json


def show_findings(report: AttackReport, protected: str) -> None:
    """Show what attacks found; `protected` is the title of what was attacked, such as encoded."""
    table = listing("attack and measure", "raw", protected, "reference", "verdict")
    table.columns[0].overflow = "fold"
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
    from halfmask.assess.attacks import explain_verdicts  # noqa: PLC0415 # numpy loads late

    for meaning in explain_verdicts(findings):
        console().print(meaning, soft_wrap=True)


def _short(finding: Finding) -> str:
    """Return the name of the attack without its family."""
    return finding.outcome.attack.rpartition("/")[2]


def _interval(finding: Finding) -> str:
    risk = finding.risk
    return f"{risk.value:.3f} [{risk.low:.3f}, {risk.high:.3f}]"
