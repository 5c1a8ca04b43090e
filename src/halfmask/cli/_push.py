"""``halfmask push``: hashed rows to a trainer, which learns from each once."""

from __future__ import annotations

from typing import Annotated

import typer

from halfmask.cli._console import console, printable, say_json
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import spreads_groups
from halfmask.cli._options import (  # noqa: TC001 # typer reads annotations
    DebugOption,
    JsonOption,
    VerboseOption,
)
from halfmask.cli._progress import Stages
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

__all__ = ["push"]


@spreads_groups
def push(
    source: SourceArgument,
    *,
    url: UrlOption,
    model: ModelOption,
    token_file: TokenFileOption,
    vault: WithVaultOption = None,
    hasher: WithHasherOption = None,
    stream: Annotated[
        str,
        typer.Option(
            "--stream",
            metavar="WORD",
            help="What these rows are called: the same rows of the same stream are learned from "
            "once. Another word learns from them again. Don't let it tell a secret.",
        ),
    ] = "",
    batch_rows: BatchRowsOption = 4096,
    in_flight: InFlightOption = 1,
    journal: JournalOption = None,
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
    """Let a trainer's model learn from ROWS.

    It ends when every row is on the trainer's disk. After a break, of the line, of this command or
    of the trainer, the same command goes on: no row is lost, and none is learned from twice. With
    --in-flight 1 the model learns in the order of the rows; more is faster.
    """
    check_inputs(source, token_file, passphrase_file)
    opened = unlocked(vault, hasher, key_file, passphrase_file, keyring=keyring)
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
            opened,
            reading,
            labelled=True,
            err=err,
            told=lambda _, share=None: stages("pushing", share),
        ) as rows,
    ):
        done = client.push(
            model,
            rows.batches,
            stream=stream,
            batch_rows=batch_rows,
            in_flight=in_flight,
            journal=journal_of(journal, source, "push", url, model, stream),
            rows=rows.count,
            progress=stages if rows.count else None,
        )
        again = client.sent_again
    if as_json:
        told = {"rows": done.rows, "sent": done.sent, "resumed": done.resumed, "known": done.known}
        say_json({"ok": True, "model": model, **told, "sent_again": again})
        return 0
    err.print(f"{printable(model)} has {done.rows:,} rows; {done.sent:,} were sent now.")
    if done.resumed or done.known:
        err.print(
            f"{done.resumed:,} had been pushed before this command, and the trainer knew "
            f"{done.known:,} of those that were sent. To learn from them again, give another "
            "--stream.",
            soft_wrap=True,
        )
    return 0


def check_inputs(source: str, token_file: str, passphrase_file: str | None) -> None:
    """Refuse two readers of standard input."""
    if [source, token_file, passphrase_file].count("-") > 1:
        raise UsageError(
            "Two of the rows, the token and the passphrase want standard input.",
            hint="Give all but one as files.",
        )
