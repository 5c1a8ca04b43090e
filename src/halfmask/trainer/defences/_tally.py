"""What defences did with what clients sent, and what a defended learner has to remember."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

from halfmask.trainer.defences._caps import Ledger
from halfmask.trainer.defences._guard import Quality

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.hashing import HashedRows
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


#: The approximate overhead of a batch of the stretch, in bytes.
_BATCH_BYTES = 4_096


@dataclass(slots=True)
class Strike:
    """How often a client's rows were taken back, and for how many rows of others it is refused."""

    times: int
    left: int


@dataclass(slots=True)
class Memory:
    """The state, without the learner, that decides what happens to the next batch."""

    ledger: Ledger = field(default_factory=Ledger)
    strikes: dict[str, Strike] = field(default_factory=dict)
    best: Quality = field(default_factory=lambda: Quality(error=1.0, loss=1.0))
    last: Quality = field(default_factory=lambda: Quality(error=1.0, loss=1.0))
    stretch: list[tuple[str, HashedRows]] = field(default_factory=list)
    rows: int = 0
    size: int = 0
    tally: DefenceTally = field(default_factory=DefenceTally)

    def begin(self) -> None:
        """Begin another stretch."""
        self.stretch, self.rows, self.size = [], 0, 0

    def add(self, client: str, rows: HashedRows) -> None:
        """Add a batch to the stretch."""
        self.stretch.append((client, rows))
        self.rows += len(rows)
        arrays = (rows.indices, rows.indptr, rows.values, rows.labels, rows.weights)
        self.size += _BATCH_BYTES + sum(each.nbytes for each in arrays if each is not None)

    def refuses(self, client: str) -> bool:
        """Return whether a client has to wait for others' rows."""
        strike = self.strikes.get(client)
        return strike is not None and strike.left > 0

    def count(self, client: str, rows: int) -> None:
        """Shorten the wait of all other clients by so many rows."""
        for other, strike in self.strikes.items():
            if other != client:
                strike.left = max(0, strike.left - rows)

    def punish(self, client: str, pause: int) -> None:
        """Refuse a client for a while, twice as long as the last time."""
        times = self.strikes[client].times + 1 if client in self.strikes else 1
        self.strikes[client] = Strike(times=times, left=pause << min(times - 1, 20))
