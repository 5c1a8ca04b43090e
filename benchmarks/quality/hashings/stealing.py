"""How many predictions a copy of the model takes, by what the answers say."""

from __future__ import annotations

import numpy as np

from bars import Bar
from halfmask.assess.attacks.hashing import ModelStealing
from quality.hashings.trainers import scene

QUERIES, QUERIES_QUICK = (100, 300, 1000, 3000), (100, 1000)
ANSWERS = {
    "all digits": None,
    "two decimals": lambda p: np.round(p, 2),
    "labels": lambda p: (p >= 0.5).astype(np.float64),
}
#: What labels of so many queries may tell beyond as many labelled rows of one's own.
QUOTA, SLACK = 100, 0.02


def measure(*, quick: bool, seed: int) -> tuple[list[Bar], str]:
    """Steal the model of Adult by few and by many queries, told all or little."""
    make = scene(seed)
    lines = [
        "| queries | " + " | ".join(ANSWERS) + " | as many true labels | more frequent class |",
        "|---|---|---|---|---|---|",
    ]
    reached: dict[tuple[int, str], float] = {}
    public: dict[int, float] = {}
    for queries in QUERIES_QUICK if quick else QUERIES:
        for name, answer in ANSWERS.items():
            attack = ModelStealing(n_queries=queries)
            outcome = attack.run(make(answer=answer), random_state=seed)[0]
            reached[queries, name] = outcome.success.value
            public[queries] = outcome.baseline.value if outcome.baseline else 0.0
            majority = outcome.control.value
        told = " | ".join(f"{reached[queries, name]:.3f}" for name in ANSWERS)
        lines.append(f"| {queries:,} | {told} | {public[queries]:.3f} | {majority:.3f} |")
    over = reached[QUOTA, "labels"] - public[QUOTA]
    return [
        Bar(name="agreement of a copy by 1,000 answers of all digits, no defence",
            value=reached[1000, "all digits"], goal=0.95, side="at least"),
        Bar(name=f"agreement of a copy by {QUOTA} labels, beyond as many labelled rows",
            value=over, goal=SLACK, side="at most"),
    ], "\n".join(lines)  # fmt: skip
