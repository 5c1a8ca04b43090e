"""``halfmask decode`` and ``reverse``: rows, predictions and pseudonyms come home."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from halfmask._errors import ColumnNotFoundError, DataError, PolicyError
from halfmask.cli import _rooms as rooms
from halfmask.cli._claims import some
from halfmask.cli._events_run import POLICY, check_apart
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, flag, option, required, spreads_groups
from halfmask.cli._options import OVERWRITE, FileFormat, SayingOptions
from halfmask.cli._stored import (
    SERIES_CODECS,
    StoredCodec,
    check_streams,
    unseal_codec,
    unseal_series_codec,
)
from halfmask.cli._tables import FormOptions, HeaderOptions, Reading
from halfmask.cli._vault import LockOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from halfmask.encode import SeriesCodec


@spreads_groups
def reverse(
    policy: str = POLICY,
    released: str = argument(
        "RELEASED: The folder of a release, or a file with released columns; - for standard "
        "input. Of a copied database the URL of a table, as in ?schema=masked&table=orders."
    ),
    out: str = argument(
        "OUT: The file to write. Keep it confidential. - writes Parquet to standard output."
    ),
    *,
    vault: str = required("--vault VAULT: The vault that the release was protected with."),
    lock: LockOptions,
    overwrite: bool = OVERWRITE,
    saying: SayingOptions,
) -> int:
    """Reverse the pseudonyms of RELEASED.

    It reverses the masks reversible-token and format-preserving of POLICY with scope = "vault", in
    the columns that RELEASED has. Other columns stay as released. OUT has the mode 0600.
    """
    check_streams(released, out, lock, as_json=saying.as_json)
    check_apart(out, policy, released)
    opened = lock.open(vault)
    masks = {
        name: mask
        for name, mask in _masks(policy, released).items()
        if rooms.masks.is_reversible(mask) and getattr(mask, "scope", None) == "vault"
    }
    source = _opened(released, tuple(masks))
    here = {name: mask for name, mask in masks.items() if name in source.columns}
    table = rooms.masks.reverse_masks(
        source, here, vault_key=rooms.masks.pseudonym_key(opened, create=False)
    )
    before = os.umask(0o077)
    try:
        with (
            saying.stages() as stages,
            rooms.data.TableWriter(out, overwrite=overwrite, guard_formulas=False) as writer,
        ):
            for batch in table.batches():
                writer.write(batch)
                stages("reversing", min(1.0, writer.rows / max(1, table.n_rows)))
    finally:
        os.umask(before)
    return saying.say(
        {"rows": writer.rows, "columns": list(here)},
        f"Reversed {some(len(here), 'column')} of {some(writer.rows, 'row')}. Don't release them.",
        stderr=True,
    )


def _masks(policy: str, released: str) -> Mapping[str, rooms.masks.Mask]:
    """Return the masks of the released table by a policy of tables or of a database."""
    if not rooms.data.is_database_url(released):
        return rooms.microdata.Policy.load(policy).masks
    with suppress(PolicyError):  # rows of a release may lie in a database, too
        return rooms.microdata.Policy.load(policy).masks
    return rooms.databases.reversal.reversible_masks(
        rooms.data.DatabaseUrl.parse(released), rooms.databases.DatabasePolicy.load(policy)
    )


def _opened(released: str, texts: Sequence[str]) -> rooms.data.Source:
    """Open released rows; pseudonyms of digits alone are texts."""
    path = Path(released)
    if released != "-" and (path / "manifest.json").is_file():
        files = [path / it.name for it in rooms.claims.read_manifest(path).files]
        released = str(files[0] if len(files) == 1 else files[0].parent)
    first = rooms.data.open_table(released, called="The released table")
    if first.format not in {"csv", "tsv", "jsonl"} or released == "-":
        return first
    declared = {name: "string" for name in texts if name in first.columns}
    return rooms.data.open_table(
        released, options=rooms.data.ReadOptions(dtypes=declared), called="The released table"
    )


def decoded_forecasts(codec: SeriesCodec, forecasts: pl.DataFrame) -> pl.DataFrame:
    """Return forecasts of the steps after the fit, with times, in the units at home."""
    import polars as pl  # noqa: PLC0415 # half a second

    plan, names = codec.plan_, codec.column_names_
    wanted = [*names.values(), *([codec.entity_name_] if codec.entity_name_ else [])]
    absent = [name for name in wanted if name not in forecasts.columns]
    if absent:
        raise ColumnNotFoundError.of(absent, forecasts.columns, where="the forecasts")
    if codec.entity_name_ and not forecasts[codec.entity_name_].is_in(plan.codes).all():
        raise DataError("There are forecasts of a series that this codec doesn't have.")
    if not forecasts.height:
        raise DataError("There are no forecasts.")
    parts = []
    for at, (code, entity) in enumerate(zip(plan.codes, plan.entities, strict=True)):
        mine = forecasts
        if codec.entity_name_:
            mine = forecasts.filter(forecasts[codec.entity_name_] == code)
        if not mine.height:
            continue
        mine = _by_step(codec, mine, first=codec.state_.next[at] - plan.starts[at])
        parts.append(_part(codec, mine, entity))
    return pl.concat(parts)


def _by_step(codec: SeriesCodec, mine: pl.DataFrame, *, first: int) -> pl.DataFrame:
    """Return forecasts of one series by step, which have to be the next ones."""
    if codec.time_name_ not in mine.columns:
        return mine
    mine = mine.sort(codec.time_name_)
    if mine[codec.time_name_].to_list() != list(range(first, first + mine.height)):
        raise DataError(
            "The forecasts aren't of the steps that follow the fit.",
            hint=f"The first step of this series is {first}; leave none out.",
        )
    return mine


def _part(codec: SeriesCodec, mine: pl.DataFrame, entity: object) -> pl.DataFrame:
    """Return the decoded forecasts of one series, with its name and times."""
    import polars as pl  # noqa: PLC0415 # half a second

    settings = codec.plan_.settings
    columns: list[pl.Series] = []
    if settings.entity:
        dtype = codec.plan_.entities.dtype
        columns.append(pl.Series(settings.entity, [entity] * mine.height, dtype=dtype))
    columns.append(codec.horizon(mine.height, entity=entity).alias(settings.time))
    for name, token in codec.column_names_.items():
        numbers = codec.decode_forecasts(mine[token].to_numpy(), column=name, entity=entity)
        columns.append(pl.Series(name, numbers))
    return pl.DataFrame(columns)


_ASSUMED = (
    "The predictions don't show their order: that of the encoded file was assumed. Encode with "
    "--ids to check it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingOptions:
    """What is to be decoded, and how it is read."""

    heading: ClassVar = "Decoding"

    predictions: bool = flag(
        "--predictions: Decode predictions: one column of codes or numbers, or one column of "
        "probabilities for each code, in ascending order. Without row_id they must have the "
        "order of the encoded rows."
    )
    column: list[str] | None = option(
        "--column COLUMN: With --predictions: a column of predictions, if ENCODED has other "
        "columns, too; may be given more than once."
    )
    number: int | None = option(
        "--number N: The file's number at encoding; needed if several files have this number of "
        "rows.",
        min=0,
    )
    unordered: bool = flag(
        "--unordered: Keep the order of ENCODED. Use it if rows were removed or sorted."
    )
    expect_rows: int | None = option(
        "--expect-rows ROWS: Fail if the number of rows isn't this one.", min=1
    )
    format: FileFormat | None = option(
        "--format FORMAT: ENCODED's format, if its name doesn't state it: csv, tsv, parquet, "
        "arrow (a file), arrows (a stream) or jsonl."
    )
    later: bool = flag("--later: For time series: rows that were encoded with --later.")
    head: HeaderOptions = field(default_factory=HeaderOptions)

    def check(self, *, of_series: bool) -> None:
        """Refuse options that the kind of codec, or what is decoded, doesn't have."""
        if self.column and not self.predictions:
            raise UsageError("--column is for --predictions.", hint="Rows are decoded whole.")
        if not of_series and self.later:
            raise UsageError("--later is for time series.", hint="Give --number for a later file.")
        if not of_series:
            return
        number = self.number is not None
        given = {"--number": number, "--unordered": self.unordered, "--column": bool(self.column)}
        if any(given.values()):
            raise UsageError(
                f"{next(name for name, there in given.items() if there)} isn't for time series.",
                hint="Steps give the order, and columns keep the names that they were sent with.",
            )
        if self.later and self.predictions:
            raise UsageError(
                "--later is for rows; forecasts follow the rows of the fit.",
                hint="SeriesCodec.decode_forecasts decodes forecasts behind later rows.",
            )

    def open(self, encoded: str) -> rooms.data.Source:
        """Open encoded rows, or predictions for them."""
        source = Reading(
            form=FormOptions(format=self.format, head=self.head),
            called="The file of predictions" if self.predictions else "The encoded table",
        ).open(encoded)
        absent = [name for name in self.column or () if name not in source.columns]
        if absent:
            raise ColumnNotFoundError.of(absent, source.columns, where="the predictions")
        return source


@spreads_groups
def decode(
    encoded: str = argument(
        "ENCODED: Encoded rows, or with --predictions a model's predictions for them: a file, or "
        "- for standard input."
    ),
    out: str = argument(
        "OUT: The file to write. Keep it confidential. - writes Parquet to standard output."
    ),
    *,
    place: StoredCodec,
    decoding: DecodingOptions,
    overwrite: bool = OVERWRITE,
    saying: SayingOptions,
) -> int:
    """Decode rows or predictions with a codec from the vault.

    Rows are restored in their original order. Predictions get the classes and units of the raw
    target. The ending of OUT's name sets its format. Receipts in the vault find the encoded file
    that predictions belong to: by the number of rows, or by row_id if encoding had --ids.

    With a codec of time series, predictions are forecasts of the steps after the fit: a row for
    each step, in the encoded columns.
    """
    check_streams(encoded, out, place.lock, as_json=saying.as_json)
    predictions = decoding.predictions
    vault = place.open()
    of_series = SERIES_CODECS.is_in(vault, place.codec)
    decoding.check(of_series=of_series)
    if of_series:
        codec = unseal_series_codec(vault, place.codec)
        return _decode_series(codec, encoded, out, decoding, saying, overwrite=overwrite)
    fitted = unseal_codec(vault, place.codec)
    write = rooms.encode.decode_file
    if predictions:
        write = partial(rooms.encode.decode_predictions_file, columns=decoding.column)
    number: int | Literal["auto"] = "auto" if decoding.number is None else decoding.number
    with saying.stages() as stages:
        done = write(
            fitted,
            decoding.open(encoded),
            out,
            number=None if decoding.unordered else number,
            rows=decoding.expect_rows,
            overwrite=overwrite,
            progress=stages,
        )
    what = "predictions" if predictions else "rows"
    of = "" if done.number is None else f" of the file with number {done.number}"
    return saying.say(
        {"rows": done.rows, "predictions": predictions, "number": done.number},
        f"Decoded {done.rows:,} {what}{of}. Don't release them.",
        *([_ASSUMED] if done.by_count else []),
        stderr=True,
    )


def _decode_series(
    codec: SeriesCodec,
    encoded: str,
    out: str,
    decoding: DecodingOptions,
    saying: SayingOptions,
    *,
    overwrite: bool,
) -> int:
    """Decode rows or forecasts of time series, which are read whole."""
    with saying.stages() as stages:
        sent = decoding.open(encoded).read()
        wanted = decoding.expect_rows
        if wanted is not None and sent.height != wanted:
            raise DataError(f"There are {sent.height} rows where {wanted} are expected.")
        stages("decoding")
        if decoding.predictions:
            frame = decoded_forecasts(codec, sent)
        else:
            frame = codec.decode(sent, state=codec.state_ if decoding.later else None)
        with rooms.data.TableWriter(out, overwrite=overwrite, guard_formulas=False) as writer:
            writer.write(frame)
    what = "forecasts" if decoding.predictions else "rows"
    return saying.say(
        {"rows": writer.rows, "predictions": decoding.predictions},
        f"Decoded {writer.rows:,} {what}. Don't release them.",
        stderr=True,
    )
