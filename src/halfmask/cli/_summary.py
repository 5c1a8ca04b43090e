"""What came of `protect`: where the release lies, and the three numbers that matter."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from halfmask._errors import ReleaseError
from halfmask.cli._claims import show_claims
from halfmask.cli._console import WARNED, listing, printable

if TYPE_CHECKING:
    from rich.console import Console

    from halfmask.assess.risk import ReleasedColumnsRisk
    from halfmask.assess.utility import ModelUtility
    from halfmask.claims import TableManifest
    from halfmask.microdata import Release
    from halfmask.microdata._evaluation import ReleaseUtility
    from halfmask.verifier import Verification

REPORT = "report.html"
#: Columns whose kept detail is shown unless more is asked for: those that keep least.
FEW_COLUMNS = 8


def as_dict(release: Release, out: str) -> dict[str, object]:
    """Return what came of it as a JSON object."""
    manifest, verification = _written(release)
    risk, model = release.risk.columns.warning, release.utility.model
    return {
        "release": out,
        "report": os.path.join(out, REPORT),  # noqa: PTH118 - as the user wrote it
        "rows": release.rows,
        "verification": verification.to_dict(),
        "risk": dict(manifest.risk),
        "utility": dict(manifest.utility),
        "warnings": [
            *([risk] if risk else []),
            *release.utility.detail.warnings,
            *(model.warnings if model else ()),
        ],
        "weaknesses": list(manifest.weaknesses),
    }


def show_summary(release: Release, out: str, screen: Console, *, verbose: bool) -> None:
    """Show where the release and its report lie, the claims, the risk and the accuracy."""
    manifest, verification = _written(release)
    rows = release.rows
    left = f", {rows['suppressed']:,} left out" if rows["suppressed"] else ""
    screen.print()
    report = os.path.join(out, REPORT)  # noqa: PTH118 - as the user wrote it
    screen.print(
        f"Release  {printable(out)}, {rows['out']:,} of {rows['in']:,} rows{left}", soft_wrap=True
    )
    screen.print(f"Report   {printable(report)}", soft_wrap=True)
    screen.print("\nClaims, verified on disk", style="bold")
    show_claims(verification.claims, screen)
    _show_risk(release, screen)
    _show_detail(release.utility, screen, verbose=verbose)
    _show_accuracy(release, screen)
    weaknesses = (*manifest.weaknesses, *verification.weaknesses)
    if verbose:
        screen.print("\nNo guarantee protects from this", style="bold")
        for weakness in weaknesses:
            screen.print(f"- {printable(weakness)}", soft_wrap=True)
    screen.print()
    screen.print(f"Lost      {_lost(release)}", soft_wrap=True)
    screen.print(f"At risk   {_at_risk(release)}", soft_wrap=True)
    named = _some(len(weaknesses), "weakness")
    screen.print(f"See       {REPORT} for {named} that no guarantee covers")


def _lost(release: Release) -> str:
    """Return in a line what the release lost: detail, rows and accuracy."""
    rows, model = release.rows, release.utility.model
    losses = [
        f"{percent(1 - release.utility.detail.average)} of the detail",
        f"{rows['suppressed']:,} of {rows['in']:,} rows",
    ]
    if model is not None:
        released, raw = (getattr(each, model.measure) for each in (model.released, model.raw))
        if released is not None and raw is not None:
            losses.append(f"{model.measure.replace('r2', 'R2')} {_change(model, released - raw)}")
    return ", ".join(losses)


def _change(model: ModelUtility, change: float) -> str:
    return f"{change:+.3f}" if model.task == "regression" else f"{100 * change:+.1f} points"


def _at_risk(release: Release) -> str:
    """Return in a line what attackers find who know little, and who know all."""
    worst = percent(release.risk.after.prosecutor.highest.value)
    every = release.risk.columns.every
    columns = _some(len(every.columns), "column")
    return (
        f"right row found: {worst} at worst; unique on all {columns}: {percent(every.share_unique)}"
    )


def _show_risk(release: Release, screen: Console) -> None:
    before, after = release.risk.before, release.risk.after
    n = len(release.prepared.plan.quasi_identifiers)
    screen.print(
        f"\nRisk for an attacker who knows {_some(n, 'quasi-identifier')} and no other column",
        style="bold",
    )
    table = listing("", "before", "after", right=("before", "after"))
    rows = [
        ("finds the right row, at worst", "highest"),
        ("finds the right row, on average", "average"),
    ]
    for words, name in rows:
        shares = [getattr(each.prosecutor, name).value for each in (before, after)]
        table.add_row(words, *map(percent, shares))
    table.add_row(
        "rows that are unique", *(percent(each.uniqueness.share.value) for each in (before, after))
    )
    if before.journalist is not None and after.journalist is not None:
        shares = [each.highest.value for each in (before.journalist, after.journalist)]
        table.add_row("at worst, among the population", *map(percent, shares))
    screen.print(table)
    _show_columns(release.risk.columns, screen)


def _show_columns(risk: ReleasedColumnsRisk, screen: Console) -> None:
    """Show what is known of people by columns that are in no class, and warn of the worst."""
    screen.print("\nRisk for an attacker who knows other columns", style="bold")
    under = f"in classes under k = {risk.k}"
    table = listing("", "unique rows", under, right=("unique rows", under))
    rows = [(f"all {_some(len(risk.every.columns), 'released column')}", risk.every)]
    if risk.unchanged is not None:
        n = len(risk.unchanged.columns)
        rows.append((f"the {_some(n, 'column')} {risk.treatment}", risk.unchanged))
    if risk.worst is not None and risk.worst != risk.unchanged:
        rows.append((", ".join(risk.worst.columns), risk.worst))
    for words, each in rows:
        table.add_row(printable(words), percent(each.share_unique), percent(each.share_under_k))
    screen.print(table)
    if not risk.exact:
        screen.print("Estimated on a random part of the classes.")
    if risk.warning is not None:
        screen.print(f"Warning: {printable(risk.warning)}", style=WARNED, soft_wrap=True)
        screen.print(f"Hint: {printable(risk.advice or '')}", soft_wrap=True)


def _show_detail(utility: ReleaseUtility, screen: Console, *, verbose: bool) -> None:
    """Show how much of each quasi-identifier is left, the least first, and what cost it."""
    detail, classes = utility.detail, utility.class_sizes
    screen.print(
        f"\nDetail kept: {percent(detail.average)} on average, in "
        f"{_some(classes.classes, 'class')} of {classes.average_class_size:,.1f} rows on average",
        style="bold",
    )
    table = listing("", "")
    table.columns[1].justify = "right"
    least = sorted(detail.columns.items(), key=lambda pair: pair[1])
    shown = least if verbose else least[:FEW_COLUMNS]
    for name, kept in shown:
        table.add_row(printable(name), percent(kept))
    screen.print(table)
    if len(shown) < len(least):
        screen.print(
            f"and {_some(len(least) - len(shown), 'more column')}, with --verbose", style="dim"
        )
    for warning in detail.warnings:
        screen.print(f"Warning: {printable(warning)}", style=WARNED, soft_wrap=True)


def _some(n: int, what: str) -> str:
    plural = f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{n:,} {what if n == 1 else plural}"


def _show_accuracy(release: Release, screen: Console) -> None:
    model = release.utility.model
    if model is None:
        screen.print("\nNo column is marked as a label, so no model was trained.")
        return
    what = f"{model.measure.replace('r2', 'R2')} of a model that predicts {release.utility.label}"
    screen.print(f"\nThe {printable(what)}, on raw rows held out", style="bold")
    table = listing("", "")
    table.columns[1].justify = "right"
    for words, score in (
        ("trained on the release", model.released),
        ("trained on raw rows of the same columns", model.raw),
        ("without any column", model.majority),
    ):
        table.add_row(words, _score(model, getattr(score, model.measure)))
    screen.print(table)
    for warning in model.warnings:
        screen.print(f"Warning: {printable(warning)}", style=WARNED, soft_wrap=True)


def _score(model: ModelUtility, score: float | None) -> str:
    if score is None:
        return "-"
    return f"{score:.3f}" if model.task == "regression" else f"{score:.1%}"


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


def _written(release: Release) -> tuple[TableManifest, Verification]:
    """Return what `protect_to` adds to a release when it has written it."""
    if release.manifest is None or release.verification is None:
        raise ReleaseError("The release wasn't written.", hint="This is a fault of halfmask.")
    return release.manifest, release.verification
