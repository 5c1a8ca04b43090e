"""What ``halfmask events run`` says when it is done: counts, in words, and where things lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask._errors import GuaranteeNotMetError
from halfmask.cli._console import WARNED, listing, printable, say_json

if TYPE_CHECKING:
    from rich.console import Console

    from halfmask.events import EventPolicy, RunSummary
    from halfmask.events.report import DryRun, ReleasedRisk, Reports

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


#: What helps where a rule couldn't work on values. The others speak for themselves.
_HELP = {
    "no-zone": "say zoneless in the rule, or zone in [stream]",
    "no-scope": "the events lack the session or tenant of [stream]",
    "no-entity": "the events lack the entity of [stream]",
    "not-in-table": "say other in the rule, or add to the table",
    "wrong-type": "not a value that the action is for",
    "unknown-unit": "say units in the rule",
}
#: Of what stands between rules and output; what isn't here is shown by its name.
_STAGE = {
    "events-written": "events were written",
    "events-waiting": "events wait for their window to close",
    "events-held": "events were held back, which too few people share",
    "elements-held": "elements were held back, which too few people share",
    "values-left-out": "values were left out by that",
    "cells-written": "cells were written",
    "cells-held": "cells were held back, which are of too few",
    "unread-numbers": "values of measures aren't numbers",
}


#: In other words already, or as a warning.
_SHOWN = {"events", "late", "no-time"}
#: The input stays unchanged, unless it came through a pipe or topic.
_AGAIN = (
    "The policy probably doesn't mean this: change it, and run again with --restart --overwrite."
)


def as_dict(summary: RunSummary, written: Reports | None) -> dict[str, object]:
    """Return what came of a run as a JSON object."""
    risk = None if written is None else written.risk
    warned = () if risk is None or risk.warning is None else (risk.warning,)
    return {
        **summary.to_dict(),
        "risk": None if risk is None else risk.to_dict(),
        "warnings": [*summary.warnings(), *warned],
    }


def show_run(summary: RunSummary, policy: EventPolicy, err: Console, *, dry: bool = False) -> None:
    """Say in counts what was done."""
    bad = sum(summary.bad.values())
    again = ", going on from a checkpoint" if summary.resumed else ""
    err.print(
        f"Read {summary.events:,} events{again}; {summary.passed:,} passed the rules, "
        f"{summary.held:,} were held back, {bad:,} lines were no events.",
        soft_wrap=True,
    )
    for reason, count in summary.bad.items():
        places = ", ".join(
            f"{line:,}" if file == 1 else f"{line:,} of file {file}"
            for file, line in summary.bad_lines.get(reason, ())
        )
        err.print(f"- {reason}: {count:,}, the first in line {places}", soft_wrap=True)
    if bad and dry:
        err.print("A run stops at the first; --on-error skip skips them.", soft_wrap=True)
    if summary.failures:
        _show_failures(summary, policy, err)
    if summary.unmet and summary.events:
        rules = ", ".join(f"{rule} ({_path(policy, rule)})" for rule in summary.unmet)
        err.print(
            f"No event had the path of rule {rules}. halfmask events describe lists all paths.",
            soft_wrap=True,
        )
    _show_warnings(summary, err, dry=dry)
    _show_names_not_found(policy, err)
    if summary.clock_went_back:
        err.print(
            f"{summary.clock_went_back:,} events are earlier than the one before.", soft_wrap=True
        )
    for name, count in summary.source.items():
        err.print(f"{name}: {count:,}", soft_wrap=True)
    for name, count in summary.stage.items():
        if count and name in _STAGE:
            err.print(f"{count:,} {_STAGE[name]}.", soft_wrap=True)
        elif count and name not in _SHOWN:
            err.print(f"{name}: {count:,}", soft_wrap=True)


def _show_names_not_found(policy: EventPolicy, err: Console) -> None:
    """Warn of free text in which names of people stay: only a table knows them."""
    rules = [
        f"{number} ({_path(policy, number)})"
        for number, rule in enumerate(policy.rules, start=1)
        if any(step.do == "free-text" and step.people is None for step in rule.steps)
    ]
    if rules:
        err.print(
            f"Warning: names of people stay in the free text of rule {', '.join(rules)}. A table "
            "of names finds them: people = ...",
            style=WARNED,
            soft_wrap=True,
        )


def _show_warnings(summary: RunSummary, err: Console, *, dry: bool) -> None:
    for sentence in summary.warnings():
        err.print(f"Warning: {sentence}", style=WARNED, soft_wrap=True)
    if summary.wrote_nothing and not dry:
        err.print(_AGAIN, soft_wrap=True)


def show_written(out: str, written: Reports | None, err: Console) -> None:
    """Show where the output, its manifest and its report lie, and what to do with each."""
    err.print(f"\nOutput    {printable(out)}", soft_wrap=True)
    if written is not None:
        paths = (written.paths.manifest_path, written.paths.report_path)
        manifest, page = (printable(str(path)) for path in paths)
        err.print(f"Manifest  {manifest}, is released with it", soft_wrap=True)
        err.print(f"Report    {page}, stays with you", soft_wrap=True)
        err.print(f"Recount   halfmask events verify {printable(out)}", soft_wrap=True)
        show_risk(written.risk, err)


def show_risk(risk: ReleasedRisk | None, err: Console) -> None:
    """Warn of what singles out in the released events; say nothing where nothing does."""
    if risk is not None and risk.warning is not None:
        err.print(f"Warning: {risk.warning}", style=WARNED, soft_wrap=True)
        err.print(f"Hint: {risk.advice}", soft_wrap=True)


def _show_failures(summary: RunSummary, policy: EventPolicy, err: Console) -> None:
    err.print("\nValues that a rule couldn't work on", style="bold")
    shown = listing("rule", "path", "reason", "values", "", right=("rule", "values"))
    for rule, reason, count in summary.failures:
        path = _path(policy, rule)
        helps = _HELP.get(reason, "")
        shown.add_row(str(rule), path, reason, f"{count:,}", helps)
    err.print(shown)


def _path(policy: EventPolicy, rule: int) -> str:
    """Return the path of a rule by its number; "?" of a number that isn't one's."""
    number = rule - 1
    return printable(policy.rules[number].path) if 0 <= number < len(policy.rules) else "?"
