"""A line between a client and a service that remembers every byte that went over it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class Wire:
    """What went there, and what came back, connection by connection."""

    url: str = ""
    there: list[bytearray] = field(default_factory=list)
    back: list[bytearray] = field(default_factory=list)

    @property
    def bytes(self) -> bytes:
        return b"\n".join(bytes(each) for each in (*self.there, *self.back))


@contextmanager
def tapped(url: str) -> Iterator[Wire]:
    """Listen beside a service, and pass on all that comes."""
    parts = urlsplit(url)
    wire = Wire()
    with socket.create_server(("127.0.0.1", 0)) as door, ExitStack() as ends:
        wire.url = f"http://127.0.0.1:{door.getsockname()[1]}"

        def accept() -> None:
            with suppress(OSError):
                while True:
                    client = ends.enter_context(door.accept()[0])
                    service = ends.enter_context(
                        socket.create_connection((parts.hostname, parts.port))
                    )
                    for source, sink, log in (
                        (client, service, wire.there),
                        (service, client, wire.back),
                    ):
                        log.append(bytearray())
                        pump = threading.Thread(target=_pass, args=(source, sink, log[-1]))
                        pump.start()
                        # They end before their sockets are closed.
                        ends.callback(pump.join)
                        ends.callback(_end, source)

        listener = threading.Thread(target=accept)
        listener.start()
        try:
            yield wire
        finally:
            _end(door)
            listener.join()


def _end(line: socket.socket) -> None:
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


def _pass(source: socket.socket, sink: socket.socket, log: bytearray) -> None:
    with suppress(OSError):
        while piece := source.recv(1 << 16):
            log += piece
            sink.sendall(piece)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
