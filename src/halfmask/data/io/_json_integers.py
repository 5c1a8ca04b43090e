"""Whole numbers in JSON lines that no type of ours holds: they stay texts, or are refused."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from halfmask._errors import SchemaError

#: The most digits of a whole number that Arrow's decimals hold.
MAX_DIGITS = 76
_EXACT = 2**53
_INT64 = range(-(2**63), 2**63)


class WholeNumbers:
    """Which columns of JSON lines hold whole numbers that a column of numbers would change.

    A column of 64-bit integers holds numbers up to 2^63, one of floats only those up to 2^53 for
    sure. JSON has no such bounds. Columns whose numbers are all whole stay exact as texts.
    """

    def __init__(self) -> None:
        self._beyond: set[str] = set()
        self._unsafe: set[str] = set()
        self._fractions: set[str] = set()

    def see(self, table: Any, block: bytes) -> None:  # noqa: ANN401 - pyarrow has no types
        """Look at the columns of numbers of a block of lines."""
        numbers = pl.DataFrame(table).select(pl.col(pl.Int64, pl.Float64))
        suspects = []
        for column in numbers.get_columns():
            large = bool((column.abs() >= _EXACT).any()) or column.name in self._beyond
            if column.dtype == pl.Int64:
                if large and (column.cast(pl.Float64).cast(pl.Int64, strict=False) != column).any():
                    self._unsafe.add(column.name)
            elif large:
                suspects.append(column.name)
            else:
                self._fractions.add(column.name)
        if suspects:
            self._look_closer(suspects, block)

    def _look_closer(self, names: list[str], block: bytes) -> None:
        for line in block.splitlines():
            row = json.loads(line) if line.strip() else {}
            for name in names:
                value = row.get(name)
                if isinstance(value, float):
                    self._fractions.add(name)
                elif isinstance(value, int) and not isinstance(value, bool):
                    self._whole(name, value)

    def _whole(self, name: str, value: int) -> None:
        if abs(value) >= 10**MAX_DIGITS:
            raise SchemaError(
                f"Column {name!r} holds whole numbers of more than {MAX_DIGITS} digits.",
                hint="Write them as texts, in quotes.",
            )
        if value not in _INT64:
            self._beyond.add(name)
        if int(float(value)) != value:
            self._unsafe.add(name)

    def texts(self) -> set[str]:
        """Return the columns that stay texts, so that no number changes."""
        mixed = sorted(self._unsafe & self._fractions)
        if mixed:
            raise SchemaError(
                f"Column {mixed[0]!r} holds fractions and whole numbers beyond 2^53, which a "
                "float would change.",
                hint="Write all of its values as texts, in quotes, or round them first.",
            )
        return self._beyond - self._fractions
