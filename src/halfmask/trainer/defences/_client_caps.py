"""ClientCaps: how much of what a model learns may come from one client."""

from __future__ import annotations

from dataclasses import dataclass, field

from halfmask._validation import number_between


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCaps:
    """A bound on one client's part of all weight that a model has learned.

    Parameters
    ----------
    share
        The largest part, in (0, 1], of all weight that may be one client's. With fewer than
        1 / `share` clients all of them reach it: name who is trusted then.
    free
        The weight that each client has without any cap, at least 0: rows, where none claims a
        weight of its own.
    trusted
        Clients without a cap, such as the owner's own.

    Notes
    -----
    **Guarantees.** At any time the weight learned of a client is at most the larger of `free` and
    `share` of all weight learned, unless it is trusted.

    **Edge cases.** Rows above the cap aren't lost to an error: all rows of that batch count less,
    down to nothing.

    Examples
    --------
    >>> ledger = Ledger()
    >>> caps = ClientCaps(share=0.25, free=100.0)
    >>> caps.allowed(ledger, "new")
    100.0
    >>> for client in ("a", "b", "c"):
    ...     ledger.add(client, 1000.0)
    >>> round(caps.allowed(ledger, "new"), 6)
    1000.0
    """

    share: float
    free: float = 1000.0
    trusted: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        number_between(0, 1, owner="ClientCaps", low_open=True, share=self.share)
        number_between(0, 1e15, owner="ClientCaps", free=self.free)

    def allowed(self, ledger: Ledger, client: str) -> float:
        """Return how much more weight of this client may be learned now.

        Parameters
        ----------
        ledger
            The weight that was learned of each client.
        client
            The name of the client.
        """
        if client in self.trusted or self.share == 1:
            return float("inf")
        learned = ledger.learned.get(client, 0.0)
        others = ledger.total - learned
        return max(0.0, max(self.free, others * self.share / (1 - self.share)) - learned)


@dataclass(slots=True)
class Ledger:
    """The weight that was learned of each client."""

    learned: dict[str, float] = field(default_factory=dict)
    total: float = 0.0

    def add(self, client: str, weight: float) -> None:
        """Note weight that was learned of a client; less than nothing takes it back."""
        self.learned[client] = self.learned.get(client, 0.0) + weight
        self.total += weight
