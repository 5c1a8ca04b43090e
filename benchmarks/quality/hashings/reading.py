"""What is read of hashed rows: by a dictionary, by brute force, by frequencies, and off weights."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from bars import Bar, say
from halfmask.assess.attacks import HashingTarget
from halfmask.assess.attacks._hashes import murmur3
from halfmask.assess.attacks.hashing import (
    BruteForce,
    BucketFrequencies,
    CoOccurrence,
    Dictionary,
    WeightReading,
)
from halfmask.hashing import HashedRows, KeyedHasher
from halfmask.trainer.learner import OnlineLearner
from halfmask.vault import Secret
from quality.hashings import tables

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

BITS = 22
SEED_BITS, SEED_BITS_QUICK = 24, 18
#: Nothing is read but by chance, which is one cell in four million.
RESISTED, BROKEN = 0.001, 0.99


def measure(*, quick: bool, seed: int) -> tuple[list[Bar], str]:
    """Attack both tables, hashed by a key, by MurmurHash3 and by SipHash without one."""
    bars: list[Bar] = []
    lines = [
        "| table, rows | attack | keyed | murmur3 | SipHash | murmur3, seeded | guessing |",
        "|---|---|---|---|---|---|---|",
    ]
    columns: list[str] = []
    known = {"Adult": tables.adult(seed), "Criteo sample": tables.criteo(seed)}
    for name, table in known.items():
        if table is None:
            named = f"{name}: cells read by a dictionary, keyed"
            why = "the data set is absent"
            bars.append(Bar(name=named, value=None, goal=RESISTED, side="at most", why=why))
            continue
        most = 4000 if quick else 20_000
        half = min(most, len(table[1]) // (4 if quick else 2))
        arms = _arms(*table, half=half, seed=seed, quick=quick)
        bits = SEED_BITS_QUICK if quick else SEED_BITS
        told: dict[str, dict[str, Any]] = {}
        for attack in (
            Dictionary(),
            BruteForce(seed_bits=bits),
            BucketFrequencies(),
            CoOccurrence(n_rows=2000, max_values=50) if quick else CoOccurrence(),
            WeightReading(),
        ):
            which = arms if isinstance(attack, Dictionary | BruteForce) else list(arms)[:2]
            found = {arm: attack.run(arms[arm], random_state=seed)[0] for arm in which}
            told[attack.name] = found
            lines.append(_line(f"{name}, {half:,}", attack.name, found))
            say(lines[-1])
            bars += _bars(name, attack, found)
        columns += [f"### {name}", "", _columns(told), ""]
    return bars, "\n".join([*lines, "", *columns, _rate()])


def _arms(
    rows: pl.DataFrame, labels: NDArray[np.int32], *, half: int, seed: int, quick: bool
) -> dict[str, HashingTarget]:
    mine, others = rows[:half], rows[half : 2 * half]
    hasher = KeyedHasher(secret=Secret.fresh(), bits=BITS).fit(mine)
    keyed = HashingTarget.of_hasher(
        hasher,
        mine,
        labels=labels[:half],
        population=others,
        population_labels=labels[half : 2 * half],
        train=trained,
    )
    secret_seed = (1 << (SEED_BITS_QUICK if quick else SEED_BITS)) - 12_345 - seed
    return {
        "keyed": keyed,
        "murmur3": keyed.unprotected(),
        "siphash": keyed.unprotected(hash="siphash"),
        "seeded": keyed.unprotected(seed=secret_seed),
    }


def trained(buckets: NDArray[np.uint32], labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Train the trainer's model and return what it keeps of each bucket."""
    learner = OnlineLearner(bits=BITS)
    learner.learn(HashedRows(indices=buckets, labels=labels.astype(np.int32), bits=BITS))
    return learner.weights[: 1 << BITS].astype(np.float64)


def _bars(name: str, attack: Any, found: dict[str, Any]) -> list[Bar]:  # noqa: ANN401 # any attack
    what = {
        Dictionary: ("by a dictionary", ("murmur3", "siphash")),
        BruteForce: ("by brute force", ("murmur3", "siphash", "seeded")),
    }
    if type(attack) not in what:
        return []
    how, broken = what[type(attack)]
    value = {arm: outcome.success.value for arm, outcome in found.items()}
    bars = [Bar(name=f"{name}: cells read {how}, keyed", value=value["keyed"],
                goal=RESISTED, side="at most")]  # fmt: skip
    return bars + [
        Bar(name=f"{name}: cells read {how}, {arm} without a key", value=value[arm],
            goal=BROKEN, side="at least")
        for arm in broken
    ]  # fmt: skip


def _line(table: str, attack: str, found: dict[str, Any]) -> str:
    told = [
        f"{found[arm].success.value:.3f}" if arm in found else ""
        for arm in ("keyed", "murmur3", "siphash", "seeded")
    ]
    return (
        f"| {table} | {attack} | " + " | ".join(told) + f" | {found['keyed'].control.value:.3f} |"
    )


def _columns(told: dict[str, dict[str, Any]]) -> str:
    """Return how many cells of each column are named, keyed."""
    by_rank = told[BucketFrequencies.name]["keyed"].details
    by_company = told[CoOccurrence.name]["keyed"].details
    names = [each.removeprefix("named of ") for each in by_company if each.startswith("named of ")]
    lines = ["| column | most frequent value | by frequency | by company |", "|---|---|---|---|"]
    lines += [
        f"| {name} | {by_rank[f'most frequent of {name}']:.3f} "
        f"| {by_rank[f'named of {name}']:.3f} | {by_company[f'named of {name}']:.3f} |"
        for name in names
    ]
    return "\n".join(lines)


def _rate() -> str:
    seeds = np.arange(1 << 18, dtype=np.uint32)
    started = time.perf_counter()
    murmur3([b"relationship=Not-in-family"], seeds)
    rate = len(seeds) / (time.perf_counter() - started)
    return (
        f"{rate / 1e6:.1f} million seeds of MurmurHash3 a second on one thread: all 2^32 in "
        f"{2**32 / rate / 60:.1f} minutes for one way of joining name and value."
    )
