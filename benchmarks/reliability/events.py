"""Kill runs of events again and again, let each go on, then compare the bytes.

    python benchmarks/reliability/events.py            # 100 kills; some ten minutes
    python benchmarks/reliability/events.py --quick    # 6 kills of a shorter stream; a minute

The stream is the Wikipedia edits of `../shared/data` (39,244 events), several times over, with a
line here and there that is no event. `halfmask events run` is a process of its own, under eight
rules with state of each kind: numbers by first appearance over the stream and within channels,
tokens, jittered times, shifts and noise by key. It is killed (SIGKILL) at random points: some while
it starts, most while it works. Then the same command goes on, until it isn't killed before it is
done; then another arm has its turn:

- file: JSON lines to JSON lines, with dead letters;
- packed: gzip to zstd;
- folder: two files to a folder of parts;
- pipe: standard input, given again from its beginning each time, to a file;
- table: to Parquet;
- held: sessions of fewer than three users are held back, in windows of an hour.

A kill counts as survived if the output, and the dead letters, of its run are byte for byte those of
a run that wasn't killed.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

from bars import Bar, report, say  # after the path
from halfmask.vault import KeyFile, Vault

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
EDITS = "wikiticker-2015-09-12-sampled.json.gz"
COMMAND = [sys.executable, "-c", "import sys; from halfmask.cli import main; sys.exit(main())"]
#: Of the kills, so many while it starts, within so many seconds.
EARLY, STARTING = 0.15, 2.0
SETTLE_SECONDS = 300.0
POLICY = """
halfmask-events = 1
release = "edits"

[stream]
time = "time"
session = "channel"
entity = "user"

[[rule]]
path = "time"
do = "shift"
within = "14 days"
zone = "UTC"
then = [{ do = "coarsen-time", every = "10 minutes", zone = "UTC", jitter = "1 minute" }]

[[rule]]
path = "user"
name = "editor"
do = "sequence"
scope = "stream"

[[rule]]
path = "page"
do = "token"

[[rule]]
path = "channel"
name = "wiki"
do = "sequence"
scope = "stream"

[[rule]]
path = "namespace"
do = "sequence"
scope = "session"
open = 20

[[rule]]
path = "delta"
do = "noise"
how = "add"
law = "laplace"
scale = 2.0
per = "entity"
decimals = 0

[[rule]]
path = "isRobot"
name = "robot"
do = "keep"

[[rule]]
path = "countryName"
name = "country"
do = "hash"
bits = 32
"""
HELD = """
[window]
every = "1 hour"
zone = "UTC"
lateness = "1 hour"

[[guarantee]]
kind = "distinct"
paths = ["namespace"]
k = 3
fails = "event"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A way to run the stream.

    Attributes
    ----------
    policy, source, out
        Words of the command.
    piped
        What standard input is.
    letters
        Whether dead letters are written, and compared.
    """

    name: str
    policy: str
    source: str
    out: str
    piped: str | None = None
    letters: bool = False


ARMS = (
    Arm(name="file", policy="policy.toml", source="in.jsonl", out="out.jsonl", letters=True),
    Arm(name="packed", policy="policy.toml", source="in.jsonl.gz", out="out.jsonl.zst"),
    Arm(name="folder", policy="policy.toml", source="in", out="out/"),
    Arm(name="pipe", policy="policy.toml", source="-", out="out.jsonl", piped="in.jsonl"),
    Arm(name="table", policy="policy.toml", source="in.jsonl", out="out.parquet"),
    Arm(name="held", policy="held.toml", source="in.jsonl", out="out.jsonl"),
)


@dataclass
class Counted:
    """What became of the kills."""

    kills: int = 0
    equal: int = 0
    rounds: int = 0
    early: int = 0
    wrong: list[str] = field(default_factory=list)


def bind(folder: Path, times: int) -> None:
    """Write policies, inputs and a vault."""
    lines = gzip.decompress((DATA / EDITS).read_bytes()).splitlines(keepends=True) * times
    for at in range(1_000, len(lines), 49_999):
        lines[at] = b"no event\n"
    whole, half = b"".join(lines), len(lines) // 2
    (folder / "policy.toml").write_text(POLICY)
    (folder / "held.toml").write_text(POLICY.replace('"edits"', '"held"') + HELD)
    (folder / "in.jsonl").write_bytes(whole)
    (folder / "in.jsonl.gz").write_bytes(gzip.compress(whole, 1))
    (folder / "in").mkdir()
    (folder / "in" / "1.jsonl").write_bytes(b"".join(lines[:half]))
    (folder / "in" / "2.jsonl").write_bytes(b"".join(lines[half:]))
    Vault.create(folder / "vault", lock=KeyFile.create(folder / "key"))


class Round:
    """One run, however often it is killed, in a folder and a stream of its own."""

    def __init__(self, folder: Path, arm: Arm, name: str, every: str) -> None:
        self.place = folder / name
        self.place.mkdir()
        self.arm, self.folder = arm, folder
        self.out = self.place / arm.out
        source = arm.source if arm.source == "-" else str(folder / arm.source)
        letters = ["--dead-letters", str(self.place / "letters")] if arm.letters else []
        out = f"{self.out}/" if arm.out.endswith("/") else str(self.out)
        self.words = [
            *COMMAND, "events", "run", str(folder / arm.policy), source, out, "--stream", name,
            "--vault", str(folder / "vault"), "--key-file", str(folder / "key"),
            "--on-error", "skip", "--checkpoint-seconds", every, *letters,
        ]  # fmt: skip

    def start(self) -> subprocess.Popen[bytes]:
        quiet = subprocess.DEVNULL
        if self.arm.piped is None:
            return subprocess.Popen(self.words, stdin=quiet, stdout=quiet, stderr=subprocess.PIPE)
        with (self.folder / self.arm.piped).open("rb") as file:
            return subprocess.Popen(self.words, stdin=file, stdout=quiet, stderr=subprocess.PIPE)

    def written(self) -> int:
        """How many bytes there are, with and without the name."""
        return sum(path.stat().st_size for path in present(self.place))

    def result(self) -> dict[str, bytes]:
        found = [self.out, *present(self.out), self.place / "letters"]
        return {str(p.relative_to(self.place)): p.read_bytes() for p in found if p.is_file()}


def present(folder: Path) -> Iterator[Path]:
    """Files in a folder that a process may be changing."""
    for path in folder.rglob("*") if folder.is_dir() else ():
        try:
            if path.is_file():
                yield path
        except OSError:
            continue


def killed(work: Round, rng: random.Random, span: float, counted: Counted) -> bool:
    """Start a run and kill it at a random point; return whether it was done before."""
    before, process = work.written(), work.start()
    early = rng.random() < EARLY
    end = time.monotonic() + SETTLE_SECONDS
    while not early and process.poll() is None and work.written() == before:
        if time.monotonic() > end:
            raise SystemExit("nothing was written in time")
        time.sleep(0.002)
    time.sleep(rng.uniform(0, STARTING if early else span))
    process.kill()
    _, said = process.communicate(timeout=SETTLE_SECONDS)
    if process.returncode > 0:
        raise SystemExit(f"{work.arm.name}: it failed\n{said.decode()}")
    if process.returncode < 0:
        counted.kills += 1
        counted.early += early
    return process.returncode == 0


def finished(work: Round) -> float:
    begun, process = time.monotonic(), work.start()
    _, said = process.communicate(timeout=SETTLE_SECONDS)
    if process.returncode:
        raise SystemExit(f"{work.arm.name}: it failed\n{said.decode()}")
    return time.monotonic() - begun


def one_round(
    work: Round, wanted: dict[str, bytes], rng: random.Random, span: float, counted: Counted,
    kills: int,
) -> None:  # fmt: skip
    """Kill a run a few times, let it come to its end, and compare."""
    before = counted.kills
    for _ in range(kills):
        if killed(work, rng, span, counted):
            break
    finished(work)
    survived = counted.kills - before
    counted.rounds += 1
    if work.result() == wanted:
        counted.equal += survived
    else:
        counted.wrong.append(work.place.name)


def main() -> None:
    """Kill, compare, print the bars."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="6 kills, the edits once")
    parser.add_argument("--kills", type=int)
    parser.add_argument("--times", type=int, help="how often the edits are repeated")
    parser.add_argument("--every", default="0.2", help="seconds between checkpoints")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    kills = asked.kills or (6 if asked.quick else 100)
    times = asked.times or (1 if asked.quick else 10)
    rng, counted = random.Random(asked.seed), Counted()  # noqa: S311 # not for keys
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bind(folder, times)
        spans, wanted = {}, {}
        for arm in ARMS:
            whole = Round(folder, arm, f"{arm.name}-whole", asked.every)
            spans[arm.name] = finished(whole)
            wanted[arm.name] = whole.result()
            say(f"{arm.name}: {spans[arm.name]:.1f} s without a kill")
        for number, arm in zip(itertools.count(), itertools.cycle(ARMS), strict=False):
            left = kills - counted.kills
            if left <= 0:
                break
            work = Round(folder, arm, f"{arm.name}-{number}", asked.every)
            span = spans[arm.name] / 8  # so that several kills find it at work
            one_round(work, wanted[arm.name], rng, span, counted, min(left, 8))
            say(f"{arm.name}: {counted.kills} kills, {counted.equal} with equal bytes")
    report(bars_of(counted, kills))


def bars_of(counted: Counted, kills: int) -> Sequence[Bar]:
    why = (
        f"{counted.kills} kills in {counted.rounds} rounds of {len(ARMS)} arms, {counted.early} of "
        f"them while it started; unequal: {', '.join(counted.wrong) or 'none'}"
    )
    return [
        Bar(
            name="kills after which the bytes are equal",
            value=counted.equal,
            goal=kills,
            side="at least",
            why=why,
        ),
        Bar(name="rounds with other bytes", value=len(counted.wrong), goal=0, side="at most"),
    ]


if __name__ == "__main__":
    main()
