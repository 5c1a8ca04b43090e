"""Files that come home: encoded rows and predictions, decoded batch by batch."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import polars as pl

from halfmask._errors import DataError
from halfmask._progress import silent
from halfmask._validation import integer_at_least
from halfmask.data import TableWriter, open_table
from halfmask.encode._files import FileCount, batch_number, batch_rows, map_batches, stream
from halfmask.encode._predictions import by_row, come_home, warn_of_unseen
from halfmask.encode._receipts import ROW_ID, digest_of, known_number

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from halfmask._progress import Progress
    from halfmask.data import Source
    from halfmask.encode._codec import Codec
    from halfmask.encode._plan import CodecPlan
    from halfmask.encode._receipts import EncodingReceipt, Number


class Returned:
    """Rows or predictions of an encoded file, put in order by what is known of that file."""

    def __init__(
        self,
        codec: Codec,
        source: Source,
        number: Number,
        *,
        what: Literal["rows", "predictions"],
        counted: bool,
    ) -> None:
        plan = codec.plan_
        self._tokens = plan.tokens
        self._receipt: EncodingReceipt | None = None
        self.number: int | None = None
        if isinstance(number, int):
            integer_at_least(0, owner="a file's decoding", number=number)
            number = batch_number(number, 0)
        if not plan.row_key:
            number = None  # rows keep their order
        # A frame that was encoded in memory is a file of one batch, where it fits.
        known = [it for it in codec.receipts_ if it.file or _is_file(it, source, plan)]
        first, digest = None, ""
        if number is not None and known and set(self._tokens) <= set(source.columns):
            first = next(iter(source.batches(batch_rows(plan))))
            digest = digest_of(first, self._tokens)
        try:
            found = known_number(
                known, number, rows=source.n_rows, what=what, digest=digest, counted=counted
            )
        except DataError:
            if first is not None and what == "rows":
                plan.undo(first, number=None)  # a damaged cell says more than a strange table
            raise
        if found is None:
            return
        self.number = found // batch_number(1, 0)
        if digest:
            alike = (it for it in known if it.first == found and it.digests[:1] == (digest,))
            self._receipt = next(alike, None)

    @property
    def is_checked(self) -> bool:
        """Whether the file itself says which encoded rows it belongs to."""
        return self._receipt is not None

    def order_of(self, number: int, batch: pl.DataFrame) -> int | None:
        """Return the number by which a batch is put in order; ``None`` to keep its order."""
        if self.number is None:
            return None
        if self._receipt is not None:
            place = number - batch_number(self.number, 0)
            if digest_of(batch, self._tokens) != self._receipt.digests[place]:
                raise DataError(
                    f"Batch {place + 1} of the file differs from what was encoded.",
                    hint="Rows were changed or put in another order: leave them in the order that "
                    "they have ([[number=None|--unordered]]).",
                )
        return number


def _is_file(receipt: EncodingReceipt, source: Source, plan: CodecPlan) -> bool:
    numbered = receipt.first % batch_number(1, 0) == 0
    return numbered and receipt.height == source.n_rows <= batch_rows(plan)


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
        <Codec.receipts_>`, and 0 where there is none. ``None`` keeps rows in the order that they
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
    As of `encode_file`. If a batch can't be decoded no file is written.

    Edge cases
    ----------
    Columns come in the fitted order. Categories that weren't there at the fit come back missing,
    and a `ColumnWarning` counts them. Texts are written unchanged: a decoded CSV file may hold
    what a spreadsheet runs as a formula. Rows that were taken out or put in another order are
    refused by their receipt; without one, the order of rows is wrong then.
    """
    source = open_table(encoded)
    _check_rows(source, rows)
    plan = codec.plan_
    returned = Returned(codec, source, number, what="rows", counted=rows is not None)
    decode = partial(_decoded_rows, plan, returned)
    done, unseen = stream(
        map_batches(codec, source, decode, number=returned.number or 0),
        out,
        n_rows=source.n_rows,
        format=None,
        overwrite=overwrite,
        progress=partial(progress or silent, "decoding"),
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
    """Decode a file of predictions: `Codec.decode_predictions` for files.

    Parameters
    ----------
    codec
        The codec that encoded the rows that were predicted.
    predictions
        A path, a frame or a `Source`: one row per encoded row, in the order of the encoded file.
        With the column ``row_id``, any order is possible. One column of predicted codes or numbers,
        or a column of probabilities for each code, in ascending order of the codes.
    out
        The file to write; keep it at home. Its extension sets the format.
    columns
        Which columns hold the predictions, in order. By default all but those of the encoded file.
    number
        See `decode_file`. It is required without a receipt, together with ``rows``.
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
    Predictions with ``row_id`` are read into memory at once. The output is in the order of your
    table, and its first column ``row`` is the position in your table, from 0. If the file has all
    encoded columns, they are used to check the order. Other predictions must be in the order of
    the encoded file.
    """
    source = open_table(predictions)
    _check_rows(source, rows)
    plan = codec.plan_
    sent = {*plan.tokens, ROW_ID, plan.target.token if plan.target is not None else ""}
    answers = columns or [name for name in source.columns if name not in sent]
    if columns is None and not answers:
        answers = [name for name in source.columns if name not in {*plan.tokens, ROW_ID}]
    if ROW_ID in source.columns:
        frame = pl.concat(list(source.batches(columns=[ROW_ID, *answers])))
        return _write_frame(by_row(plan, frame, codec.receipts_, answers), out, overwrite=overwrite)
    returned = Returned(codec, source, number, what="predictions", counted=rows is not None)
    decode = partial(_decoded_answers, plan, returned, answers)
    done, _ = stream(
        map_batches(codec, source, decode, number=returned.number or 0),
        out,
        n_rows=source.n_rows,
        format=None,
        overwrite=overwrite,
        progress=partial(progress or silent, "decoding"),
    )
    by_count = returned.number is not None and not returned.is_checked
    return replace(done, number=returned.number, by_count=by_count)


def _decoded_rows(
    plan: CodecPlan, returned: Returned, number: int, batch: pl.DataFrame
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the original rows of a batch, and how many cells weren't known at the fit."""
    rows = plan.undo(batch, number=returned.order_of(number, batch), threads=False)
    return rows, plan.unseen(batch)


def _decoded_answers(
    plan: CodecPlan, returned: Returned, answers: Sequence[str], number: int, batch: pl.DataFrame
) -> tuple[pl.DataFrame, None]:
    """Return the predictions for a batch in the order of its rows."""
    order = returned.order_of(number, batch)
    found: pl.DataFrame = come_home(plan, batch.select(answers), number_of=lambda _: order)
    return found, None


def _write_frame(frame: pl.DataFrame, out: str | Path, *, overwrite: bool) -> FileCount:
    with TableWriter(out, format=None, overwrite=overwrite, guard_formulas=False) as writer:
        writer.write(frame)
    return FileCount(rows=frame.height, batches=1)


def _check_rows(source: Source, rows: int | None) -> None:
    if rows is not None and source.n_rows != rows:
        raise DataError(
            f"There are {source.n_rows} rows where {rows} were encoded.",
            hint="Ask for the whole file, or say that the order is lost: "
            "[[number=None|--unordered]].",
        )
