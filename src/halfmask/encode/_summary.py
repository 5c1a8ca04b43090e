"""What is kept of a batch to fit a codec: counts and moments that add up, and their digest."""

from __future__ import annotations

import hashlib
import io
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, SchemaError
from halfmask.data.frames import without_empty_types
from halfmask.data.text_forms import TextWatch
from halfmask.encode._settings import PROFILES
from halfmask.encode._ticks import to_ticks

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from halfmask.encode._settings import CodecSettings, Roles


# Decimals that are looked for in floats; a float with more is taken raw.
MAX_DIGITS = 15
_ROUGH = 99
_FEW = 1_000
# Rows that are kept to find where split categories part.
_SAMPLE_ROWS = 50_000
_WIDEST = 1e150


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """Count, range, mean and squared deviations of a numeric column, with its grid.

    Added by Chan, Golub and LeVeque's pairwise rule (1979). ``unit`` is the greatest common
    divisor of the distances between ticks (0 for floats and constants), ``digits`` the decimals
    that floats need, 99 for more than fifteen. ``least`` is the smallest magnitude of floats that
    aren't zero.
    """

    n: int
    low: float
    high: float
    mean: float
    squares: float
    unit: int
    digits: int
    least: float = math.inf

    @classmethod
    def of(cls, column: pl.Series) -> Moments:
        """Return the moments of a column."""
        ticks, present = to_ticks(column)
        ticks = ticks[present]
        if not len(ticks):
            return cls(n=0, low=0, high=0, mean=0.0, squares=0.0, unit=0, digits=0)
        low, high = ticks.min().item(), ticks.max().item()
        if max(abs(low), abs(high)) > _WIDEST:
            raise SchemaError(
                f"Column {column.name!r} has numbers beyond 1e150; no matrix mixes them exactly.",
                hint='Scale the column, or use learner="trees".',
            )
        values = ticks.astype(np.float64)
        mean = float(values.mean())
        floats = ticks.dtype == np.float64
        return cls(
            n=len(ticks),
            low=low,
            high=high,
            mean=mean,
            squares=float(((values - mean) ** 2).sum()),
            unit=0 if floats else _step(ticks.astype(np.int64), low),
            digits=_digits(values) if floats else 0,
            least=float(np.abs(values[values != 0]).min(initial=np.inf)) if floats else math.inf,
        )

    def __add__(self, other: Moments) -> Moments:
        if not self.n or not other.n:
            return self if self.n else other
        n = self.n + other.n
        apart = other.mean - self.mean
        floats = isinstance(self.low, float)
        return Moments(
            n=n,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            mean=self.mean + apart * other.n / n,
            squares=self.squares + other.squares + apart**2 * self.n * other.n / n,
            unit=0 if floats else math.gcd(self.unit, other.unit, int(self.low - other.low)),
            digits=max(self.digits, other.digits),
            least=min(self.least, other.least),
        )

    @property
    def deviation(self) -> float:
        """The standard deviation; that of one that doesn't vary is 1, or a float's magnitude."""
        deviation = math.sqrt(self.squares / self.n) if self.n else 0.0
        if self.high > self.low and deviation > 0:
            return deviation
        return 1.0 if type(self.low) is int else max(abs(self.low), abs(self.high)) or 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSummary:
    """What is kept of one column: its values with their counts, or its moments, or both."""

    dtype: pl.DataType
    nulls: int
    counts: pl.DataFrame | None
    moments: Moments | None

    @classmethod
    def of(cls, column: pl.Series, *, counted: bool, measured: bool) -> ColumnSummary:
        """Summarize a column."""
        return cls(
            dtype=column.dtype,
            nulls=column.null_count(),
            counts=_counted(pl.DataFrame({"value": column}), None) if counted else None,
            moments=Moments.of(column) if measured else None,
        )

    def __add__(self, other: ColumnSummary) -> ColumnSummary:
        if self.dtype != other.dtype:
            raise SchemaError("A column has another type in another batch.")
        counts, moments = None, None
        if self.counts is not None and other.counts is not None:
            counts = _counted(pl.concat([self.counts, other.counts]), "count")
        if self.moments is not None and other.moments is not None:
            moments = self.moments + other.moments
        return ColumnSummary(
            dtype=self.dtype, nulls=self.nulls + other.nulls, counts=counts, moments=moments
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecSummary:
    """What a codec needs to know of rows. Summaries of batches add up, in any order."""

    rows: int
    columns: Mapping[str, ColumnSummary]
    sample: pl.DataFrame | None

    @classmethod
    def of(cls, batch: pl.DataFrame, *, roles: Roles, settings: CodecSettings) -> CodecSummary:
        """Return what a codec of these settings needs to know of a batch."""
        missing = [name for name in roles.dtypes if name not in batch.columns]
        if missing:
            raise ColumnNotFoundError.of(missing, batch.columns, where="a batch")
        ranked = PROFILES[settings.learner].numbers == "ranks"
        columns = {}
        for name in roles.dtypes:
            target = name == roles.target
            number = name in roles.ordered or (target and roles.task == "regression")
            columns[name] = ColumnSummary.of(
                batch[name],
                counted=not number or (ranked and not target),
                measured=number and (target or not ranked or settings.split),
            )
        sample = smallest(batch.select(list(roles.dtypes))) if settings.split else None
        return cls(rows=batch.height, columns=columns, sample=sample)

    def __add__(self, other: CodecSummary) -> CodecSummary:
        if list(self.columns) != list(other.columns):
            raise SchemaError(
                "A batch has other columns, or in another order, than the one before."
            )
        sample = None
        if self.sample is not None and other.sample is not None:
            sample = smallest(pl.concat([self.sample, other.sample]))
        return CodecSummary(
            rows=self.rows + other.rows,
            columns={name: it + other.columns[name] for name, it in self.columns.items()},
            sample=sample,
        )


def smallest(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the smallest hashes, in the order of them and of their cells."""
    if rows.height <= _SAMPLE_ROWS:
        return rows
    hashed = rows.with_columns(rows.hash_rows(seed=4).alias("\0hash"))
    return hashed.sort("\0hash").head(_SAMPLE_ROWS).drop("\0hash")


def _counted(values: pl.DataFrame, weight: str | None) -> pl.DataFrame:
    count = pl.len() if weight is None else pl.col(weight).sum()
    if values.schema["value"].is_float():
        zero = pl.lit(0, dtype=values.schema["value"])
        is_zero = pl.col("value") == 0  # minus zero is, too
        values = values.with_columns(value=pl.when(is_zero).then(zero).otherwise("value"))
    counted = values.drop_nulls("value").group_by("value").agg(count.cast(pl.Int64).alias("count"))
    return counted.sort("value")


def _step(ticks: NDArray[np.int64], low: int) -> int:
    # Distances wrap around to the right unsigned number.
    apart = ticks.view(np.uint64) - np.int64(low).view(np.uint64)
    return int(np.gcd.reduce(apart))


def _digits(values: NDArray[np.float64]) -> int:
    fewest = 0
    # What a few need, all need: most columns are looked at whole but once.
    for some in (values[:_FEW], values):
        fits = (
            digits
            for digits in range(fewest, MAX_DIGITS + 1)
            if np.array_equal(np.round(some, digits), some)
        )
        fewest = next(fits, _ROUGH)
    return fewest


def fingerprint(summary: CodecSummary, roles: Roles) -> str:
    """Return the SHA-256 of what a codec was fitted to, as hexadecimal digits.

    It goes into every key, and stays at home with them. Only what doesn't depend on how the rows
    were cut into batches goes into it: counts, ranges and grids, and no sums of floats.
    """
    digest = hashlib.sha256()
    head = [summary.rows, roles.target, roles.task, list(roles.ordered), list(roles.coded)]
    digest.update(json.dumps(head).encode())
    for name, column in summary.columns.items():
        for part in _parts(name, column):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _parts(name: str, column: ColumnSummary) -> list[bytes]:
    parts = [name.encode(), str(column.dtype).encode(), str(column.nulls).encode()]
    if column.moments is not None:
        it = column.moments
        parts.append(repr((it.n, it.low, it.high, it.unit, it.digits)).encode())
    if column.counts is not None:
        buffer = io.BytesIO()
        column.counts.rechunk().select(pl.all()).write_ipc(buffer)
        parts.append(buffer.getvalue())
    return parts


@dataclass(frozen=True, slots=True, kw_only=True)
class FitSummary:
    """The summary of some rows, and the forms of their texts; they add up."""

    summary: CodecSummary
    watch: TextWatch

    @classmethod
    def of(
        cls, batch: pl.DataFrame, *, roles: Roles, settings: CodecSettings, known: Collection[str]
    ) -> Self:
        """Return what a fit needs to know of a batch."""
        watch = TextWatch(owner="Codec", known=known)
        watch.see(batch)
        typed = without_empty_types(batch, roles.dtypes)
        return cls(summary=CodecSummary.of(typed, roles=roles, settings=settings), watch=watch)

    def __add__(self, other: FitSummary) -> FitSummary:
        return FitSummary(summary=self.summary + other.summary, watch=self.watch + other.watch)
