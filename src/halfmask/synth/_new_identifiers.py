"""New identifiers: of the same form as the original ones, all different."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl

from halfmask._errors import DataError, SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

DIGITS, LOWER, UPPER = "0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentifierForm:
    """The form of a column's identifiers."""

    name: str
    dtype: pl.DataType
    shape: str | None

    @classmethod
    def of(cls, cells: pl.Series) -> Self:
        """Look at a column's identifiers."""
        if cells.dtype.is_integer():
            return cls(name=cells.name, dtype=cells.dtype, shape=None)
        if cells.dtype != pl.String:
            raise SchemaError(
                f"Column {cells.name!r} is an identifier and holds {cells.dtype}.",
                hint="Only texts and whole numbers can be made; leave the column out.",
            )
        shapes = pl.Series([_shape(text) for text in cells.drop_nulls().to_list()], dtype=pl.String)
        shape = shapes.mode().sort()[0] if len(shapes) else "00000000"
        return cls(name=cells.name, dtype=cells.dtype, shape=shape)

    def made(self, n: int, rng: np.random.Generator) -> pl.Series:
        """Return new identifiers, all different."""
        if self.shape is None:
            return pl.Series(self.name, np.arange(1, n + 1)).cast(self.dtype)
        alphabets = [{"0": DIGITS, "a": LOWER, "A": UPPER}.get(mark, mark) for mark in self.shape]
        room = 1.0
        for alphabet in alphabets:
            room *= len(alphabet)
        if room < n:
            raise DataError(
                f"Identifiers of column {self.name!r} have room for {room:.0f} different ones; "
                f"{n} rows are asked for.",
                hint="Leave the column out, or ask for fewer rows.",
            )
        made: dict[str, None] = {}
        while len(made) < n:
            made.update(dict.fromkeys(_texts(alphabets, n - len(made), rng)))
        return pl.Series(self.name, list(made)[:n], dtype=self.dtype)


def _shape(text: str) -> str:
    shape = re.sub(r"[0-9]", "0", text)
    return re.sub(r"[^\W\d_]", lambda found: "A" if found[0].isupper() else "a", shape)


def _texts(alphabets: list[str], n: int, rng: np.random.Generator) -> list[str]:
    columns: list[NDArray[np.str_]] = [
        np.array(list(alphabet))[rng.integers(len(alphabet), size=n)] for alphabet in alphabets
    ]
    return ["".join(row) for row in zip(*columns, strict=True)]
