"""``halfmask synthesize``: from a table and a policy to a release of synthetic rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from halfmask._errors import ReleaseError
from halfmask.cli._claims import marked
from halfmask.cli._console import console, listing, printable, say_json
from halfmask.cli._engine import EngineOptions  # typer reads it
from halfmask.cli._findings import show_legend
from halfmask.cli._header_options import HeaderOptions  # typer reads it
from halfmask.cli._ledger_options import ReleaseLedger  # typer reads it
from halfmask.cli._opening import OpenOption, open_report
from halfmask.cli._option_groups import spreads_groups
from halfmask.cli._options import OverwriteOption, SayingOptions, TableArgument
from halfmask.cli._protect import KeyFileOption, key_in, opened_by, policy_text
from halfmask.cli._summary import percent

if TYPE_CHECKING:
    from rich.console import Console

    from halfmask.microdata import SyntheticRelease

REPORT = "report.html"

PolicyArgument = Annotated[
    str,
    typer.Argument(
        metavar="POLICY",
        show_default=False,
        help="The policy, a TOML file with [synthesis]; - reads standard input.",
    ),
]
OutArgument = Annotated[
    str,
    typer.Argument(metavar="OUT", show_default=False, help="The folder to create for the release."),
]


@spreads_groups
def synthesize(
    table: TableArgument,
    policy: PolicyArgument,
    out: OutArgument,
    *,
    overwrite: OverwriteOption = False,
    key_file: KeyFileOption = None,
    budget: ReleaseLedger,
    where_run: EngineOptions,
    head: HeaderOptions,
    show: OpenOption = False,
    saying: SayingOptions,
) -> int:
    """Make a verified release of synthetic rows that are learnt from TABLE.

    The release is a folder with the data, a manifest and a report. The verifier counts in the
    written files that every row keeps every rule. The report shows what attacks found on the
    synthetic rows, on the raw rows and on people who weren't learnt from. If full synthetic rows
    equal original ones more often than chance, there is no release and the exit code is 1.

    With --engine, workers draw rows from the fitted model. The rows are the same on each engine.
    """
    key = key_in(key_file)
    if os.path.lexists(out) and not overwrite:
        raise ReleaseError("The folder exists already.", hint="Give another, or use --overwrite.")
    from halfmask.microdata import Policy  # noqa: PLC0415 - half a second, or more
    from halfmask.microdata import synthesize as draw  # noqa: PLC0415

    wanted = Policy.from_toml(policy_text()) if policy == "-" else Policy.load(policy)
    options = head.options()
    ledger = budget.open(table, is_read_otherwise=bool(options))
    with where_run.connected() as engine, saying.stages() as stages:
        source = opened_by(table, wanted, options) if options else table
        release = draw(source, wanted, key=key, ledger=ledger, engine=engine, progress=stages)
        release = release.write(out, overwrite=overwrite, progress=stages)
    if saying.as_json:
        say_json({"ok": True, **_as_dict(release, out)})
    else:
        _show(release, out, console(), verbose=saying.verbose)
    if show:
        open_report(out)
    return 0


def _as_dict(release: SyntheticRelease, out: str) -> dict[str, object]:
    manifest, verification = release.written
    return {
        "release": out,
        "report": os.path.join(out, REPORT),  # noqa: PTH118 - as the user wrote it
        "rows": release.rows,
        "verification": verification.to_dict(),
        "risk": manifest.details["risk"],
        "utility": manifest.details["utility"],
        "weaknesses": list(manifest.weaknesses),
    }


def _show(release: SyntheticRelease, out: str, screen: Console, *, verbose: bool) -> None:
    """Show where the release and its report lie, the claims, and what was measured."""
    manifest, verification = release.written
    rows = release.rows
    report = os.path.join(out, REPORT)  # noqa: PTH118 - as the user wrote it
    screen.print()
    screen.print(
        f"Release  {printable(out)}, {rows['out']:,} rows drawn; {rows['learnt']:,} learnt from, "
        f"{rows['control']:,} set aside",
        soft_wrap=True,
    )
    screen.print(f"Report   {printable(report)}", soft_wrap=True)
    screen.print("\nClaims, verified on disk", style="bold")
    table = listing("", "claim")
    for each in verification.claims:
        table.add_row(marked(each, screen), printable(each.sentence))
    screen.print(table)
    _show_measured(release, screen)
    if verbose:
        screen.print("\nSynthetic rows don't protect from this", style="bold")
        for weakness in manifest.weaknesses:
            screen.print(f"- {printable(weakness)}", soft_wrap=True)
    screen.print()
    screen.print(f"See {REPORT} for {len(manifest.weaknesses)} weaknesses that remain.")


def _show_measured(release: SyntheticRelease, screen: Console) -> None:
    found = release.measured
    if found is None:
        screen.print("\nNothing was measured against the table: that would cost more epsilon.")
        return
    for warning in (found.not_attacked, release.rows_to_write.unchanged_sentence):
        if warning:
            screen.print(f"\n{warning}", style="yellow", soft_wrap=True)
    if found.findings:
        screen.print("\nMeasured: attacks", style="bold")
        heads = ("synthetic", "other people", "raw rows", "verdict")
        table = listing("", *heads, right=heads[:3])
        for each in found.findings:
            raw = each.positive_control
            table.add_row(
                printable(f"{each.outcome.attack}: {each.outcome.measure}"),
                percent(each.outcome.success.value),
                percent(each.outcome.control.value),
                "" if raw is None else percent(raw.success.value),
                each.verdict,
            )
        screen.print(table)
        show_legend(found.findings)
    if found.learners:
        screen.print("\nMeasured: models, tested on rows set aside", style="bold")
        tables = ("of original rows", "of synthetic rows")
        table = listing("", *tables, right=tables)
        for scores in found.learners:
            table.add_row(
                printable(f"{scores.learner}, {scores.measure} of {found.label}"),
                f"{scores.original:.3f}",
                f"{scores.synthetic:.3f}",
            )
        screen.print(table)
