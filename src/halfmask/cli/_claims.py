"""Claims for readers: the guarantee, the claimed level and the counted level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from halfmask.cli._console import listing, mark, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from halfmask.verifier import CheckedClaim, ClaimCheck


def show_claims(claims: Sequence[ClaimCheck], out: Console) -> None:
    """Show each claim with the level that was stated and the one that was counted on disk."""
    from rich.text import Text  # noqa: PLC0415 - --help needs none

    table = listing("", "guarantee", "claimed", "counted", "classes", right=("claimed", "counted"))
    table.columns[4].justify = "right"
    for each in claims:
        sign = marked(each, out)
        table.add_row(
            sign,
            claim_text(each),
            level(each.claimed),
            Text(_counted(each), style=sign.style),
            "-" if each.classes is None else f"{each.classes:,}",
        )
    out.print(table)
    for each in claims:
        if not each.checked:
            out.print(f"? {printable(each.sentence)}", style="yellow", soft_wrap=True)
        elif not each.holds:
            out.print(f"{mark(False, out)} {printable(each.sentence)}", style="red", soft_wrap=True)


def marked(claim: ClaimCheck | CheckedClaim, out: Console) -> Text:
    """Return the sign of a claim: it holds, it doesn't, or it wasn't checked."""
    from rich.text import Text  # noqa: PLC0415 - --help needs none

    style = "green" if claim.holds else "red" if claim.checked else "yellow"
    return Text(mark(claim.holds, out) if claim.checked else "?", style=style)


def claim_text(claim: ClaimCheck) -> str:
    """Return a guarantee in a few words: ``distinct-l-diversity of occupation, l = 3``."""
    about = "" if claim.column is None else f" of {claim.column}"
    numbers = ", ".join(f"{name} = {value}" for name, value in claim.parameters.items())
    unit = " in persons" if claim.unit == "person" else ""
    return printable(f"{claim.model}{about}{unit}, {numbers}")


def level(number: float | None) -> str:
    """Return a level for readers: ``10``, ``0.1873``, ``-`` where none was counted."""
    return "-" if number is None else f"{number:.4g}" if number < 1000 else f"{number:,.0f}"


def _counted(claim: ClaimCheck) -> str:
    """Return the level that was counted; with missing cells as wildcards where that differs."""
    if claim.counted_wildcard in {claim.counted, None}:
        return level(claim.counted)
    return f"{level(claim.counted)} (missing as wildcard: {level(claim.counted_wildcard)})"
