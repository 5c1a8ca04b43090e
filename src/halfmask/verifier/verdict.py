"""The verdict on a release in words, the same in the terminal and in the workbench."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from halfmask.verifier._result import CheckedRelease

UNCHECKED: Final = "Not every claim could be checked."
BROKEN: Final = "The release doesn't bear out what it claims."


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


def _verdict_of_lines(found: CheckedRelease) -> str:
    if not found.bears_out:
        return "The output isn't what its manifest says."
    if found.differences:
        return "The output is what its manifest says; the manifest isn't what the policy requires."
    line = f"Nothing in the {found.rows:,} lines speaks against the manifest"
    if found.differences is None:
        return f"{line}. It isn't signed."
    return f"{line}, and it claims what the policy requires."
