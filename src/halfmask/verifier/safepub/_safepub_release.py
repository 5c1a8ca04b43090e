"""A release of SafePub, its files and both claims checked again."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Final

import polars as pl

from halfmask.verifier.checks import ClaimCount, VerifiedKind
from halfmask.verifier.tables.part import open_part

if TYPE_CHECKING:
    from pathlib import Path

    from halfmask.claims import Claim
    from halfmask.verifier.checks import ReleasedFiles


def _lacking(files: ReleasedFiles) -> list[str]:
    """Say which of both claims the manifest lacks."""
    due = {"differential-privacy", "k-anonymity"} - {each.model for each in files.manifest.claims}
    return [f"The manifest lacks the claim {model!r}." for model in sorted(due)]


def _arithmetic(claim: Claim, files: tuple[Path, ...]) -> ClaimCount:
    """Repeat the arithmetic, and count that small classes are left out."""
    epsilon, delta = (Decimal(_number(claim.parameters, each)) for each in ("epsilon", "delta"))
    share = _number(claim.evidence, "sampling_fraction")
    search, k = Decimal(_number(claim.evidence, "search_epsilon")), claim.evidence["k"]
    smallest = _smallest(files)
    if type(k) is not int or k < 1 or not 0 < share < 1 or not 0 <= search < epsilon:
        return ClaimCount(holds=False, found={})
    if (claim.about.get("levels") == "chosen") != (search > 0):
        return ClaimCount(holds=False, found={})
    left = epsilon - search
    if left < least_epsilon(share):
        return ClaimCount(holds=False, found={"least_epsilon": float(least_epsilon(share))})
    found = delta_of(k, left, share)
    return ClaimCount(
        holds=found <= delta < 1 and smallest >= k,
        found={"delta": float(found), "smallest_class": smallest},
    )


def _classes(claim: Claim, files: tuple[Path, ...]) -> ClaimCount:
    sizes = _sizes(files)
    found = {"smallest_class": _smallest(files), "classes": len(sizes), "rows": int(sizes.sum())}
    k = _number(claim.parameters, "k")
    return ClaimCount(
        holds=found["smallest_class"] >= k >= 1
        and found["smallest_class"] >= _number(claim.evidence, "smallest_class")
        and found["classes"] == claim.evidence["classes"]
        and found["rows"] == claim.evidence["rows"],
        found=found,
    )


def _smallest(files: tuple[Path, ...]) -> int:
    return int(_sizes(files).to_numpy().min())


def _sizes(files: tuple[Path, ...]) -> pl.Series:
    """Return the rows of each class over all columns of the files."""
    parts = [open_part(path, path.suffix.removeprefix(".")).collect() for path in files]
    table = pl.concat(parts)
    counted = table.group_by(table.columns).agg(pl.len().alias("\0rows"))
    return counted["\0rows"].cast(pl.Int64)


def _number(given: object, name: str) -> float:
    """Return a number that a claim states; raise if it is none."""
    value = given[name]  # type: ignore[index] # a mapping
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(name)
    return float(value)


#: That rows were drawn at random, that the levels were chosen as stated, and that no other release
#: of the table exists, no file can show.
KIND: Final = VerifiedKind(
    checks={
        "differential-privacy": ("accounted", _arithmetic),
        "k-anonymity": ("counted", _classes),
    },
    problems=_lacking,
)


_DIGITS: Final = 50
#: A delta that needs the sums of more rows than this isn't computed.
_MOST_ROWS: Final = 200_000


def least_epsilon(share: float) -> Decimal:
    """Return the least epsilon that a sample of this share can have."""
    with localcontext(prec=_DIGITS):
        return -(1 - Decimal(share)).ln()


def delta_of(k: int, epsilon: Decimal, share: float) -> Decimal:
    """Return the largest P(Bin(n, share) > gamma n) over all n from k / gamma - 1 on."""
    with localcontext(prec=_DIGITS):
        beta = Decimal(share)
        gamma = 1 - (1 - beta) * (-epsilon).exp()
        # Chernoff: the tail of n rows is at most exp(-n decline).
        decline = gamma * (gamma / beta).ln()
        if gamma < 1:
            decline += (1 - gamma) * ((1 - gamma) / (1 - beta)).ln()
        n, largest = max(1, math.ceil(k / gamma - 1)), Decimal(0)
        while (-decline * n).exp() > largest:
            if n > _MOST_ROWS:
                raise ValueError("too many rows")
            largest = max(largest, _tail(n, math.floor(gamma * n) + 1, beta))
            n += 1
        return largest


def _tail(n: int, first: int, share: Decimal) -> Decimal:
    """Return P(Bin(n, share) >= first), term by term until none matters to fifty digits."""
    if first > n:
        return Decimal(0)
    odds = share / (1 - share)
    term = Decimal(math.comb(n, first)) * share**first * (1 - share) ** (n - first)
    total = term
    for drawn in range(first, n):
        term = term * (n - drawn) / (drawn + 1) * odds
        total += term
        if term < total.scaleb(-_DIGITS):
            break
    return total
