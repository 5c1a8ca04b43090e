"""``halfmask decode``: rows and predictions come home."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from halfmask._errors import ColumnNotFoundError
from halfmask.cli._codecs import (  # typer reads annotations
    CodecOption,
    OverwriteOption,
    VaultOption,
    check_streams,
    open_vault,
    unseal_codec,
)
from halfmask.cli._console import console, say_json
from halfmask.cli._failures import UsageError
from halfmask.cli._header_options import HeaderOptions  # noqa: TC001 # typer reads it
from halfmask.cli._option_groups import spreads_groups
from halfmask.cli._options import (  # noqa: TC001 # as above
    DebugOption,
    FileFormat,
    JsonOption,
    VerboseOption,
)
from halfmask.cli._progress import Stages, compilation_announced
from halfmask.cli._tables import Reading
from halfmask.cli._vault_lock import (  # noqa: TC001 # as above
    KeyFileOption,
    KeyringOption,
    PassphraseFileOption,
)

__all__ = ["decode"]


@spreads_groups
def decode(
    encoded: Annotated[
        str,
        typer.Argument(
            metavar="ENCODED",
            show_default=False,
            help="Encoded rows, or with --predictions what a model answered for them: a file, or "
            "- for standard input.",
        ),
    ],
    out: Annotated[
        str,
        typer.Argument(
            metavar="OUT",
            show_default=False,
            help="The file to write, which stays at home; - for standard output, as Parquet.",
        ),
    ],
    *,
    vault: VaultOption,
    codec: CodecOption,
    predictions: Annotated[
        bool,
        typer.Option(
            "--predictions",
            help="Decode predictions: one column of codes or numbers, or probabilities, a column "
            "for each code in ascending order. They are in the order of the encoded rows, or "
            "in any order with row_id.",
        ),
    ] = False,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="COLUMN",
            help="With --predictions, a column that holds them, where ENCODED has others, too; may "
            "be given more than once.",
        ),
    ] = None,
    number: Annotated[
        int | None,
        typer.Option(
            "--number",
            min=0,
            metavar="N",
            help="The file's number at encoding; needed if several files have this number of rows.",
        ),
    ] = None,
    unordered: Annotated[
        bool,
        typer.Option(
            "--unordered",
            help="Leave rows in the order they have: some were taken out, or they were sorted.",
        ),
    ] = False,
    expect_rows: Annotated[
        int | None,
        typer.Option("--expect-rows", min=1, metavar="ROWS", help="How many there have to be."),
    ] = None,
    format: Annotated[  # noqa: A002 # it is the option's name
        FileFormat | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="ENCODED's format where its name doesn't say it: csv, tsv, parquet, arrow (a "
            "file), arrows (a stream) or jsonl.",
        ),
    ] = None,
    head: HeaderOptions,
    overwrite: OverwriteOption = False,
    key_file: KeyFileOption = None,
    passphrase_file: PassphraseFileOption = None,
    keyring: KeyringOption = False,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
    debug: DebugOption = False,  # noqa: ARG001 # main looks for it
) -> int:
    """Decode rows, or predictions for them, by a codec of the vault.

    Rows come back as they were, in the order that they had at home; predictions as a model at home
    would have made them. The end of OUT's name says its format. The vault's receipts say which file
    they belong to: predictions by their number of rows, or by row_id where encoding had --ids.
    """
    check_streams(encoded, out, passphrase_file, as_json=as_json)
    if column and not predictions:
        raise UsageError("--column is for --predictions.", hint="Rows are decoded whole.")
    opened = open_vault(vault, key_file, passphrase_file, keyring=keyring)
    fitted = unseal_codec(opened, codec)
    from halfmask.encode import (  # noqa: PLC0415 # polars takes half a second
        decode_file,
        decode_predictions_file,
    )

    which: int | Literal["auto"] | None = "auto" if number is None else number
    if unordered:
        which = None
    err = console(stderr=True)
    with compilation_announced(err), Stages(err, verbose=verbose) as stages:
        source = Reading(
            format=format,
            head=head,
            called="The file of predictions" if predictions else "The encoded table",
        ).open(encoded)
        absent = [name for name in column or () if name not in source.columns]
        if absent:
            raise ColumnNotFoundError.of(absent, source.columns, where="the predictions")
        if predictions:
            done = decode_predictions_file(
                fitted,
                source,
                out,
                columns=column,
                number=which,
                rows=expect_rows,
                overwrite=overwrite,
                progress=stages,
            )
        else:
            done = decode_file(
                fitted,
                source,
                out,
                number=which,
                rows=expect_rows,
                overwrite=overwrite,
                progress=stages,
            )
    if as_json:
        told = {"rows": done.rows, "predictions": predictions, "number": done.number}
        say_json({"ok": True, **told})
    else:
        what = "predictions" if predictions else "rows"
        of = "" if done.number is None else f" of the file with number {done.number}"
        err.print(f"Decoded {done.rows:,} {what}{of}. They must not leave.", soft_wrap=True)
        if done.by_count:
            err.print(
                "The predictions don't show their order: that of the encoded file was assumed. "
                "Encode with --ids to check it.",
                soft_wrap=True,
            )
    return 0
