"""What came of `protect`: where the release lies, its claims, and what its kind measured."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halfmask.cli._claims import marked, show_claims, some
from halfmask.cli._console import console, listing, printable, say_json
from halfmask.cli._options import open_report
from halfmask.cli._show_classes import (
    rows_of_classes,
    show_classes,
    sum_up_classes,
    warnings_of_classes,
)
from halfmask.cli._show_measured import show_masked, show_synthetic, warnings_of_masked

if TYPE_CHECKING:
    from rich.console import Console

    from halfmask.release import Release

REPORT = "report.html"


def _rows(release: Release[Any]) -> str:
    return some(release.rows["out"], "row")


def _rows_of_masked(release: Release[Any]) -> str:
    return f"{release.rows['out']:,} of {release.rows['in']:,} rows"


def _rows_of_synthetic(release: Release[Any]) -> str:
    rows = release.rows
    aside = f"{rows['learnt']:,} learnt from, {rows['control']:,} set aside"
    return f"{some(rows['out'], 'row')} drawn; {aside}"


def _show_sentences(claims: Sequence[Any], screen: Console) -> None:
    table = listing("", "claim")
    for each in claims:
        table.add_row(marked(each, screen), printable(each.sentence))
    screen.print(table)


def _show_techniques(claims: Sequence[Any], screen: Console) -> None:
    table = listing("", "claim", "columns")
    for each in claims:
        numbers = ", ".join(f"{name} = {it}" for name, it in each.claim.parameters.items())
        columns = each.claim.about.get("columns")
        named = ", ".join(map(str, columns)) if isinstance(columns, list) else ""
        words = printable(f"{each.claim.model}, {numbers}")
        table.add_row(marked(each, screen), words, printable(named))
    screen.print(table)


def _show_nothing(release: Release[Any], screen: Console, *, verbose: bool) -> None:
    del release, screen, verbose


def _show_not_stated(release: Release[Any], screen: Console, *, verbose: bool) -> None:
    del release, verbose
    screen.print(
        "\nNot stated: the rows of the table, and measured risk and utility. They depend on each "
        "row of it.",
        soft_wrap=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """What is shown of one kind of release besides what all have."""

    rows: Callable[[Release[Any]], str] = _rows
    claims: Callable[[Sequence[Any], Console], None] = _show_sentences
    measured: Callable[..., None] = _show_nothing
    sum_up: Callable[[Release[Any], Console], None] | None = None
    warnings: Callable[[Release[Any]], Sequence[str]] | None = None
    uncovered: str = "The claims don't cover this"


_VIEWS = {
    "microdata": _View(
        rows=rows_of_classes,
        claims=show_claims,
        measured=show_classes,
        sum_up=sum_up_classes,
        warnings=warnings_of_classes,
        uncovered="No guarantee protects from this",
    ),
    "masked": _View(
        rows=_rows_of_masked,
        claims=_show_techniques,
        measured=show_masked,
        warnings=warnings_of_masked,
        uncovered="No technique protects from this",
    ),
    "synthetic": _View(
        rows=_rows_of_synthetic,
        measured=show_synthetic,
        uncovered="Synthetic rows don't protect from this",
    ),
    "private-microdata": _View(
        measured=_show_not_stated, uncovered="The guarantee doesn't cover this"
    ),
}


def say_release(
    release: Release[Any],
    out: str,
    *,
    as_json: bool,
    verbose: bool,
    show: bool,
    **more: object,
) -> None:
    """Say what came of it, as JSON or for readers, and open the report if that is asked for."""
    view = _VIEWS.get(release.kind.name, _View())
    if as_json:
        say_json({"ok": True, **_as_dict(release, view, out), **more})
    else:
        _show(release, view, out, console(), verbose=verbose)
    if show:
        open_report(out)


def _as_dict(release: Release[Any], view: _View, out: str) -> dict[str, object]:
    manifest, verification = release.written
    levels, numbers = (
        {name: manifest.details[name] for name in names if name in manifest.details}
        for names in (("levels",), ("risk", "utility"))
    )
    return {
        "release": out,
        "report": os.path.join(out, REPORT),  # noqa: PTH118 - as the user wrote it
        "rows": dict(release.rows),
        **levels,
        "verification": verification.to_dict(),
        **numbers,
        **({} if view.warnings is None else {"warnings": [*view.warnings(release)]}),
        "weaknesses": list(manifest.weaknesses),
    }


def _show(release: Release[Any], view: _View, out: str, screen: Console, *, verbose: bool) -> None:
    """Show where the release and its report lie, the claims, and what was measured."""
    manifest, verification = release.written
    report = os.path.join(out, REPORT)  # noqa: PTH118 - as the user wrote it
    screen.print()
    screen.print(f"Release  {printable(out)}, {view.rows(release)}", soft_wrap=True)
    screen.print(f"Report   {printable(report)}", soft_wrap=True)
    screen.print("\nClaims, verified on disk", style="bold")
    view.claims(verification.claims, screen)
    view.measured(release, screen, verbose=verbose)
    weaknesses = dict.fromkeys((*manifest.weaknesses, *verification.weaknesses))
    if verbose:
        screen.print(f"\n{view.uncovered}", style="bold")
        for weakness in weaknesses:
            screen.print(f"- {printable(weakness)}", soft_wrap=True)
    screen.print()
    if view.sum_up is None:
        screen.print(f"See {REPORT} for {len(weaknesses)} weaknesses that remain.")
        return
    view.sum_up(release, screen)
    named = some(len(weaknesses), "weakness")
    screen.print(f"See       {REPORT} for {named} that no guarantee covers")
