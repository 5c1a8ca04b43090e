"""``halfmask encode series``: a codec of time series that stays in a vault, and rows out."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from halfmask._errors import ParameterError
from halfmask.cli._codec_claims import claims_as_dict, show_claims
from halfmask.cli._codecs import (  # typer reads annotations
    StoredCodec,
    check_free,
    check_markers,
    check_streams,
    seal_series_codec,
    unseal_series_codec,
)
from halfmask.cli._console import console, printable, say_json
from halfmask.cli._encoded_format import OutFormatOption, encoded_format
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import spreads_groups
from halfmask.cli._options import (  # as above
    OverwriteOption,
    SayingOptions,
    TableArgument,
    command_group,
)
from halfmask.cli._tables import Reading  # as above

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.encode import Event, SeriesCodec

#: A name, the first and the last moment.
EVENT_PARTS = 3

series = command_group("series", "Encode time series for forecasts on an untrusted machine.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesOptions:
    """The settings of a codec of series, which `halfmask.encode.SeriesCodec` documents."""

    time: Annotated[
        str,
        typer.Option("--time", metavar="COLUMN", show_default=False, help="The column of times."),
    ]
    entity: Annotated[
        str | None,
        typer.Option(
            "--entity", metavar="COLUMN", help="The column that names the series of a row."
        ),
    ] = None
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="COLUMN",
            help="A column of numbers to encode; may be given more than once. By default "
            "all other columns.",
        ),
    ] = None
    every: Annotated[
        str | None,
        typer.Option(
            "--every",
            metavar="STEP",
            help="The step, such as 15m, 1h, 1d or 1mo. By default the most frequent distance.",
        ),
    ] = None
    period: Annotated[
        list[str] | None,
        typer.Option(
            "--period",
            metavar="PERIOD",
            help="A cycle to remove: day, week, month, year, or a number of steps; may be "
            "given more than once. By default those of the calendar.",
        ),
    ] = None
    event: Annotated[
        list[str] | None,
        typer.Option(
            "--event",
            metavar="NAME,FIRST,LAST",
            help="Times that others may know, such as fire,2023-08-01,2023-08-04. Their values "
            "become keyed noise; may be given more than once.",
        ),
    ] = None
    seal_beyond: Annotated[
        float,
        typer.Option(
            "--seal-beyond",
            metavar="SPREADS",
            help="Outliers beyond this many spreads become keyed noise, too; 0 for none.",
        ),
    ] = 6.0
    missing: Annotated[
        Literal["hidden", "visible"],
        typer.Option(
            "--missing-cells", help="Whether missing cells become keyed noise or stay missing."
        ),
    ] = "hidden"
    order: Annotated[
        Literal["error", "sort"],
        typer.Option("--order", help="What to do with rows whose times go back."),
    ] = "error"
    blinding: Annotated[
        float,
        typer.Option("--blinding", metavar="SHARE", help="The share of keyed noise, 0 to below 1."),
    ] = 0.0
    longest_gap: Annotated[
        int,
        typer.Option(
            "--longest-gap", min=0, metavar="STEPS", help="Maximum number of steps without a row."
        ),
    ] = 1000

    def codec(self) -> SeriesCodec:
        """Return a codec of these settings, to be fitted."""
        from halfmask.encode import SeriesCodec  # noqa: PLC0415 # polars takes half a second

        periods = None if self.period is None else [_whole(it) for it in self.period]
        try:
            return SeriesCodec(
                time=self.time,
                entity=self.entity,
                columns=self.column or (),
                every=None if self.every is None else _whole(self.every),
                periods=periods,
                events=[_event(it) for it in self.event or ()],
                seal_beyond=self.seal_beyond,
                missing=self.missing,
                order=self.order,
                blinding=self.blinding,
                longest_gap=self.longest_gap,
            )
        except ParameterError as error:
            raise UsageError(error.what, hint=error.hint) from None


OutArgument = Annotated[
    str,
    typer.Argument(
        metavar="OUT",
        show_default=False,
        help="The file to write and send; - writes Parquet to standard output.",
    ),
]
LaterOption = Annotated[
    bool,
    typer.Option("--later", help="The rows of TABLE follow those of the fit, from the next step."),
]


@series.command()
@spreads_groups
def fit(
    table: TableArgument,
    *,
    settings: SeriesOptions,
    reading: Reading,
    place: StoredCodec,
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
        seal_series_codec(vault, place.codec, made)
    if saying.as_json:
        say_json({"ok": True, "vault": vault.id, "codec": place.codec, **_as_dict(made)})
    else:
        _show(made, verbose=saying.verbose)
    return 0


@series.command()
@spreads_groups
def apply(
    table: TableArgument,
    out: OutArgument,
    *,
    later: LaterOption = False,
    overwrite: OverwriteOption = False,
    out_format: OutFormatOption = None,
    reading: Reading,
    place: StoredCodec,
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
    from halfmask.data import TableWriter  # noqa: PLC0415 # polars takes half a second

    with saying.stages() as stages:
        rows = reading.open(table).read()
        stages("encoding")
        sent = fitted.encode(rows, state=fitted.state_ if later else None)
        with TableWriter(out, format=wanted, overwrite=overwrite, guard_formulas=False) as writer:
            writer.write(sent)
    if saying.as_json:
        say_json({"ok": True, "rows": writer.rows, "later": later, **_names(fitted)})
        return 0
    err = console(stderr=True)
    err.print(
        f"Encoded {writer.rows:,} rows. Codec {printable(place.codec)} decodes what comes back.",
        soft_wrap=True,
    )
    names = _names(fitted)
    for what, name in (("Steps", names["time"]), ("Series", names["entity"])):
        if name:
            err.print(f"{what}: {name}", soft_wrap=True)
    err.print(f"Columns to forecast: {', '.join(fitted.column_names_.values())}", soft_wrap=True)
    return 0


def _event(text: str) -> Event:
    """Return an event from its words; a name with a comma is put in quotes, as in CSV."""
    from halfmask.encode import Event  # noqa: PLC0415 # polars takes half a second

    parts = [part.strip() for part in next(csv.reader([text]), [])]
    if len(parts) != EVENT_PARTS:
        raise UsageError(
            "An --event needs a name, its first and its last time.",
            hint="Such as --event fire,2023-08-01,2023-08-04.",
        )
    name, first, last = parts
    return Event(name=name, first=_whole(first), last=_whole(last))


def _whole(text: str) -> int | str:
    """Return a whole number, or the text if it is none."""
    return int(text) if text.isascii() and text.isdigit() else text


def _names(codec: SeriesCodec) -> dict[str, object]:
    columns: Sequence[str] = list(codec.column_names_.values())
    return {"time": codec.time_name_, "entity": codec.entity_name_ or None, "columns": columns}


def _as_dict(codec: SeriesCodec) -> dict[str, object]:
    return {
        "series": len(codec.plan_.entities),
        **_names(codec),
        **claims_as_dict(codec),
    }


def _show(codec: SeriesCodec, *, verbose: bool) -> None:
    err, plan = console(stderr=True), codec.plan_
    err.print(f"Series: {len(plan.entities)}. Columns of each: {len(plan.columns)}.", style="bold")
    show_claims(codec, err, title="What holds for forecasts that come home", verbose=verbose)
