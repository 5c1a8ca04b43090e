"""``halfmask predict``: what a trainer's model expects of rows, decoded at home."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from halfmask.cli._codecs import OverwriteOption  # noqa: TC001 # typer reads annotations
from halfmask.cli._console import console, say_json
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import spreads_groups
from halfmask.cli._options import (  # noqa: TC001 # as above
    DebugOption,
    JsonOption,
    VerboseOption,
)
from halfmask.cli._progress import Stages
from halfmask.cli._push import check_inputs
from halfmask.cli._remote import (  # as above
    AuthorityOption,
    BatchRowsOption,
    CertificateKeyOption,
    CertificateOption,
    CompressionOption,
    GiveUpOption,
    InFlightOption,
    JournalOption,
    ModelOption,
    PlainHttpOption,
    ProxyOption,
    TokenFileOption,
    UrlOption,
    connect,
    journal_of,
)
from halfmask.cli._rows import (  # as above
    SourceArgument,
    WithHasherOption,
    WithVaultOption,
    rows_of,
    unlocked,
)
from halfmask.cli._tables import Reading  # noqa: TC001 # as above
from halfmask.cli._vault_lock import (  # noqa: TC001 # as above
    KeyFileOption,
    KeyringOption,
    PassphraseFileOption,
)

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["predict"]


@spreads_groups
def predict(
    source: SourceArgument,
    out: Annotated[
        str,
        typer.Argument(
            metavar="OUT",
            show_default=False,
            help="The file to write, which stays at home: the end of its name says the format; - "
            "for standard output, as Parquet.",
        ),
    ],
    *,
    url: UrlOption,
    model: ModelOption,
    token_file: TokenFileOption,
    vault: WithVaultOption = None,
    hasher: WithHasherOption = None,
    hashed: Annotated[
        bool,
        typer.Option(
            "--hashed", help="ROWS are hashed already; the hasher only says what classes mean."
        ),
    ] = False,
    margin: Annotated[
        bool,
        typer.Option("--margin", help="The model answers margins (hinge), and not probabilities."),
    ] = False,
    probabilities: Annotated[
        bool,
        typer.Option("--probabilities", help="Write a column of probabilities for each class."),
    ] = False,
    batch_rows: BatchRowsOption = 4096,
    in_flight: InFlightOption = 2,
    journal: JournalOption = None,
    overwrite: OverwriteOption = False,
    compression: CompressionOption = "none",
    authority: AuthorityOption = None,
    certificate: CertificateOption = None,
    certificate_key: CertificateKeyOption = None,
    plain_http: PlainHttpOption = False,
    proxy: ProxyOption = None,
    give_up: GiveUpOption = 300.0,
    reading: Reading,
    key_file: KeyFileOption = None,
    passphrase_file: PassphraseFileOption = None,
    keyring: KeyringOption = False,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
    debug: DebugOption = False,  # noqa: ARG001 # main looks for it
) -> int:
    """Ask a trainer's model about ROWS, and write its answers to OUT in their order.

    With a hasher, classes come back under their own names; without, OUT has the numbers that the
    model answered. Labels of ROWS are not sent. After a break the same command goes on where it
    was; OUT appears when it is whole.
    """
    check_inputs(source, token_file, passphrase_file)
    if out == "-" and as_json:
        raise UsageError("--json and OUT - both want standard output.", hint="Choose one.")
    opened = unlocked(vault, hasher, key_file, passphrase_file, keyring=keyring)
    if hashed and opened is None:
        raise UsageError("--hashed is for --hasher.", hint="Without one, rows are hashed rows.")
    from halfmask.cli._answers import frames_of  # noqa: PLC0415 # --help needs none
    from halfmask.data import TableWriter  # noqa: PLC0415 # polars takes half a second

    where = journal_of(journal, out, "predict", url, model)
    err = console(stderr=True)
    with (
        connect(
            url,
            token_file,
            authority=authority,
            certificate=certificate,
            certificate_key=certificate_key,
            plain_http=plain_http,
            proxy=proxy,
            compression=compression,
            give_up=give_up,
        ) as client,
        Stages(err, verbose=verbose) as stages,
        rows_of(
            source,
            None if hashed else opened,
            reading,
            labelled=False,
            err=err,
            told=lambda _, share=None: stages("predicting", share),
        ) as rows,
        TableWriter(
            out,
            format="parquet" if out == "-" else None,
            overwrite=overwrite,
            guard_formulas=False,
        ) as writer,
    ):
        answers = client.predict(
            model,
            rows.batches,
            batch_rows=batch_rows,
            in_flight=in_flight,
            journal=where,
            rows=rows.count,
            progress=stages if rows.count else None,
        )
        codes = None if opened is None else opened.codes
        for frame in frames_of(answers, codes, margin=margin, probabilities=probabilities):
            writer.write(frame)
    _done_with(where, said=journal)
    if as_json:
        say_json({"ok": True, "model": model, "rows": writer.rows})
    else:
        err.print(f"{writer.rows:,} rows were predicted. What they say must not leave.")
    return 0


def _done_with(journal: Path | None, *, said: str | None) -> None:
    """Remove a journal that nobody asked for: the file that it was kept for is there."""
    if journal is not None and said is None:
        journal.unlink(missing_ok=True)
