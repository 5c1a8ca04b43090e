"""People with a secret that their other columns hardly tell, but their label does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from halfmask.assess.attacks import ModelTarget

if TYPE_CHECKING:
    from collections.abc import Callable


def some_people(n: int, seed: int) -> tuple[pl.DataFrame, np.ndarray]:
    """Three columns that tell little of the fourth, and a label that all of them leave open."""
    rng = np.random.default_rng(seed)
    secret = rng.integers(0, 2, n)
    frame = pl.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.normal(size=n) + 0.2 * secret,
            "c": rng.integers(0, 5, n),
            "secret": secret,
        }
    )
    return frame, (rng.random(n) < 0.4 + 0.2 * secret).astype(int)


@pytest.fixture
def target_of() -> Callable[..., ModelTarget]:
    """Train a model on 1500 people, as arrays or as frames, 3000 others beside them."""

    def make(model: Any, *, frames: bool = False, n: int = 1500, **others: Any) -> ModelTarget:
        members, labels = some_people(n, 1)
        controls, their_labels = some_people(2 * n, 2)
        rows = (members, controls) if frames else (members.to_numpy(), controls.to_numpy())
        return ModelTarget(
            model=model.fit(rows[0], labels) if hasattr(model, "fit") else model,
            members=rows[0],
            member_labels=labels,
            non_members=rows[1],
            non_member_labels=their_labels,
            **{"secrets": ("secret" if frames else 3,), **others},
        )

    return make
