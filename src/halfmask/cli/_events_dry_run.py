"""What ``halfmask events run --dry-run`` says: counts of a sample, with nothing written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask._errors import GuaranteeNotMetError
from halfmask.cli._console import listing, printable, say_json
from halfmask.cli._events_summary import show_risk, show_run

if TYPE_CHECKING:
    from rich.console import Console

    from halfmask.events import EventPolicy
    from halfmask.events.report import DryRun

_MOST_DROPPED = 20


def show_dry_run(
    found: DryRun, policy: EventPolicy, err: Console, *, as_json: bool, strict: bool, verbose: bool
) -> None:
    """Say what a run would do."""
    if as_json:
        say_json({"ok": True, "dry_run": True, **found.to_dict()})
    else:
        some = "the first lines" if found.sampled else "all lines"
        err.print(f"Dry run on {some} of the input: nothing was written.", soft_wrap=True)
        show_run(found.summary, policy, err, dry=True)
        _show_rules(found, policy, err)
        _show_dropped(found, err, most=None if verbose else _MOST_DROPPED)
        show_risk(found.risk, err)
    if strict and found.warnings():
        raise GuaranteeNotMetError(found.warnings()[0], hint=found.risk.advice)


def _show_rules(found: DryRun, policy: EventPolicy, err: Console) -> None:
    err.print(f"\n{found.lines:,} lines would be written. What each rule writes:", style="bold")
    table = listing(
        "rule", "path", "field", "action", "values", "different",
        right=("rule", "values", "different"),
    )  # fmt: skip
    for it in found.rules:
        steps = policy.rules[it.rules[0] - 1].steps
        table.add_row(
            ", ".join(map(str, it.rules)),
            printable(it.path),
            printable(", ".join(it.fields)),
            ", then ".join(step.do for step in steps),
            f"{it.values:,}",
            f"{it.different:,}",
        )
    err.print(table)


def _show_dropped(found: DryRun, err: Console, *, most: int | None) -> None:
    if found.dropped is None:
        return
    err.print(
        f"\n{len(found.dropped):,} fields are dropped, because no rule writes them", style="bold"
    )
    for it in found.dropped[:most]:
        err.print(f"- {printable(it.path)}, in {it.events:,} events", soft_wrap=True)
    if most is not None and len(found.dropped) > most:
        err.print(f"- and {len(found.dropped) - most:,} more: -v lists all", soft_wrap=True)
