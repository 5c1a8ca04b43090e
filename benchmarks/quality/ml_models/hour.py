"""The hour: how long the paper's figures and tables took, from the first cell to the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bars import Bar
from ml_models.store import Key

if TYPE_CHECKING:
    from pathlib import Path

    from ml_models.store import Store

MOST_MINUTES = 60
LINE = Key("minutes", "", "", "", "", 0, 0)


def peers_answered(cache: Path) -> bool:
    """Return whether peers answered before, so that they needn't be asked again."""
    return any(path.is_file() for path in cache.rglob("*"))


def keep(store: Store, minutes: float, *, answered: bool) -> None:
    """Keep how long a run took that measured all of it, and nothing else."""
    store.add(LINE, minutes=round(minutes, 1), answered=answered)


def bar(store: Store) -> Bar:
    """Return the bar; a run that was stopped and started again has no value."""
    line = store.lines.get(LINE)
    if line is None:
        why = "not measured from beginning to end in one run without --only and --beyond"
    elif line["answered"]:
        why = "what peers answered before was kept"
    else:
        why = "peers asked anew"
    return Bar(
        name="minutes that the paper's figures and tables take",
        value=None if line is None else line["minutes"],
        goal=MOST_MINUTES,
        side="at most",
        why=why,
    )
