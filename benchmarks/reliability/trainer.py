"""Kill a trainer under load again and again, then count what was acknowledged and what is there.

    python benchmarks/reliability/trainer.py              # 200 kills, 16 clients; a quarter hour
    python benchmarks/reliability/trainer.py --kills 10   # a minute

`halfmask serve` is a process of its own. Clients send batches of 200 rows of 39 features, each with
a key of its own, again and again until it is acknowledged, whatever happens to the service; one
more makes snapshots and goes back to them. The service is killed (SIGKILL) at random points: from
the moment its process is there, so while it opens its folder, brings models back, logs, learns or
writes snapshots. A snapshot is made after each MiB of log, and the log is kept whole.

At the end the folder is opened once more, in this process:

- lost: acknowledged batches that aren't in the log under the number that was told;
- doubled: keys that are in the log twice, and receipts of one key that differ;
- equal: whether the recovered weights are those of a learner that learns the whole log anew, and
  of one that learns the bodies by a loop that shares no code with the store's recovery.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

import httpx  # after the path
import numpy as np
import pyarrow as pa

from bars import Bar, report, say
from halfmask.hashing import HashedRows
from halfmask.trainer.learner import OnlineLearner
from halfmask.trainer.store import EXAMPLES, Limits, Store, bytes_of, open_lists, replay_log

COMMAND = [sys.executable, "-c", "import sys; from halfmask.cli import main; sys.exit(main())"]
OPTIONS = ("--port", "0", "--json", "--keep-log", "--snapshot-mib", "1")
BITS, WIDTH, ROWS = 16, 39, 200
#: A service that is killed before it listens learns nothing: most kills come while it works.
LONGEST, EARLY = 1.0, 0.15
SETTLE_SECONDS = 120.0
ARROW = "application/vnd.apache.arrow.stream"


def body(key: str) -> bytes:
    """The batch that belongs to a key."""
    rng = np.random.default_rng(zlib.crc32(key.encode()))
    indices = rng.integers(0, 1 << BITS, (ROWS, WIDTH)).astype(np.uint32)
    labels = (indices[:, :5].sum(axis=1) % 3 == 0).astype(np.int32)
    return bytes_of(HashedRows(indices=indices, bits=BITS, labels=labels))


@dataclass
class Told:
    """What the clients were told."""

    address: str = ""
    stopped: threading.Event = field(default_factory=threading.Event)
    receipts: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    rollbacks: int = 0


def push(told: Told, number: int, token: str) -> None:
    """Send batch after batch, each until it is acknowledged; some once more after that."""
    rng, turn = np.random.default_rng(number), 0
    with client_of(token) as client:
        while not told.stopped.is_set():
            key, turn = f"{number}-{turn}", turn + 1
            again = 2 if rng.random() < 0.1 else 1
            for _ in range(again):
                seq = acknowledged(told, client, key)
                if seq is None:
                    return
                if told.receipts.setdefault(key, seq) != seq:
                    told.wrong.append(f"{key} was told two numbers")


def acknowledged(told: Told, client: httpx.Client, key: str) -> int | None:
    sent, headers = body(key), {"Idempotency-Key": key, "Content-Type": ARROW}
    while not told.stopped.is_set():
        try:
            path = f"{told.address}/v1/models/m/examples"
            answer = client.post(path, content=sent, headers=headers)
        except httpx.HTTPError:
            told.stopped.wait(0.02)
            continue
        if answer.status_code == 200:
            return int(answer.json()["seq"])
        if answer.status_code not in {429, 503}:
            told.wrong.append(f"{answer.status_code} for a good batch")
        told.stopped.wait(0.02)
    return None


def client_of(token: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.Client(trust_env=False, timeout=30, headers=headers)


def operate(told: Told, token: str) -> None:
    """Make snapshots, and go back to one of them now and then."""
    rng = np.random.default_rng(0)
    with client_of(token) as client:
        while not told.stopped.wait(0.3):
            try:
                path = f"{told.address}/v1/models/m"
                found = client.get(f"{path}/snapshots").json().get("snapshots", [])
                made = [each["snapshot"] for each in found if not each["automatic"]]
                for old in made[:-3]:
                    client.delete(f"{path}/snapshots/{old}")
                client.post(f"{path}/snapshots")
                if made and rng.random() < 0.3:
                    wish = {"snapshot": int(rng.choice(made[-3:]))}
                    answer = client.post(f"{path}/rollback", json=wish)
                    told.rollbacks += answer.status_code == 200
            except httpx.HTTPError:
                continue


class Service:
    """The service as a process."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "serve", str(folder), *OPTIONS],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )

    def address(self) -> str:
        line = self.process.stdout.readline() if self.process.stdout else ""
        return str(json.loads(line)["address"]) if line else ""

    def end(self, how: signal.Signals) -> int:
        self.process.send_signal(how)
        status = self.process.wait(SETTLE_SECONDS)
        if self.process.stdout:
            self.process.stdout.close()
        return status


def kill_again_and_again(folder: Path, told: Told, kills: int, rng: np.random.Generator) -> float:
    """Start and kill the service; return the longest time until it was ready again."""
    longest = 0.0
    for number in range(kills):
        start, service = time.monotonic(), Service(folder)
        if rng.random() < EARLY:
            time.sleep(rng.uniform(0, 2.0))  # while it starts
        else:
            told.address = service.address()
            longest = max(longest, until_ready(told.address) - start)
            time.sleep(rng.uniform(0, LONGEST))
        service.end(signal.SIGKILL)
        if number % 20 == 19:
            say(f"  {number + 1} kills, {len(told.receipts):,} batches acknowledged")
    return longest


def until_ready(address: str) -> float:
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


def count(folder: Path, told: Told) -> dict[str, Any]:
    """Open the folder once more and count."""
    store = Store(folder, limits=Limits(keep_log=True))
    store.open_models()
    model = store.model("t", "m")
    digest, settings = model.state.digest(), model.facts.settings
    place = folder / "models" / model.facts.id
    found: dict[str, list[int]] = {}
    for record in model._log.records():  # noqa: SLF001 # nobody else needs it
        if record.entry.kind == EXAMPLES:
            found.setdefault(record.entry.key.decode(), []).append(record.seq)
    logged = model.logged
    store.close()
    return {
        "logged": logged,
        "lost": sum(seq not in found.get(key, []) for key, seq in told.receipts.items()),
        "doubled": sum(len(seqs) - 1 for seqs in found.values()) + len(told.wrong),
        "replayed": replay_log(settings, place).digest() == digest,
        "naive": naive_digest(place, settings) == digest,
    }


def naive_digest(place: Path, settings: dict[str, Any]) -> str:
    """Learn the log by reading its files here, record by record, as its format is written down."""
    records = [each for path in sorted((place / "log").iterdir()) for each in records_of(path)]
    targets = {int(sent) for _, kind, sent in records if kind != EXAMPLES}
    learner = OnlineLearner(**settings)
    kept = {0: learner.to_bytes()}
    for seq, kind, sent in records:
        if kind == EXAMPLES:
            for batch in pa.ipc.open_stream(sent):
                learner.learn(HashedRows.from_batch(batch))
        else:
            learner = OnlineLearner.from_bytes(kept[int(sent)])
        if seq in targets:
            kept[seq] = learner.to_bytes()
    return str(learner.digest())


def records_of(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield the number, the kind and the body of each record of a segment."""
    data, at = path.read_bytes(), 16
    while at < len(data):
        seq = int.from_bytes(data[at + 12 : at + 20], "little")
        size = int.from_bytes(data[at + 28 : at + 32], "little")
        key = int.from_bytes(data[at + 36 : at + 38], "little")
        kind = int.from_bytes(data[at + 38 : at + 40], "little")
        yield seq, kind, data[at + 48 + key : at + 48 + key + size]
        at += 48 + key + size


def main() -> None:
    """Kill, count, print the bars."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, told = Path(name) / "trainer", Told()
        database, tokens = open_lists(folder, create=True)
        scopes = frozenset({"read", "learn", "admin"})
        made = [
            tokens.create(client=f"c{each}", tenant="t", scopes=scopes)[1]
            for each in range(asked.clients)
        ]
        database.close()
        service = Service(folder)
        told.address = service.address()
        until_ready(told.address)
        with client_of(made[0]) as client:
            wish = {"name": "m", "bits": BITS}
            client.post(f"{told.address}/v1/models", json=wish).raise_for_status()
        threads = [threading.Thread(target=operate, args=(told, made[0]))]
        threads += [
            threading.Thread(target=push, args=(told, number, token))
            for number, token in enumerate(made)
        ]
        for thread in threads:
            thread.start()
        service.end(signal.SIGKILL)
        longest = kill_again_and_again(
            folder, told, asked.kills - 1, np.random.default_rng(asked.seed)
        )
        told.stopped.set()
        for thread in threads:
            thread.join()
        say("counting")
        report(bars_of(count(folder, told), told, asked.kills, longest))


def bars_of(found: dict[str, Any], told: Told, kills: int, longest: float) -> list[Bar]:
    why = (
        f"{kills} kills, {len(told.receipts):,} batches acknowledged, {found['logged']:,} records "
        f"logged, {told.rollbacks} rollbacks; ready again after {longest:.1f} s at most"
    )
    same = int(found["replayed"]) + int(found["naive"])
    return [
        Bar(name="acknowledged batches lost", value=found["lost"], goal=0, side="at most", why=why),
        Bar(name="batches doubled", value=found["doubled"], goal=0, side="at most"),
        Bar(
            name="replays of the log, of two, that give the recovered weights bit by bit",
            value=same,
            goal=2,
            side="at least",
        ),
        Bar(
            name="batches acknowledged for each kill",
            value=len(told.receipts) / kills,
            goal=1,
            side="at least",
            why="without any, the others would hold by themselves",
        ),
    ]


if __name__ == "__main__":
    main()
