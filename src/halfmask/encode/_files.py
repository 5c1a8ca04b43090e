"""Files through a codec: read, encoded or decoded, and written batch by batch."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

from halfmask._errors import DataError
from halfmask._progress import silent
from halfmask._validation import integer_at_least, one_of
from halfmask.data import ReadOptions, Source, TableWriter, open_table
from halfmask.encode._batching import fit_rows, numbered
from halfmask.encode._predictions import by_row, come_home, warn_of_unseen
from halfmask.encode._receipts import Receipt, digest_of
from halfmask.encode._returned import Returned
from halfmask.encode._row_ids import ROW_ID
from halfmask.engines import map_in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    from halfmask._progress import Progress
    from halfmask.data import Schema
    from halfmask.encode._codec import Codec
    from halfmask.encode._plan import Plan
    from halfmask.encode._receipts import Number
    from halfmask.encode._roles import Task

__all__ = [
    "EncodedFormat",
    "FileCount",
    "decode_file",
    "decode_predictions_file",
    "encode_file",
    "fit_file",
]

EncodedFormat: TypeAlias = Literal["parquet", "csv", "arrow"]
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
    receipt: Receipt | None = field(default=None, compare=False, repr=False)
    number: int | None = field(default=None, compare=False, repr=False)
    by_count: bool = field(default=False, compare=False, repr=False)


def fit_file(
    codec: Codec,
    table: object,
    *,
    target: str | None = None,
    task: Task | None = None,
    schema: Schema | None = None,
    options: ReadOptions | None = None,
    known: Collection[str] | None = None,
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
    progress
        What is told how far it is.

    Returns
    -------
    The codec.

    Raises
    ------
    DataError, SchemaError, ParameterError
        As `open_table` and `Codec.fit` do.

    Guarantees
    ----------
    The table is read once. Memory is bounded by a batch and by what the plan keeps of columns:
    each distinct value of a category, and for trees each distinct value of a number. The plan is
    the same as `Codec.fit` makes of the same rows with the same secret, but for the last bits of
    means and deviations.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.encode import Codec
    >>> rows = pl.DataFrame({"age": [41, 17, 30]})
    >>> fit_file(Codec(learner="trees"), rows).plan_
    Plan(learner='trees', 1 features)
    """
    source = _opened(table, options)
    told = progress or silent
    seen = 0

    def batches() -> Iterator[pl.DataFrame]:
        nonlocal seen
        for batch in source.batches(fit_rows(len(source.columns))):
            seen += batch.height
            yield batch
            told("fitting", seen / source.n_rows)
            # No name may keep a batch alive while the next one is read.
            del batch

    if known is None:
        known = {*(schema.names if schema else ()), *(options.typed() if options else ())}
    return codec._fit(batches(), target=target, task=task, schema=schema, known=known)  # noqa: SLF001 # of this package


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
    progress: Progress | None = None,
) -> FileCount:
    """Encode a table of any length into a file that may leave: `Codec.encode` for files.

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
    progress
        What is told how far it is.

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

    Guarantees
    ----------
    The file appears whole or not at all, whatever happens. It holds the encoded rows and nothing
    else: no name, statistic, dictionary or key of metadata of the table. Memory doesn't grow with
    the rows.

    Edge cases
    ----------
    Rows change places within a batch of 262,144 (fewer beyond 64 encoded columns), so about when a
    row came stays visible in a longer file: shuffle a table whose order tells something. A file of
    one batch and number 0 is what `Codec.encode` gives. In a text file, whose cells have no types,
    cells are read as those of the fit were.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import polars as pl
    >>> from halfmask.encode import Codec
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
    source = _opened_as_fitted(table, options, plan)
    sizes: dict[int, tuple[int, str]] = {}

    def encoded(numbered: tuple[int, pl.DataFrame]) -> pl.DataFrame:
        place, batch = numbered
        sent = plan.apply(batch, number=place, threads=False, ids=ids)
        sizes[place] = sent.height, digest_of(sent, plan.tokens)
        return sent

    done = _stream(
        codec,
        source,
        out,
        encoded,
        number=number,
        format=format,
        overwrite=overwrite,
        told=partial(progress or silent, "encoding"),
    )
    rows, digests = zip(*(sizes[place] for place in sorted(sizes)), strict=True)
    receipt = Receipt(first=min(sizes), rows=rows, digests=digests, ids=ids, file=True)
    codec.remember(receipt)
    return replace(done, receipt=receipt)


def decode_file(
    codec: Codec,
    encoded: object,
    out: str | Path,
    *,
    number: Number = "auto",
    rows: int | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> FileCount:
    """Decode a file of encoded rows into the rows at home: `Codec.decode` for files.

    Parameters
    ----------
    codec
        The codec that encoded them.
    encoded
        A path, a frame or a `Source` of what `encode_file` wrote, in any format.
    out
        The file to write, at home; the end of its name says the format. ``"-"`` is standard
        output, as Parquet.
    number
        The number that `encode_file` took. ``"auto"`` takes it from the codec's `receipts_
        <Codec.receipts_>`, and 0 where there is none. ``None`` leaves rows in the order that they
        have.
    rows
        How many rows there have to be, as `encode_file` counted them; not checked by default.
    overwrite, progress
        As of `encode_file`.

    Returns
    -------
    FileCount
        The rows that were written, and the batches.

    Raises
    ------
    KeyMismatchError
        If the table has no column of this codec.
    DataError, SchemaError
        As `open_table` and `Codec.decode` do, or if there aren't as many rows as there have to be.
    ReleaseError
        If the file exists and may not be replaced, or can't be written.

    Guarantees
    ----------
    As of `encode_file`. A batch that can't be decoded leaves no file.

    Edge cases
    ----------
    Columns come in the fitted order. Categories that weren't there at the fit come back missing,
    and a `ColumnWarning` counts them. Texts are written as they are: a decoded CSV file may hold
    what a spreadsheet runs as a formula. Rows that were taken out or put in another order are
    refused by their receipt; without one, the order of rows is wrong then.
    """
    source = _opened(encoded)
    _check_rows(source, rows)
    plan = codec.plan_
    returned = Returned(codec, source, number, what="rows")

    unseen: list[dict[str, int]] = []  # of one batch each; appending is safe in threads

    def decoded(numbered: tuple[int, pl.DataFrame]) -> pl.DataFrame:
        rows = plan.undo(numbered[1], number=returned.order_of(*numbered), threads=False)
        unseen.append(plan.unseen(numbered[1]))
        return rows

    done = _stream(
        codec,
        source,
        out,
        decoded,
        number=returned.number or 0,
        format=None,
        overwrite=overwrite,
        told=partial(progress or silent, "decoding"),
    )
    warn_of_unseen(sum(map(Counter, unseen), Counter()))
    return replace(done, number=returned.number)


def decode_predictions_file(
    codec: Codec,
    predictions: object,
    out: str | Path,
    *,
    columns: Sequence[str] | None = None,
    number: Number = "auto",
    rows: int | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> FileCount:
    """Decode a file of predictions for encoded rows: `Codec.decode_predictions` for files.

    Parameters
    ----------
    codec
        The codec that encoded the rows that were predicted.
    predictions
        A path, a frame or a `Source`: a row for each encoded row, in the order of the encoded
        file, or with its column ``row_id`` in any order. One column of predicted codes or numbers,
        or a column of probabilities for each code, in ascending order of the codes.
    out
        The file to write, at home; the end of its name says the format.
    columns
        Which columns hold the predictions, in order. By default all but those of the encoded file.
    number
        As of `decode_file`; without a receipt it has to be said.
    rows, overwrite, progress
        As of `decode_file`.

    Returns
    -------
    FileCount
        The rows that were written, and the batches.

    Raises
    ------
    DataError, SchemaError, ReleaseError
        As `Codec.decode_predictions` and `decode_file` do.

    Guarantees
    ----------
    As of `encode_file`.

    Edge cases
    ----------
    Predictions with ``row_id`` are read whole, and come in the order at home behind a column
    ``row``: the place of each row there, from 0. Predictions beside all encoded columns are checked
    by these. Other predictions tell nothing of their order: it has to be that of the encoded file.
    """
    source = _opened(predictions)
    _check_rows(source, rows)
    plan = codec.plan_
    sent = {*plan.tokens, ROW_ID, plan.target.token if plan.target is not None else ""}
    answers = columns or [name for name in source.columns if name not in sent]
    if columns is None and not answers:
        answers = [name for name in source.columns if name not in {*plan.tokens, ROW_ID}]
    if ROW_ID in source.columns:
        frame = pl.concat(list(source.batches(columns=[ROW_ID, *answers])))
        return _written(by_row(plan, frame, codec.receipts_, answers), out, overwrite=overwrite)
    returned = Returned(codec, source, number, what="predictions")

    def decoded(numbered: tuple[int, pl.DataFrame]) -> pl.DataFrame:
        order = returned.order_of(*numbered)
        answer = numbered[1].select(answers)
        found: pl.DataFrame = come_home(plan, answer, number_of=lambda _: order)
        return found

    done = _stream(
        codec,
        source,
        out,
        decoded,
        number=returned.number or 0,
        format=None,
        overwrite=overwrite,
        told=partial(progress or silent, "decoding"),
    )
    by_count = returned.number is not None and not returned.is_checked
    return replace(done, number=returned.number, by_count=by_count)


def _written(frame: pl.DataFrame, out: str | Path, *, overwrite: bool) -> FileCount:
    with TableWriter(out, format=None, overwrite=overwrite, guard_formulas=False) as writer:
        writer.write(frame)
    return FileCount(rows=frame.height, batches=1)


def _opened(table: object, options: ReadOptions | None = None) -> Source:
    return table if isinstance(table, Source) else open_table(table, options=options)


def _opened_as_fitted(table: object, options: ReadOptions | None, plan: Plan) -> Source:
    """Open a table whose cells are read as those of the fit were, where they are texts.

    A file of texts says no types: a column of whole numbers may have had decimals at the fit.
    """
    source = _opened(table, options)
    if isinstance(table, Source):
        return source
    options = options or ReadOptions()
    other = plan.to_declare(source.dtypes, format=source.format)
    other = {name: dtype for name, dtype in other.items() if name not in options.typed()}
    if not other:
        return source
    return _opened(table, replace(options, fitted=other))


def _check_rows(source: Source, rows: int | None) -> None:
    if rows is not None and source.n_rows != rows:
        raise DataError(
            f"There are {source.n_rows} rows where {rows} were encoded.",
            hint="Ask for the whole file, or say that the order is lost: number=None, --unordered.",
        )


def _stream(
    codec: Codec,
    source: Source,
    out: str | Path,
    function: Callable[[tuple[int, pl.DataFrame]], pl.DataFrame],
    *,
    number: int,
    format: EncodedFormat | None,  # noqa: A002 # the word for it
    overwrite: bool,
    told: Callable[[float], None],
) -> FileCount:
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 # only this needs it

    integer_at_least(0, owner="a file's encoding", number=number)
    batches = 0
    # Set here, around all threads: one thread's limit must not end while another one works.
    with (
        threadpool_limits(1, user_api="blas"),
        TableWriter(out, format=format, overwrite=overwrite, guard_formulas=False) as writer,
    ):
        for frame in map_in_order(numbered(source, codec.plan_, file=number), function):
            writer.write(frame)
            batches += 1
            told(writer.rows / source.n_rows)
    return FileCount(rows=writer.rows, batches=batches)
