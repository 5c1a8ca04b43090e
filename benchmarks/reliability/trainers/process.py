"""`halfmask serve` as a process of its own, and clients of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx
import numpy as np

from halfmask.hashing import HashedRows
from halfmask.trainer.store import bytes_of, open_lists

COMMAND = [sys.executable, "-c", "import sys; from halfmask.cli import main; sys.exit(main())"]
SETTLE_SECONDS = 120.0
ARROW = "application/vnd.apache.arrow.stream"
EVERYTHING = frozenset({"read", "learn", "predict", "admin"})


class Service:
    """A service over a folder."""

    def __init__(
        self, folder: Path, *options: str, surroundings: Mapping[str, str] | None = None
    ) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "serve", str(folder), "--port", "0", "--json", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env={**os.environ, **(surroundings or {})},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end(signal.SIGKILL)

    def address(self) -> str:
        """Where it listens; nothing if it died before."""
        line = self.process.stdout.readline() if self.process.stdout else ""
        return str(json.loads(line)["address"]) if line else ""

    def resident(self) -> int:
        """How many bytes of memory it has."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        line = next(each for each in status.splitlines() if each.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024

    def end(self, how: signal.Signals) -> int:
        self.process.send_signal(how)
        status = self.process.wait(SETTLE_SECONDS)
        if self.process.stdout:
            self.process.stdout.close()
        return status


def tokens_of(folder: Path, *clients: tuple[str, str]) -> list[str]:
    """Make a folder with a token of every scope for each client of a tenant."""
    database, tokens = open_lists(folder, create=True)
    made = [
        tokens.create(client=client, tenant=tenant, scopes=EVERYTHING)[1]
        for client, tenant in clients
    ]
    database.close()
    return made


def client_of(token: str, address: str = "", seconds: float = 30.0) -> httpx.Client:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=address, trust_env=False, timeout=seconds, headers=headers)


def until_ready(address: str) -> float:
    """Wait until it is ready; return when it was."""
    end = time.monotonic() + SETTLE_SECONDS
    with httpx.Client(trust_env=False) as client:
        while time.monotonic() < end:
            try:
                if client.get(f"{address}/ready").status_code == 200:
                    return time.monotonic()
            except httpx.HTTPError:
                pass
            time.sleep(0.005)
    raise SystemExit("the service wasn't ready in time")


def rows_of(seed: int, *, rows: int, width: int, bits: int, labels: bool = True) -> bytes:
    """Rows whose label follows from some of their indices, as the body of a request."""
    rng = np.random.default_rng(seed)
    indices = rng.integers(0, 1 << bits, (rows, width)).astype(np.uint32)
    codes = (indices[:, :5].sum(axis=1) % 3 == 0).astype(np.int32) if labels else None
    return bytes_of(HashedRows(indices=indices, bits=bits, labels=codes))
