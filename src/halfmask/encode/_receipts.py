"""What is kept at home of rows that were sent, and the ids by which they are put in order again."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError
from halfmask._random import keyed_integers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray


#: The name of the encoded column of ids.
ROW_ID = "row_id"
#: The column with the row at home that a prediction belongs to, from 0.
ROW = "row"


def row_ids(row_key: bytes, n_rows: int, number: int) -> pl.Series:
    """Return an id for each row of a batch, in the order at home: a text of 16 digits.

    A text, so that no learner takes it for a feature and no spreadsheet rounds it.
    """
    numbers = pl.Series(_integers(row_key, n_rows, number))
    high, low = numbers // (1 << 32), numbers % (1 << 32)
    hexadecimal = [
        _HEX.gather(half // (1 << 16)) + _HEX.gather(half % (1 << 16)) for half in (high, low)
    ]
    return ("r" + hexadecimal[0] + hexadecimal[1]).alias(ROW_ID)


_HEX = pl.Series([f"{number:04x}" for number in range(1 << 16)])


def home_rows(
    row_key: bytes, ids: pl.Series, receipts: Iterable[EncodingReceipt]
) -> tuple[EncodingReceipt, NDArray[np.int64]]:
    """Return the table that ids are of, and which of its rows each of them is."""
    texts = ids.cast(pl.String)
    digits = texts.str.extract(r"^r([0-9a-f]{16})$", 1)
    given = digits.str.to_integer(base=16, dtype=pl.UInt64, strict=False)
    if given.null_count():
        raise DataError(
            f"Column {ROW_ID!r} has {given.null_count()} cells that aren't row ids.",
            hint="Send back the ids unchanged.",
        )
    if given.n_unique() < len(given):
        raise DataError(
            f"Column {ROW_ID!r} has {len(given) - given.n_unique()} ids more than once.",
            hint="Send back one row of predictions for each row.",
        )
    wanted, fewest = given.to_numpy(), len(given)
    for receipt in receipts:
        if not receipt.ids:
            continue
        known = np.concatenate(
            [_integers(row_key, n, receipt.first + place) for place, n in enumerate(receipt.rows)]
        )
        order = np.argsort(known, kind="stable")
        places = np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)
        rows = order[places]
        unknown = int((known[rows] != wanted).sum())
        if not unknown:
            return receipt, rows
        fewest = min(fewest, unknown)
    raise DataError(
        f"{fewest} of {len(given)} row ids belong to no encoded table, or to another one than the "
        "rest.",
        hint="Decode the predictions for one table at a time, with the codec that encoded it.",
    )


def _integers(row_key: bytes, n_rows: int, number: int) -> NDArray[np.uint64]:
    if not row_key:
        raise ParameterError(
            "A codec with rows='kept' has no row ids.",
            hint='Make the codec with rows="keyed", or add a column of your own elsewhere.',
        )
    key = hmac.new(row_key, b"row ids", hashlib.sha256).digest()
    return keyed_integers(n_rows, key=key, stream=number)


#: A number of the caller's, ``"auto"`` to find it, or ``None`` to keep the order of rows.
Number: TypeAlias = int | Literal["auto"] | None

_FORMAT = "halfmask receipt 1"
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodingReceipt:
    """What is kept of one encoded table: no cell, no key. It stays at home.

    Parameters
    ----------
    first
        The number by which its first batch was ordered: 2**32 times a file's number.
    rows
        How many rows it has, by batch.
    digests
        A fingerprint of the encoded cells of each batch; empty for a target alone.
    ids
        Whether its rows were sent with ids.
    file
        Whether it is a file, and not a frame in memory.
    """

    first: int
    rows: tuple[int, ...]
    digests: tuple[str, ...] = ()
    ids: bool = False
    file: bool = False

    @property
    def height(self) -> int:
        """How many rows there are."""
        return sum(self.rows)

    @property
    def name(self) -> str:
        """A name that no other table's receipt has."""
        return hashlib.sha256(self.to_bytes()).hexdigest()[:_DIGEST_BYTES]

    def to_bytes(self) -> bytes:
        """Return the receipt as bytes, to be sealed in a vault."""
        return json.dumps({"format": _FORMAT, **asdict(self)}).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the receipt that `to_bytes` gave.

        Parameters
        ----------
        data
            What `to_bytes` returned.

        Raises
        ------
        DataError
            If these are no such bytes.
        """
        try:
            head = json.loads(data)
            if head.pop("format") == _FORMAT:
                parts = {name: tuple(head[name]) for name in ("rows", "digests")}
                return cls(**{**head, **parts})
        except (ValueError, KeyError, TypeError, AttributeError):
            pass  # the same error as of another format
        raise DataError(
            "The bytes hold no receipt of encoded rows.", hint="Unseal what to_bytes() gave."
        )


def digest_of(encoded: pl.DataFrame, tokens: Sequence[str]) -> str:
    """Return a fingerprint of encoded cells, the same in every file format."""
    digest = hashlib.sha256(str(encoded.height).encode())
    for name in tokens:
        column = encoded[name].cast(pl.Float64, strict=False)
        digest.update(np.packbits(column.is_null().to_numpy()).tobytes())
        digest.update((column.fill_null(0.0).to_numpy() + 0.0).tobytes())
    return digest.hexdigest()[: 2 * _DIGEST_BYTES]


def known_number(
    receipts: Iterable[EncodingReceipt],
    number: Number,
    *,
    rows: int,
    what: Literal["rows", "predictions"],
    digest: str = "",
    counted: bool = False,
) -> int | None:
    """Return the number by which rows that came back are put in order."""
    if number is None:
        return None
    known = list(receipts)
    fits = {
        it.first
        for it in known
        if it.height == rows and (not digest or not it.digests or it.digests[0] == digest)
    }
    if number == "auto":
        if not known and what == "rows":
            return 0
        return _only_number(fits, bool(known), rows, what)
    if number not in fits and (fits or any(it.first == number for it in known)):
        raise DataError(
            f"The {rows:,} {what} don't belong to the table that was encoded with this number.",
            hint=f"Leave out the number: receipts find the table. {_OTHERS}",
        )
    if number not in fits and not counted and (known or what == "predictions"):
        # The order follows from the number of rows, too: one less, and all answers are others'.
        raise DataError(
            f"The codec knows of no table that was encoded with this number, so nobody can tell "
            f"whether these {rows:,} {what} are all of it.",
            hint="Say how many rows were encoded ([[rows=|--expect-rows]]), or give the codec the "
            "receipt by remember.",
        )
    return number


_OTHERS = (
    "Where rows were taken out or sorted, send row ids ([[ids=True|--ids]]), or leave rows in the "
    "order that they have ([[batch=None|--unordered]])."
)


def _only_number(fits: set[int], known: bool, rows: int, what: str) -> int:  # noqa: FBT001 # one caller
    if len(fits) == 1:
        return next(iter(fits))
    if fits:
        raise DataError(
            f"{len(fits)} tables of {rows:,} rows were encoded, each in its own order.",
            hint=f"Give the number of the one that these {what} belong to, or send row ids.",
        )
    if known:
        raise DataError(f"No encoded table has these {rows:,} {what}.", hint=_OTHERS)
    raise DataError(
        f"The codec knows of no encoded table, so the order of the {what} is unknown.",
        hint="Give the number that encoding had (0 if none was given), and how many rows it had "
        "([[rows=|--expect-rows]]); or the receipt, by remember.",
    )
