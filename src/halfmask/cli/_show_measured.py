"""What was measured of masked and of synthetic rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.cli._claims import percent
from halfmask.cli._console import WARNED, listing, printable
from halfmask.cli._findings import show_legend

if TYPE_CHECKING:
    from rich.console import Console

    from halfmask.assess.attacks import Finding
    from halfmask.microdata.masked import MaskFacts
    from halfmask.microdata.synthetic import SynthesisFacts
    from halfmask.release import Release


def show_masked(release: Release[MaskFacts], screen: Console, *, verbose: bool) -> None:
    """Show what attacks found on masked rows."""
    del verbose
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


def warnings_of_masked(release: Release[MaskFacts]) -> list[str]:
    """Return the warning that attacks find people again."""
    found = release.facts.assessment
    return [] if found is None or found.warning is None else [found.warning]


def _arms(finding: Finding) -> tuple[str, ...]:
    """Return the success on the release and on raw rows, on other people, and of a guess."""
    from halfmask.assess.masking import arms  # noqa: PLC0415 # loads numba

    found, raw = arms(finding), finding.positive_control
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
