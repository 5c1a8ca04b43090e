"""What defences remember of a stream: whose weight was learned, who harmed, what isn't judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halfmask.trainer.defences._client_caps import Ledger
from halfmask.trainer.defences._guard import Quality
from halfmask.trainer.defences._tally import DefenceTally

if TYPE_CHECKING:
    from halfmask.hashing import HashedRows

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
