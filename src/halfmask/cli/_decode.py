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
            help="Decode predictions: one column of codes or numbers, or probabilities, a column "
            "for each code in ascending order. They are in the order of the encoded rows, or "
            "in any order with row_id.",
        ),
    ] = False
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="COLUMN",
            help="With --predictions, a column that holds them, where ENCODED has others, too; may "
            "be given more than once.",
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
            help="Leave rows in the order they have: some were taken out, or they were sorted.",
        ),
    ] = False
    expect_rows: Annotated[
        int | None,
        typer.Option("--expect-rows", min=1, metavar="ROWS", help="How many there have to be."),
    ] = None
    format: Annotated[
        FileFormat | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="ENCODED's format where its name doesn't say it: csv, tsv, parquet, arrow (a "
            "file), arrows (a stream) or jsonl.",
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
        help="Encoded rows, or with --predictions what a model answered for them: a file, or "
        "- for standard input.",
    ),
]
OutArgument = Annotated[
    str,
    typer.Argument(
        metavar="OUT",
        show_default=False,
        help="The file to write, which stays at home; - for standard output, as Parquet.",
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
    """Decode rows, or predictions for them, by a codec of the vault.

    Raw rows come back in their original order; predictions come back as a model of the raw rows
    would have made them. The end of OUT's name says its format. The vault's receipts say which file
    they belong to: predictions by their number of rows, or by row_id where encoding had --ids.
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
