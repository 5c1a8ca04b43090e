"""What a codec claims and what its weaknesses are, for a person and for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.cli._console import printable

if TYPE_CHECKING:
    from rich.console import Console

    from halfmask.encode import Codec, SeriesCodec


def claims_as_dict(codec: Codec | SeriesCodec) -> dict[str, object]:
    """Return the claims and weaknesses of a codec as JSON has them."""
    return {
        "claims": [
            {"learner": it.learner, "scope": it.scope, "condition": it.condition}
            for it in codec.claims
        ],
        "weaknesses": [
            {"name": it.name, "columns": list(it.columns), "known_plaintext": it.known_plaintext}
            for it in codec.weaknesses
        ],
    }


def show_claims(codec: Codec | SeriesCodec, err: Console, *, title: str, verbose: bool) -> None:
    """Show the claims of a codec under a title, its weaknesses, and where the codec is."""
    err.print(f"\n{title}", style="bold")
    for claim in codec.claims:
        more = f" ({claim.condition})" if verbose else ""
        err.print(f"- {claim.learner}: {claim.scope}{more}", soft_wrap=True)
    err.print("\nWeaknesses", style="bold")
    alike: dict[tuple[str, str], list[str]] = {}
    for weakness in codec.weaknesses:
        key = weakness.name, weakness.known_plaintext
        alike.setdefault(key, []).extend(weakness.columns)
    for (name, undone_by), columns in alike.items():
        names = printable(", ".join(columns)) if verbose else len(columns)
        err.print(f"- {name} ({names}): {undone_by}", soft_wrap=True)
    err.print("\nThe codec is in the vault. Without it nothing can be decoded again.")
