"""A written release and its table, as attacks take them: which columns were released, and how."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from halfmask._errors import DataError, SchemaError
from halfmask.assess.attacks import Shuffled
from halfmask.claims import MaskedDetails, read_manifest, table_manifest
from halfmask.data import Hierarchy
from halfmask.verifier import verify
from halfmask.verifier.tables.part import open_part

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from halfmask.claims import DataFile, Manifest, MaskedColumn, ReleasedColumn
    from halfmask.microdata._policy import Policy

#: Kinds whose cells an attacker reads as numbers.
NUMBERS: Final = ("numeric", "datetime")
READ_ALIKE: Final = "Give the policy by --policy, so that TABLE is read as protect read it."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stated:
    """What the manifest of a table states: protected by a guarantee, or by masks alone.

    Rows were left out before protection if it was sampled.
    """

    files: tuple[DataFile, ...]
    columns: tuple[ReleasedColumn | MaskedColumn, ...]
    unchanged: frozenset[str]
    n_in: int
    is_sampled: bool
    bounds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    half_open: frozenset[str] = frozenset()

    def of_role(self, role: str) -> tuple[str, ...]:
        return tuple(each.name for each in self.columns if each.role == role)


def _stated_by_masks(manifest: Manifest) -> _Stated:
    masked = MaskedDetails.of(manifest)
    return _Stated(
        files=manifest.files,
        columns=masked.columns,
        unchanged=frozenset(c.name for c in masked.columns if not masked.masks_of(c.name)),
        n_in=masked.rows.n_in,
        is_sampled=False,
    )


def _stated_by_classes(manifest: Manifest) -> _Stated:
    table = table_manifest(manifest)
    return _Stated(
        files=table.files,
        columns=_with_ranges(table.columns),
        half_open=frozenset(c.bound_of or c.name for c in table.columns if c.range_step),
        bounds={
            name: tuple(each.name for each in table.columns if each.bound_of == name)
            for name in dict.fromkeys(each.bound_of for each in table.columns)
            if name is not None
        },
        unchanged=frozenset(c.name for c in table.columns if c.recoding is None and c.mask is None),
        n_in=table.rows.n_in,
        is_sampled=bool(manifest.details.get("row_masks")),
    )


_STATED: Final = {"masked": _stated_by_masks}


def _with_ranges(columns: Sequence[ReleasedColumn]) -> tuple[ReleasedColumn, ...]:
    """Return the columns of the table: both bounds of a range as the one that they are of."""
    named = {
        each.bound_of or each.name: replace(each, name=each.bound_of or each.name)
        for each in columns
    }
    return tuple(named.values())


def read_shuffled(
    folder: Path, original: pl.DataFrame, known: Policy | None, *, called: str
) -> Shuffled:
    """Read a release with its table as the policy reads it; refuse what doesn't belong together."""
    manifest = read_manifest(folder)
    stated = _STATED.get(manifest.kind, _stated_by_classes)(manifest)
    verify(folder).raise_if_broken()
    _check_table(original, stated, called)
    quasi_identifiers = stated.of_role("quasi_identifier")
    found = Shuffled(
        released=_released(folder, stated),
        original=original,
        control=None,
        quasi_identifiers=quasi_identifiers,
        secrets=stated.of_role("sensitive"),
        unchanged=stated.unchanged,
        hierarchies={} if known is None else _hierarchies(known, quasi_identifiers),
    )
    lacking = found.not_in_original()
    if lacking:
        raise DataError(
            f"Column {lacking!r} was released unchanged and has values that {called} hasn't.",
            hint=f"Give the table that the release was made of. {READ_ALIKE}",
        )
    return found


def released_rows(folder: Path) -> pl.DataFrame:
    """Return the rows of a release by the table's columns: both bounds of a range are one."""
    manifest = read_manifest(folder)
    return _released(folder, _STATED.get(manifest.kind, _stated_by_classes)(manifest))


def _check_table(original: pl.DataFrame, stated: _Stated, called: str) -> None:
    """Refuse a table that the release can't be of, or that is read in another way."""
    fits = original.height >= stated.n_in if stated.is_sampled else original.height == stated.n_in
    if not fits:
        raise DataError(
            f"{called} has {original.height:,} rows, and the release was made of {stated.n_in:,}.",
            hint="Give the table that the release was made of.",
        )
    for each in stated.columns:
        dtype = original.schema.get(each.name)
        if dtype is None:
            raise SchemaError(f"{called} lacks the released column {each.name!r}.", hint=READ_ALIKE)
        if each.kind in NUMBERS and not (dtype.is_numeric() or dtype.is_temporal()):
            raise SchemaError(
                f"Column {each.name!r} is {each.kind} in the release and read as {dtype}.",
                hint=READ_ALIKE,
            )


def _released(folder: Path, stated: _Stated) -> pl.DataFrame:
    """Read the data files of a release that was verified."""
    rows = pl.concat(
        [open_part(folder / each.name, each.format) for each in stated.files]
    ).collect()
    times = [name for name, dtype in rows.schema.items() if dtype == pl.Time]
    rows = rows.with_columns(pl.col(times).dt.to_string("iso"))
    return with_joined_bounds(rows, stated.bounds, stated.half_open)


def with_joined_bounds(
    rows: pl.DataFrame, bounds: Mapping[str, tuple[str, ...]], half_open: Collection[str]
) -> pl.DataFrame:
    """Return released rows with both bounds of a range as the one column that they are of."""
    for name, (low, high) in bounds.items():
        range_ = pl.format("[{}, {})" if name in half_open else "[{}, {}]", low, high)
        same = pl.col(low).cast(pl.String)
        text = pl.when(pl.col(low) == pl.col(high)).then(same).otherwise(range_)
        rows = rows.with_columns(text.alias(name)).drop(low, high)
    return rows


def _hierarchies(policy: Policy, names: tuple[str, ...]) -> dict[str, Hierarchy]:
    """Return the trees of the policy, which an attacker may know; rules need none to be read."""
    schema = policy.schema()
    trees = {name: schema[name].hierarchy for name in names}
    return {name: tree for name, tree in trees.items() if isinstance(tree, Hierarchy)}
