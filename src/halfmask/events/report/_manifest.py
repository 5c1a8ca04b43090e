"""EventsManifest: what a run says of its output, so that a stranger can count it again.

It leaves with the output. It holds names of released fields, options of actions and counts; no
value, no name of a field as the input had it, no name of a table and no condition of a rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from halfmask.claims import WEAKNESSES

if TYPE_CHECKING:
    from halfmask.events.report._fields import FieldForm
    from halfmask.events.report._risk import ReleasedRisk

__all__ = ["EventsManifest", "OutputFile"]

FORMAT: Final = "halfmask events release"
VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFile:
    """A file of the output.

    Parameters
    ----------
    name
        Its name, without folders.
    sha256
        Of its bytes, 64 hexadecimal digits.
    n_bytes, lines
        Its size; its lines, or rows of a table.
    """

    name: str
    sha256: str
    n_bytes: int
    lines: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as the manifest has it."""
        return {
            "name": self.name,
            "sha256": self.sha256,
            "bytes": self.n_bytes,
            "lines": self.lines,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsManifest:
    """What leaves of a run besides its output.

    Parameters
    ----------
    created
        When, in UTC: ``2026-11-21T09:00:00Z``.
    software
        Names and versions.
    policy_sha256
        `EventPolicy.sha256`.
    release
        The policy's word.
    files
        Of the output, in the order of their lines.
    is_folder
        Whether the output is a folder of them.
    fields
        What is written where, and what it looks like.
    counts
        Of the run: lines, events, passed, held, bad by reason, and those of its stage.
    failures
        Values that a rule couldn't work on: rule, reason, how many.
    claims
        What the stage claims of the lines; None without one.
    risk
        What was counted in the first released events.

    Examples
    --------
    >>> manifest = EventsManifest(
    ...     created="2026-11-21T09:00:00Z", software={"halfmask": "0.1.0"}, policy_sha256="0" * 64,
    ...     release="orders", files=(), is_folder=False, fields=(), counts={}, failures=(),
    ...     claims=None, risk=None,
    ... )
    >>> manifest.to_dict()["format"]
    'halfmask events release'
    """

    created: str
    software: Mapping[str, str]
    policy_sha256: str
    release: str
    files: tuple[OutputFile, ...]
    is_folder: bool
    fields: tuple[FieldForm, ...]
    counts: Mapping[str, Any]
    failures: tuple[tuple[int, str, int], ...]
    claims: Mapping[str, Any] | None
    risk: ReleasedRisk | None
    weaknesses: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        found = dict.fromkeys(word for it in self.fields for word in it.weaknesses)
        object.__setattr__(self, "weaknesses", tuple(sorted(found)))

    @property
    def lines(self) -> int:
        """How many lines the output has."""
        return sum(file.lines for file in self.files)

    def to_dict(self) -> dict[str, Any]:
        """Return the manifest as JSON can hold it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "created": self.created,
            "software": dict(self.software),
            "policy": {"sha256": self.policy_sha256, "release": self.release},
            "folder": self.is_folder,
            "files": [file.to_dict() for file in self.files],
            "lines": self.lines,
            "counts": dict(self.counts),
            "fields": [it.to_dict() for it in self.fields],
            "failures": [
                {"rule": rule, "reason": reason, "values": count}
                for rule, reason, count in self.failures
            ],
            "claims": None if self.claims is None else dict(self.claims),
            "weaknesses": {word: WEAKNESSES[word] for word in self.weaknesses},
            "risk": None if self.risk is None else self.risk.to_dict(),
        }
