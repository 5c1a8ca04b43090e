"""Tally: what defences did with what clients sent."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.trainer.defences._guard import Verdict

#: So many rollbacks are listed one by one.
_LATEST = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackNotice:
    """The rows that were taken back, and their clients.

    Parameters
    ----------
    verdict
        The guard's, on the whole stretch.
    clients
        Whose rows were taken back, each with how many.
    rows
        How many rows the stretch had.
    """

    verdict: Verdict
    clients: tuple[tuple[str, int], ...]
    rows: int


@dataclass(slots=True, kw_only=True)
class DefenceTally:
    """How many rows each defence changed or refused.

    Parameters
    ----------
    clipped
        Rows whose weight or length was cut.
    capped
        Rows that counted less, down to nothing, because of how much their client had sent before.
    refused
        Rows of clients who had to wait, because rows of theirs had been taken back.
    taken_back
        Rows that had been learned and were taken back.
    rollbacks
        How often the guard found a stretch of rows harmful.
    latest
        The last of these, the oldest first: whose rows were taken back, and why.

    Examples
    --------
    >>> DefenceTally.from_dict(DefenceTally(clipped=3).to_dict()).clipped
    3
    """

    clipped: int = 0
    capped: int = 0
    refused: int = 0
    taken_back: int = 0
    rollbacks: int = 0
    latest: list[dict[str, Any]] = field(default_factory=list)

    def add(self, rollback: RollbackNotice) -> None:
        """Count a rollback.

        Parameters
        ----------
        rollback
            The rollback.
        """
        self.rollbacks += 1
        self.taken_back += sum(rows for _, rows in rollback.clients)
        entry = {
            "why": rollback.verdict.why,
            "rows": rollback.rows,
            "clients": dict(rollback.clients),
        }
        self.latest = [*self.latest, entry][-_LATEST:]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Self:
        """Return what `to_dict` gave.

        Parameters
        ----------
        entry
            What `to_dict` returned.
        """
        return cls(**entry)
