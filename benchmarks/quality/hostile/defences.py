"""What defences do against hostile rows and changed cells, and what each costs without attack."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from bars import Bar
from halfmask.assess.robustness import (
    cost_to_flip,
    suspect_blocks,
    suspect_labels,
    train_hardened,
)
from halfmask.assess.robustness._poison import flip_randomly, insert_triggered
from halfmask.training import PartitionedClassifier
from quality.hostile.models import LOGISTIC, TREE, model_of
from quality.hostile.poisoning import aimed_at
from quality.hostile.tables import Split, adult, piped, unit_budget

#: A backdoor of this share, against so many partitions of so many rows.
SHARE, PARTITIONS, ROWS = 0.01, 51, 12_000
#: Labels flipped, and how many blocks the rows come in.
FLIPPED, BLOCKS = 0.05, 20


def measure(*, quick: bool, seed: int) -> tuple[list[Bar], str]:
    """Train with and without each defence."""
    split, numbers = (adult(seed, numbers_only=it) for it in (False, True))
    split = _first(split, ROWS // 4 if quick else ROWS)
    lines = ["| defence | measure | plain | defended | accuracy, no attack: plain | defended |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    lines += partitioned(split, seed)
    lines += hardened(_first(numbers, ROWS // 4 if quick else ROWS), seed)
    bars, found = suspected(split, seed)
    return bars, "\n".join([*lines, "", *found])


def _first(split: Split, rows: int) -> Split:
    return replace(split, rows=split.rows[:rows], labels=split.labels[:rows])


def partitioned(split: Split, seed: int) -> list[str]:
    """Plant a backdoor in what a plain model and a partitioned one learn."""
    rng, columns = np.random.default_rng(seed), split.rows.columns
    poison = insert_triggered(split.rows, split.labels, SHARE, rng, columns)
    spoilt = poison.inserted(split.rows), poison.labels
    plain = piped(LogisticRegression(max_iter=1_000), split.rows)
    models = plain, PartitionedClassifier(plain, n_partitions=PARTITIONS)
    scores = [split.score(clone(it).fit(split.rows, split.labels)) for it in models]
    rates = [aimed_at(it.fit(*spoilt), split, poison) for it in models]
    what = f"{PARTITIONS} partitions | trigger rate of a backdoor of {SHARE:.0%}"
    cells = f"{rates[0]:.1%} | {rates[1]:.1%} | {scores[0]:.4f} | {scores[1]:.4f}"
    return [f"| {what} | {cells} |"]


def hardened(split: Split, seed: int) -> list[str]:
    """Train on changed rows, and count those that flip within the budget."""
    lines, held = [], split.held[:2_000]
    for name in (TREE, LOGISTIC):
        plain = model_of(name).fit(split.rows, split.labels)
        settings = {"budget": unit_budget(), "random_state": seed}
        trained = train_hardened(model_of(name), split.rows, split.labels, **settings)
        models = plain, trained
        costs = [cost_to_flip(it, held, unit_budget(), seen=split.rows) for it in models]
        for what in ("share_flipped", "median"):
            cells = " | ".join(f"{getattr(it, what):.4f}" for it in costs)
            scores = " | ".join(f"{split.score(it):.4f}" for it in models)
            said = what.replace("_", " ").replace("median", "median cost to flip")
            lines.append(f"| {name}, hardened | {said} | {cells} | {scores} |")
    return lines


def suspected(split: Split, seed: int) -> tuple[list[Bar], list[str]]:
    """Look for flipped labels: rows by their neighbours, and blocks by their influence."""
    poison = flip_randomly(split.rows, split.labels, FLIPPED, np.random.default_rng(seed))
    labels, hostile = poison.labels, poison.flipped
    start = time.process_time()
    found = suspect_labels(split.rows, labels).rows(len(hostile))
    seconds = time.process_time() - start
    hits = float(np.isin(found, hostile).mean())
    # all of one block's labels are turned, and a part of the further rows is trusted
    blocks = np.arange(split.rows.height) % BLOCKS
    turned = np.where(blocks == 0, 1 - split.labels, split.labels)
    learn = piped(LogisticRegression(max_iter=300), split.rows)
    suspicions = suspect_blocks(
        lambda rows, y: clone(learn).fit(rows, y),
        (split.rows, turned),
        (split.held[:2_000], split.truth[:2_000]),
        blocks=blocks,
    )
    said = f"Of {len(hostile):,} flipped labels among {split.rows.height:,}, {hits:.0%} are among"
    said += f" as many most suspicious rows ({FLIPPED:.0%} by chance); {seconds:.1f} s."
    return [
        Bar(name="flipped labels among as many suspicious rows, times chance",
            value=hits / FLIPPED, goal=3.0, side="at least"),
        Bar(name=f"the hostile block of {BLOCKS} is the most suspicious one", goal=1,
            value=int(blocks[suspicions.rows(1)[0]] == 0), side="at least"),
    ], [said]  # fmt: skip
