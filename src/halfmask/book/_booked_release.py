"""BookedRelease: one release in the book, as its entries say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Self

if TYPE_CHECKING:
    from halfmask.claims.claim import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class BookedRelease:
    """One release in a `ReleaseBook`.

    Attributes
    ----------
    number
        Its number in the book, from 1. The order of releases is that of their numbers.
    time
        When it was booked, in UTC, by the clock of that machine.
    receiver
        Who gets it.
    kind
        The kind of release, such as ``"microdata"``.
    state
        ``"left"``; ``"pending"`` while it is being written; ``"void"`` if it didn't leave.
    forgotten
        Whether the keys of its people and plan were destroyed.
    manifest_sha256, policy_sha256
        The hashes of ``manifest.json`` and of the policy.
    claims
        The claims as the manifest has them.
    files
        The hash of each data file, by its name.
    rows, people
        How many rows and people are booked; 0 where nobody's rows left.
    whose
        The columns that say whose row it is.
    matched
        Whether these columns only stand for the person: the check is weaker then.
    sensitive
        The columns whose values are compared.
    has_classes
        Whether its rows have classes.
    drawn
        The columns that a mask randomised, each with the digest of the key of its draws.
    kept
        The parts that the book keeps: ``"people"``, ``"plan"``, and ``"file:NAME"``.
    sentences
        What it was checked against, and what was found.
    accepted_by, reason
        Who accepted that it is weaker than the floor, and why.
    out
        The folder, as an absolute path, or its address in an object store.
    """

    number: int
    time: str
    receiver: str
    kind: str
    state: Literal["pending", "left", "void"] = "pending"
    forgotten: bool = False
    manifest_sha256: str
    policy_sha256: str
    claims: tuple[Mapping[str, Json], ...] = field(repr=False)
    files: Mapping[str, str] = field(repr=False)
    rows: int = 0
    people: int = 0
    whose: tuple[str, ...] = ()
    matched: bool = False
    sensitive: tuple[str, ...] = ()
    has_classes: bool = False
    drawn: Mapping[str, str] = field(default_factory=dict, repr=False)
    kept: tuple[str, ...] = ()
    sentences: tuple[str, ...] = field(default=(), repr=False)
    accepted_by: str | None = field(default=None, repr=False)
    reason: str | None = field(default=None, repr=False)
    out: str = field(repr=False)

    def to_dict(self) -> dict[str, Json]:
        """Return the release as JSON."""
        return asdict(self)

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> Self:
        """Return the release of an entry ``pending``."""
        known = {each.name for each in fields(cls)}
        return cls(**{name: _frozen(value) for name, value in entry.items() if name in known})


def releases_of(entries: Iterable[Mapping[str, Any]]) -> dict[int, BookedRelease]:
    """Return the releases by their numbers, as all entries together say."""
    found: dict[int, BookedRelease] = {}
    for entry in entries:
        what, number = entry["entry"], entry.get("number")
        if what == "pending":
            found[entry["number"]] = BookedRelease.from_entry(entry)
        elif what in {"left", "void"}:
            found[entry["number"]] = replace(found[entry["number"]], state=what)
        elif what == "forgotten":
            for number in entry["numbers"]:
                found[number] = replace(found[number], forgotten=True)
    return found


def _frozen(value: object) -> Any:  # noqa: ANN401 # a value of JSON
    return tuple(value) if isinstance(value, list) else value
