"""A trainer of ten honest clients on Adult, bare and defended, and who attacks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks import TrainerTarget
from halfmask.hashing import KeyedHasher
from halfmask.trainer.defences import ClientCaps, DefendedLearner, Guard, NormClip
from halfmask.trainer.learner import OnlineLearner
from halfmask.vault import Secret
from quality.hashings import tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from halfmask.hashing import HashedRows

__all__ = ["DEFENCES", "KINDS", "scene"]

BITS, BATCH, CLIENTS = 18, 500, 10
STREAM, CANARIES, PUBLIC = 30_000, 2_000, 8_000
KINDS = ("adagrad", "sgd", "ftrl")
#: What defends: nothing, what bounds rows and clients, what judges, all of it, and all of it with
#: clients that are trusted, and ten rows for any other.
DEFENCES = ("none", "clips and caps", "canaries", "all", "all, trust")


def scene(seed: int) -> Callable[..., TrainerTarget]:
    """Return how to make a target of one optimizer and one set of defences."""
    rows, labels = tables.adult(seed)
    # A key of the seed, so that a run can be repeated; the rows of a real client have a fresh one.
    key = Secret.from_bytes(np.random.default_rng(seed).bytes(32))
    hashed = KeyedHasher(secret=key, bits=BITS).fit(rows).hash_batch(rows, labels)
    ends = np.cumsum([STREAM, CANARIES, PUBLIC])
    starts = range(0, STREAM, BATCH)
    stream = [(f"client {n % CLIENTS}", hashed.slice(s, s + BATCH)) for n, s in enumerate(starts)]
    canaries = hashed.slice(int(ends[0]), int(ends[1]))
    public = hashed.slice(int(ends[1]), int(ends[2]))
    holdout = hashed.slice(int(ends[2]), len(hashed))

    def make(
        kind: str = "adagrad",
        defences: str = "none",
        *,
        answer: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None,
        quota: int | None = None,
    ) -> TrainerTarget:
        return TrainerTarget(
            make=lambda: _trainer(kind, defences, canaries),
            stream=stream,
            holdout=holdout,
            public=public,
            answer=answer,
            quota=quota,
        )

    return make


def _trainer(kind: str, defences: str, canaries: HashedRows) -> DefendedLearner:
    bounded, judged = (
        defences not in {"none", "canaries"},
        defences not in {"none", "clips and caps"},
    )
    caps = ClientCaps(share=0.15, free=1000.0)
    if defences == "all, trust":
        trusted = frozenset(f"client {n}" for n in range(CLIENTS))
        caps = ClientCaps(share=1e-4, free=10.0, trusted=trusted)
    return DefendedLearner(
        OnlineLearner(bits=BITS, optimizer=kind),
        clip=NormClip(weight=1.0, norm=8.0) if bounded else None,
        caps=caps if bounded else None,
        guard=Guard(tolerance=0.01, drift=0.02) if judged else None,
        canaries=canaries if judged else None,
        every=2_000,
        pause=20_000,
    )
