"""The rows of a release as keyed digests: enough to compare people and values, and no more.

A digest is SipHash-2-4, a pseudorandom function as HMAC is: one of eight bytes under one key, one
of sixteen under two. Without the book's key nobody can try out values; an attacker who has the key
can. A million digests by BLAKE2b, which hashlib makes one by one, took half as long as `protect`.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask.book._joint import number_people
from halfmask.data import leaf_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.release.booking import LeavingRows
    from halfmask.vault import Secret

_FIRST = ["high", "low", "class"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class BookedRows:
    """The rows of a release in a book, sorted by class.

    ``persons`` has a digest of 16 bytes a row, as two columns of numbers: equal where the person is
    the same in any release of the book. ``classes`` are -1 where the release has no classes.
    ``sensitive`` has by column a digest of 8 bytes a row: equal where the value is the same in any
    release. Whether persons are matched by columns, only `BookedRelease` says.
    """

    persons: NDArray[np.uint64]
    classes: NDArray[np.int64]
    sensitive: Mapping[str, NDArray[np.uint64]]

    @property
    def n_people(self) -> int:
        """How many persons there are."""
        high = np.sort(self.persons[:, 0])
        has_pairs = bool((high[1:] == high[:-1]).any())
        return number_people([self.persons])[1] if has_pairs else len(high)

    def to_bytes(self) -> bytes:
        """Return them as a Parquet file; sorted classes take hardly any room."""
        columns = [self.persons[:, 0], self.persons[:, 1], self.classes, *self.sensitive.values()]
        names = [*_FIRST, *(f"value {name}" for name in self.sensitive)]
        # Sorting numbers of 16 bits takes a tenth of the time.
        is_short = self.classes.max(initial=0) < np.iinfo(np.int16).max
        keys = self.classes.astype(np.int16) if is_short else self.classes
        order = np.argsort(keys, kind="stable")
        file = io.BytesIO()
        frame = pl.DataFrame({n: each[order] for n, each in zip(names, columns, strict=True)})
        frame.write_parquet(file, compression="zstd")
        return file.getvalue()

    @classmethod
    def from_bytes(cls, raw: bytes) -> Self:
        """Return the rows that `to_bytes` wrote."""
        found = pl.read_parquet(io.BytesIO(raw))
        columns = {name: found[name].to_numpy() for name in found.columns}
        return cls(
            persons=np.column_stack([columns.pop("high"), columns.pop("low")]),
            classes=columns.pop("class"),
            sensitive={name.removeprefix("value "): each for name, each in columns.items()},
        )


def digest_rows(rows: LeavingRows, secret: Secret) -> BookedRows:
    """Return the rows of a release as digests under the keys of a book."""
    whose = rows.whose.select(sorted(rows.whose.columns))
    missing = 0 if rows.matched else sum(column.null_count() for column in whose)
    if missing:
        raise DataError(
            f"The column of the person names nobody in {missing:,} rows.",
            hint="Leave these rows out, or give each of them a person of its own.",
        )
    for column in () if rows.matched else whose:
        _check_exact(column)
    # Columns that stand for the person are compared only with the same columns.
    key = secret.key("matched", column="\0".join(whose.columns))
    if not rows.matched:
        key = secret.key("persons")
    return BookedRows(
        persons=_digests(whose, key, 16),
        classes=np.asarray(rows.classes, dtype=np.int64),
        sensitive={
            each.name: _digests(each.to_frame(), secret.key("values", column=each.name), 8)[:, 0]
            for each in rows.sensitive
        },
    )


def _check_exact(persons: pl.Series) -> None:
    """Raise for floats that can stand for two whole numbers, or for none."""
    if not persons.dtype.is_float():
        return
    exact = 2**24 if persons.dtype == pl.Float32 else 2**53
    wrong = int((~(persons.abs() < exact)).sum())
    if wrong:
        raise DataError(
            f"The column of the person has {wrong:,} floats that name nobody for certain: larger "
            "ones than their type can tell apart, or no numbers.",
            hint="Give the column as whole numbers or as text.",
        )


def _digests(table: pl.DataFrame, key: bytes, n_bytes: int) -> NDArray[np.uint64]:
    """Return a digest a row, equal where all cells are; a missing cell is one of its own."""
    from halfmask.kernels.hashing.siphash import hash_texts  # noqa: PLC0415 # numba takes a second

    *firsts, last = (_text(column).rename(str(place)) for place, column in enumerate(table))
    framed = [pl.concat_str(pl.col(it.name).str.len_bytes(), pl.lit(":"), it.name) for it in firsts]
    parts = [each.fill_null("-") for each in (*framed, pl.lit("=") + pl.col(last.name))]
    rows = pl.DataFrame([*firsts, last]).select(pl.concat_str(parts)).to_series()
    found = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
    _, starts, data = (each or b"" for each in found.buffers())
    offsets = np.frombuffer(starts, np.int64)[found.offset :][: len(rows) + 1]
    digests = np.empty((n_bytes // 8, len(rows)), dtype=np.uint64)
    halves = np.frombuffer(key, "<u8").reshape(-1, 2)
    for half, of_half in zip(halves, digests, strict=False):
        hash_texts(offsets, np.frombuffer(data, np.uint8), half[0], half[1], of_half)
    return digests.T


def _text(values: pl.Series) -> pl.Series:
    """Return values as hierarchies spell them, however precise the type of their column is."""
    text = leaf_text(values)
    if values.dtype.is_decimal() and "." in str(text.drop_nulls().first()):
        return text.str.strip_chars_end("0").str.strip_chars_end(".")
    if values.dtype == pl.Datetime:
        seconds = text.str.replace(r"(\.\d*?)0+$", "${1}").str.strip_chars_end(".")
        return seconds.str.replace(" 00:00:00$", "")
    return text
