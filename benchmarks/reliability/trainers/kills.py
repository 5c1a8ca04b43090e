"""Kill a trainer under load again and again, then count what was acknowledged and what is there.

`halfmask serve` is a process of its own with two models, one of which has all defences. Clients
send batches of 200 rows of 39 features to both in turns, each with a key of its own, again and
again until it is acknowledged, whatever happens to the service; one more makes snapshots and goes
back to them. The service is killed (SIGKILL) at random points: from the moment its process is
there, so while it opens its folder, brings models back, logs, learns, judges or writes snapshots. A
snapshot is made after each MiB of log, and the log is kept whole.

At the end the folder is opened once more, in this process:

- lost: acknowledged batches that aren't in the log under the number that was told;
- doubled: keys that are in a log twice, and receipts of one key that differ;
- equal: whether what each model recovered is, bit by bit, what a learner has that learns the whole
  log anew, and one that learns the bodies by a loop that shares no code with the store's recovery.
"""

from __future__ import annotations

import signal
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa

from bars import Bar, say
from halfmask.hashing import HashedRows
from halfmask.trainer.defences import Defences
from halfmask.trainer.learner import OnlineLearner
from halfmask.trainer.store import CANARIES, EXAMPLES, Limits, Model, Store, replay_log
from reliability.trainers.process import ARROW, Service, client_of, rows_of, tokens_of, until_ready

OPTIONS = ("--keep-log", "--snapshot-mib", "1")
BITS, WIDTH, ROWS = 16, 39, 200
KILLS, QUICK_KILLS, CLIENTS = 200, 5, 16
#: A service that is killed before it listens learns nothing: most kills come while it works.
LONGEST, EARLY = 1.0, 0.15
DEFENCES = {
    "clip": {"weight": 1.0},
    "caps": {"share": 0.2},
    "guard": {"tolerance": 0.05, "drift": 0.1},
    "every": 5_000,
}
MODELS: dict[str, dict[str, Any] | None] = {"plain": None, "guarded": DEFENCES}


def body(key: str) -> bytes:
    """The batch that belongs to a key."""
    return rows_of(zlib.crc32(key.encode()), rows=ROWS, width=WIDTH, bits=BITS)


@dataclass
class Told:
    """What the clients were told."""

    address: str = ""
    stopped: threading.Event = field(default_factory=threading.Event)
    receipts: dict[tuple[str, str], int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    rollbacks: int = 0


def push(told: Told, number: int, token: str) -> None:
    """Send batch after batch, each until it is acknowledged; some once more after that."""
    rng, turn = np.random.default_rng(number), 0
    with client_of(token) as client:
        while not told.stopped.is_set():
            name = list(MODELS)[turn % len(MODELS)]
            key, turn = f"{number}-{turn}", turn + 1
            again = 2 if rng.random() < 0.1 else 1
            for _ in range(again):
                seq = acknowledged(told, client, name, key)
                if seq is None:
                    return
                if told.receipts.setdefault((name, key), seq) != seq:
                    told.wrong.append(f"{key} was told two numbers")


def acknowledged(told: Told, client: httpx.Client, name: str, key: str) -> int | None:
    sent, headers = body(key), {"Idempotency-Key": key, "Content-Type": ARROW}
    while not told.stopped.is_set():
        try:
            path = f"{told.address}/v1/models/{name}/examples"
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


def operate(told: Told, token: str) -> None:
    """Make snapshots, and go back to one of them now and then."""
    rng, turn = np.random.default_rng(0), 0
    with client_of(token) as client:
        while not told.stopped.wait(0.3):
            try:
                name, turn = list(MODELS)[turn % len(MODELS)], turn + 1
                path = f"{told.address}/v1/models/{name}"
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


def kill_again_and_again(folder: Path, told: Told, kills: int, rng: np.random.Generator) -> float:
    """Start and kill the service; return the longest time until it was ready again."""
    longest = 0.0
    for number in range(kills):
        start, service = time.monotonic(), Service(folder, *OPTIONS)
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


def count(folder: Path, told: Told) -> dict[str, Any]:
    """Open the folder once more and count."""
    store = Store(folder, limits=Limits(keep_log=True))
    store.open_models()
    found = [count_of(model, folder, told) for model in store.models()]
    store.close()
    return {name: sum(each[name] for each in found) for name in found[0]}


def count_of(model: Model, folder: Path, told: Told) -> dict[str, int]:
    """Count what one model has."""
    name, settings = model.facts.name, model.facts.settings
    place, kept = folder / "models" / model.facts.id, model.state.learner.to_bytes()
    found: dict[str, list[int]] = {}
    for record in model._log.records():  # noqa: SLF001 # nobody else needs it
        if record.entry.kind == EXAMPLES:
            found.setdefault(record.entry.key.decode(), []).append(record.seq)
    mine = {key: seq for (of, key), seq in told.receipts.items() if of == name}
    defended = model.state.defended()
    return {
        "logged": model.logged,
        "lost": sum(seq not in found.get(key, []) for key, seq in mine.items()),
        "doubled": sum(len(seqs) - 1 for seqs in found.values()),
        "same": (replay_log(settings, place).learner.to_bytes() == kept)
        + (naively(place, settings) == kept),
        "judged": 0 if defended is None else defended["rollbacks"],
    }


def naively(place: Path, settings: dict[str, Any]) -> bytes:
    """Learn the log by reading its files here, record by record, as its format is written down."""
    records = [each for path in sorted((place / "log").iterdir()) for each in records_of(path)]
    targets = {int(sent) for _, kind, _, sent in records if kind not in {EXAMPLES, CANARIES}}
    defences, of_learner = settings.get("defences"), {**settings, "defences": None}
    del of_learner["defences"]
    bare = OnlineLearner(**of_learner)
    learner: Any = bare if defences is None else Defences.from_dict(defences).around(bare)
    kept, canaries = {0: learner.to_bytes()}, None
    for seq, kind, client, sent in records:
        if kind == EXAMPLES:
            for batch in pa.ipc.open_stream(sent):
                rows = HashedRows.from_batch(batch)
                learner.learn(rows, **({} if defences is None else {"client": client}))
        elif kind == CANARIES:
            canaries = HashedRows.concat(map(HashedRows.from_batch, pa.ipc.open_stream(sent)))
            learner.judge_by(canaries)
        else:
            learner = type(learner).from_bytes(kept[int(sent)])
            if canaries is not None:
                learner.judge_by(canaries)
        if seq in targets:
            kept[seq] = learner.to_bytes()
    return bytes(learner.to_bytes())


def records_of(path: Path) -> Iterator[tuple[int, int, str, bytes]]:
    """Yield the number, the kind, the client and the body of each record of a segment."""
    data, at = path.read_bytes(), 16
    while at < len(data):
        seq = int.from_bytes(data[at + 12 : at + 20], "little")
        size = int.from_bytes(data[at + 28 : at + 32], "little")
        key = int.from_bytes(data[at + 36 : at + 38], "little")
        kind = int.from_bytes(data[at + 38 : at + 40], "little")
        client = data[at + 40 : at + 48].hex()
        yield seq, kind, client, data[at + 48 + key : at + 48 + key + size]
        at += 48 + key + size


def make(told: Told, token: str) -> None:
    """Make the models, and give the guard its canaries."""
    with client_of(token, told.address, 300.0) as client:
        for name, defences in MODELS.items():
            wish = {"name": name, "bits": BITS, "defences": defences}
            client.post("/v1/models", json=wish).raise_for_status()
        sent = rows_of(0, rows=600, width=WIDTH, bits=BITS)
        path, headers = "/v1/models/guarded/canaries", {"Content-Type": ARROW}
        client.post(path, content=sent, headers=headers).raise_for_status()


def measure(*, quick: bool, seed: int, kills: int | None = None) -> list[Bar]:
    """Kill, then count."""
    kills = kills or (QUICK_KILLS if quick else KILLS)
    with tempfile.TemporaryDirectory() as where:
        folder, told = Path(where) / "trainer", Told()
        made = tokens_of(folder, *((f"c{each}", "t") for each in range(CLIENTS)))
        service = Service(folder, *OPTIONS)
        told.address = service.address()
        until_ready(told.address)
        make(told, made[0])
        threads = [threading.Thread(target=operate, args=(told, made[0]))]
        threads += [
            threading.Thread(target=push, args=(told, number, token))
            for number, token in enumerate(made)
        ]
        for thread in threads:
            thread.start()
        service.end(signal.SIGKILL)
        longest = kill_again_and_again(folder, told, kills - 1, np.random.default_rng(seed))
        told.stopped.set()
        for thread in threads:
            thread.join()
        say("  counting")
        return bars_of(count(folder, told), told, kills, longest)


def bars_of(found: dict[str, Any], told: Told, kills: int, longest: float) -> list[Bar]:
    why = (
        f"{kills} kills, {len(told.receipts):,} batches acknowledged, {found['logged']:,} records "
        f"logged, {told.rollbacks} rollbacks that were asked for, {found['judged']} by the guard; "
        f"ready again after {longest:.1f} s at most"
    )
    return [
        Bar(name="acknowledged batches lost", value=found["lost"], goal=0, side="at most", why=why),
        Bar(
            name="batches doubled",
            value=found["doubled"] + len(told.wrong),
            goal=0,
            side="at most",
            why="; ".join(sorted(set(told.wrong))),
        ),
        Bar(
            name="replays of two logs, of four, that give what was recovered bit by bit",
            value=found["same"],
            goal=2 * len(MODELS),
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
