"""The server of the workbench: uvicorn on a socket, until it is stopped or idle."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import uvicorn

from halfmask._errors import HalfmaskError

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from halfmask.workbench._guard import PageGuard

#: Ticks of uvicorn, of 0.1 s each, from one look at the jobs to the next.
_TICKS: Final = 10


def serve_pages(
    guard: PageGuard, listener: socket.socket, *, idle_seconds: float, started: Callable[[], None]
) -> bool:
    """Serve until the process is asked to stop, or idle; return whether it was idle."""
    config = uvicorn.Config(
        guard,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="auto",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=2,
    )
    server = _PageServer(config, guard, idle_seconds=idle_seconds, started=started)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        # uvicorn has ended, and raises again that it was asked to.
        if not server.should_exit:
            raise
    except SystemExit:  # so uvicorn says that the application failed to start
        pass
    if not server.started:
        raise HalfmaskError("The workbench failed to start.")
    return server.was_idle


class _PageServer(uvicorn.Server):
    """Says when it listens, stops when it is idle, and ends jobs before it ends."""

    def __init__(
        self,
        config: uvicorn.Config,
        guard: PageGuard,
        *,
        idle_seconds: float,
        started: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._guard, self._idle_seconds, self._started = guard, idle_seconds, started
        self.was_idle = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._started()

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS == 0 and self._guard.idle_seconds >= self._idle_seconds:
            self.was_idle = True
            return True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Before open requests are waited for: they may wait for a job. A second interrupt skips
        # what an application does at its end, and doesn't skip this.
        with suppress(Exception):  # jobs that can't be ended don't keep the server
            self._guard.close()
        await super().shutdown(sockets)
