"""Records through the service: hashed by the client, sent, on the disk, learned; asked meanwhile.

    python benchmarks/speed/service.py            # 6 turns of 3 million records; 90 s
    python benchmarks/speed/service.py --quick    # 3 turns of 500,000 records; 30 s

Three processes on two cores: `halfmask serve` with everything at its defaults, so that a batch is
acknowledged when it was flushed to the disk; a client that reads Parquet (13 numbers, 26 texts of
Zipf's law), hashes and pushes; and another one that asks about 10 records every 20 ms all the
while. The first turn goes as fast as it can, and is shown. In the others 370,000 records a second
are sent: what latency is, where nothing is left of two cores, is for their scheduler to say.

Seconds run from the opening of the file until the model has learned the last record, not only until
it was acknowledged. Latency counts from the moment at which a request was due, whether the asker
could send it then or not. Medians over the turns count, of each turn's p99, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any, Self

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

import numpy as np  # after the path
import polars as pl

import workloads
from bars import Bar, report, say

RECORDS_PER_SECOND = 350_000
P99_SECONDS = 0.020
#: How many records a second are sent: more than are asked for, and fewer than the machine can do.
RATE = 370_000
NUMBERS, TEXTS, VALUES = 13, 26, 50_000
BITS = 22
CACHE = workloads.REPOSITORY / "build" / "workloads"
CLIENTS = Path(__file__).resolve().parent / "service_clients.py"
COMMAND = [sys.executable, "-c", "import sys; from halfmask.cli import main; sys.exit(main())"]
SCOPES = ("read", "predict", "learn", "admin")


def records(rows: int) -> Path:
    """Write the table unless it is there."""
    CACHE.mkdir(parents=True, exist_ok=True)
    path = CACHE / f"service-{rows}.parquet"
    if path.exists():
        return path
    say(f"making {rows:,} records")
    rng = np.random.default_rng(workloads.SEED)
    columns: dict[str, Any] = {
        f"n{i}": np.round(rng.lognormal(3, 1, rows), 2) for i in range(NUMBERS)
    }
    score = np.log(columns["n0"]) - 3
    for i in range(TEXTS):
        drawn = np.minimum(rng.zipf(1.3, rows), VALUES) - 1
        names = pl.Series([f"{i:02d}-{v * 2_654_435_761 % 2**32:08x}" for v in range(VALUES)])
        columns[f"c{i}"] = names[drawn]
        score = score + (drawn % 7 - 3) * 0.2
    clicked = (score + rng.normal(0, 1, rows) > 0).astype(np.int64)
    columns["clicked"] = pl.Series(["no", "yes"])[clicked]
    pl.DataFrame(columns).write_parquet(path, row_group_size=1 << 18)
    return path


class Child:
    """A process that reads words from its standard input and answers JSON, a line each."""

    def __init__(self, *words: str) -> None:
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=60)

    def say(self, words: str) -> None:
        print(words, file=self._process.stdin, flush=True)

    def stay_on(self, cores: list[int]) -> None:
        """Keep all its threads on some cores."""
        for thread in Path(f"/proc/{self._process.pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), cores)

    def processor_seconds(self) -> float:
        """What it has spent so far on all cores; NaN where there is no /proc."""
        try:
            told = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8")
        except OSError:
            return float("nan")
        ticks = told.rpartition(")")[2].split()
        return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")

    def answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise SystemExit("a process of the benchmark ended early; see above")
        found: dict[str, Any] = json.loads(line)
        return found


def token_of(store: Path, file: Path) -> str:
    """Make a token that may do everything."""
    scopes = [word for scope in SCOPES for word in ("--scope", scope)]
    made = ["serve", "token", "create", str(store), "--client", "a", "--tenant", "a", *scopes]
    subprocess.run([*COMMAND, *made, "--out", str(file), "--json"], check=True, capture_output=True)
    return str(file)


def measure(table: Path, turns: int, asked: argparse.Namespace, folder: Path) -> list[Bar]:
    """Push the table in turns, and ask all the while."""
    cores, pinned = sorted(os.sched_getaffinity(0)), asked.pin
    store = folder / "store"
    token = token_of(store, folder / "token")
    with Child(*COMMAND, "serve", str(store), "--port", "0", "--json") as server:
        url = str(server.answer()["address"])
        if pinned:
            server.stay_on(cores[:1])
        common = (sys.executable, str(CLIENTS))
        flow = (str(asked.in_flight), str(asked.batch_rows))
        push = (*common, "push", url, token, str(table), str(BITS), *flow)
        with Child(*push) as pusher, Child(*common, "ask", url, token, str(BITS)) as asker:
            if pinned:
                pusher.stay_on(cores[1:])
            pusher.answer()
            asker.answer()
            done, waits = [], []
            # First as fast as it goes, to show what there is; then at a steady rate.
            for turn in range(-1, turns):
                rate = asked.rate if turn >= 0 else 0
                asker.say(f"go turn{turn}")
                asker.answer()
                before = server.processor_seconds()
                pusher.say(f"go turn{turn} {rate}")
                done.append(pusher.answer())
                spent = server.processor_seconds() - before
                asker.say("stop")
                waits.append(asker.answer()["seconds"])
                say(_turn(done[-1], waits[-1], spent))
    return _bars(done, waits, asked.rate)


def _bars(done: list[dict[str, Any]], waits: list[list[float]], rate: int) -> list[Bar]:
    """Judge all turns but the first."""
    most = done[0]["rows"] / done[0]["learned_seconds"]
    done, waits = done[1:], waits[1:]
    learned = median(each["rows"] / each["learned_seconds"] for each in done)
    acknowledged = median(each["rows"] / each["acknowledged_seconds"] for each in done)
    slowest = [float(np.quantile(each, 0.99)) for each in waits]
    pace = f"sent at {rate:,} a second" if rate else "as fast as it goes"
    why = (
        f"{pace}; {acknowledged:,.0f} acknowledged, and at most {most:,.0f} learned where none is "
        f"held back; log-loss {done[-1]['loss']:.4f}"
    )
    return [
        Bar(
            name="records/s of 39 features through the service, hashing included, learned",
            value=learned,
            goal=RECORDS_PER_SECOND,
            side="at least",
            why=why,
        ),
        Bar(
            name="seconds of a prediction meanwhile, p99 of a turn",
            value=median(slowest),
            goal=P99_SECONDS,
            side="at most",
            why=f"{sum(map(len, waits))} requests of 10 records, one each 20 ms; of the turns "
            f"{min(slowest) * 1e3:.1f} to {max(slowest) * 1e3:.1f} ms",
        ),
    ]


def _turn(done: dict[str, Any], waits: list[float], server_seconds: float) -> str:
    low, high = np.quantile(waits, [0.5, 0.99])
    return (
        f"  {done['rows'] / done['acknowledged_seconds']:>9,.0f} acknowledged/s "
        f"{done['rows'] / done['learned_seconds']:>9,.0f} learned/s; "
        f"predictions p50 {low * 1e3:.1f} ms, p99 {high * 1e3:.1f} ms; processor time of a record: "
        f"client {done['processor_seconds'] / done['rows'] * 1e6:.2f} us, "
        f"server {server_seconds / done['rows'] * 1e6:.2f} us"
    )


def main() -> None:
    """Measure, and print the bars."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument(
        "--pin", action="store_true", help="the service on one core, the client on the other"
    )
    parser.add_argument("--rate", type=int, default=RATE, help="records/s; 0: as fast as it goes")
    parser.add_argument("--in-flight", type=int, default=2)
    parser.add_argument("--batch-rows", type=int, default=4096)
    parser.add_argument(
        "--folder", type=Path, default=workloads.REPOSITORY / "build", help="where the store lies"
    )
    asked = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))[:2]
    os.sched_setaffinity(0, cores)  # what is started has the same two
    table = records(500_000 if asked.quick else 3_000_000)
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        turns = 2 if asked.quick else 5
        report(measure(table, turns, asked, Path(folder)))


if __name__ == "__main__":
    main()
