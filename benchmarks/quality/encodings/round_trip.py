"""Any table comes back: a thousand tables made by hypothesis for trees, a thousand for matrices."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests"))

import hypothesis.strategies as st
import polars as pl  # noqa: TC002 # hypothesis reads annotations
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from encode.any_table import (  # type: ignore[import-not-found] # beside the tests
    CELLS,
    NARROW,
    is_back,
    tables,
)
from halfmask.encode import Codec, Learner
from halfmask.encode._settings import Missing  # noqa: TC001 # the same
from halfmask.vault import Secret

TABLES, FEW = 1000, 60
KINDS: dict[Learner, Any] = {
    "trees": CELLS,
    "distances": NARROW,
    "linear": NARROW,
    "networks": NARROW,
}


def measure(*, quick: bool, seed: int) -> dict[str, Any]:
    """Encode and decode, and count the tables that came back."""
    n_tables = FEW if quick else TABLES
    tried = dict.fromkeys(KINDS, 0)
    back = dict.fromkeys(KINDS, 0)
    secret = Secret.from_bytes(seed.to_bytes(32, "big"))
    for learner, cells in KINDS.items():
        most = n_tables if learner == "trees" else -(-n_tables // 3)
        _try(learner, cells, most, (tried, back), secret=secret, seed=seed)
    lost = sum(tried.values()) - sum(back.values())
    rows = "\n".join(f"| {name} | {tried[name]:,} | {back[name]:,} |" for name in KINDS)
    return {
        "tables that did not come back": {"value": lost, "goal": 0, "holds": lost == 0},
        "tables tried": {
            "value": sum(tried.values()),
            "goal": n_tables,
            "holds": sum(tried.values()) >= n_tables,
        },
        "tables": f"| codec for | tables | came back |\n|---|---|---|\n{rows}",
    }


def _try(
    learner: Learner,
    cells: Any,  # noqa: ANN401 # strategies by type
    most: int,
    counted: tuple[dict[Learner, int], dict[Learner, int]],
    *,
    secret: Secret,
    seed: int,
) -> None:
    @seeded(seed)
    @settings(
        max_examples=most,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(table=tables(cells), missing=st.sampled_from(["visible", "hidden"]))
    def there_and_back(table: pl.DataFrame, missing: Missing) -> None:
        codec = Codec(learner=learner, secret=secret, missing=missing).fit(table)
        decoded = codec.decode(codec.encode(table))
        tried, back = counted
        tried[learner] += 1
        back[learner] += bool(
            decoded.equals(table) if learner == "trees" else is_back(decoded, table)
        )

    there_and_back()
