"""``halfmask encode``: fit codecs of tables and time series in a vault, and encode by them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

from halfmask._errors import ParameterError
from halfmask.cli import _rooms as rooms
from halfmask.cli._claims import some
from halfmask.cli._console import printable
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, flag, items_of, option, required, spreads_groups
from halfmask.cli._options import OVERWRITE, TABLE, EngineOptions, SayingOptions, command_group
from halfmask.cli._stored import (
    CATEGORICAL,
    CODECS,
    OUT_FORMAT,
    SERIES_CODECS,
    TASK,
    CodecOptions,
    OutFormat,
    StoredCodec,
    TaskName,
    check_free,
    check_markers,
    check_streams,
    encoded_format,
    names_folder,
    say_claims,
    seal_receipt,
    unseal_codec,
    unseal_series_codec,
)
from halfmask.cli._tables import Reading, schema_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.encode import Event, SeriesCodec


#: A name, the first and the last moment.
EVENT_PARTS = 3

series = command_group("series", "Encode time series for forecasts on an untrusted machine.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesOptions:
    """The settings of a codec of series, which `halfmask.encode.SeriesCodec` documents."""

    heading: ClassVar = "Time series"

    time: str = required("--time COLUMN: The column of times.")
    entity: str | None = option("--entity COLUMN: The column that names the series of a row.")
    columns: list[str] | None = option(
        "--column COLUMN: A column of numbers to encode; may be given more than once. By default "
        "all other columns."
    )
    every: str | None = option(
        "--every STEP: The step, such as 15m, 1h, 1d or 1mo. By default the most frequent distance."
    )
    periods: list[str] | None = option(
        "--period PERIOD: A cycle to remove: day, week, month, year, or a number of steps; may "
        "be given more than once. By default those of the calendar."
    )
    events: list[str] | None = option(
        "--event NAME,FIRST,LAST: Times that others may know, such as "
        "fire,2023-08-01,2023-08-04. Their values become keyed noise; may be given more than "
        "once."
    )
    seal_beyond: float = option(
        "--seal-beyond SPREADS: Outliers beyond this many spreads become keyed noise, too; 0 for "
        "none.",
        6.0,
    )
    missing: Literal["hidden", "visible"] = option(
        "--missing-cells: Whether missing cells become keyed noise or stay missing.", "hidden"
    )
    order: Literal["error", "sort"] = option(
        "--order: What to do with rows whose times go back.", "error"
    )
    blinding: float = option("--blinding SHARE: The share of keyed noise, 0 to below 1.", 0.0)
    longest_gap: int = option(
        "--longest-gap STEPS: Maximum number of steps without a row.", 1000, min=0
    )

    def codec(self) -> SeriesCodec:
        """Return a codec of these settings, to be fitted."""
        given = asdict(self) | {
            "columns": self.columns or (),
            "every": None if self.every is None else _whole(self.every),
            "periods": None if self.periods is None else [_whole(it) for it in self.periods],
        }
        try:
            given["events"] = [_event(it) for it in self.events or ()]
            return rooms.encode.SeriesCodec(**given)
        except ParameterError as error:
            raise UsageError(error.what, hint=error.hint) from None


@series.command("fit")
@spreads_groups
def fit_series(
    table: str = TABLE,
    *,
    place: StoredCodec,
    settings: SeriesOptions,
    reading: Reading,
    saying: SayingOptions,
) -> int:
    """Fit a codec to the time series of TABLE and store it in a vault.

    Each fit draws new keys. The command shows the codec's claims and weaknesses. The codec is
    stored in the vault only. TABLE is read into memory.
    """
    check_streams(table, "", place.lock, as_json=saying.as_json)
    check_markers(reading.mark or ())
    made = settings.codec()
    vault = place.open()
    check_free(vault, place.codec)
    with saying.stages() as stages:
        rows = reading.open(table).read()
        stages("fitting")
        made.fit(rows)
        stages("sealing the codec")
        SERIES_CODECS.seal(vault, place.codec, made)
    count, plan = len(made.plan_.entities), made.plan_
    head = f"Series: {count}. Columns of each: {len(plan.columns)}."
    facts = {"series": count, **_series_names(made)}
    return say_claims(
        made, vault, place, facts, head, "What holds for forecasts that come home", saying
    )


@series.command("apply")
@spreads_groups
def apply_series(
    table: str = TABLE,
    out: str = argument("OUT: The file to write and send; - writes Parquet to standard output."),
    *,
    place: StoredCodec,
    later: bool = flag("--later: The rows of TABLE follow those of the fit, from the next step."),
    overwrite: bool = OVERWRITE,
    out_format: OutFormat | None = OUT_FORMAT,
    reading: Reading,
    saying: SayingOptions,
) -> int:
    """Encode the time series of TABLE with a codec from the vault.

    TABLE has the rows of the fit, or with --later the rows that follow them. OUT holds numbers at
    steps 0, 1, 2, ... under keyed column names. The command lists the columns to train on. Keep
    all columns: decode needs them.
    """
    check_streams(table, out, place.lock, as_json=saying.as_json)
    wanted = encoded_format(out, out_format)
    fitted = unseal_series_codec(place.open(), place.codec)
    with saying.stages() as stages:
        rows = reading.open(table).read()
        stages("encoding")
        sent = fitted.encode(rows, state=fitted.state_ if later else None)
        with rooms.data.TableWriter(
            out, format=wanted, overwrite=overwrite, guard_formulas=False
        ) as writer:
            writer.write(sent)
    names = _series_names(fitted)
    told = (("Steps", names["time"]), ("Series", names["entity"]))
    return saying.say(
        {"rows": writer.rows, "later": later, **names},
        f"Encoded {some(writer.rows, 'row')}. "
        f"Codec {printable(place.codec)} decodes what comes back.",
        *(f"{what}: {name}" for what, name in told if name),
        f"Columns to forecast: {', '.join(fitted.column_names_.values())}",
        stderr=True,
    )


def _event(text: str) -> Event:
    """Return an event from its words; a name with a comma is put in quotes, as in CSV."""
    parts = items_of(text, "A part of --event")
    if len(parts) != EVENT_PARTS:
        raise UsageError(
            "An --event needs a name, its first and its last time.",
            hint="Such as --event fire,2023-08-01,2023-08-04.",
        )
    name, first, last = parts
    return rooms.encode.Event(name=name, first=_whole(first), last=_whole(last))


def _whole(text: str) -> int | str:
    """Return a whole number, or the text if it is none."""
    return int(text) if text.isascii() and text.isdigit() else text


def _series_names(codec: SeriesCodec) -> dict[str, object]:
    columns: Sequence[str] = list(codec.column_names_.values())
    return {"time": codec.time_name_, "entity": codec.entity_name_ or None, "columns": columns}


encode = command_group("encode", "Encode tables for training on an untrusted machine.")
encode.add_typer(series)


@encode.command()
@spreads_groups
def fit(
    table: str = TABLE,
    *,
    place: StoredCodec,
    target: str | None = option("--target COLUMN: The column to predict."),
    task: TaskName | None = TASK,
    categorical: list[str] | None = CATEGORICAL,
    settings: CodecOptions,
    reading: Reading,
    where: EngineOptions,
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
    made = settings.codec()
    with where.connected() as engine, saying.stages() as stages:
        source = reading.open(table)
        rooms.encode.fit_file(
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
    names, tokens = len(made.plan_.names), len(made.plan_.tokens)
    facts = {"learner": made.learner, "features": names, "columns_sent": tokens}
    head = f"{names} features are sent as {tokens} columns."
    return say_claims(
        made, vault, place, facts, head, "Whose predictions stay what they are", saying
    )


@encode.command()
@spreads_groups
def apply(
    table: str = TABLE,
    out: str = argument(
        "OUT: The file to write and send; - writes Parquet to standard output. A name that ends "
        "in / makes a folder of Parquet files, from a TABLE in such files."
    ),
    *,
    place: StoredCodec,
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
    write = rooms.encode.encode_folder
    if not names_folder(out):
        write = partial(rooms.encode.encode_file, format=wanted)
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
    facts = {"rows": done.rows, "features": len(fitted.plan_.tokens), "number": number}
    # A learner must not take them for numbers.
    of_codes = {it.token for it in fitted.plan_.codes}
    codes = [token for token in fitted.plan_.tokens if token in of_codes]
    return saying.say(
        {**facts, "codes": codes},
        f"Encoded {some(done.rows, 'row')} with number {number}. Codec {printable(place.codec)} "
        "and a receipt in the vault decode what comes back.",
        *([f"Codes of categories, not numbers: {', '.join(codes)}"] if codes else []),
        stderr=True,
    )
