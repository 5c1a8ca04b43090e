"""What a release of classes measured: the risk, the detail kept, and the accuracy of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.cli._claims import percent, some
from halfmask.cli._console import WARNED, listing, printable

if TYPE_CHECKING:
    from rich.console import Console

    from halfmask.assess.risk import ReleasedColumnsRisk
    from halfmask.assess.utility import ModelUtility
    from halfmask.microdata.evaluation import ClassFacts, ReleaseUtility
    from halfmask.release import Release

#: Columns whose kept detail is shown unless more is asked for: those that keep least.
FEW_COLUMNS = 8


def rows_of_classes(release: Release[ClassFacts]) -> str:
    """Return in words how many rows are released, and left out."""
    rows = release.rows
    left = f", {rows['suppressed']:,} left out" if rows["suppressed"] else ""
    return f"{rows['out']:,} of {rows['in']:,} rows{left}"


def warnings_of_classes(release: Release[ClassFacts]) -> list[str]:
    """Return what the columns, the detail and the model warn of."""
    risk, model = release.facts.risk.columns.warning, release.facts.utility.model
    return [
        *([risk] if risk else []),
        *release.facts.utility.detail.warnings,
        *(model.warnings if model else ()),
    ]


def show_classes(release: Release[ClassFacts], screen: Console, *, verbose: bool) -> None:
    """Show the risk and the accuracy."""
    _show_risk(release, screen)
    _show_detail(release.facts.utility, screen, verbose=verbose)
    _show_accuracy(release, screen)


def sum_up_classes(release: Release[ClassFacts], screen: Console) -> None:
    """Show the three numbers that matter."""
    screen.print(f"Lost      {_lost(release)}", soft_wrap=True)
    screen.print(f"At risk   {_at_risk(release)}", soft_wrap=True)


def _lost(release: Release[ClassFacts]) -> str:
    """Return in a line what the release lost: detail, rows and accuracy."""
    rows, model = release.rows, release.facts.utility.model
    losses = [
        f"{percent(1 - release.facts.utility.detail.average)} of the detail",
        f"{rows['suppressed']:,} of {rows['in']:,} rows",
    ]
    if model is not None:
        released, raw = (getattr(each, model.measure) for each in (model.released, model.raw))
        if released is not None and raw is not None:
            losses.append(f"{model.measure.replace('r2', 'R2')} {_change(model, released - raw)}")
    return ", ".join(losses)


def _change(model: ModelUtility, change: float) -> str:
    return f"{change:+.3f}" if model.task == "regression" else f"{100 * change:+.1f} points"


def _at_risk(release: Release[ClassFacts]) -> str:
    """Return in a line what attackers find who know little, and who know all."""
    worst = percent(release.facts.risk.after.prosecutor.highest.value)
    every = release.facts.risk.columns.every
    columns = some(len(every.columns), "column")
    return (
        f"right row found: {worst} at worst; unique on all {columns}: {percent(every.share_unique)}"
    )


def _show_risk(release: Release[ClassFacts], screen: Console) -> None:
    before, after = release.facts.risk.before, release.facts.risk.after
    n = len(release.source.plan.quasi_identifiers)
    screen.print(
        f"\nRisk for an attacker who knows {some(n, 'quasi-identifier')} and no other column",
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
    _show_columns(release.facts.risk.columns, screen)


def _show_columns(risk: ReleasedColumnsRisk, screen: Console) -> None:
    """Show what is known of people by columns that are in no class, and warn of the worst."""
    screen.print("\nRisk for an attacker who knows other columns", style="bold")
    under = f"in classes under k = {risk.k}"
    table = listing("", "unique rows", under, right=("unique rows", under))
    rows = [(f"all {some(len(risk.every.columns), 'released column')}", risk.every)]
    if risk.unchanged is not None:
        n = len(risk.unchanged.columns)
        rows.append((f"the {some(n, 'column')} {risk.treatment}", risk.unchanged))
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
        f"{some(classes.classes, 'class')} of {classes.average_class_size:,.1f} rows on average",
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
            f"and {some(len(least) - len(shown), 'more column')}, with --verbose", style="dim"
        )
    for warning in detail.warnings:
        screen.print(f"Warning: {printable(warning)}", style=WARNED, soft_wrap=True)


def _show_accuracy(release: Release[ClassFacts], screen: Console) -> None:
    utility = release.facts.utility
    model = utility.model
    if model is None:
        screen.print("\nNo column is marked as a label, so no model was trained.")
        return
    what = f"{model.measure.replace('r2', 'R2')} of a model that predicts {utility.label}"
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
