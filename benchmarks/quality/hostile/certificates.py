"""How many hostile training rows the predictions of a partitioned model provably survive."""

from __future__ import annotations

import time

import numpy as np
from sklearn.linear_model import LogisticRegression

from bars import Bar
from halfmask.training import PartitionedClassifier
from quality.hostile.tables import adult, piped

PARTITIONS = 101
#: What was measured before by a bare loop over 101 logistic models, and by how much less is fine.
KNOWN = {1: 0.845, 5: 0.833, 10: 0.815, 20: 0.776, 40: 0.630}
BARS, NEAR = (1, 5, 10), 0.01
#: So many further rows are tried against a model of other training rows.
HOSTILE = 10


def measure(*, quick: bool, seed: int) -> tuple[list[Bar], str]:
    """Certify further rows of Adult, and spoil the training rows to see whether it holds."""
    split = adult(seed, numbers_only=False)
    held, truth = (split.held[:2_000], split.truth[:2_000]) if quick else (split.held, split.truth)
    learner = piped(LogisticRegression(max_iter=1_000), split.rows)
    plain = learner.fit(split.rows, split.labels).predict(held) == truth
    start = time.process_time()
    model = PartitionedClassifier(learner, n_partitions=PARTITIONS)
    model.fit(split.rows, split.labels)
    fitted = time.process_time() - start
    certified, right = model.certified_rows(held), model.predict(held) == truth
    shares = {n: float((right & (certified >= n)).mean()) for n in KNOWN}
    lines = [
        "| hostile rows | provably right | known before |",
        "|---|---|---|",
        f"| plain model | {plain.mean():.4f} | 0.850 |",
        f"| 0 | {right.mean():.4f} | 0.848 |",
        *(f"| {n} | {share:.4f} | {KNOWN[n]} |" for n, share in shares.items()),
        f"\nFitted in {fitted:.1f} s.",
    ]
    bars = [
        Bar(name=f"accuracy certified at {n} hostile rows", value=shares[n],
            goal=round(KNOWN[n] - NEAR, 3), side="at least")
        for n in BARS
    ]  # fmt: skip
    bars.append(
        Bar(name="points of accuracy that partitions cost", goal=1.0, side="at most",
            value=100 * float(plain.mean() - right.mean()))
    )  # fmt: skip
    if quick:
        return bars, "\n".join(lines)
    # rows right beside the boundary, under the other label: the worst that is easily found
    rng = np.random.default_rng(seed)
    near = np.flatnonzero(certified < HOSTILE)[: 10 * HOSTILE]
    drawn = rng.choice(near, HOSTILE, replace=False)
    spoilt = split.rows.vstack(held[drawn])
    model.fit(spoilt, np.concatenate([split.labels, 1 - truth[drawn]]))
    broken = (model.predict(held) == truth)[right & (certified >= HOSTILE)]
    bars.append(
        Bar(name=f"predictions certified at {HOSTILE} rows that {HOSTILE} rows flipped",
            value=int((~broken).sum()), goal=0, side="at most")
    )  # fmt: skip
    return bars, "\n".join(lines)
