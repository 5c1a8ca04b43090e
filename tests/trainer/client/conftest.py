"""A stand-in for a service, and a client of it."""

from __future__ import annotations

import socket
import threading
from http.server import ThreadingHTTPServer

import pytest

from halfmask.cli import main
from halfmask.trainer.client import TrainerClient
from trainer.client.stand_in import (  # type: ignore[import-not-found] # beside, not in a package
    QUICK,
    TOKEN,
    Handler,
    StandIn,
)
from trainer.client.trainer import Said, Trainer  # type: ignore[import-not-found] # as above


@pytest.fixture
def service():
    """A stand-in that listens on this machine."""
    stand_in = StandIn()
    handler = type("Mine", (Handler,), {"stand_in": stand_in})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    stand_in.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield stand_in
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def client(service):
    with TrainerClient(service.url, token=TOKEN, retry_policy=QUICK) as client:
        yield client


@pytest.fixture
def unused_port():
    """A port of this machine on which nobody listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture(scope="session")
def trainer(tmp_path_factory):
    """A trainer as it is: a process of its own, and tokens for it."""
    folder = tmp_path_factory.mktemp("trainer")
    with Trainer.started(folder) as running:
        yield running


@pytest.fixture
def run(capsys):
    """Run the command in this process."""

    def run(*words: object) -> Said:
        capsys.readouterr()
        status = main([str(word) for word in words])
        found = capsys.readouterr()
        return Said(status, found.out, found.err)

    return run
