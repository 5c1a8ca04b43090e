"""Access: known tokens, and the rate limit of each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from typing import TYPE_CHECKING

from halfmask._errors import HalfmaskError
from halfmask.trainer.store import RefusedError, Token, Tokens, parts_of

if TYPE_CHECKING:
    from halfmask.trainer.store import Scope


class Bucket:
    """Fills with time, and is emptied by what is done.

    Guarantees
    ----------
    Over any stretch of ``t`` seconds no more than ``per_second * (t + 1)`` is let through, and one
    request more: one that is larger than the bucket goes through when it is full, and is paid for
    before the next.

    Examples
    --------
    >>> bucket = Bucket(10.0, clock=lambda: 0.0)
    >>> bucket.take(10), bucket.take(5), bucket.take(1)
    (0.0, 0.1, 0.1)
    """

    def __init__(self, per_second: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._most = max(per_second, 1.0)
        self._level = self._most
        self._clock = clock
        self._last = clock()

    def take(self, amount: float) -> float:
        """Take an amount; return 0, or after how many seconds it may be asked for again."""
        now = self._clock()
        self._level = min(self._most, self._level + (now - self._last) * self._per_second)
        self._last = now
        wanted = min(amount, 1.0, self._most)
        if self._level < wanted:
            return (wanted - self._level) / self._per_second
        self._level -= amount
        return 0.0


#: How long a revoked token may still be valid, and how often unknown ones are looked up.
REFRESH_SECONDS, AGAIN_SECONDS = 1.0, 0.2


class Access:
    """The tokens, in memory; read again every second by a thread."""

    def __init__(self, tokens: Tokens, pool: Executor) -> None:
        self._tokens = tokens
        self._pool = pool
        self._known: dict[bytes, Token] = {}
        self._requests: dict[bytes, Bucket] = {}
        self._rows: dict[bytes, Bucket] = {}
        self._read_at = float("-inf")
        self._looking = asyncio.Lock()

    async def keep_up(self) -> None:
        """Read the tokens again and again, until it is cancelled."""
        while True:
            await self._read()
            await asyncio.sleep(REFRESH_SECONDS)

    async def admit(self, header: str | None) -> Token:
        """Return whose token a header holds."""
        kind, _, text = (header or "").partition(" ")
        parts = parts_of(text.strip()) if kind.lower() == "bearer" else None
        if parts is None:
            raise _unknown()
        identity, secret = parts
        if identity not in self._known:
            await self._look_again()
        token = self._known.get(identity)
        if token is None or not self._tokens.is_of(token, secret) or not token.holds(time.time()):
            raise _unknown()
        _take(self._requests, token, token.requests_per_second, 1)
        return token

    def take_rows(self, token: Token, rows: int) -> None:
        """Count rows, or raise a `RefusedError` with 429. Called in the event loop."""
        _take(self._rows, token, token.rows_per_second, rows)

    async def _look_again(self) -> None:
        """Read the tokens once for all that ask for unknown ones, and not too often."""
        asked = time.monotonic()
        async with self._looking:
            if self._read_at < asked:
                await asyncio.sleep(self._read_at + AGAIN_SECONDS - asked)
                await self._read()

    async def _read(self) -> None:
        loop = asyncio.get_running_loop()
        self._read_at = time.monotonic()
        # A full disk locks no client out: known tokens stay known.
        with suppress(HalfmaskError):
            listed = await loop.run_in_executor(self._pool, self._tokens.listed)
            self._known = {each.id: each for each in listed if not each.revoked}


def demand(token: Token, scope: Scope) -> None:
    """Raise a `RefusedError` with 403 unless a token has a scope."""
    if scope not in token.scopes:
        raise RefusedError(
            f"This token doesn't have the scope {scope!r}.",
            status=403,
            word="forbidden",
            hint="The operator of the service makes tokens: halfmask serve token create.",
        )


def _take(buckets: dict[bytes, Bucket], token: Token, rate: float | None, amount: int) -> None:
    if rate is None:
        return
    bucket = buckets.get(token.id)
    if bucket is None:
        bucket = buckets[token.id] = Bucket(rate)
    wait = bucket.take(amount)
    if wait:
        raise RefusedError(
            "This client sends faster than it may.",
            status=429,
            word="rate",
            hint="Send the same again after the seconds of Retry-After.",
            retry_after=wait,
        )


def _unknown() -> RefusedError:
    return RefusedError(
        "There is no token, or none that is of use here.",
        status=401,
        word="unauthorized",
        hint="Send the header Authorization: Bearer TOKEN.",
    )
