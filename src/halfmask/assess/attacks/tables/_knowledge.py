"""What an attacker of a released table knows and wants: its columns, matched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks.tables._matching import match

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.assess.attacks._targets import TableTarget
    from halfmask.assess.attacks.tables._distances import Known
    from halfmask.assess.attacks.tables._matching import Matched


def shared_columns(target: TableTarget) -> tuple[str, ...]:
    """Return the released columns that the original has and that have more than one value."""
    return tuple(
        name
        for name, dtype in target.original.schema.items()
        if name in target.released.columns and not dtype.is_nested()
    )


def secrets_of(target: TableTarget) -> tuple[str, ...]:
    """Return the secrets that are named, else the columns that the guarantees protect."""
    named = target.secrets or tuple(
        dict.fromkeys(g.column for g in target.guarantees if g.column is not None)
    )
    shared = shared_columns(target)
    return tuple(name for name in named if name in shared)


def quasi_identifiers_of(target: TableTarget) -> tuple[str, ...]:
    """Return the quasi-identifiers that are named, else all columns that are no secret."""
    shared = shared_columns(target)
    secrets = secrets_of(target)
    named = target.quasi_identifiers or tuple(name for name in shared if name not in secrets)
    return tuple(name for name in named if name in shared)


def matched_columns(target: TableTarget, names: tuple[str, ...]) -> tuple[Matched, ...]:
    """Return released columns read against those of the original and the control."""
    tables = [target.original, *([] if target.control is None else [target.control])]
    trees = target.hierarchies or {}
    return tuple(
        match(
            name,
            target.released[name],
            [table[name] for table in tables if name in table.columns],
            trees.get(name),
        )
        for name in names
    )


def known_people(columns: tuple[Matched, ...], people: pl.DataFrame) -> Known:
    """Return what is known of people in these columns."""
    return {column.name: column.known(people[column.name]) for column in columns}


def lacking_control(target: TableTarget, names: tuple[str, ...]) -> str:
    """Return what of a control table over these columns is missing; empty if nothing is."""
    if not names:
        return "a column that the original and the released table share"
    if not target.released.height:
        return "released rows"
    if target.control is None or not target.control.height:
        return "a control table"
    absent = [name for name in names if name not in target.control.columns]
    return f"columns {absent} in the control table" if absent else ""


def lacking_links(target: TableTarget) -> str:
    """Return what is missing to link people to released rows; empty if nothing is."""
    if not shared_columns(target):
        return "a column that the original and the released table share"
    return target.missing_owners or ("" if target.released.height else "released rows")


def sample(rng: np.random.Generator, n: int, most: int) -> NDArray[np.int64]:
    """Return at most so many of the numbers below n, in order."""
    if n <= most:
        return np.arange(n, dtype=np.int64)
    return np.sort(rng.choice(n, size=most, replace=False)).astype(np.int64)
