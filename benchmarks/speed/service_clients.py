"""The clients of `service.py`, processes of their own: one pushes, one asks for predictions.

Each says that it is ready, waits for `go MODEL`, or `go MODEL RATE`, on standard input, works, and
answers by one line of JSON. Nothing is compiled, fitted or made while the time runs.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import polars as pl

from halfmask.hashing import FileHasher, HashedRows, HasherSettings
from halfmask.trainer.client import TrainerClient
from halfmask.vault import Secret

EVERY = 0.020
ASKED_ROWS, WIDTH = 10, 39
FITTED_ROWS = 50_000


def tell(**told: object) -> None:
    print(json.dumps(told), flush=True)


def paced(batches: Iterable[HashedRows], rows: int, rate: float) -> Iterator[HashedRows]:
    """Yield so many rows at a time, no more of them a second than the rate; 0 is any rate."""
    began, done = time.perf_counter(), 0
    for batch in batches:
        for first in range(0, len(batch), rows):
            part = batch.slice(first, first + rows)
            done += len(part)
            if rate:
                time.sleep(max(0.0, began + done / rate - time.perf_counter()))
            yield part


def push(client: TrainerClient, table: str, bits: int, *, in_flight: int, batch_rows: int) -> None:
    """Hash and push the table whenever it is asked for, at the rate that is said."""
    sample = pl.scan_parquet(table).head(FITTED_ROWS).collect()
    hasher = FileHasher.fit(
        sample, settings=HasherSettings(bits=bits), secret=Secret.fresh(), label="clicked"
    )
    client.create("warm", loss="logistic", bits=bits)
    client.push("warm", hasher.rows(sample), in_flight=in_flight, batch_rows=batch_rows)
    list(client.predict("warm", hasher.rows(sample.head(100))))
    tell(ready=True)
    for line in sys.stdin:
        _, name, rate = line.split()
        began, spent = time.perf_counter(), time.process_time()
        rows = paced(hasher.rows(table), batch_rows, float(rate))
        done = client.push(name, rows, in_flight=in_flight, batch_rows=batch_rows)
        acknowledged = time.perf_counter() - began
        while (told := client.metrics(name))["learned"] < told["logged"]:
            time.sleep(0.002)
        tell(
            rows=done.rows,
            acknowledged_seconds=acknowledged,
            learned_seconds=time.perf_counter() - began,
            processor_seconds=time.process_time() - spent,
            loss=told["loss"],
        )


def ask(client: TrainerClient, bits: int) -> None:
    """Ask about a few rows at a steady pace, from `go` to `stop`."""
    drawn = np.random.default_rng(0).integers(0, 1 << bits, (ASKED_ROWS, WIDTH), dtype=np.uint32)
    rows = HashedRows(indices=drawn, bits=bits)
    client.create("asked", loss="logistic", bits=bits)
    list(client.predict("asked", [rows]))  # imports take half a second, the first time
    tell(ready=True)
    for line in sys.stdin:
        name = line.split()[1]
        client.create(name, loss="logistic", bits=bits)
        tell(asking=True)
        stopped = threading.Event()
        waiting = threading.Thread(target=lambda it=stopped: (sys.stdin.readline(), it.set()))
        waiting.start()
        taken, due = [], time.perf_counter()
        while not stopped.is_set():
            list(client.predict(name, [rows]))
            taken.append(time.perf_counter() - due)
            due += EVERY
            time.sleep(max(0.0, due - time.perf_counter()))
        waiting.join()
        tell(seconds=taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    roles = parser.add_subparsers(dest="role", required=True)
    for role, words in (("push", "hash and push a table"), ("ask", "ask for predictions")):
        one = roles.add_parser(role, help=words)
        one.add_argument("url")
        one.add_argument("token", type=Path, help="a file")
        if role == "push":
            one.add_argument("table")
        one.add_argument("bits", type=int)
        if role == "push":
            one.add_argument("in_flight", type=int)
            one.add_argument("batch_rows", type=int)
    asked = parser.parse_args()
    with TrainerClient(asked.url, token=asked.token.read_text(encoding="ascii").strip()) as client:
        if asked.role == "push":
            how = {"in_flight": asked.in_flight, "batch_rows": asked.batch_rows}
            push(client, asked.table, asked.bits, **how)
        else:
            ask(client, asked.bits)


if __name__ == "__main__":
    main()
