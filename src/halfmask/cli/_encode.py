"""``halfmask encode``: fit a codec that stays in a vault, and encode tables by it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from halfmask.cli._claims import some
from halfmask.cli._codecs import (
    CATEGORICAL,
    CODECS,
    OUT_FORMAT,
    TASK,
    CodecOptions,
    OutFormat,
    StoredCodec,
    TaskName,
    check_free,
    check_markers,
    check_streams,
    claims_as_dict,
    encoded_format,
    names_folder,
    seal_receipt,
    show_claims,
    unseal_codec,
)
from halfmask.cli._console import console, printable
from halfmask.cli._encode_series import series
from halfmask.cli._option_groups import argument, flag, option, spreads_groups
from halfmask.cli._options import OVERWRITE, TABLE, EngineOptions, SayingOptions, command_group
from halfmask.cli._tables import Reading, schema_of

if TYPE_CHECKING:
    from halfmask.encode import Codec

encode = command_group("encode", "Encode tables for training on an untrusted machine.")
encode.add_typer(series)


@encode.command()
@spreads_groups
def fit(
    table: str = TABLE,
    *,
    target: str | None = option("--target COLUMN: The column to predict."),
    task: TaskName | None = TASK,
    categorical: list[str] | None = CATEGORICAL,
    settings: CodecOptions,
    reading: Reading,
    where: EngineOptions,
    place: StoredCodec,
    saying: SayingOptions,
) -> int:
    """Fit a codec to TABLE and store it in a vault.

    Each fit draws new keys. The command shows the codec's claims and weaknesses. The codec is
    stored in the vault only.
    """
    check_streams(table, "", place.lock, as_json=saying.as_json)
    check_markers(reading.mark or ())
    vault = place.open()
    check_free(vault, place.codec)
    from halfmask.encode import fit_file  # noqa: PLC0415 # polars takes half a second

    made = settings.codec()
    with where.connected() as engine, saying.stages() as stages:
        source = reading.open(table)
        fit_file(
            made,
            source,
            target=target,
            task=task,
            schema=schema_of(source, categorical or ()),
            known={*(categorical or ()), *reading.options().typed()},
            engine=engine,
            progress=stages,
        )
        stages("sealing the codec")
        CODECS.seal(vault, place.codec, made)
    facts = {"vault": vault.id, "codec": place.codec, **_as_dict(made)}
    return saying.say(facts, lambda: _show(made, verbose=saying.verbose))


@encode.command()
@spreads_groups
def apply(
    table: str = TABLE,
    out: str = argument(
        "OUT: The file to write and send; - writes Parquet to standard output. A name that ends "
        "in / makes a folder of Parquet files, from a TABLE in such files."
    ),
    *,
    number: int = option(
        "--number N: The file's number. Rows of files with different numbers get different orders.",
        0,
        min=0,
    ),
    ids: bool = flag(
        "--ids: Write a first column, row_id. Don't train on it. Return it with predictions for "
        "some rows, or in another order."
    ),
    overwrite: bool = OVERWRITE,
    out_format: OutFormat | None = OUT_FORMAT,
    reading: Reading,
    where: EngineOptions,
    place: StoredCodec,
    saying: SayingOptions,
) -> int:
    """Encode TABLE with a codec from the vault.

    OUT holds numbers under keyed column names. The target is last, if TABLE has it. OUT is the
    file to send. The command lists the columns that hold category codes: declare them to the
    learner, or it treats them as numbers. Unknown columns or categories are an error, and so are
    cells that can't be decoded. Then nothing is written. A receipt in the vault restores the row
    order at decoding.
    """
    check_streams(table, out, place.lock, as_json=saying.as_json)
    wanted = encoded_format(out, out_format)
    vault = place.open()
    fitted = unseal_codec(vault, place.codec)
    from halfmask.encode import encode_file, encode_folder  # noqa: PLC0415 # as above

    write = encode_folder if names_folder(out) else partial(encode_file, format=wanted)
    with where.connected() as engine, saying.stages() as stages:
        done = write(
            fitted,
            reading.open(table, plan=fitted.plan_),
            out,
            number=number,
            ids=ids,
            overwrite=overwrite,
            engine=engine,
            progress=stages,
        )
        if done.receipt is not None:
            seal_receipt(vault, place.codec, fitted, done.receipt)
    counts = {"rows": done.rows, "features": len(fitted.plan_.tokens), "number": number}
    return saying.say(
        {**counts, "codes": _codes(fitted)},
        lambda: _show_encoded(fitted, place.codec, done.rows, number),
    )


def _show_encoded(codec: Codec, name: str, rows: int, number: int) -> None:
    err = console(stderr=True)
    err.print(
        f"Encoded {some(rows, 'row')} with number {number}. Codec {printable(name)} and a "
        "receipt in the vault decode what comes back.",
        soft_wrap=True,
    )
    if _codes(codec):
        names = ", ".join(_codes(codec))
        err.print(f"Codes of categories, not numbers: {names}", soft_wrap=True)


def _codes(codec: Codec) -> list[str]:
    """Return the columns that a learner must not take for numbers, in the order of those sent."""
    codes = {it.token for it in codec.plan_.codes}
    return [token for token in codec.plan_.tokens if token in codes]


def _as_dict(codec: Codec) -> dict[str, object]:
    return {
        "learner": codec.learner,
        "features": len(codec.plan_.names),
        "columns_sent": len(codec.plan_.tokens),
        **claims_as_dict(codec),
    }


def _show(codec: Codec, *, verbose: bool) -> None:
    err, plan = console(stderr=True), codec.plan_
    err.print(f"{len(plan.names)} features are sent as {len(plan.tokens)} columns.", style="bold")
    show_claims(codec, err, title="Whose predictions stay what they are", verbose=verbose)
