"""What came of a policy with differential privacy: the claims, and what isn't stated."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from halfmask.cli._claims import marked
from halfmask.cli._console import listing, printable

if TYPE_CHECKING:
    from rich.console import Console

    from halfmask.claims import Manifest
    from halfmask.microdata import Release
    from halfmask.verifier import CheckedRelease

REPORT = "report.html"


def private_dict(release: Release, out: str) -> dict[str, object]:
    """Return what came of it as a JSON object, without a number of the table."""
    manifest, verification = _written(release)
    return {
        "release": out,
        "report": os.path.join(out, REPORT),  # noqa: PTH118 - as the user wrote it
        "rows": release.rows,
        "levels": manifest.details["levels"],
        "verification": verification.to_dict(),
        "weaknesses": list(manifest.weaknesses),
    }


def show_private(release: Release, out: str, screen: Console, *, verbose: bool) -> None:
    """Show where the release and its report lie, the claims, and what isn't stated."""
    manifest, verification = _written(release)
    report = os.path.join(out, REPORT)  # noqa: PTH118 - as the user wrote it
    screen.print()
    screen.print(f"Release  {printable(out)}, {release.rows['out']:,} rows", soft_wrap=True)
    screen.print(f"Report   {printable(report)}", soft_wrap=True)
    screen.print("\nClaims, verified on disk", style="bold")
    table = listing("", "claim")
    for each in verification.claims:
        table.add_row(marked(each, screen), printable(each.claim.sentence()))
    screen.print(table)
    screen.print(
        "\nNot stated: the rows of the table, and measured risk and utility. They depend on each "
        "row of it.",
        soft_wrap=True,
    )
    if verbose:
        screen.print("\nThe guarantee doesn't cover this", style="bold")
        for weakness in manifest.weaknesses:
            screen.print(f"- {printable(weakness)}", soft_wrap=True)
    screen.print()
    screen.print(f"See {REPORT} for {len(manifest.weaknesses)} weaknesses that remain.")


def _written(release: Release) -> tuple[Manifest, CheckedRelease]:
    return cast("tuple[Manifest, CheckedRelease]", (release.manifest, release.verification))
