"""Budget: the memory that bodies of requests may take, in all and by client."""

from __future__ import annotations

import threading

from halfmask.trainer.store._refusal import RefusedError

#: How much of a budget one client, and one tenant, may have.
CLIENT_SHARE, TENANT_SHARE = 0.25, 0.5


class Budget:
    """Bytes that are given out and come back.

    Parameters
    ----------
    total
        The most bytes that are out at once. A client may have a quarter of them, a tenant half.

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
        """Return a lease of nothing yet.

        Parameters
        ----------
        client, tenant
            The owners of the bytes.
        """
        return Lease(self, client, tenant)

    def take(self, client: bytes, tenant: str, size: int) -> None:
        """Give bytes to a client of a tenant.

        Parameters
        ----------
        client, tenant
            The owners of the bytes.
        size
            The number of bytes.

        Raises
        ------
        RefusedError
            429 if there aren't as many left, or one of them has its share.
        """
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
        """Take bytes back.

        Parameters
        ----------
        client, tenant
            The owners of the bytes.
        size
            The number of bytes.
        """
        with self._lock:
            self.taken -= size
            for owner in (client, tenant):
                self._owned[owner] -= size
                if not self._owned[owner]:
                    del self._owned[owner]


class Lease:
    """What one request has of a budget, until it gives it back.

    Parameters
    ----------
    budget
        The budget that bytes are taken from.
    client, tenant
        For whom they are taken.
    """

    def __init__(self, budget: Budget, client: bytes, tenant: str) -> None:
        self._budget = budget
        self._client = client
        self._tenant = tenant
        self.size = 0

    def take(self, size: int) -> None:
        """Take more bytes, or raise a `RefusedError` with 429.

        Parameters
        ----------
        size
            The number of bytes.
        """
        if size:
            self._budget.take(self._client, self._tenant, size)
            self.size += size

    def give_back(self) -> None:
        """Give all back. Again, it does nothing."""
        size, self.size = self.size, 0
        if size:
            self._budget.give_back(self._client, self._tenant, size)
