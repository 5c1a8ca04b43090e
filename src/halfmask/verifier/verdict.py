"""The verdict on a release in words, the same in the terminal and in the workbench."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from halfmask.verifier.events import Check

if TYPE_CHECKING:
    from halfmask.verifier._result import CheckedClaim, CheckedRelease

UNCHECKED: Final = "Not every claim could be checked."
BROKEN: Final = "The release doesn't bear out what it claims."
#: In what a claim about lines was counted.
COUNTED: Final[Mapping[str, str]] = {
    "entities": "Counted in entities",
    "sessions": "Counted in sessions; for entities only the manifest states it",
    "events": "Counted in events; for entities only the manifest states it",
    "cells": "Counted in the cells",
    "nothing": "Not counted: the lines lack what is needed, only the manifest states it",
}


def verdict_of(found: CheckedRelease) -> str:
    """Return what follows from a release that was checked, in a sentence or two."""
    if found.of_lines:
        return _verdict_of_lines(found)
    if found.holds:
        only_stated = any(each.is_stated for each in found.claims)
        what = "can be checked" if only_stated else "the release claims"
        return f"Everything that {what} holds."
    if not found.is_broken:
        return f"{UNCHECKED} Nothing wrong was found."
    return f"{BROKEN} Don't hand it over."


def verdict_on_claim(claim: CheckedClaim) -> tuple[str, str]:
    """Return whether a claim holds, and on what evidence: never on more than was checked."""
    counted = claim.counted if isinstance(claim, Check) else None
    evidence = claim.claim.basis if counted is None else COUNTED[counted]
    if claim.is_stated:
        return "only stated", evidence
    if not claim.checked:
        return "not checked", f"none yet; the manifest says {evidence}"
    if not claim.holds:
        return "doesn't hold", evidence
    return "not checked" if counted == "nothing" else "holds", evidence


def _verdict_of_lines(found: CheckedRelease) -> str:
    if not found.bears_out:
        return "The output isn't what its manifest says."
    if found.differences:
        return "The output is what its manifest says; the manifest isn't what the policy requires."
    line = f"Nothing in the {found.rows:,} lines speaks against the manifest"
    if found.differences is None:
        return f"{line}. It isn't signed."
    return f"{line}, and it claims what the policy requires."
