"""BookedRelease: one release in the book, as its entries say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from halfmask.claims import Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class BookedRelease:
    """One release in a `ReleaseBook`.

    Attributes
    ----------
    number, time
        Its number in the book, from 1, which is the order; and when it was booked, in UTC.
    receiver, kind
        Who gets it, and the kind of release.
    state, forgotten
        ``"left"``, ``"void"`` if it didn't leave, ``"pending"`` while it is being written; and
        whether the keys of what the book has of it were destroyed.
    claims, files
        The claims, and the hash of each data file by its name.
    manifest_sha256, policy_sha256
        The hashes of ``manifest.json`` and of the policy.
    people, whose, matched
        How many people are in it, ``None`` where nobody's rows left; by which columns they are
        compared, and whether these only stand for the person, which is weaker.
    drawn
        The columns that a mask randomised, each with a digest of the key of its draws.
    kept
        What the book has of it: ``"people"``, ``"plan"``, and ``"file:NAME"`` of tables.
    verdict
        Sentences: what it was checked against, and what was found.
    accepted_by, reason
        Who accepted that it is weaker than the floor, and why.
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


def releases_of(entries: Iterable[Mapping[str, Any]]) -> dict[int, BookedRelease]:
    """Return the releases by their numbers, as all entries together say."""
    found: dict[int, BookedRelease] = {}
    for entry in entries:
        for number in entry.get("numbers", ()):
            found[number] = replace(found[number], **entry["becomes"])
        if "release" in entry:
            facts = {k: tuple(v) if isinstance(v, list) else v for k, v in entry["release"].items()}
            facts["claims"] = tuple(Claim(**each) for each in facts["claims"])
            found[facts["number"]] = BookedRelease(**facts)
    return found
