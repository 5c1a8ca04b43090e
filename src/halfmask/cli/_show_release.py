"""What came of `protect`: where the release lies, its claims, and what its kind measured."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmask.cli import _rooms as rooms
from halfmask.cli._claims import marked, percent, show_claims, show_legend, some
from halfmask.cli._console import WARNED, console, listing, printable
from halfmask.cli._options import SayingOptions, open_report

if TYPE_CHECKING:
    from rich.console import Console

    from halfmask.microdata.evaluation import ClassFacts, ReleaseUtility
    from halfmask.microdata.masked import MaskFacts
    from halfmask.microdata.synthetic import SynthesisFacts
    from halfmask.release import Release


def show_masked(release: Release[MaskFacts], screen: Console, *, verbose: bool) -> None:
    """Show what attacks found on masked rows."""
    from halfmask.microdata.masked import suppressed_of  # noqa: PLC0415 - behind the release

    del verbose
    if (said := suppressed_of(release)) is not None:
        screen.print(printable(said), soft_wrap=True)
    found = release.facts.assessment
    if found is None:
        screen.print("\nRisk and utility weren't measured: too few rows, or only tokens.")
        return
    screen.print("\nMeasured: an attacker who knows the original rows", style="bold")
    heads = ("masked", "unmasked", "control", "guess")
    table = listing("", *heads, right=heads)
    if (worst := found.worst_linkage) is not None:
        table.add_row("finds the right row", *_arms(worst))
    if (within := found.worst_interval) is not None:
        name = printable(f"finds a number nearly ({within.outcome.column})")
        table.add_row(name, *_arms(within))
    screen.print(table)
    if (warning := found.warning) is not None:
        screen.print(f"Warning: {printable(warning)}", style=WARNED, soft_wrap=True)
    if found.il1s is not None:
        screen.print(f"Change of numbers (IL1s): {found.il1s:.3f}")
    for each in release.facts.places:
        said = " ".join([each.utility.sentence, *(it.sentence for it in each.risks)])
        named = printable(" and ".join(each.columns))
        screen.print(f"\nPlaces in {named}: {said}", soft_wrap=True)
        if each.warning is not None:
            screen.print(f"Warning: {each.warning}", style=WARNED, soft_wrap=True)


def warnings_of_masked(release: Release[MaskFacts]) -> list[str]:
    """Return the warnings that attacks find people or places again."""
    measured = (release.facts.assessment, *release.facts.places)
    return [it.warning for it in measured if it is not None and it.warning is not None]


def _arms(finding: rooms.assess.attacks.Finding) -> tuple[str, ...]:
    """Return the success on the release and on raw rows, on other people, and of a guess."""
    found, raw = rooms.assess.masking.arms(finding), finding.positive_control
    shares = (
        found.value,
        None if raw is None else raw.success.value,
        found.control,
        found.baseline,
    )
    return tuple("-" if share is None else percent(share) for share in shares)


def show_synthetic(release: Release[SynthesisFacts], screen: Console, *, verbose: bool) -> None:
    """Show what attacks found on synthetic rows, and what models learn from them."""
    del verbose
    found = release.facts.measured
    if found is None:
        screen.print("\nNothing was measured against the table: that would cost more epsilon.")
        return
    for warning in (found.not_attacked, release.source.unchanged_sentence):
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


#: Columns whose kept detail is shown unless more is asked for: those that keep least.
FEW_COLUMNS = 8


def rows_of_classes(release: Release[ClassFacts]) -> str:
    """Return in words how many rows are released, and left out."""
    rows = release.rows
    left = f", {rows['suppressed']:,} left out" if rows.get("suppressed") else ""
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
    _show_columns(release.facts.risk.columns, screen)
    _show_detail(release.facts.utility, screen, verbose=verbose)
    _show_accuracy(release, screen)


def sum_up_classes(release: Release[ClassFacts], screen: Console) -> None:
    """Show what the release lost, and what attackers find who know little, and who know all."""
    rows, model, risk = release.rows, release.facts.utility.model, release.facts.risk
    losses = [
        f"{percent(1 - release.facts.utility.detail.average)} of the detail",
        f"{rows['suppressed']:,} of {rows['in']:,} rows",
    ]
    if model is not None:
        released, raw = (getattr(each, model.measure) for each in (model.released, model.raw))
        if released is not None and raw is not None:
            change = released - raw
            regression = model.task == "regression"
            by = f"{change:+.3f}" if regression else f"{100 * change:+.1f} points"
            losses.append(f"{model.measure.replace('r2', 'R2')} {by}")
    screen.print(f"Lost      {', '.join(losses)}", soft_wrap=True)
    worst, every = percent(risk.after.prosecutor.highest.value), risk.columns.every
    screen.print(
        f"At risk   right row found: {worst} at worst; unique on all "
        f"{some(len(every.columns), 'column')}: {percent(every.share_unique)}",
        soft_wrap=True,
    )


def _score(model: rooms.assess.utility.ModelUtility, score: float | None) -> str:
    if score is None:
        return "-"
    return f"{score:.3f}" if model.task == "regression" else f"{score:.1%}"


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
    policy = release.policy
    places = [it for it in release.source.plan.quasi_identifiers if policy.columns[it].place]
    if places:
        named = printable(", ".join(places))
        screen.print(f"Before: by the finest areas of {named}. Raw places single out more.")


def _show_columns(risk: rooms.assess.risk.ReleasedColumnsRisk, screen: Console) -> None:
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


def rows_of_tables(release: Release[Any]) -> str:
    """Return in words how many cells the tables have, and how many are hidden."""
    tables = some(len(release.facts.tables), "table")
    return f"{release.rows['out']:,} cells in {tables}, {release.rows['hidden']:,} hidden"


def show_tables(release: Release[Any], screen: Console, *, verbose: bool) -> None:
    """Show the tables, and how near the hidden cells are to the least cost."""
    del verbose
    screen.print("\nTables", style="bold")
    heads = ("cells", "hidden")
    table = listing("", "dimensions", *heads, right=heads)
    for each in release.facts.tables:
        names = printable(", ".join(each.dimensions))
        counts = (f"{len(each.cells):,}", f"{int(each.hidden.sum()):,}")
        table.add_row(printable(each.name), names, *counts)
    screen.print(table)
    for pattern in _patterns(release):
        cost = "not proven" if pattern.gap is None else f"{percent(pattern.gap)} at most"
        line = f"Search {pattern.search}, above the least possible cost by: {cost}"
        screen.print(line, soft_wrap=True)
    for warning in warnings_of_tables(release):
        screen.print(f"Warning: {warning}", style=WARNED, soft_wrap=True)


def warnings_of_tables(release: Release[Any]) -> list[str]:
    """Return the warning that a search was stopped."""
    stopped = any(pattern.stopped for pattern in _patterns(release))
    return [STOPPED] * stopped


def _patterns(release: Release[Any]) -> Collection[Any]:
    """Return how hidden cells were found, one for each measure that has some."""
    found = [each.published.pattern for each in release.facts.tables]
    return {id(each): each for each in found if each is not None}.values()


STOPPED = (
    "The search was stopped. The tables meet every requirement, and more cells than needed may be "
    "hidden."
)
#: What follows OUT in the name of the page that only the owner of tables may see.
OWNER = ".owner.html"
REPORT = "report.html"


def _rows(release: Release[Any]) -> str:
    return some(release.rows["out"], "row")


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
    measured: Callable[..., None] | None = None
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
        rows=rows_of_classes,
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
    "tables": _View(
        rows=rows_of_tables,
        measured=show_tables,
        warnings=warnings_of_tables,
        uncovered="The rules don't protect from this",
    ),
    "private-microdata": _View(
        measured=_show_not_stated, uncovered="The guarantee doesn't cover this"
    ),
}


def say_release(
    release: Release[Any], out: str, saying: SayingOptions, *, show: bool, **more: object
) -> None:
    """Say what came of it, as JSON or for readers, and open the report if that is asked for."""
    view = _VIEWS.get(release.kind.name, _View())
    policy = more.get("policy")
    facts = {**_as_dict(release, view, out, policy if isinstance(policy, str) else None), **more}
    saying.say(facts, lambda: _show(release, view, facts, console(), verbose=saying.verbose))
    if show:
        open_report(out)


def _as_dict(release: Release[Any], view: _View, out: str, policy: str | None) -> dict[str, object]:
    manifest, verification = release.written
    levels, numbers = (
        {name: manifest.details[name] for name in names if name in manifest.details}
        for names in (("levels",), ("risk", "utility"))
    )
    return {
        "release": out,
        "report": os.path.join(out, REPORT),  # noqa: PTH118 - as the user wrote it
        **({} if (page := _owners_page(out)) is None else {"owners_page": page}),
        # The owner's page has all paths; what is printed here may be logged.
        "attack": release.briefing.command(RELEASE=out, POLICY=policy),
        "rows": dict(release.rows),
        **levels,
        "verification": verification.to_dict(),
        **checked_of(release),
        **numbers,
        **({} if view.warnings is None else {"warnings": [*view.warnings(release)]}),
        "weaknesses": list(manifest.weaknesses),
    }


def checked_of(release: Release[Any]) -> dict[str, list[str]]:
    """Return what a release was checked against, if it is in a book."""
    return {} if release.booking is None else {"checked": [*release.checked]}


def show_checked(release: Release[Any], screen: Console) -> None:
    """Show what a release was checked against, if it is in a book."""
    if release.checked:
        screen.print("\nChecked against earlier releases", style="bold")
    for sentence in release.checked:
        screen.print(f"- {printable(sentence)}", soft_wrap=True)


def _owners_page(out: str) -> str | None:
    """Return where the page is that isn't part of the release: in this folder for an address."""
    name = out.rstrip("/")
    page = f"{name.rpartition('/')[2] if '://' in name else name}{OWNER}"
    return page if Path(page).is_file() else None


def _show(
    release: Release[Any],
    view: _View,
    facts: Mapping[str, Any],
    screen: Console,
    *,
    verbose: bool,
) -> None:
    """Show where the release and its report lie, the claims, and what was measured."""
    manifest, verification = release.written
    screen.print()
    screen.print(f"Release  {printable(facts['release'])}, {view.rows(release)}", soft_wrap=True)
    screen.print(f"Report   {printable(facts['report'])}", soft_wrap=True)
    if (page := facts.get("owners_page")) is not None:
        screen.print(f"Owner    {printable(page)}, which isn't part of it", soft_wrap=True)
    screen.print("\nClaims, verified on disk", style="bold")
    view.claims(verification.claims, screen)
    show_checked(release, screen)
    if view.measured is not None:
        view.measured(release, screen, verbose=verbose)
    weaknesses = dict.fromkeys((*manifest.weaknesses, *verification.weaknesses))
    if verbose:
        screen.print(f"\n{view.uncovered}", style="bold")
        for weakness in weaknesses:
            screen.print(f"- {printable(weakness)}", soft_wrap=True)
    screen.print()
    if (command := facts["attack"]) is not None:
        ran = "ran when it was made; again" if release.briefing.attacked else "none was run; run"
        screen.print(f"Attacks   {ran}: {printable(command)}", soft_wrap=True)
    if view.sum_up is None:
        screen.print(f"See {REPORT} for {len(weaknesses)} weaknesses that remain.")
        return
    view.sum_up(release, screen)
    named = some(len(weaknesses), "weakness")
    screen.print(f"See       {REPORT} for {named} that no guarantee covers")
