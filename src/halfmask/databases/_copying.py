"""Rows of a source through their masks into a target, and what is remembered of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask._errors import DataError, HalfmaskError
from halfmask.data import Source
from halfmask.data.io.columnar import spill
from halfmask.databases._raw_names import with_raw_names
from halfmask.masks import MaskedReader, mask_table
from halfmask.masks.pseudonym import keyed_by_column, scoped_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from halfmask.data.io.places import Place
    from halfmask.databases._domains import Domain
    from halfmask.databases._plan import CopyPlan
    from halfmask.databases._schema import SourceDatabase, TargetDatabase, WrittenTable
    from halfmask.masks import Mask

_BATCH: Final = 100_000
#: Masks that never write a value of the column again.
FRESH_MASKS: Final = frozenset({"token", "reversible-token"})
_WORD: Final = 1 << 64
#: Two hashes of each row: a chance of 2**-128 that another row has both.
_SEEDS: Final = (0x6861_6C66, 0x6D61_736B)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyKeys:
    """The keys that masks derive theirs from."""

    key: bytes = field(repr=False)
    vault_key: bytes | None = field(repr=False)


@dataclass(slots=True)
class RowDigest:
    """The sum of hashes of rows: the same for the same rows in any order."""

    n_rows: int = 0
    sums: list[int] = field(default_factory=lambda: [0] * len(_SEEDS))

    def add(self, frame: pl.DataFrame) -> None:
        """Add the rows of a frame."""
        self.n_rows += frame.height
        if not frame.width:
            return
        for place, seed in enumerate(_SEEDS):
            hashes = frame.hash_rows(seed=seed).to_numpy()
            self.sums[place] = (self.sums[place] + int(hashes.sum(dtype=np.uint64))) % _WORD


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedTable:
    """What is remembered of a table that was copied."""

    table: WrittenTable
    written: RowDigest
    unchanged: RowDigest
    raw: Mapping[str, NDArray[np.uint64]]


def copy_table(
    source: SourceDatabase,
    target: TargetDatabase,
    table: WrittenTable,
    plan: CopyPlan,
    kept: str | None,
    keys: CopyKeys,
) -> CopiedTable:
    """Copy a table through its masks."""
    raw = _Raw(source, table, plan, kept)
    whole = plan.sources[table.name]
    together = tuple(with_raw_names(it, source, whole) for it in table.masks)
    written, unchanged = RowDigest(), RowDigest()
    fresh: dict[str, list[NDArray[np.uint64]]] = {
        name: []
        for (where, name), mask in plan.masks.items()
        if where == table.name
        and mask.name in FRESH_MASKS
        and not getattr(mask, "integers", False)  # a token of one integer is another
    }
    for frame in _frames_of(
        raw, replace(table, masks=together), plan, keys, watched=(unchanged, fresh)
    ):
        target.append(table, frame)
        written.add(frame)
    return CopiedTable(
        table=table,
        written=written,
        unchanged=unchanged,
        raw={name: _sorted(parts) for name, parts in fresh.items()},
    )


def mask_faults(
    source: SourceDatabase, plan: CopyPlan, lists: Mapping[str, str], keys: CopyKeys
) -> list[HalfmaskError]:
    """Return the errors of all masks of single columns; nothing is written."""
    found: list[HalfmaskError] = []
    for table in plan.tables:
        for column in table.copied:
            if (table.name, column.name) in plan.masks:
                alone = replace(table, columns=(column,), masks=())
                raw = _Raw(source, alone, plan, lists.get(table.name))
                try:
                    for _ in _frames_of(raw, alone, plan, keys):
                        pass
                except MaskFault as fault:
                    found.append(fault.error)
    return found


class MaskFault(Exception):  # noqa: N818 - it carries the error that is raised in the end
    """A mask can't process a value: other masks may have faults, too."""

    def __init__(self, error: HalfmaskError) -> None:
        super().__init__()
        self.error = error


def _frames_of(
    raw: _Raw,
    table: WrittenTable,
    plan: CopyPlan,
    keys: CopyKeys,
    watched: tuple[RowDigest, dict[str, list[NDArray[np.uint64]]]] | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a table as they are written."""
    try:
        masked = _masked(raw, table, plan, keys)
        raw.watchers = watched
        if raw.n_rows:
            for batch in masked.batches(_BATCH):
                yield _of_width(batch, table)
    except HalfmaskError as error:
        if raw.is_lost:
            raise
        place = "" if repr(table.name) in error.what else f"In the table {table.name!r}: "
        raise MaskFault(type(error)(place + error.what.written, hint=error.hint)) from None


def _of_width(frame: pl.DataFrame, table: WrittenTable) -> pl.DataFrame:
    """Return masked numbers in the types of the target, which are those of the source."""
    for name, dtype in table.dtypes.items():
        was = frame[name]
        if was.dtype == dtype:
            continue
        now = was.cast(dtype, strict=False)
        lost = now.null_count() - was.null_count()
        if dtype.is_float():
            lost += int(now.is_infinite().sum()) - int(was.is_infinite().sum())
        if lost:
            raise DataError(
                f"The mask of the column {name!r} of the table {table.name!r} writes {lost} "
                "numbers that the column's type doesn't hold.",
                hint="Bound the mask, as with 'low' and 'high', or drop the column.",
            )
        frame = frame.with_columns(now)
    return frame


def _masked(raw: _Raw, table: WrittenTable, plan: CopyPlan, keys: CopyKeys) -> Source:
    """Return the rows of a table behind its masks."""
    columns = {
        name: mask
        for (where, name), mask in plan.masks.items()
        if where == table.name and name in raw.dtypes
    }
    linked = {
        name: plan.domains[table.name, name]
        for name in columns
        if (table.name, name) in plan.domains
    }
    own: dict[str, Mask] = {name: mask for name, mask in columns.items() if name not in linked}
    looks = any(mask.needs_counts or not mask.coarsens for mask in own.values())
    # A mask that looks at the column first needs rows that it can read twice.
    if raw.n_rows and (looks or any(mask.needs_rows for mask in table.masks)):
        raw.hold()
    source = Source(raw, format="database")
    plans = {
        name: domain.mask.fit(name, domain.dtype or raw.dtypes[name], None, _key_of(domain, keys))
        for name, domain in linked.items()
    }
    masks = {name: domain.mask for name, domain in linked.items()}
    source = source.through(lambda reader: MaskedReader(reader, masks, plans))
    if not raw.n_rows:
        return source
    return mask_table(
        source,
        own,
        key=keys.key,
        table_masks=table.masks,
        vault_key=keys.vault_key,
        table=table.name,
    )


def _key_of(domain: Domain, keys: CopyKeys) -> bytes:
    """Return the key of linked columns: that of the column that they refer to."""
    table, column = domain.root
    scoped = scoped_key(domain.mask, key=keys.key, vault_key=keys.vault_key, table=table)
    return keyed_by_column(domain.mask, f"{table}.{column}", scoped).digest()


class _Raw:
    """The rows of a table as the source gives them, seen as a table to read."""

    def __init__(
        self, source: SourceDatabase, table: WrittenTable, plan: CopyPlan, kept: str | None
    ) -> None:
        raw = plan.sources[table.name]
        self._source, self._table, self._kept = source, table, kept
        self._columns = [raw.column(it.name) for it in table.copied]
        self.columns = tuple(it.name for it in self._columns)
        self.dtypes = {it.name: it.dtype or pl.String() for it in self._columns}
        self.orders: dict[str, tuple[str, ...]] = {}
        listed = source.named(table.name) if kept is None else kept
        self.n_rows = source.number(f"SELECT count(*) FROM {listed}")
        self._held: Place | None = None
        #: What is taken down in the next pass, which the copy is compared with.
        self.watchers: tuple[RowDigest, dict[str, list[NDArray[np.uint64]]]] | None = None
        #: Whether the source failed, not a mask.
        self.is_lost = False

    def hold(self) -> None:
        """Copy the rows into a temporary file, so that each pass sees them in the same order."""
        self._held = spill(self._read(), self.dtypes, f"The table {self._table.name!r}")

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        """Yield the rows in frames."""
        for whole in self._read() if self._held is None else _frames_in(self._held):
            for frame in whole.iter_slices(n_rows):
                self._look(frame)
                yield frame.select(columns)

    def _read(self) -> Iterator[pl.DataFrame]:
        masked = self._table.masked & set(self.columns)
        for frame in self._read_raw():
            cast = frame.select(frame[name].cast(kind) for name, kind in self.dtypes.items())
            floats = [n for n in masked if cast.schema[n].is_float()]
            # NaN of a masked column is a missing cell, as everywhere.
            yield cast.with_columns(pl.col(floats).fill_nan(None)) if floats else cast

    def _read_raw(self) -> Iterator[pl.DataFrame]:
        masked = self._table.masked
        try:
            yield from self._source.frames(self._table.name, self._columns, self._kept, masked)
        except HalfmaskError:
            self.is_lost = True
            raise

    def _look(self, frame: pl.DataFrame) -> None:
        if self.watchers is None:
            return
        unchanged, fresh = self.watchers
        unchanged.add(frame.drop(self._table.masked))
        for name, parts in fresh.items():
            parts.append(np.unique(text_hashes(frame[name])))


def _frames_in(place: Place) -> Iterator[pl.DataFrame]:
    import pyarrow as pa  # noqa: PLC0415 - heavy

    with place.local() as path, pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as batches:
        for number in range(batches.num_record_batches):
            frame = pl.from_arrow(batches.get_batch(number))
            if not isinstance(frame, pl.DataFrame):
                raise DataError("A batch of the table is no table.")
            yield frame


def text_hashes(cells: pl.Series) -> NDArray[np.uint64]:
    """Return the hash of the text of each cell that isn't missing."""
    return cells.drop_nulls().cast(pl.String).hash(seed=_SEEDS[0]).to_numpy()


def _sorted(parts: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    return np.unique(np.concatenate(parts)) if parts else np.empty(0, np.uint64)
