"""The cell key method: a count is changed by what the people in it and a key determine."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask._random import KEY_BYTES, check_key
from halfmask.data.hierarchy.tree import leaf_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.crosstabs._arrays import Floats, Ints
    from halfmask.crosstabs._protections import CellKey
    from halfmask.vault import Vault

#: The secret of a vault that record keys are made with: its own, so that no pseudonym shows one.
_SECRET: Final = "cell-keys"  # noqa: S105 # its name
_PERSON: Final = b"halfmask/cellkey"
#: What a moment of a row may be off by rounding.
_CLOSE: Final = 1e-9


def cell_key_secret(vault: Vault, *, create: bool = True) -> bytes:
    """Return the key of record keys of a vault; the first call makes its secret."""
    return vault.secret(_SECRET, create=create).key("record keys", length=KEY_BYTES)


def record_keys(records: pl.Series, key: bytes) -> pl.Series:
    """Return 64 bits for each record, by keyed BLAKE2b (RFC 7693) of its text.

    7, 7.0 and "7" are one record, whatever the column's name: CSV and Parquet have the same counts.
    """
    check_key(key)
    kind = records.dtype
    if not (kind.is_numeric() or kind in (pl.String, pl.Categorical, pl.Enum)):
        raise SchemaError(
            f"Records are told apart by column {records.name!r}, which holds {kind}.",
            hint="Name a column of texts or whole numbers.",
        )
    if missing := records.null_count():
        raise DataError(
            f"Column {records.name!r} names no record in {missing:,} rows.",
            hint="Each row needs a record of its own: without one it has no key.",
        )
    texts = leaf_text(records)
    unique = texts.unique()
    made = hashlib.blake2b(key=key, digest_size=8, person=_PERSON)
    digests = bytearray()
    for text in unique.to_list():
        own = made.copy()
        own.update(text.encode())
        digests += own.digest()
    keys = pl.Series(np.frombuffer(bytes(digests), dtype="<u8").astype(np.uint64))
    return texts.replace_strict(unique, keys, return_dtype=pl.UInt64).alias(records.name)


def check_records(records: pl.Series) -> None:
    """Raise if a record has several rows: it could change a count by more than one."""
    repeated = len(records) - records.n_unique()
    if repeated:
        raise DataError(
            f"Column {records.name!r} has {repeated:,} rows more than records.",
            hint="Cell keys are for tables with one row for each record. Name a column that tells "
            "rows apart, or make one row of each person.",
        )


def transition_table(settings: CellKey) -> Floats:
    """Return with which probability each count is changed by each deviation.

    A row for each count from 0, the last one for all larger ones; a column for each deviation from
    -max_deviation. Each row has maximum entropy for its bounds, mean 0 and the variance: S.
    Giessing, PSD 2016. R's ptable also wants monotony, and lowers the variance where that fails.
    """
    most, least = settings.max_deviation, settings.least_count
    deviations = np.arange(-most, most + 1)
    last = most if least == 1 else most + least
    table = np.zeros((last + 1, len(deviations)))
    table[0, most] = 1.0
    for count in range(1, last + 1):
        allowed = (count + deviations == 0) | (count + deviations >= least)
        found = _most_entropy(deviations[allowed].astype(np.float64), settings.variance)
        if found is None:
            low, high = _variances(deviations[allowed])
            raise ParameterError(
                f"No change of a count of {count} by at most {most} has mean 0 and variance "
                f"{settings.variance:g}.",
                hint=f"The variance can be from {low:g} to {high:g} there."
                if high > 0
                else f"With least_count = {least}, max_deviation must be at least {least}.",
            )
        table[count, allowed] = found
    return table


def perturb(counts: Floats, cell_keys: NDArray[np.uint64], table: Floats) -> Floats:
    """Return counts, each changed as a transition table says for the sum of its record keys."""
    wrong = int(((counts < 0) | (counts != np.floor(counts))).sum())
    if wrong:
        raise DataError(
            f"{wrong:,} counts aren't whole numbers from 0.",
            hint="Cell keys are for counts of records, without weights.",
        )
    most = table.shape[1] // 2
    # The first 53 bits are a float in [0, 1), exactly.
    places = (cell_keys >> np.uint64(11)).astype(np.float64) * 2.0**-53
    ends = np.cumsum(table, axis=1)
    ends /= ends[:, -1:]
    rows = np.minimum(counts, len(table) - 1).astype(np.int64)
    made = counts.copy()
    for row in range(len(table)):
        own = rows == row
        made[own] += np.searchsorted(ends[row], places[own], side="right") - most
    return made


def _variances(deviations: Ints) -> tuple[float, float]:
    """Return the least and the greatest variance at mean 0; both 0 if only 0 is left."""
    below, above = deviations[deviations < 0], deviations[deviations > 0]
    if not len(below) or not len(above):
        return 0.0, 0.0
    least = 0 if 0 in deviations else -int(below.max()) * int(above.min())
    return float(least), float(-int(below.min()) * int(above.max()))


def _most_entropy(deviations: Floats, variance: float) -> Floats | None:
    """Return the probabilities of maximum entropy with mean 0; ``None`` if there are none."""
    low, high = _variances(deviations.astype(np.int64))
    if not low - _CLOSE <= variance <= high + _CLOSE or high == 0:
        return None
    for end, pair in ((high, (deviations.min(), deviations.max())), (low, _nearest(deviations))):
        if abs(variance - end) <= _CLOSE and end > 0:  # two deviations are left
            share = {pair[0]: pair[1], pair[1]: -pair[0]}
            return np.array([share.get(each, 0.0) for each in deviations]) / (pair[1] - pair[0])
    # The minimum of a convex function of two unknowns, by Newton's method.
    powers = np.stack([deviations, deviations**2])
    wanted = np.array([0.0, variance])
    unknowns = np.array([0.0, np.log(variance / 2) if variance < 0.5 else -0.5 / variance])
    value, shares = _potential(unknowns, powers, wanted)
    for _ in range(200):
        slope = powers @ shares - wanted
        if np.abs(slope).max() <= 1e-12:
            break
        centred = powers - (powers @ shares)[:, None]
        step = np.linalg.lstsq((centred * shares) @ centred.T, slope, rcond=None)[0]
        size, (after, then) = 1.0, _potential(unknowns - step, powers, wanted)
        noise = 1e-13 * (1 + abs(value))
        while after > value - 1e-4 * size * float(slope @ step) + noise and size > 1e-6:
            size /= 2
            after, then = _potential(unknowns - size * step, powers, wanted)
        unknowns, value, shares = unknowns - size * step, after, then
    close = np.abs(powers @ shares - wanted).max() <= _CLOSE
    return shares / shares.sum() if close else None


def _nearest(deviations: Floats) -> tuple[float, float]:
    return float(deviations[deviations < 0].max()), float(deviations[deviations > 0].min())


def _potential(unknowns: Floats, powers: Floats, wanted: Floats) -> tuple[float, Floats]:
    """Return the function whose minimum has the wanted moments, and its probabilities."""
    exponents = unknowns @ powers
    top = exponents.max()
    terms = np.exp(exponents - top)
    total = terms.sum()
    return float(top + np.log(total) - unknowns @ wanted), terms / total
