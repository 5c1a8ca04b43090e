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

__all__ = [
    "ColumnFact",
    "FileFact",
    "GuaranteeFact",
    "ReportFacts",
    "RiskFact",
    "SizeShare",
    "class_size_shares",
]

_SIZES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeFact:
    """One guarantee: the level that is required, and what the verifier counted on disk.

    Parameters
    ----------
    model
        The privacy model's name, such as ``"k-anonymity"``.
    parameters
        Its parameters by name.
    column
        The sensitive column it is about, if any.
    quasi_identifiers
        The columns whose values make a class.
    sentence
        What the guarantee means to a person in the table.
    required
        The required level.
    bound
        Whether what was counted has to be at least or at most as much.
    achieved
        The level counted with a missing cell as a value of its own.
    achieved_wildcard
        The level counted with a missing cell as if it could be any value; None where it wasn't.
    holds
        Whether the verifier confirmed it, the worse of the two counts deciding.
    classes
        How many classes were counted.
    rows
        How many rows were counted.
    """

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
    """How likely an attacker with the quasi-identifiers finds a row. Fractions in [0, 1].

    Parameters
    ----------
    prosecutor_highest
        One by the smallest class.
    prosecutor_average
        The mean over the rows of one by the size of their class.
    marketer
        The share of the rows that a match of the whole table would get right on average.
    unique_fraction
        The share of the rows that are alone in their class.
    journalist_highest
        One by the smallest class in the population; None where no population is given.
    journalist_average
        The mean over the rows of the same; None where no population is given.
    """

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
    """Which share of the rows lives in classes of some size.

    Parameters
    ----------
    label
        The sizes, such as ``"5 to 9"``.
    before
        The share in the raw table, in [0, 1].
    after
        The share in the release, in [0, 1].
    """

    label: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFact:
    """One column of the release: its role and what happened to it.

    A column that was dropped has no such fact: the report counts those and never names them.

    Parameters
    ----------
    name
        Its name.
    role
        Its role in the policy.
    kind
        Its kind.
    treatment
        What was done to it, in words, such as "written as ranges" or "released unchanged".
    loss
        How much of its detail is gone, for a quasi-identifier.
    distribution
        Its picture before and after, where there is one.
    """

    name: str
    role: str
    kind: str
    treatment: str
    loss: ColumnLoss | None = None
    distribution: Distribution | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFact:
    """One file of the release, by its name inside of the folder.

    Parameters
    ----------
    name
        Relative to the release's folder.
    sha256
        In hexadecimal.
    bytes
        Its size.
    rows
        How many rows of data it holds; None where it holds no rows.
    """

    name: str
    sha256: str
    bytes: int
    rows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFacts:
    """Everything that the report shows.

    Parameters
    ----------
    title
        What the release is called.
    created
        When it was made, in words or ISO 8601.
    software
        Versions by name.
    policy_sha256
        The hash of the policy that was followed.
    guarantees
        The guarantees with what was counted for them.
    rows_in
        Rows of the raw table.
    rows_out
        Rows of the release.
    method
        How classes were found, in words.
    recoding
        What is written for a class, in words.
    risk_before
        Risk counted on the raw table.
    risk_after
        Risk counted on the release.
    released_columns
        Risk over columns that no class covers.
    detail
        How much detail each quasi-identifier keeps, and what guarantees cost of it.
    class_sizes
        From :func:`class_size_shares`.
    columns
        The columns of the release, in their order.
    n_dropped
        How many columns of the raw table are not in it.
    information_loss
        How wide the released cells are.
    class_sizes_utility
        Discernibility, average class size, suppression.
    measures
        Entropy, ambiguity, divergence, squared error, precision, classification.
    model_utility
        A model of the release against one of the raw rows, if there is a label.
    label
        The column that the model predicts.
    population
        How many rows the population table has, if one was given.
    weaknesses
        The weaknesses of the guarantees, by name or in a sentence.
    unprotected
        What was not protected against at all.
    of_persons
        Whether guarantees and risks count persons, each once in a class, and not rows.
    files
        The release's files.
    """

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

    Parameters
    ----------
    before
        The sizes of the raw table's classes.
    after
        The sizes of the release's classes.

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
