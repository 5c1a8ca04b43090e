"""What came of a policy of masks alone: the claims, and what attacks found."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from halfmask._errors import ReleaseError
from halfmask.cli._claims import marked
from halfmask.cli._console import WARNED, listing, printable
from halfmask.cli._summary import percent

if TYPE_CHECKING:
    from rich.console import Console

    from halfmask.assess.attacks import Finding
    from halfmask.claims import Manifest
    from halfmask.microdata import MaskedRelease
    from halfmask.verifier import CheckedRelease

REPORT = "report.html"


def masked_dict(release: MaskedRelease, out: str) -> dict[str, object]:
    """Return what came of it as a JSON object."""
    manifest, verification = _written(release)
    return {
        "release": out,
        "report": os.path.join(out, REPORT),  # noqa: PTH118 - as the user wrote it
        "rows": release.rows,
        "verification": verification.to_dict(),
        "risk": manifest.details["risk"],
        "utility": manifest.details["utility"],
        "warnings": [it for it in [_warning(release)] if it],
        "weaknesses": list(manifest.weaknesses),
    }


def show_masked(release: MaskedRelease, out: str, screen: Console, *, verbose: bool) -> None:
    """Show where the release and its report lie, the claims, and the measured risk and utility."""
    manifest, verification = _written(release)
    rows = release.rows
    report = os.path.join(out, REPORT)  # noqa: PTH118 - as the user wrote it
    screen.print()
    screen.print(
        f"Release  {printable(out)}, {rows['out']:,} of {rows['in']:,} rows", soft_wrap=True
    )
    screen.print(f"Report   {printable(report)}", soft_wrap=True)
    screen.print("\nClaims, verified on disk", style="bold")
    table = listing("", "claim", "columns")
    for each in verification.claims:
        numbers = ", ".join(f"{name} = {it}" for name, it in each.claim.parameters.items())
        columns = each.claim.about.get("columns")
        named = ", ".join(map(str, columns)) if isinstance(columns, list) else ""
        words = printable(f"{each.claim.model}, {numbers}")
        table.add_row(marked(each, screen), words, printable(named))
    screen.print(table)
    _show_measured(release, screen)
    if verbose:
        screen.print("\nNo technique protects from this", style="bold")
        for weakness in manifest.weaknesses:
            screen.print(f"- {printable(weakness)}", soft_wrap=True)
    screen.print()
    screen.print(f"See {REPORT} for {len(manifest.weaknesses)} weaknesses that remain.")


def _show_measured(release: MaskedRelease, screen: Console) -> None:
    found = release.assessment
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
    if (warning := _warning(release)) is not None:
        screen.print(f"Warning: {printable(warning)}", style=WARNED, soft_wrap=True)
    if found.il1s is not None:
        screen.print(f"Change of numbers (IL1s): {found.il1s:.3f}")


def _warning(release: MaskedRelease) -> str | None:
    return None if release.assessment is None else release.assessment.warning


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


def _written(release: MaskedRelease) -> tuple[Manifest, CheckedRelease]:
    if release.manifest is None or release.verification is None:
        raise ReleaseError("The release wasn't written.", hint="This is a fault of halfmask.")
    return release.manifest, release.verification
