"""``halfmask events verify``: count again what the manifest of an output of events says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.cli._claims import some
from halfmask.cli._console import console, mark, printable, say_json
from halfmask.cli._option_groups import argument, option, spreads_groups
from halfmask.cli._options import AnswerOptions

if TYPE_CHECKING:
    from rich.console import Console

    from halfmask.verifier import CheckedRelease
    from halfmask.verifier.events import Check

COUNTED = {
    "entities": "Counted in entities",
    "sessions": "Counted in sessions; for entities only the manifest states it",
    "events": "Counted in events; for entities only the manifest states it",
    "cells": "Counted in the cells",
    "nothing": "Not counted: the lines lack what is needed, only the manifest states it",
}


@spreads_groups
def verify(
    where: str = argument(
        "OUT: The output of halfmask events run, a file or folder with its manifest next to it; "
        "or the manifest."
    ),
    *,
    policy: str | None = option(
        "--policy POLICY: The policy, from a source that you trust. The manifest must name it, "
        "and have its fields and guarantees. Without it, the manifest is trusted."
    ),
    answer: AnswerOptions,
) -> int:
    """Verify the manifest of an output from its files.

    Independent code checks every line, field and value. It needs no key. The exit code is 0 if
    everything holds, otherwise 1.
    """
    from halfmask.events import EventPolicy  # noqa: PLC0415 # numba is slow to import
    from halfmask.events.report import guarantees_of  # noqa: PLC0415 # the same
    from halfmask.verifier.events import verify_release  # noqa: PLC0415 # the same

    expected = None if policy is None else guarantees_of(EventPolicy.load(policy))
    return answer_of_events(verify_release(where, required=expected), as_json=answer.as_json)


def answer_of_events(found: CheckedRelease, *, as_json: bool) -> int:
    """Show what was found of an output of events, and return the exit code."""
    if as_json:
        say_json(_as_dict(found))
    else:
        _show(found, console())
    return 0 if found.holds else 1


def _as_dict(found: CheckedRelease) -> dict[str, object]:
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


def _show(found: CheckedRelease, out: Console) -> None:
    from halfmask.verifier.events import Check  # noqa: PLC0415 # the same

    for file in found.files:
        lines = "isn't there" if file.n_rows is None else some(file.n_rows, "line")
        line = f"{mark(file.holds, out)} {printable(file.name)}: {lines}"
        out.print(line, style=None if file.holds else "red", soft_wrap=True)
    for claim in found.claims:
        if isinstance(claim, Check):
            _show_claim(claim, out)
    for each in found.unverified:
        out.print(f"? {printable(each)}", soft_wrap=True)
    for problem in (*found.problems, *(found.differences or ())):
        out.print(f"{mark(False, out)} {printable(problem)}", style="red", soft_wrap=True)
    style = f"bold {'green' if found.holds else 'red'}"
    out.print(f"\n{_ending(found)}", style=style, soft_wrap=True)


def _show_claim(claim: Check, out: Console) -> None:
    # What couldn't be counted gets no tick.
    counted = claim.counted != "nothing"
    sign = mark(claim.holds, out) if counted or not claim.holds else "?"
    windows = "" if claim.windows is None else f" in {_many(claim.windows)}"
    least = "" if claim.least is None else f"; the fewest are {claim.least:,}"
    line = f"{sign} {claim.called}: {claim.guarantee}{windows}. {COUNTED[claim.counted]}{least}"
    out.print(printable(line), style=None if claim.holds else "red", soft_wrap=True)
    if claim.problem:
        out.print(f"  {printable(claim.problem)}", style="red", soft_wrap=True)
    if claim.unverified:
        out.print(f"  ? {printable(claim.unverified)}", soft_wrap=True)


def _many(windows: int) -> str:
    return "1 window" if windows == 1 else f"each of {windows:,} windows"


def _ending(found: CheckedRelease) -> str:
    """Return the verdict, and what it rests on."""
    if not found.bears_out:
        return "The output isn't what its manifest says."
    if found.differences:
        return "The output is what its manifest says; the manifest isn't what the policy requires."
    line = f"Nothing in the {found.rows:,} lines speaks against the manifest"
    if found.differences is None:
        return (
            f"{line}. It isn't signed: halfmask events verify --policy compares it with "
            "the policy that you expect."
        )
    return f"{line}, and it claims what the policy requires."
