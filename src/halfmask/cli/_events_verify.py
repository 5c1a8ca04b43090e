"""``halfmask events verify``: count again what the manifest of an output of events says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from halfmask.cli._console import console, mark, printable, say_json
from halfmask.cli._options import (  # noqa: TC001 # typer reads annotations
    DebugOption,
    JsonOption,
)

if TYPE_CHECKING:
    from rich.console import Console

    from halfmask.events.verifier import ReleaseVerdict

__all__ = ["verify"]

COUNTED = {
    "entities": "counted in entities",
    "sessions": "counted in sessions; that it holds of entities is the run's word",
    "events": "counted in events; that it holds of entities is the run's word",
    "cells": "counted in the cells",
    "nothing": "the lines don't tell what would be needed; it is the run's word",
}


def verify(
    where: Annotated[
        str,
        typer.Argument(
            metavar="OUT",
            show_default=False,
            help="What halfmask events run wrote, a file or folder, its manifest beside it; or the "
            "manifest.",
        ),
    ],
    *,
    as_json: JsonOption = False,
    debug: DebugOption = False,  # noqa: ARG001 # main looks for it
) -> int:
    """Count again, from the files on disk, what the manifest of an output says.

    The count shares no code with what made the output, and needs no key: every line, every field
    and every value is looked at. Exit code 0 if everything holds, else 1.
    """
    from halfmask.events.verifier import verify_release  # noqa: PLC0415 # numba is slow to import

    found = verify_release(where)
    if as_json:
        say_json(_as_dict(found))
    else:
        _show(found, console())
    return 0 if found.holds else 1


def _as_dict(found: ReleaseVerdict) -> dict[str, object]:
    if found.holds:
        return {"ok": True, **found.to_dict()}
    return {
        "ok": False,
        "error": " ".join(found.sentences()),
        "hint": "Don't hand it over, or don't trust it; make it again.",
        "code": "verification",
        "status": 1,
        **found.to_dict(),
    }


def _show(found: ReleaseVerdict, out: Console) -> None:
    for file in found.files:
        lines = "isn't there" if file.lines is None else f"{file.lines:,} lines"
        said = f"{mark(file.holds, out)} {printable(file.name)}: {lines}"
        out.print(said, style=None if file.holds else "red", soft_wrap=True)
    for claim in found.claims:
        least = "" if claim.least is None else f", at least {claim.least:,}"
        # What couldn't be counted gets no tick.
        sign = "?" if claim.holds and claim.counted == "nothing" else mark(claim.holds, out)
        said = f"{sign} {printable(claim.claim)}: {COUNTED[claim.counted]}{least}"
        out.print(said, style=None if claim.holds else "red", soft_wrap=True)
    for problem in found.problems:
        out.print(f"{mark(False, out)} {printable(problem)}", style="red", soft_wrap=True)
    if found.holds:
        out.print(f"\nAll {found.lines:,} lines are what the manifest says.", style="bold green")
    else:
        out.print("\nThe output isn't what its manifest says.", style="bold red")
