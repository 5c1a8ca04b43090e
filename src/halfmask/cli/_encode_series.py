"""``halfmask encode series``: a codec of time series that stays in a vault, and rows out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from halfmask._errors import ParameterError
from halfmask.cli._claims import some
from halfmask.cli._codecs import (
    OUT_FORMAT,
    SERIES_CODECS,
    OutFormat,
    StoredCodec,
    check_free,
    check_markers,
    check_streams,
    claims_as_dict,
    encoded_format,
    show_claims,
    unseal_series_codec,
)
from halfmask.cli._comma_lists import items_of
from halfmask.cli._console import console, printable
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, flag, option, required, spreads_groups
from halfmask.cli._options import OVERWRITE, TABLE, SayingOptions, command_group
from halfmask.cli._tables import Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.encode import Event, SeriesCodec

#: A name, the first and the last moment.
EVENT_PARTS = 3

series = command_group("series", "Encode time series for forecasts on an untrusted machine.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesOptions:
    """The settings of a codec of series, which `halfmask.encode.SeriesCodec` documents."""

    time: str = required("--time COLUMN: The column of times.")
    entity: str | None = option("--entity COLUMN: The column that names the series of a row.")
    column: list[str] | None = option(
        "--column COLUMN: A column of numbers to encode; may be given more than once. By default "
        "all other columns."
    )
    every: str | None = option(
        "--every STEP: The step, such as 15m, 1h, 1d or 1mo. By default the most frequent distance."
    )
    period: list[str] | None = option(
        "--period PERIOD: A cycle to remove: day, week, month, year, or a number of steps; may "
        "be given more than once. By default those of the calendar."
    )
    event: list[str] | None = option(
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


@series.command()
@spreads_groups
def fit(
    table: str = TABLE,
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
        SERIES_CODECS.seal(vault, place.codec, made)
    facts = {"vault": vault.id, "codec": place.codec, **_as_dict(made)}
    return saying.say(facts, lambda: _show(made, verbose=saying.verbose))


@series.command()
@spreads_groups
def apply(
    table: str = TABLE,
    out: str = argument("OUT: The file to write and send; - writes Parquet to standard output."),
    *,
    later: bool = flag("--later: The rows of TABLE follow those of the fit, from the next step."),
    overwrite: bool = OVERWRITE,
    out_format: OutFormat | None = OUT_FORMAT,
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
    names = _names(fitted)
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
    from halfmask.encode import Event  # noqa: PLC0415 # polars takes half a second

    parts = items_of(text, "A part of --event")
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
    return {"series": len(codec.plan_.entities), **_names(codec), **claims_as_dict(codec)}


def _show(codec: SeriesCodec, *, verbose: bool) -> None:
    err, plan = console(stderr=True), codec.plan_
    err.print(f"Series: {len(plan.entities)}. Columns of each: {len(plan.columns)}.", style="bold")
    show_claims(codec, err, title="What holds for forecasts that come home", verbose=verbose)
