"""``halfmask decode``: rows and predictions come home."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from halfmask._errors import ColumnNotFoundError
from halfmask.cli._codecs import (  # typer reads annotations
    StoredCodec,
    check_streams,
    unseal_codec,
)
from halfmask.cli._console import console, say_json
from halfmask.cli._failures import UsageError
from halfmask.cli._header_options import HeaderOptions
from halfmask.cli._option_groups import spreads_groups
from halfmask.cli._options import (  # as above
    FileFormat,
    OverwriteOption,
    SayingOptions,
)
from halfmask.cli._tables import FormOptions, Reading

if TYPE_CHECKING:
    from halfmask.data import Source

__all__ = ["decode"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingOptions:
    """What is to be decoded, and how it is read."""

    predictions: Annotated[
        bool,
        typer.Option(
            "--predictions",
            help="Decode predictions: one column of codes or numbers, or one column of "
            "probabilities for each code, in ascending order. Without row_id they must "
            "have the order of the encoded rows.",
        ),
    ] = False
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="COLUMN",
            help="With --predictions: a column of predictions, if ENCODED has other columns, "
            "too; may be given more than once.",
        ),
    ] = None
    number: Annotated[
        int | None,
        typer.Option(
            "--number",
            min=0,
            metavar="N",
            help="The file's number at encoding; needed if several files have this number of rows.",
        ),
    ] = None
    unordered: Annotated[
        bool,
        typer.Option(
            "--unordered",
            help="Keep the order of ENCODED. Use it if rows were removed or sorted.",
        ),
    ] = False
    expect_rows: Annotated[
        int | None,
        typer.Option(
            "--expect-rows",
            min=1,
            metavar="ROWS",
            help="Fail if the number of rows isn't this one.",
        ),
    ] = None
    format: Annotated[
        FileFormat | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="ENCODED's format, if its name doesn't state it: csv, tsv, parquet, arrow "
            "(a file), arrows (a stream) or jsonl.",
        ),
    ] = None
    head: HeaderOptions = field(default_factory=HeaderOptions)

    def which(self) -> int | Literal["auto"] | None:
        """Return the number of the file whose order rows have; None leaves them in theirs."""
        if self.unordered:
            return None
        return "auto" if self.number is None else self.number

    def open(self, encoded: str) -> Source:
        """Open encoded rows, or predictions for them."""
        source = Reading(
            form=FormOptions(format=self.format, head=self.head),
            called="The file of predictions" if self.predictions else "The encoded table",
        ).open(encoded)
        absent = [name for name in self.column or () if name not in source.columns]
        if absent:
            raise ColumnNotFoundError.of(absent, source.columns, where="the predictions")
        return source


EncodedArgument = Annotated[
    str,
    typer.Argument(
        metavar="ENCODED",
        show_default=False,
        help="Encoded rows, or with --predictions a model's predictions for them: a "
        "file, or - for standard input.",
    ),
]
OutArgument = Annotated[
    str,
    typer.Argument(
        metavar="OUT",
        show_default=False,
        help="The file to write. Keep it confidential. - writes Parquet to standard output.",
    ),
]


@spreads_groups
def decode(
    encoded: EncodedArgument,
    out: OutArgument,
    *,
    decoding: DecodingOptions,
    overwrite: OverwriteOption = False,
    place: StoredCodec,
    saying: SayingOptions,
) -> int:
    """Decode rows or predictions with a codec from the vault.

    Rows are restored in their original order. Predictions get the classes and units of the raw
    target. The ending of OUT's name sets its format. Receipts in the vault find the encoded file
    that predictions belong to: by the number of rows, or by row_id if encoding had --ids.
    """
    check_streams(encoded, out, place.lock, as_json=saying.as_json)
    predictions, column = decoding.predictions, decoding.column
    if column and not predictions:
        raise UsageError("--column is for --predictions.", hint="Rows are decoded whole.")
    fitted = unseal_codec(place.open(), place.codec)
    from halfmask.encode import (  # noqa: PLC0415 # polars takes half a second
        decode_file,
        decode_predictions_file,
    )

    write = partial(decode_predictions_file, columns=column) if predictions else decode_file
    with saying.stages() as stages:
        done = write(
            fitted,
            decoding.open(encoded),
            out,
            number=decoding.which(),
            rows=decoding.expect_rows,
            overwrite=overwrite,
            progress=stages,
        )
    if saying.as_json:
        counts = {"rows": done.rows, "predictions": predictions, "number": done.number}
        say_json({"ok": True, **counts})
        return 0
    err = console(stderr=True)
    what = "predictions" if predictions else "rows"
    of = "" if done.number is None else f" of the file with number {done.number}"
    err.print(f"Decoded {done.rows:,} {what}{of}. Don't release them.", soft_wrap=True)
    if done.by_count:
        err.print(
            "The predictions don't show their order: that of the encoded file was assumed. "
            "Encode with --ids to check it.",
            soft_wrap=True,
        )
    return 0
