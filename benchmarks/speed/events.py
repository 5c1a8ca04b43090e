"""Eight rules on nested orders, beside jq, a loop over orjson, and polars that changes nothing.

    python benchmarks/speed/events.py            # minutes
    python benchmarks/speed/events.py --quick    # fewer turns; under a minute

The orders are those of Online Retail (`shared/data`, 541,909 lines in 25,900 invoices), or invented
ones; four times over, 200 MB, so that beginning and ending weigh as little as they do in a stream.
`--once` takes them once. jq, which is slower by far, always gets them once.

The rules: erase what isn't named (descriptions); the invoice is masked, the time coarsened to an
hour, the customer numbered over the stream, the country recoded by a secret table, the lines
renamed, their articles numbered in each order, quantities and prices rounded. The same rules as a
jq program (`events.jq`; `apt-get install jq`) and as a plain Python loop over orjson; **what all
three write must be equal**, line by line, or there is no figure. polars reads and writes the same
lines unchanged, in the faster of its two ways.

Files in, files out, in turns; medians count. Each way has a process of its own, which goes on from
turn to turn, and goes three times in each turn. The first doesn't count: it pays for memory that
the machine, if it is a virtual one, took back while others had their turn. Seconds end when the
output is on the disk: ours brings it there itself, checkpoints and all; the outputs of the others
are flushed (`fsync`) for them, within their time.

Memory: a pipe of small events, as many as 10 million, through the same run; what the process holds
is read every so often, and the slope is told in megabytes for each million of events.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

import numpy as np  # after the path
import orjson
import polars as pl

from bars import Bar, report, say
from halfmask.events import EventPolicy, SecretTable, run_events
from halfmask.events.streams import open_sink, open_source
from halfmask.vault import KeyFile, Vault
from orders import as_lines, invented_orders, order_lines

#: How often the orders are in the stream.
TIMES = 4
MILLION = 1_000_000
PROGRAM = Path(__file__).with_suffix(".jq")
OURS, LOOP, JQ = "ours", "orjson loop", "jq"
#: How often each way is gone in a turn; the first doesn't count.
IN_A_ROW = 3
#: How often the run is gone before its memory is watched.
WARM_UP = 2
TIMES_JQ, TIMES_LOOP, SHARE_POLARS = 5.0, 5.0, 0.5
#: Of memory, in megabytes for each million of events: 100 million take no more than a gigabyte.
MOST_SLOPE = 10.0
REGIONS = {
    "United Kingdom": "islands",
    "EIRE": "islands",
    "Channel Islands": "islands",
    "Germany": "continent",
    "France": "continent",
    "Spain": "continent",
    "Netherlands": "continent",
    "Belgium": "continent",
}
POLICY = """
halfmask-events = 1
release = "orders"
[stream]
time = "time"
zone = "UTC"
[[rule]]
path = "invoice"
do = "mask"
first = 3
length = 3
[[rule]]
path = "time"
name = "date"
do = "coarsen-time"
every = "1 hour"
zone = "UTC"
[[rule]]
path = "customer"
do = "sequence"
scope = "stream"
[[rule]]
path = "country"
name = "region"
do = "recode"
table = "regions"
other = "elsewhere"
[[rule]]
path = "lines[]"
name = "group"
[[rule]]
path = "lines[].code"
name = "ref"
do = "sequence"
scope = "event"
[[rule]]
path = "lines[].quantity"
name = "many"
do = "round"
step = 5
to = "down"
[[rule]]
path = "lines[].price"
do = "round"
step = 0.5
to = "down"
"""


def by_loop(source: Path, target: Path) -> None:
    """Do the eight rules as a plain loop does them."""
    known: dict[str, int] = {}
    loads, dumps, floor = orjson.loads, orjson.dumps, math.floor
    with source.open("rb") as lines, target.open("wb") as out:
        for line in lines:
            order = loads(line)
            done: dict[str, Any] = {
                "invoice": order["invoice"][:3] + "***",
                "date": order["time"][:13] + ":00:00",
            }
            customer = order.get("customer")
            if customer is not None:
                done["customer"] = known.setdefault(customer, len(known) + 1)
            done["region"] = REGIONS.get(order["country"], "elsewhere")
            seen: dict[str, int] = {}
            done["group"] = [
                {
                    "ref": seen.setdefault(each["code"], len(seen) + 1),
                    "many": floor(each["quantity"] / 5) * 5,
                    "price": floor(each["price"] * 2) / 2,
                }
                for each in order["lines"]
            ]
            out.write(dumps(done) + b"\n")


def by_jq(source: Path, target: Path) -> None:
    """Do them by the program beside this file."""
    command = ["jq", "--null-input", "--compact-output", "--from-file", str(PROGRAM)]
    with target.open("wb") as out:
        subprocess.run(
            [*command, "--argjson", "regions", json.dumps(REGIONS), str(source)],
            stdout=out,
            check=True,
        )


def by_us(source: Path, target: Path, vault: Vault) -> None:
    """Do them by `run_events`, checkpoints and all."""
    run_events(
        EventPolicy.from_toml(POLICY),
        open_source(source),
        open_sink(target),
        vault=vault,
        tables={"regions": SecretTable(kind="recode", values=REGIONS)},
        restart=True,
    )


def eagerly(source: Path, target: Path) -> None:
    """Read and write the lines unchanged, all at once."""
    pl.read_ndjson(source).write_ndjson(target)


def lazily(source: Path, target: Path) -> None:
    """The same, in a stream."""
    pl.scan_ndjson(source).sink_ndjson(target)


POLARS = {"polars": lazily, "polars at once": eagerly}


def to_disk(path: Path) -> None:
    """Wait until a file is on the disk; nothing is left to do where it was brought there."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def work(name: str) -> None:
    """Go one way for each two paths that are read; write the seconds to the disk."""
    with tempfile.TemporaryDirectory() as folder:
        vault = Vault.create(Path(folder) / "vault", lock=KeyFile.create(Path(folder) / "key"))
        ways: dict[str, Callable[[Path, Path], None]] = {
            OURS: lambda source, target: by_us(source, target, vault),
            LOOP: by_loop,
            JQ: by_jq,
            **POLARS,
        }
        for asked in sys.stdin:
            source, target = map(Path, json.loads(asked))
            target.unlink(missing_ok=True)
            start = time.perf_counter()
            ways[name](source, target)
            to_disk(target)
            sys.stdout.write(f"{time.perf_counter() - start}\n")
            sys.stdout.flush()


class Worker:
    """A process that goes one way, whenever it is asked to."""

    def __init__(self, name: str, folder: Path) -> None:
        self.target = folder / f"{name}.jsonl"
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--way", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self, source: Path) -> float:
        """Return how long it took."""
        asked, told = self._process.stdin, self._process.stdout
        if asked is None or told is None:
            raise RuntimeError("the process has no pipes")  # it was given both
        asked.write(json.dumps([str(source), str(self.target)]) + "\n")
        asked.flush()
        return float(told.readline())

    def close(self) -> None:
        """Let it end."""
        self._process.communicate()
        self.target.unlink(missing_ok=True)


def in_turns(workers: dict[str, Worker], source: Path, turns: int) -> dict[str, float]:
    """Return each way's median seconds to the disk."""
    taken: dict[str, list[float]] = {name: [] for name in workers}
    for turn in range(turns):
        for name, worker in workers.items():
            taken[name] += [worker.seconds(source) for _ in range(IN_A_ROW)][1:]
        shown = ", ".join(f"{name} {each[-1]:.3f}" for name, each in taken.items())
        say(f"  turn {turn + 1}, seconds: {shown}")
    return {name: median(each) for name, each in taken.items()}


def compare(written: dict[str, Path]) -> None:
    """Raise unless all wrote the same, line by line."""
    expected = None
    for name, path in written.items():
        found = [orjson.loads(line) for line in path.read_bytes().splitlines()]
        if expected is not None and found != expected:
            different = sum(a != b for a, b in zip(found, expected, strict=False))
            message = f"{name} wrote {len(found)} events of {len(expected)}, {different} differ"
            raise ValueError(message)
        expected = found
    say(f"  {', '.join(written)} wrote the same {len(expected or ())} events")


def speed(times: int, turns: int, folder: Path) -> list[Bar]:
    """Measure events a second, beside the others."""
    data, whose = order_lines(None)
    once, stream = folder / "once.jsonl", folder / "stream.jsonl"
    once.write_bytes(data)
    stream.write_bytes(data * times)
    count = data.count(b"\n")
    size = len(data) * times / 1e6
    say(f"{count:,} orders of {whose}, {times} times over: {count * times:,}, {size:.1f} MB")
    names = [OURS, LOOP, *POLARS, *([JQ] if shutil.which(JQ) else [])]
    workers = {name: Worker(name, folder) for name in names}
    alone = {name: worker.seconds(once) for name, worker in workers.items()}
    compare({name: each.target for name, each in workers.items() if name not in POLARS})
    polars = min(POLARS, key=lambda name: alone[name])
    beside = {name: workers[name] for name in (OURS, LOOP, polars)}
    rates = {
        name: count * times / each for name, each in in_turns(beside, stream, turns).items()
    } | {name: count / alone[name] for name in names if name == JQ}
    for worker in workers.values():
        worker.close()
    for name, each in rates.items():
        say(f"  {name}: {each:,.0f} events/s, {each * len(data) / count / 1e6:.0f} MB/s")
    beside_jq = rates[OURS] / rates[JQ] if JQ in rates else None
    whose = f"{whose}, {times} times over; until the output is on the disk, for all"
    return [
        Bar(
            name="events/s, times those of jq",
            value=beside_jq,
            goal=TIMES_JQ,
            side="at least",
            why=whose if beside_jq else "no jq on this machine",
        ),
        Bar(
            name="events/s, times those of a loop over orjson",
            value=rates[OURS] / rates[LOOP],
            goal=TIMES_LOOP,
            side="at least",
            why=whose,
        ),
        Bar(
            name="events/s, share of polars reading and writing them unchanged",
            value=rates[OURS] / rates[polars],
            goal=SHARE_POLARS,
            side="at least",
            why=whose,
        ),
    ]


def resident() -> float:
    """Return the megabytes that this process holds."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


class Repeated:
    """A pipe's other end: the same orders again and again, a few megabytes at a time."""

    def __init__(self, data: bytes, times: int) -> None:
        self.data, self.times = data, times

    def write(self, path: Path) -> None:
        """Write them into a pipe."""
        with path.open("wb", buffering=0) as pipe:
            for _ in range(self.times):
                view = memoryview(self.data)
                while view:
                    view = view[pipe.write(view) :]


def memory(events: int, folder: Path, vault: Vault) -> Bar:
    """Run a long stream, and tell how memory grows with it."""
    block = 20_000
    small = ({**order, "lines": order["lines"][:2]} for order in invented_orders(block))
    data = as_lines(list(small))
    pipe, target = folder / "pipe", folder / "long.jsonl"
    (folder / "short.jsonl").write_bytes(data)
    for _ in range(WARM_UP):
        by_us(folder / "short.jsonl", target, vault)  # what is loaded first isn't growth
        target.unlink()
    os.mkfifo(pipe)
    writer = threading.Thread(target=Repeated(data, events // block).write, args=(pipe,))
    seen: list[tuple[float, float]] = []
    done = threading.Event()

    def watch() -> None:
        start = time.perf_counter()
        while not done.wait(events / MILLION / 20):
            seen.append((time.perf_counter() - start, resident()))

    watching = threading.Thread(target=watch)
    writer.start()
    watching.start()
    start = time.perf_counter()
    by_us(pipe, target, vault)
    took = time.perf_counter() - start
    done.set()
    watching.join()
    writer.join()
    target.unlink()
    at, held = np.array(seen).T
    later = at > took / 5  # what is compiled and allocated first isn't growth
    slope = float(np.polyfit(at[later] / took * events / MILLION, held[later], 1)[0])
    say(f"  {events:,} events in {took:.0f} s: {held[later][0]:.0f} MB, then {held[-1]:.0f} MB")
    return Bar(
        name="memory, MB more for each million of events",
        value=max(slope, 0.0),
        goal=MOST_SLOPE,
        side="at most",
        why=f"from {held[later].min():.0f} to {held[later].max():.0f} MB over {events:,} events",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="under a minute")
    parser.add_argument("--once", action="store_true", help="take the orders once")
    parser.add_argument("--turns", type=int, help="how many count")
    parser.add_argument("--events", type=int, help="how many events memory is watched over")
    parser.add_argument("--way", help=argparse.SUPPRESS)  # how it starts itself
    arguments = parser.parse_args()
    if arguments.way:
        work(arguments.way)
        return
    turns = arguments.turns or (2 if arguments.quick else 5)
    events = arguments.events or (4 * MILLION if arguments.quick else 10 * MILLION)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        vault = Vault.create(folder / "vault", lock=KeyFile.create(folder / "key"))
        bars = speed(1 if arguments.once else TIMES, turns, folder)
        bars.append(memory(events, folder, vault))
    report(bars)


if __name__ == "__main__":
    main()
