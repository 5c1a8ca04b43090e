"""What bounds a store and what it refuses: limits, the memory of bodies, and the refusal."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from halfmask._errors import ParameterError, TrainerError
from halfmask._validation import integer_at_least
from halfmask.trainer.store._record import MAX_BODY


class RefusedError(TrainerError):
    """A refused request, with a status and a code for the client.

    Parameters
    ----------
    what
        One sentence without a name, a path or a value that a client sent.
    status
        The status of HTTP: 4xx where the client can do something, 5xx where the trainer has to.
    word
        A word for programs, stable between versions.
    hint
        The one action that is most likely to help.
    retry_after
        Seconds after which the same request may succeed; None where it won't.

    Examples
    --------
    >>> refusal = RefusedError("There is no such model.", status=404, word="not-found")
    >>> refusal.status, refusal.word
    (404, 'not-found')
    """

    def __init__(
        self,
        what: str,
        *,
        status: int,
        word: str,
        hint: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(what, hint=hint, status=status)
        self.status: int = status
        self.word = word
        self.retry_after = retry_after


MEBI = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What bounds the disk and the memory of a trainer.

    Parameters
    ----------
    body_bytes
        The most bytes of one body, packed or unpacked.
    backlog_bytes
        The most bytes of bodies that are read, logged or waiting to be learned, in all. A client
        gets a quarter of them, a model half.
    segment_bytes
        The size at which a log begins a new file.
    snapshot_bytes
        After how many bytes of log a snapshot is made: a restart learns at most these again.
    snapshots_kept
        How many of the snapshots that the service made by itself are kept.
    keep_log
        Whether examples stay on the disk when all snapshots that are kept have them.
    free_bytes
        How much of the disk stays free: a trainer refuses examples before it is full.
    models_per_tenant
        How many models a tenant may have at once.
    max_bits
        The largest model: ``2 ** max_bits`` weights for each class.

    Raises
    ------
    ParameterError
        If a number is too small, or a client's quarter of the backlog holds no whole body.
    """

    body_bytes: int = 16 * MEBI
    backlog_bytes: int = 256 * MEBI
    segment_bytes: int = 256 * MEBI
    snapshot_bytes: int = 1024 * MEBI
    snapshots_kept: int = 3
    keep_log: bool = False
    free_bytes: int = 256 * MEBI
    models_per_tenant: int = 16
    max_bits: int = 24

    def __post_init__(self) -> None:
        integer_at_least(
            1,
            owner="Limits",
            body_bytes=self.body_bytes,
            segment_bytes=self.segment_bytes,
            snapshot_bytes=self.snapshot_bytes,
            snapshots_kept=self.snapshots_kept,
            models_per_tenant=self.models_per_tenant,
            max_bits=self.max_bits,
        )
        integer_at_least(0, owner="Limits", free_bytes=self.free_bytes)
        integer_at_least(4 * self.body_bytes, owner="Limits", backlog_bytes=self.backlog_bytes)
        if self.body_bytes > MAX_BODY:
            raise ParameterError(f"A body has at most {MAX_BODY:,} bytes.")


#: How much of a budget one client, and one tenant, may have.
CLIENT_SHARE, TENANT_SHARE = 0.25, 0.5


class Budget:
    """Bytes that are given out and come back.

    Examples
    --------
    >>> budget = Budget(100)
    >>> lease = budget.lease(client=b"a client", tenant="a tenant")
    >>> lease.take(20)
    >>> budget.taken
    20
    >>> lease.give_back()
    >>> budget.taken
    0
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.taken = 0
        self._owned: dict[bytes | str, int] = {}
        self._lock = threading.Lock()

    def lease(self, *, client: bytes, tenant: str) -> Lease:
        """Return a lease of nothing yet."""
        return Lease(self, client, tenant)

    def take(self, client: bytes, tenant: str, size: int) -> None:
        """Give bytes to a client of a tenant."""
        with self._lock:
            fits = (
                self.taken + size <= self.total
                and self._owned.get(client, 0) + size <= self.total * CLIENT_SHARE
                and self._owned.get(tenant, 0) + size <= self.total * TENANT_SHARE
            )
            if not fits:
                raise RefusedError(
                    "The trainer has as much to do as it takes at once.",
                    status=429,
                    word="busy",
                    hint="Send the same again after the seconds of Retry-After.",
                    retry_after=1.0,
                )
            self.taken += size
            for owner in (client, tenant):
                self._owned[owner] = self._owned.get(owner, 0) + size

    def give_back(self, client: bytes, tenant: str, size: int) -> None:
        """Take bytes back."""
        with self._lock:
            self.taken -= size
            for owner in (client, tenant):
                self._owned[owner] -= size
                if not self._owned[owner]:
                    del self._owned[owner]


class Lease:
    """What one request has of a budget, until it gives it back."""

    def __init__(self, budget: Budget, client: bytes, tenant: str) -> None:
        self._budget = budget
        self._client = client
        self._tenant = tenant
        self.size = 0

    def take(self, size: int) -> None:
        """Take more bytes, or raise a `RefusedError` with 429."""
        if size:
            self._budget.take(self._client, self._tenant, size)
            self.size += size

    def give_back(self) -> None:
        """Give all back. Again, it does nothing."""
        size, self.size = self.size, 0
        if size:
            self._budget.give_back(self._client, self._tenant, size)
