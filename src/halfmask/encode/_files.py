"""Files through a codec: a fit, and rows that are encoded and written batch by batch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from halfmask._progress import silent
from halfmask._validation import integer_at_least, one_of
from halfmask.data import ReadOptions, Source, TableWriter, open_table
from halfmask.encode._mix import one_blas_thread
from halfmask.encode._receipts import EncodingReceipt, digest_of
from halfmask.encode._summary import FitSummary
from halfmask.engines import LocalEngine, check_confidential, fold_table, map_table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    import polars as pl

    from halfmask._progress import Progress
    from halfmask.data import Schema
    from halfmask.encode._codec import Codec
    from halfmask.encode._plan import CodecPlan
    from halfmask.encode._settings import Task
    from halfmask.engines import Engine


# Both belong to the format of a plan: the same cuts encode and decode a file.
# A change of one raises PLAN_VERSION.
_CELLS = 1 << 24
_MAX_ROWS = 1 << 18
# Batches of one file, far more than any file has; the rest of 64 bits numbers the files.
_BATCHES = 1 << 32


def batch_rows(plan: CodecPlan) -> int:
    """Return how many rows a batch of a file has: 262,144, fewer beyond 64 encoded columns.

    It follows from the plan alone, so an encoded file needs no second file.
    """
    return fit_rows(len(plan.tokens))


def fit_rows(n_columns: int) -> int:
    """Return how many rows of a table are looked at together."""
    return max(1, min(_MAX_ROWS, _CELLS // n_columns))


def batch_number(file: int, place: int) -> int:
    """Return the number by which a batch of a file is ordered: no two files share any."""
    return file * _BATCHES + place


#: The formats that encoded rows are written in.
EncodedFormat: TypeAlias = Literal["parquet", "csv", "arrow"]
#: What is kept of a batch whose rows are written, and what becomes of a batch.
Note = TypeVar("Note")
Part = TypeVar("Part")
_FORMATS: tuple[EncodedFormat, ...] = ("parquet", "csv", "arrow")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCount:
    """How many rows went from one file to another, and in how many batches.

    Parameters
    ----------
    rows, batches
        The rows and batches that were written.
    receipt
        Of `encode_file`: what finds the order of its rows again. It stays at home.
    number
        Of decoding: the number of the file, ``None`` where rows were left in their order.
    by_count
        Of decoding: whether the order of predictions was taken to be that of the file, which
        nothing in them says.
    """

    rows: int
    batches: int
    receipt: EncodingReceipt | None = field(default=None, compare=False, repr=False)
    number: int | None = field(default=None, compare=False, repr=False)
    by_count: bool = field(default=False, compare=False, repr=False)


def fit_file(  # noqa: PLR0913 # each says one thing, by its name
    codec: Codec,
    table: object,
    *,
    target: str | None = None,
    task: Task | None = None,
    schema: Schema | None = None,
    options: ReadOptions | None = None,
    known: Collection[str] | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Codec:
    """Fit a codec to a table of any length: `Codec.fit` for files.

    Parameters
    ----------
    codec
        The codec to fit; it is changed and returned.
    table
        A path, as `halfmask.data.open_table` takes it; a frame; or an opened `Source`.
    target, task, schema
        As of `Codec.fit`.
    options
        How to read a path, where the file doesn't say.
    known
        Columns of text that are categories, whatever they look like; of others that are nearly
        numbers or dates a `ColumnWarning` says so. By default those of the schema and options.
    engine
        Where rows are summarized; by default in this process. Workers get no key.
    progress
        Is called with the progress.

    Returns
    -------
    The codec.

    Raises
    ------
    DataError, SchemaError, ParameterError
        As `open_table` and `Codec.fit` do.
    EngineError
        If a cluster fails.

    Guarantees
    ----------
    The table is read once. Memory is bounded by a batch and by what the plan keeps of columns:
    each distinct value of a category, and for trees each distinct value of a number. The plan is
    the same as `Codec.fit` makes of the same rows with the same secret, except for the last bits of
    means and deviations, and the same on every engine.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.encode import Codec
    >>> rows = pl.DataFrame({"age": [41, 17, 30]})
    >>> fit_file(Codec(learner="trees"), rows).plan_
    CodecPlan(learner='trees', 1 features)
    """
    source = open_table(table, options=options)
    if known is None:
        known = {*(schema.names if schema else ()), *(options.typed() if options else ())}
    roles = codec._roles(source.dtypes, schema=schema, target=target, task=task)  # noqa: SLF001 # of this package
    summarize = partial(FitSummary.of, roles=roles, settings=codec._settings, known=known)  # noqa: SLF001 # as above
    seen = fold_table(
        # One worker: polars uses all processors, and more would hold more batches.
        engine or LocalEngine(1),
        source,
        source.columns,
        partial(_summarize_batch, summarize),
        FitSummary.__add__,
        n_rows=fit_rows(len(source.columns)),
        stage="fitting",
        progress=progress or silent,
    )
    return codec._planned(roles, seen)  # noqa: SLF001 # as above


def _summarize_batch(
    summarize: Callable[[pl.DataFrame], FitSummary], number: int, rows: pl.DataFrame
) -> FitSummary:
    del number  # a fit doesn't ask where rows stand
    return summarize(rows)


def encode_file(  # noqa: PLR0913 # each says one thing, by its name
    codec: Codec,
    table: object,
    out: str | Path,
    *,
    format: EncodedFormat = "parquet",  # noqa: A002 # the word for it
    number: int = 0,
    ids: bool = False,
    overwrite: bool = False,
    options: ReadOptions | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> FileCount:
    """Encode a table of any length into a file: `Codec.encode` for files.

    Parameters
    ----------
    codec
        A fitted codec.
    table
        A path, as `halfmask.data.open_table` takes it; a frame; or an opened `Source`.
    out
        The file to write, or ``"-"`` for standard output.
    format
        ``"parquet"``, ``"csv"`` or ``"arrow"`` (an IPC file).
    number
        A number of the caller's, at least 0: rows of files with different numbers are put in
        different orders.
    ids
        Whether to put a column ``row_id`` first, for predictions of some rows or in another order.
        It is no feature: leave it out of training, and send it back with predictions.
    overwrite
        Whether a file of that name may be replaced.
    options
        How to read a path, where the file doesn't say.
    engine
        Where rows are encoded; by default in threads of this process. Its workers get the codec's
        plan, which is the key; this process writes the file.
    progress
        Is called with the progress.

    Returns
    -------
    FileCount
        The rows that were written, the batches, and the receipt, which the codec remembers.

    Raises
    ------
    DataError, SchemaError
        As `open_table` and `Codec.encode` do.
    ReleaseError
        If the file exists and may not be replaced, or can't be written.
    EngineError
        If a cluster fails, or doesn't encrypt what it sends.

    Guarantees
    ----------
    The file has the same bytes on every engine. It appears whole or not at all, whatever happens.
    It holds the encoded rows and nothing
    else: no name, statistic, dictionary or key of metadata of the table. Memory doesn't grow with
    the rows.

    Edge cases
    ----------
    Rows change places within a batch of 262,144 (fewer beyond 64 encoded columns), so about when a
    row came stays visible in a longer file: shuffle a table whose order reveals something. A file
    of one batch and number 0 is what `Codec.encode` gives. In a text file, whose cells have no
    types, cells are read as those of the fit were.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import polars as pl
    >>> from halfmask.encode import Codec, decode_file
    >>> rows = pl.DataFrame({"age": [41, 17, 30], "town": ["Bree", "Dale", "Bree"]})
    >>> codec = fit_file(Codec(learner="trees"), rows)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     home = pathlib.Path(folder)
    ...     encode_file(codec, rows, home / "sent.parquet")
    ...     _ = decode_file(codec, home / "sent.parquet", home / "back.csv")
    ...     pl.read_csv(home / "back.csv").equals(rows)
    FileCount(rows=3, batches=1)
    True
    """
    one_of(_FORMATS, owner="encode_file", format=format)
    plan = codec.plan_
    source = opened_as_fitted(table, options, plan)
    encode = partial(encoded_batch, plan, ids)
    done, notes = stream(
        map_batches(codec, source, encode, number=number, engine=engine),
        out,
        n_rows=source.n_rows,
        format=format,
        overwrite=overwrite,
        progress=partial(progress or silent, "encoding"),
    )
    return replace(done, receipt=receipt_of(codec, notes, number=number, ids=ids))


def receipt_of(
    codec: Codec, notes: Sequence[tuple[int, str]], *, number: int, ids: bool
) -> EncodingReceipt:
    """Return the receipt of an encoded file, which the codec remembers."""
    rows, digests = zip(*notes, strict=True)
    first = batch_number(number, 0)
    receipt = EncodingReceipt(first=first, rows=rows, digests=digests, ids=ids, file=True)
    codec.remember(receipt)
    return receipt


def encoded_batch(
    plan: CodecPlan,
    ids: bool,  # noqa: FBT001 # bound by a partial
    number: int,
    batch: pl.DataFrame,
) -> tuple[pl.DataFrame, tuple[int, str]]:
    """Return the encoded rows of a batch, their number and their digest."""
    sent = plan.apply(batch, number=number, threads=False, ids=ids)
    return sent, (sent.height, digest_of(sent, plan.tokens))


def opened_as_fitted(table: object, options: ReadOptions | None, plan: CodecPlan) -> Source:
    """Open a table whose cells are read as those of the fit were, where they are texts.

    A file of texts says no types: a column of whole numbers may have had decimals at the fit.
    """
    source = open_table(table, options=options)
    if isinstance(table, Source):
        return source
    options = options or ReadOptions()
    other = plan.to_declare(source.dtypes, format=source.format)
    other = {name: dtype for name, dtype in other.items() if name not in options.typed()}
    if not other:
        return source
    return open_table(table, options=replace(options, fitted=other))


def stream(
    batches: Iterable[tuple[pl.DataFrame, Note]],
    out: str | Path,
    *,
    n_rows: int,
    format: EncodedFormat | None,  # noqa: A002 # the word for it
    overwrite: bool,
    progress: Callable[[float], None],
) -> tuple[FileCount, list[Note]]:
    """Write batches into a file, and count them."""
    notes: list[Note] = []
    with TableWriter(out, format=format, overwrite=overwrite, guard_formulas=False) as writer:
        for frame, note in batches:
            writer.write(frame)
            notes.append(note)
            progress(writer.rows / n_rows)
    return FileCount(rows=writer.rows, batches=len(notes)), notes


def map_batches(
    codec: Codec,
    source: Source,
    function: Callable[[int, pl.DataFrame], Part],
    *,
    number: int,
    engine: Engine | None = None,
) -> Iterator[Part]:
    """Yield the function of each batch of a source, in order."""
    integer_at_least(0, owner="a file's encoding", number=number)
    engine = engine or LocalEngine()
    check_confidential(engine, what="the codec's plan")
    apply = partial(_in_one_thread, function, batch_number(number, 0))
    # Here, too: the limit is set once, and not for each batch.
    with one_blas_thread():
        yield from map_table(engine, source, source.columns, apply, n_rows=batch_rows(codec.plan_))


def _in_one_thread(
    function: Callable[[int, pl.DataFrame], Part], first: int, place: int, batch: pl.DataFrame
) -> Part:
    with one_blas_thread():
        return function(first + place, batch)
