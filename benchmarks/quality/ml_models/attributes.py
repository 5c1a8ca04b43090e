"""Attribute inference on Nursery's `social`: table 2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from halfmask.assess.attacks import ATTACKS

if TYPE_CHECKING:
    from ml_models.scene import Scene

WANTED = "attributes/black_box"


def absent() -> list[str]:
    """Name the attacks that the library doesn't have yet."""
    return [] if WANTED in ATTACKS else [WANTED]


def measure(scene: Scene, cells: list[tuple[str, int]]) -> Iterator[dict[str, Any]]:
    """Yield for each cell what the attack reaches, beside imputation."""
    message = f"the library has no {WANTED} ({scene.group.name}, {len(cells)} cells)"
    for _ in cells:
        yield {"findings": [], "why": message}
