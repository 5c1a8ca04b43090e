"""How many rows of Adult two uploads with secrets of their own give away as the same rows."""

from __future__ import annotations

from typing import Any

import workloads
from halfmask.assess.attacks import EncodingTarget
from halfmask.assess.attacks.encodings import Fingerprints
from halfmask.encode import Codec
from halfmask.vault import Secret

ROWS, FEW = 6_000, 1_000


def measure(*, quick: bool, seed: int) -> dict[str, Any]:
    """Send the same rows twice, under two secrets, and link them."""
    rows = workloads.adult()[: FEW if quick else ROWS]
    linked: dict[str, float] = {}
    for learner in ("trees", "distances", "linear"):
        first, second = (
            Codec(learner=learner, secret=Secret.from_bytes(key.to_bytes(32, "big"))).fit(
                rows, target="income"
            )
            for key in (2 * seed + 1, 2 * seed + 2)
        )
        target = EncodingTarget.of_codec(first, rows, later=second)
        linked[learner] = Fingerprints().run(target, random_state=seed)[0].success.value
    lines = [f"| {learner} | {share:.3f} |" for learner, share in linked.items()]
    return {
        "rows of two uploads that are linked, fresh secrets": {
            "value": max(linked.values()), "goal": "reported, never omitted", "holds": True,
        },
        "tables": f"{rows.height:,} rows of Adult\n\n| codec for | rows linked |\n|---|---|\n"
        + "\n".join(lines),
    }  # fmt: skip
