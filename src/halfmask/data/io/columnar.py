"""Parquet and Arrow files, read by slices; and the Arrow file that other tables are copied into."""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, Self

import polars as pl

from halfmask._errors import DataError, SchemaError
from halfmask.data._column_types import joint_dtypes, same_columns
from halfmask.data._declarations import Coerced, as_declared, check_declared, mark_missing
from halfmask.data.arrow_types import bounds_of, check_times, refuse_foreign_types
from halfmask.data.frames import check_names, settle, settled_dtype
from halfmask.data.hierarchy.orders import orders_of
from halfmask.data.io._reader import joined_lists
from halfmask.data.io.places import Place, reading, spooled

if TYPE_CHECKING:
    from halfmask.data.io._read_options import ReadOptions


Kind = Literal["parquet", "arrow", "arrows"]
_COUNTED_ROWS = 1 << 18
#: Polars 1.42 reads five seconds after midnight in Parquet as 5,000; 2.1 reads them right.
_READS_SECONDS = (2, 1)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a file says of itself."""

    dtypes: dict[str, pl.DataType]
    n_rows: int
    orders: dict[str, tuple[str, ...]]


class ColumnarReader:
    """The rows of Parquet or Arrow files that are parts of one table."""

    def __init__(self, places: Sequence[tuple[Place, Kind]], options: ReadOptions) -> None:
        self._places = list(places)
        self._options = options
        self._declared = options.declarations()
        self._coerced = Coerced(options.coerce)
        facts = []
        for place, kind in places:
            with reading(place.what, kind):
                fact = _FACTS[kind](place)
            read = joined_lists(pl.DataFrame(schema=fact.dtypes), options.lists)
            facts.append(replace(fact, dtypes=dict(read.schema)))
        joint = facts[0].dtypes
        for (place, _), fact in zip(places[1:], facts[1:], strict=True):
            same_columns(tuple(fact.dtypes), tuple(joint), what=place.what)
            joint = joint_dtypes(fact.dtypes, joint, declared=options.typed(), what=place.what)
        self.columns = tuple(joint)
        check_declared((*self._declared, *options.lists), self.columns)
        # Files whose types have other categories say nothing of a common order.
        self.orders = {
            name: order
            for name, order in facts[0].orders.items()
            if all(fact.orders.get(name) == order for fact in facts)
        }
        self.labelled: frozenset[str] = frozenset()
        self.n_rows = sum(fact.n_rows for fact in facts)
        settled = {name: settled_dtype(dtype, name) for name, dtype in joint.items()}
        self.dtypes = settled | options.typed()
        self._settled = settled
        self._rows = [range(fact.n_rows) for fact in facts]
        self.first_row = 0
        if options.coerce:
            # They are counted before anybody relies on a cell.
            for _ in self.frames(list(dict.fromkeys(options.coerce)), _COUNTED_ROWS):
                pass
            self._coerced.warn()

    @property
    def raw_rows(self) -> int | None:
        """The number of rows where each file is one of Parquet that has a path."""
        apart = all(kind == "parquet" and place.is_file for place, kind in self._places)
        return self.n_rows if apart else None

    @property
    def places(self) -> list[Place]:
        """The files that the rows are in."""
        return [place for place, _ in self._places]

    def part(self, rows: range) -> Self:
        """Return a reader of some rows; see `DivisibleReader`."""
        kept, before = [], 0
        for place, whole in zip(self._places, self._rows, strict=True):
            first, stop = max(rows.start - before, 0), min(rows.stop - before, len(whole))
            before += len(whole)
            if first < stop:
                kept.append((place, whole[first:stop]))
        found = copy.copy(self)
        found._places = [place for place, _ in kept]  # noqa: SLF001 # of its own class
        found._rows = [there for _, there in kept]  # noqa: SLF001 # as above
        found.n_rows = sum(len(there) for _, there in kept)
        found.first_row = self.first_row + rows.start
        return found

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        """Yield the rows, of the given columns, in frames of at most ``n_rows`` rows."""
        for (place, kind), rows in zip(self._places, self._rows, strict=True):
            with reading(place.what, kind):
                for frame in _FRAMES[kind](place, columns, n_rows, rows):
                    yield self._conform_frame(settle(joined_lists(frame, self._options.lists)))

    def _conform_frame(self, frame: pl.DataFrame) -> pl.DataFrame:
        # A column without values in one file has the type that it has in the others.
        empty = [n for n in frame.columns if frame[n].null_count() == frame.height]
        frame = frame.with_columns(pl.col(n).cast(self._settled[n]) for n in empty)
        frame = mark_missing(frame, self._options.missing)
        frame = as_declared(frame, self._declared, self._coerced)
        return settle(mark_missing(frame, self._options.missing))


def _parquet_facts(place: Place) -> _Facts:
    import pyarrow.parquet as pq  # noqa: PLC0415 - heavy, and only files of this format need it

    here = place.fetched()
    with _native_file(here) as file:
        written = pq.ParquetFile(file)
        check_names(written.schema_arrow.names)
        refuse_foreign_types(written.schema_arrow)
        rows = written.metadata.num_rows
        _check_seconds(written.metadata)
        _check_times_in_groups(place, written.schema_arrow)
        orders = _orders_in_groups(place, written.schema_arrow)
    with here.local() as local:
        dtypes = dict(_scan(local).collect_schema())
    return _Facts(dtypes, rows, orders_of(pl.DataFrame(schema=dtypes)) | orders)


def _check_seconds(metadata: Any) -> None:  # noqa: ANN401 - pyarrow has no types
    """Raise if this polars would read times of day in seconds as others."""
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only files of this format need it

    known = tuple(int(part) for part in pl.__version__.split(".")[:2])
    stated = (metadata.metadata or {}).get(b"ARROW:schema")
    if known >= _READS_SECONDS or stated is None:
        return
    for field in pa.ipc.read_schema(pa.py_buffer(base64.b64decode(stated))):
        if field.type == pa.time32("s"):
            raise SchemaError(
                f"Column {field.name!r} holds times of day in seconds, which polars "
                f"{pl.__version__} reads as others from Parquet.",
                hint="Install polars 2.1 or newer, or write the column in milliseconds.",
            )


def _check_times_in_groups(place: Place, schema: Any) -> None:  # noqa: ANN401 - no types
    """Look at the columns of times that polars may change; see `check_times`."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - heavy, and only files of this format need it

    times = [field.name for field in schema if bounds_of(field.type) is not None]
    if times:
        with _native_file(place.fetched(times)) as file:
            for batch in pq.ParquetFile(file).iter_batches(columns=times):
                check_times(batch)


def _orders_in_groups(place: Place, schema: Any) -> dict[str, tuple[str, ...]]:  # noqa: ANN401 - no types
    """Return the orders of pandas' ordered categories, which stand in the row groups."""
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only files of this format need it
    import pyarrow.parquet as pq  # noqa: PLC0415 - the same

    ordered = [
        field.name for field in schema if pa.types.is_dictionary(field.type) and field.type.ordered
    ]
    if not ordered:
        return {}
    with _native_file(place.fetched(ordered)) as file:
        return orders_of(pq.ParquetFile(file).read(columns=ordered))


def _parquet_frames(
    place: Place, columns: Sequence[str], n_rows: int, rows: range
) -> Iterator[pl.DataFrame]:
    # Slices of a file are read 2 to 8 times faster than record batches or polars' own batches,
    # in half the memory: 10 million rows of Adult in 0.4 s and 330 MB, in one row group, too.
    with place.fetched(columns, rows).local() as local:
        for start in rows[::n_rows]:
            n = min(n_rows, rows.stop - start)
            yield _scan(local).select(columns).slice(start, n).collect()


def _scan(local: Any) -> pl.LazyFrame:  # noqa: ANN401 - a path or an open file
    return pl.scan_parquet(local, glob=False, hive_partitioning=False)


def _arrow_facts(place: Place) -> _Facts:
    with _arrow_file(place) as file:
        schema, rows = file.schema, 0
        check_names(schema.names)
        refuse_foreign_types(schema)
        for position in range(file.num_record_batches):
            rows += file.get_batch(position).num_rows
        first = file.get_batch(0) if rows else schema.empty_table()
        return _Facts(dict(pl.DataFrame(schema.empty_table()).schema), rows, orders_of(first))


def _arrows_facts(place: Place) -> _Facts:
    with _arrow_stream(place) as stream:
        check_names(stream.schema.names)
        refuse_foreign_types(stream.schema)
        dtypes = dict(pl.DataFrame(stream.schema.empty_table()).schema)
        rows, orders = 0, None
        for batch in stream:
            rows += batch.num_rows
            orders = orders if orders is not None else orders_of(batch)
        return _Facts(dtypes, rows, orders or {})


def _arrow_frames(
    place: Place, columns: Sequence[str], n_rows: int, rows: range
) -> Iterator[pl.DataFrame]:
    del rows  # the file knows its batches
    with _arrow_file(place) as file:
        for position in range(file.num_record_batches):
            yield from _slice_batch(file.get_batch(position), columns, n_rows)


def _arrows_frames(
    place: Place, columns: Sequence[str], n_rows: int, rows: range
) -> Iterator[pl.DataFrame]:
    del rows  # a stream ends by itself
    with _arrow_stream(place) as stream:
        for batch in stream:
            yield from _slice_batch(batch, columns, n_rows)


def _slice_batch(batch: Any, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:  # noqa: ANN401 - pyarrow has no types
    for start in range(0, batch.num_rows, n_rows):
        piece = batch.select(list(columns)).slice(start, n_rows)
        # A damaged file must not lead polars out of its buffers.
        piece.validate()
        check_times(piece)
        piece.validate(full=True)
        frame = pl.from_arrow(piece)
        if not isinstance(frame, pl.DataFrame):
            raise DataError("A batch of the table to read is no table.")
        yield frame


@contextmanager
def _arrow_file(place: Place) -> Iterator[Any]:
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only files of this format need it

    with _native_file(place) as file, pa.ipc.open_file(file) as opened:
        yield opened


@contextmanager
def _arrow_stream(place: Place) -> Iterator[Any]:
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only files of this format need it

    with _native_file(place) as file, pa.ipc.open_stream(file) as opened:
        yield opened


@contextmanager
def _native_file(place: Place) -> Iterator[Any]:
    """Open a file so that Arrow owns the bytes it reads.

    Batches over bytes of Python's need the interpreter when they are dropped. A thread that drops
    one while the process ends aborts it.
    """
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only files of this format need it

    with place.local() as local:
        path = isinstance(local, Path)
        with pa.OSFile(str(local)) if path else pa.PythonFile(local, mode="r") as file:
            yield file


_FACTS: dict[Kind, Callable[[Place], _Facts]] = {
    "parquet": _parquet_facts,
    "arrow": _arrow_facts,
    "arrows": _arrows_facts,
}
_FRAMES: dict[Kind, Callable[[Place, Sequence[str], int, range], Iterator[pl.DataFrame]]] = {
    "parquet": _parquet_frames,
    "arrow": _arrow_frames,
    "arrows": _arrows_frames,
}


def spill(frames: Iterable[pl.DataFrame], dtypes: Mapping[str, pl.DataType], what: str) -> Place:
    """Copy frames into an Arrow file without a name, which ends with the process."""

    def write(file: IO[bytes]) -> None:
        import pyarrow as pa  # noqa: PLC0415 - heavy, and only these tables need it

        schema = pl.DataFrame(schema=dict(dtypes)).to_arrow().schema
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_file(file, schema, options=options) as out:
            for frame in frames:
                cast = frame.select(pl.col(name).cast(dtype) for name, dtype in dtypes.items())
                for batch in cast.rechunk().to_arrow().to_batches():
                    out.write_batch(batch)

    with reading(what):
        return spooled(write, what)


def spilled_reader(
    frames: Iterable[pl.DataFrame],
    dtypes: Mapping[str, pl.DataType],
    options: ReadOptions,
    what: str,
) -> ColumnarReader:
    """Copy frames as `spill` does, and return a reader of the copy."""
    if not dtypes:
        raise DataError(f"{what} has no column.", hint="Give a table with named columns.")
    return ColumnarReader([(spill(frames, dtypes, what), "arrow")], options)
