"""The rows of a release as keyed digests: enough to compare people and values, and no more.

A digest is BLAKE2b with a key, which is a MAC as HMAC is. Without the book's key nobody can try out
values; who has the key can.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask.data import leaf_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.release.booking import LeavingRows
    from halfmask.vault import Secret

_PERSON_BYTES: Final = 16
_VALUE_BYTES: Final = 8
_HIGH, _LOW, _CLASS = "high", "low", "class"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class BookedRows:
    """The rows of a release in a book, in no order that means anything.

    ``persons`` has two 64-bit numbers a row, a digest of 16 bytes: equal where the person is the
    same in any release of the book. ``classes`` has the class of each row, or -1. ``sensitive`` has
    by column the digests of its values, and the place of each row's value among them: digests are
    equal where a value of that column is the same in any release.
    """

    persons: NDArray[np.uint64]
    classes: NDArray[np.int64]
    sensitive: Mapping[str, tuple[NDArray[np.uint64], NDArray[np.int64]]] = field(
        default_factory=dict
    )

    @property
    def n_people(self) -> int:
        """How many persons there are."""
        return pl.DataFrame(self.persons, schema=[_HIGH, _LOW]).n_unique()

    def to_bytes(self) -> bytes:
        """Return them as an Arrow file, sorted by class: then classes take hardly any room."""
        order = np.argsort(self.classes, kind="stable")
        persons = np.ascontiguousarray(self.persons[order].T)
        columns = {_HIGH: persons[0], _LOW: persons[1], _CLASS: self.classes[order]}
        values = {}
        for number, (name, (digests, codes)) in enumerate(self.sensitive.items()):
            columns[f"codes {number}"] = codes[order].astype(np.uint32)
            values[f"{number} {name}"] = digests
        files = [pl.DataFrame(columns), *(pl.DataFrame({k: v}) for k, v in values.items())]
        written = [_arrow(frame) for frame in files]
        lengths = np.array([len(written), *map(len, written)], dtype="<u8")
        return lengths.tobytes() + b"".join(written)

    @classmethod
    def from_bytes(cls, raw: bytes) -> BookedRows:
        """Return the rows that `to_bytes` wrote."""
        (n_files,) = np.frombuffer(raw, "<u8", 1).tolist()
        lengths = np.frombuffer(raw, "<u8", n_files, offset=8).tolist()
        ends = accumulate(lengths, initial=8 * (n_files + 1))
        rows, *values = (pl.read_ipc(io.BytesIO(raw[a:b])) for a, b in pairwise(ends))
        return cls(
            persons=np.column_stack([rows[_HIGH].to_numpy(), rows[_LOW].to_numpy()]),
            classes=rows[_CLASS].to_numpy(),
            sensitive={
                frame.columns[0].partition(" ")[2]: (
                    frame.to_series().to_numpy(),
                    rows[f"codes {number}"].cast(pl.Int64).to_numpy(),
                )
                for number, frame in enumerate(values)
            },
        )


def digest_rows(rows: LeavingRows, secret: Secret) -> BookedRows:
    """Return the rows of a release as digests under the keys of a book."""
    whose = rows.whose.select(sorted(rows.whose.columns))
    if not rows.matched:
        missing = sum(column.null_count() for column in whose)
        if missing:
            raise DataError(
                f"The column of the person names nobody in {missing:,} rows.",
                hint="Leave these rows out, or give each of them a person of its own.",
            )
    # Columns that stand for the person are compared only with the same columns.
    names = "\0".join(whose.columns) if rows.matched else ""
    key = secret.key("matched" if rows.matched else "persons", column=names)
    persons = _digests(_texts(whose.get_columns()), key, _PERSON_BYTES)
    sensitive = {}
    for column in rows.sensitive:
        values = _texts([column])
        distinct = values.unique()
        places = pl.Series(np.arange(len(distinct)))
        sensitive[column.name] = (
            _digests(distinct, secret.key("sensitive", column=column.name), _VALUE_BYTES),
            values.replace_strict(distinct, places).to_numpy(),
        )
    return BookedRows(
        persons=persons.reshape(-1, 2),
        classes=np.asarray(rows.classes, dtype=np.int64),
        sensitive=sensitive,
    )


def _texts(columns: Sequence[pl.Series]) -> pl.Series:
    """Return one text a row, different where a value is; a missing value has a text of its own."""
    texts = [_text(column) for column in columns]
    framed = [
        pl.concat_str(pl.lit(text.str.len_bytes()), pl.lit(":"), pl.lit(text)).fill_null("-")
        for text in texts
    ]
    return pl.select(pl.concat_str(framed)).to_series()


def _text(values: pl.Series) -> pl.Series:
    """Return values as a hierarchy spells them, however precise their column's type is."""
    text = leaf_text(values)
    if values.dtype.is_decimal() and values.dtype.scale:  # type: ignore[attr-defined]
        return text.str.strip_chars_end("0").str.strip_chars_end(".")
    if values.dtype == pl.Datetime:
        seconds = text.str.replace(r"(\.\d*?)0+$", "${1}").str.strip_chars_end(".")
        return seconds.str.replace(" 00:00:00$", "")
    return text


def _digests(texts: pl.Series, key: bytes, n_bytes: int) -> NDArray[np.uint64]:
    keyed = blake2b(key=key, digest_size=n_bytes)

    def digest(text: str) -> bytes:
        made = keyed.copy()
        made.update(text.encode())
        return made.digest()

    return np.frombuffer(b"".join(map(digest, texts.to_list())), dtype="<u8")


def _arrow(frame: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.write_ipc(file, compression="zstd")
    return file.getvalue()
