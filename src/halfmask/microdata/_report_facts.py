"""What a report shows: values that were counted elsewhere, put together for one page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from halfmask._validation import fraction, integer_at_least

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from halfmask.assess.risk import ReleasedColumnsRisk
    from halfmask.assess.utility import (
        ClassSizeUtility,
        ColumnLoss,
        Distribution,
        InformationLoss,
        ModelUtility,
    )
    from halfmask.microdata._class_measures import ClassMeasures
    from halfmask.microdata._detail_kept import DetailKept

_SIZES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeFact:
    """One guarantee: the level that is required, and what the verifier counted on disk."""

    model: str
    parameters: Mapping[str, float | int | str]
    column: str | None
    quasi_identifiers: tuple[str, ...]
    sentence: str
    required: float
    bound: Literal["at least", "at most"]
    achieved: float
    achieved_wildcard: float | None
    holds: bool
    classes: int
    rows: int

    @property
    def worst(self) -> float:
        """The worse of the two counts."""
        counts = [self.achieved]
        if self.achieved_wildcard is not None:
            counts.append(self.achieved_wildcard)
        return min(counts) if self.bound == "at least" else max(counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskFact:
    """How likely an attacker with the quasi-identifiers finds a row. Fractions in [0, 1]."""

    prosecutor_highest: float
    prosecutor_average: float
    marketer: float
    unique_fraction: float
    journalist_highest: float | None = None
    journalist_average: float | None = None

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if getattr(self, name) is not None:
                fraction(owner="RiskFact", **{name: getattr(self, name)})


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeShare:
    """Which share of the rows lives in classes of some size."""

    label: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFact:
    """One column of the release: its role and what happened to it.

    A column that was dropped has no such fact: the report counts those and never names them.
    """

    name: str
    role: str
    kind: str
    treatment: str
    loss: ColumnLoss | None = None
    distribution: Distribution | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFact:
    """One file of the release, by its name inside of the folder."""

    name: str
    sha256: str
    bytes: int
    rows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFacts:
    """Everything that the report shows."""

    title: str
    created: str
    software: Mapping[str, str]
    policy_sha256: str | None
    guarantees: tuple[GuaranteeFact, ...]
    rows_in: int
    rows_out: int
    method: str
    recoding: str
    risk_before: RiskFact
    risk_after: RiskFact
    released_columns: ReleasedColumnsRisk
    detail: DetailKept
    class_sizes: tuple[SizeShare, ...]
    columns: tuple[ColumnFact, ...]
    n_dropped: int
    information_loss: InformationLoss
    class_sizes_utility: ClassSizeUtility
    measures: ClassMeasures
    model_utility: ModelUtility | None = None
    label: str | None = None
    population: int | None = None
    weaknesses: tuple[str, ...] = ()
    unprotected: tuple[str, ...] = ()
    of_persons: bool = False
    files: tuple[FileFact, ...] = ()

    def __post_init__(self) -> None:
        integer_at_least(0, owner="ReportFacts", rows_in=self.rows_in, rows_out=self.rows_out)
        integer_at_least(0, owner="ReportFacts", n_dropped=self.n_dropped)

    @property
    def suppressed(self) -> int:
        """How many rows were left out."""
        return self.rows_in - self.rows_out

    @property
    def confirmed(self) -> int:
        """How many guarantees the verifier confirmed."""
        return sum(guarantee.holds for guarantee in self.guarantees)


def class_size_shares(before: NDArray[np.int64], after: NDArray[np.int64]) -> tuple[SizeShare, ...]:
    """Return the share of the rows that lives in classes of each size, before and after.

    Examples
    --------
    >>> import numpy as np
    >>> for share in class_size_shares(np.array([1, 1, 2]), np.array([4])):
    ...     print(share.label, share.before, share.after)
    1 0.5 0.0
    2 0.5 0.0
    3 to 4 0.0 1.0
    """
    shares = []
    for sizes in (before, after):
        places = np.searchsorted(_SIZES, sizes, side="right") - 1
        rows = np.bincount(places, weights=sizes, minlength=len(_SIZES))
        shares.append(rows / max(rows.sum(), 1.0))
    used = np.flatnonzero(shares[0] + shares[1])
    first, last = (int(used[0]), int(used[-1])) if used.size else (0, -1)
    return tuple(
        SizeShare(
            label=_sizes(place), before=float(shares[0][place]), after=float(shares[1][place])
        )
        for place in range(first, last + 1)
    )


def _sizes(place: int) -> str:
    low = _SIZES[place]
    if place + 1 == len(_SIZES):
        return f"{low:,} or more"
    high = _SIZES[place + 1] - 1
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
