"""Detail lost by what cells cover: their width, and the values that a class could be."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask._facts import Facts
from halfmask._validation import integer_at_least, number_between

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from halfmask.assess._arrays import Floats, Ints
    from halfmask.assess.utility._extents import CellExtents, ColumnExtents


#: What a release's extents must be: numbers have no count of values between them.
_AS_CODES = "Give numbers as codes, too: ColumnExtents.of_codes(..., numbers=None)."


def ambiguity(cells: CellExtents, *, suppressed: int) -> float:
    """Return the log2 of how many combinations of raw values a row could stand for.

    Parameters
    ----------
    cells
        What each class covers in each quasi-identifier, in codes of values.
    suppressed
        How many rows were left out whole; each could be any combination.

    Notes
    -----
    The mean over all rows, and then its logarithm. Source: AM of J. Goldberger and T. Tassa,
    "Efficient anonymizations with enhanced utility", Transactions on Data Privacy 3, 2010, section
    3; ARX's "Ambiguity" is the sum over rows instead.

    **Guarantees.** 0 if every cell is one value; never above the log2 of all combinations.

    **Edge cases.** Missing is one value more where it occurs. No rows at all: 0.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmask.assess.utility import ColumnExtents, CellExtents
    >>> town = ColumnExtents.of_codes(np.array([0, 2]), np.array([1, 3]), n_values=4, numbers=None)
    >>> ambiguity(CellExtents(columns={"town": town}, sizes=np.array([5, 2])), suppressed=0)
    1.0
    """
    integer_at_least(0, owner="ambiguity", suppressed=suppressed)
    rows = np.append(cells.sizes, suppressed).astype(np.float64)
    areas = np.append(_bits(cells), _whole(cells))
    areas, rows = areas[rows > 0], rows[rows > 0]
    if not len(rows):
        return 0.0
    largest = float(areas.max())
    return float(largest + np.log2(np.exp2(areas - largest) @ rows / rows.sum()))


def kl_divergence(cells: CellExtents, *, suppressed: int, raw_sizes: NDArray[np.int64]) -> float:
    """Return how far a release's distribution is from the raw one, in bits.

    Parameters
    ----------
    cells
        What each class covers in each quasi-identifier, in codes of values.
    suppressed
        How many rows were left out whole; they are spread over all combinations.
    raw_sizes
        How many rows have each combination of raw values that occurs, suppressed ones included.

    Raises
    ------
    ParameterError
        If a column isn't given in codes, or the two tables don't have the same number of rows.

    Notes
    -----
    ``sum p * log2(p / q)``: p is the share of the rows that have a combination, q its share of the
    release, where a class spreads its rows evenly over what it covers. Source: A. Machanavajjhala
    et al., "l-diversity: privacy beyond k-anonymity", ACM TKDD 1(1), 2007, section 6.

    **Edge cases.** Exact where classes don't overlap. Where they do, other classes add to q, and
    this is an upper bound. No rows: 0.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmask.assess.utility import ColumnExtents, CellExtents
    >>> town = ColumnExtents.of_codes(np.array([0]), np.array([1]), n_values=2, numbers=None)
    >>> cells = CellExtents(columns={"town": town}, sizes=np.array([4]))
    >>> kl_divergence(cells, suppressed=0, raw_sizes=np.array([2, 2]))
    0.0
    >>> round(kl_divergence(cells, suppressed=0, raw_sizes=np.array([3, 1])), 3)
    0.189
    """
    integer_at_least(0, owner="kl_divergence", suppressed=suppressed)
    n_rows = cells.rows + suppressed
    if int(raw_sizes.sum()) != n_rows:
        raise ParameterError(
            "The 'raw_sizes' parameter of kl_divergence must have the rows of the release and the "
            f"suppressed ones. Got {int(raw_sizes.sum())} rows instead of {n_rows}."
        )
    if not n_rows:
        return 0.0
    held = cells.sizes > 0
    share = cells.sizes[held] / n_rows
    gone = suppressed / n_rows
    everywhere = (np.log2(gone) if gone else -inf) - _whole(cells)
    density = np.logaddexp2(np.log2(share) - _bits(cells)[held], everywhere)
    cross = -float(share @ density) - (gone * everywhere if gone else 0.0)
    raw = raw_sizes[raw_sizes > 0] / n_rows
    return max(cross + float(raw @ np.log2(raw)), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PayoutOfRelease(Facts):
    """What a release earns its publisher.

    Parameters
    ----------
    payout
        The expected payout of all rows; negative where attacks cost more than is earned.
    largest
        What all raw rows would earn if nobody attacked.
    attacked
        How many released rows an attacker gains from attacking.
    """

    payout: float
    largest: float
    attacked: int

    @property
    def sentence(self) -> str:
        """The payout in one sentence."""
        return (
            f"The release earns {self.payout:,.2f} of at most {self.largest:,.2f}; an attack pays "
            f"for {self.attacked:,} rows."
        )


def publisher_payout(
    cells: CellExtents,
    *,
    suppressed: int,
    publisher_benefit: float,
    publisher_loss: float,
    adversary_gain: float,
    adversary_cost: float,
    population: NDArray[np.int64] | None = None,
) -> PayoutOfRelease:
    """Return what a release earns when an attacker attacks every row that pays.

    Parameters
    ----------
    cells
        What each class covers in each quasi-identifier, in codes of values.
    suppressed
        How many rows were left out whole; they earn nothing.
    publisher_benefit
        What a row earns with all of its information, above 0.
    publisher_loss
        What a re-identified row costs the publisher.
    adversary_gain, adversary_cost
        What a re-identified row earns the attacker, and what an attack on one row costs.
    population
        The rows of the population in each class (journalist); ``None``: the attacker knows that
        the person is in the release (prosecutor).

    Notes
    -----
    Source: Z. Wan et al., "A game theoretic framework for analyzing re-identification risk", PLOS
    ONE 10(3), 2015. A row earns ``publisher_benefit * (1 - l)``, where l is the log of the
    combinations that it could stand for by the log of all combinations. An attack succeeds with 1
    over the rows of the class, and is made where the expected gain is above its cost.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmask.assess.utility import ColumnExtents, CellExtents
    >>> town = ColumnExtents.of_codes(np.array([0, 2]), np.array([1, 3]), n_values=4, numbers=None)
    >>> cells = CellExtents(columns={"town": town}, sizes=np.array([5, 2]))
    >>> publisher_payout(
    ...     cells, suppressed=1, publisher_benefit=10, publisher_loss=6,
    ...     adversary_gain=10, adversary_cost=4,
    ... )
    PayoutOfRelease(payout=29.0, largest=80.0, attacked=2)
    """
    owner = "publisher_payout"
    integer_at_least(0, owner=owner, suppressed=suppressed)
    number_between(0.0, inf, owner=owner, low_open=True, publisher_benefit=publisher_benefit)
    number_between(
        0.0,
        inf,
        owner=owner,
        publisher_loss=publisher_loss,
        adversary_gain=adversary_gain,
        adversary_cost=adversary_cost,
    )
    lost = _bits(cells) / (_whole(cells) or 1.0)
    people = cells.sizes if population is None else np.maximum(population, cells.sizes)
    chance = 1.0 / np.maximum(people, 1)
    pays = (adversary_gain * chance > adversary_cost) & (cells.sizes > 0)
    earned = publisher_benefit * (1 - lost) - np.where(pays, publisher_loss * chance, 0.0)
    return PayoutOfRelease(
        payout=float(earned @ cells.sizes),
        largest=float(publisher_benefit) * (cells.rows + suppressed),
        attacked=int(cells.sizes[pays].sum()),
    )


def _bits(cells: CellExtents) -> Floats:
    """Return the log2 of the combinations that each class covers."""
    bits = np.zeros(len(cells.sizes))
    for name, column in cells.columns.items():
        if not column.categorical:
            raise ParameterError(f"The extents of column {name!r} are numbers.", hint=_AS_CODES)
        bits += np.log2(np.maximum(column.covered(), 1.0))
    return bits


def _whole(cells: CellExtents) -> float:
    """Return the log2 of the combinations of all values, missing among them where it occurs."""
    counts = [
        column.n_leaves * bool(np.isfinite(column.low).any()) + bool(np.isnan(column.low).any())
        for column in cells.columns.values()
    ]
    return float(sum(np.log2(max(each, 1)) for each in counts))


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnLoss(Facts):
    """Information loss of one column: 0 keeps every value, 1 keeps no detail.

    Parameters
    ----------
    ncp
        Normalized certainty penalty, in [0, 1]. A set of m of the column's M categories
        scores m / M, and a single category scores 0.
    loss
        Granularity loss, in [0, 1]. A set of m of M categories scores (m - 1) / (M - 1).
    """

    ncp: float
    loss: float

    @property
    def sentence(self) -> str:
        """The number in one sentence."""
        return f"A cell covers on average {self.loss:.1%} of the width that the column had."


@dataclass(frozen=True, slots=True, kw_only=True)
class InformationLoss(Facts):
    """How much of a table's detail is gone: 0 nothing, 1 everything.

    Parameters
    ----------
    columns
        The loss of each quasi-identifier.
    ncp, loss
        Means of the columns' penalties and of their granularity losses, in [0, 1].
    """

    facts = ("ncp", "loss", "columns")

    columns: Mapping[str, ColumnLoss]
    ncp: float
    loss: float

    @property
    def ncp_sentence(self) -> str:
        """The penalty in one sentence."""
        return (
            f"Between 0 (exact values) and 1 (no information), the release is at "
            f"{self.ncp:.3f}; a set of values counts by its share of all values."
        )

    @property
    def loss_sentence(self) -> str:
        """The granularity loss in one sentence."""
        return (
            f"A released cell covers on average {self.loss:.1%} of the width of its column; "
            "0 means exact values, 1 means no information."
        )


def information_loss(cells: CellExtents, *, suppressed: int) -> InformationLoss:
    """Measure how much detail a release loses.

    Parameters
    ----------
    cells
        What each class covers in each quasi-identifier.
    suppressed
        How many rows were left out whole. At least 0.

    Notes
    -----
    A cell of a numeric column scores ``(high - low) / (domain_high - domain_low)`` in
    both measures.
    A cell of a categorical column that stands for ``m`` of the column's ``M`` values scores

    - **NCP**: 0 if ``m = 1``, else ``m / M`` (Xu et al., KDD 2006, section 3, with the zero of a
      single leaf spelled out as in Ghinita et al., VLDB 2007, section 2);
    - **loss**: ``(m - 1) / (M - 1)`` (Iyengar, KDD 2002, section 3). ARX's granularity is the mean
      of ``m / M``, rescaled from ``1 / M`` to 1: the same number.

    A suppressed row scores 1 in every column. A column's loss is the mean over all rows that came
    in, the table's is the mean over its columns, none weighing more than another.

    **Guarantees.** Both lie in [0, 1]; they are 0 if every cell is one value, 1 if every
    row is suppressed, and merging classes never lowers them.

    **Edge cases.** A missing cell means exactly "missing" and scores 0; one that mixes missing with
    values is scored by its values. A column that had one value scores 0 in rows that were kept. No
    rows at all, or no columns: 0.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmask.assess.utility import CellExtents, ColumnExtents
    >>> age = ColumnExtents(
    ...     low=np.array([20.0, 40.0]), high=np.array([30.0, 60.0]),
    ...     domain_low=20, domain_high=60, categorical=False,
    ... )
    >>> cells = CellExtents(columns={"age": age}, sizes=np.array([3, 1]))
    >>> information_loss(cells, suppressed=0).loss
    0.3125
    """
    integer_at_least(0, owner="information_loss", suppressed=suppressed)
    columns = {
        name: ColumnLoss(
            ncp=_mean(_penalties(column), cells.sizes, suppressed),
            loss=_mean(_losses(column), cells.sizes, suppressed),
        )
        for name, column in cells.columns.items()
    }
    n_columns = max(len(columns), 1)
    return InformationLoss(
        columns=columns,
        ncp=sum(column.ncp for column in columns.values()) / n_columns,
        loss=sum(column.loss for column in columns.values()) / n_columns,
    )


def _widths(column: ColumnExtents) -> Floats:
    width = column.domain_high - column.domain_low
    if width == 0:
        return np.zeros(len(column))
    return np.nan_to_num((column.high - column.low) / width, nan=0.0)


def _penalties(column: ColumnExtents) -> Floats:
    if not column.categorical:
        return _widths(column)
    covered = column.covered()
    return np.where(covered > 1, covered / column.n_leaves, 0.0)


def _losses(column: ColumnExtents) -> Floats:
    if not column.categorical:
        return _widths(column)
    return np.maximum(column.covered() - 1.0, 0.0) / max(column.n_leaves - 1, 1)


def _mean(scores: Floats, sizes: Ints, suppressed: int) -> float:
    rows = int(sizes.sum()) + suppressed
    return float(scores @ sizes + suppressed) / rows if rows else 0.0
