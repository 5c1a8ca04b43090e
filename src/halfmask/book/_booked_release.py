"""BookedRelease: one release in the book, as its entries say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from halfmask.claims import Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class BookedRelease:
    """One release in a `ReleaseBook`.

    Attributes
    ----------
    number, time, receiver, kind
        Its number, from 1, which is the order; when it was booked, in UTC; for whom; what it is.
    state, forgotten
        ``"left"``, ``"void"`` if it didn't leave, or ``"pending"`` while it is being written; and
        whether the keys of what the book has of it were destroyed.
    claims, files, manifest_sha256, policy_sha256
        The claims; the hashes of data files by their names, of ``manifest.json``, of the policy.
    people, whose, matched
        How many people are in it, ``None`` where nobody's rows left; by which columns they are
        compared, and whether these only stand for the person, which is weaker.
    drawn, kept
        The columns that a mask randomised, each with a digest of its draws; and what the
        book has of it: ``"people"``, ``"plan"``, and ``"file:NAME"`` of tables.
    verdict, accepted_by, reason
        What was found, in sentences; who accepted that it is below the floor, and why.
    out
        The absolute path of its folder, or the address in an object store.
    """

    number: int
    time: str
    receiver: str
    kind: str
    state: Literal["pending", "left", "void"] = "pending"
    forgotten: bool = False
    claims: tuple[Claim, ...] = field(repr=False)
    files: Mapping[str, str] = field(repr=False)
    manifest_sha256: str = field(repr=False)
    policy_sha256: str = field(repr=False)
    people: int | None = None
    whose: tuple[str, ...] = ()
    matched: bool = False
    drawn: Mapping[str, str] = field(default_factory=dict, repr=False)
    kept: tuple[str, ...] = ()
    verdict: tuple[str, ...] = field(default=(), repr=False)
    accepted_by: str | None = field(default=None, repr=False)
    reason: str | None = field(default=None, repr=False)
    out: str = field(repr=False)


def add_entry(known: dict[int, BookedRelease], entry: Mapping[str, Any]) -> None:
    """Add to the releases by their numbers what an entry says of them."""
    for number in entry.get("numbers", ()):
        known[number] = replace(known[number], **entry["becomes"])
    if "release" in entry:
        facts: dict[str, Any] = dict(entry["release"])
        for name in ("whose", "kept", "verdict"):
            facts[name] = tuple(facts[name])
        facts["claims"] = tuple(Claim(**each) for each in facts["claims"])
        known[facts["number"]] = BookedRelease(**facts)
