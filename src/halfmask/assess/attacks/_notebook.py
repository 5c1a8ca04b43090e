"""The findings of a battery as a table for notebooks: what broke comes first and is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.assess.attacks._finding import VERDICTS, explain_verdicts
from halfmask.plots.svg import AFTER, BAD, BEFORE, SOFT
from halfmask.plots.words import safe

if TYPE_CHECKING:
    from halfmask.assess.attacks._finding import Finding, Verdict
    from halfmask.assess.attacks._report import AttackReport

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
