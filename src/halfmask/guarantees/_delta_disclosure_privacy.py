"""delta-disclosure privacy: in every class each value is about as frequent as in the table."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._validation import decimal
from halfmask.guarantees._exact import log_below, share_ratios
from halfmask.guarantees._guarantee import Criterion, Guarantee, Levels, Met

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes

# Levels this near to delta are settled with decimals; floats err by less than 1e-13.
_SLACK = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DeltaDisclosurePrivacy(Guarantee):
    """Each value's share in a class is near that in the table, within ``delta``.

    The level of a class is the largest ``|log(p(class, value) / p(table, value))|`` over all values
    of the table; infinite where the class lacks one of them. The logarithm is the natural one.
    Source: J. Brickell and V. Shmatikov, "The cost of privacy: destruction of data-mining utility
    in anonymized data publishing", KDD 2008.

    Parameters
    ----------
    delta
        What every level must be below, a number above 0.
    column
        The sensitive column.

    See Also
    --------
    BasicBetaLikeness : Bounds only what becomes more likely.
    TCloseness : Bounds a distance of the whole distribution.

    Notes
    -----
    **Guarantees.** Strictly below. ``delta`` is read as the decimal that was typed. Levels within
    1e-9 of it are settled with 60 decimal digits. The reference is the table that is judged; if
    rows are suppressed, it is the table without them. Monotone: the share in merged classes lies
    between the shares in them.

    **Edge cases.** Every class must have every value of the column, so a column with rare values
    leaves few classes. Missing counts as one value. A column with one value has level 0.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> classes = Classes.from_codes([0, 0, 0, 1, 1, 1], 2, {"ill": ([0, 0, 1, 0, 1, 1], 2)})
    >>> judgement = DeltaDisclosurePrivacy(delta=0.5, column="ill").judge(classes)
    >>> round(judgement.achieved, 4), judgement.holds  # 1/3 where the table has 1/2
    (0.4055, True)
    """

    model: ClassVar[str] = "delta-disclosure-privacy"
    sentence: ClassVar[str] = (
        "In every class, each value's share over its share in the whole table has a logarithm "
        "between -delta and delta."
    )
    bounded: ClassVar[str] = "delta"
    worse_when_larger: ClassVar[bool] = True
    relative: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = True

    delta: float = field(metadata={"gt": 0})
    column: str

    def criterion(self) -> Criterion:
        """Return the guarantee as numbers, for the compiled engine."""
        return Criterion(
            rule="delta-disclosure", column=self.column, thresholds=(float(self.delta),)
        )

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        histogram, delta = classes.histogram(self.column), decimal(self.delta)
        in_class, in_table = share_ratios(classes, self.column)
        logs = np.abs(np.log(np.asarray(in_class / in_table, dtype=np.float64)))
        kept = logs < self.delta
        for entry in np.flatnonzero(np.abs(logs - self.delta) <= _SLACK).tolist():
            ratio = Fraction(int(in_class[entry]), int(in_table[entry]))
            kept[entry] = log_below(max(ratio, 1 / ratio), delta)
        starts = histogram.offsets[:-1]
        whole = np.diff(histogram.offsets) == np.count_nonzero(histogram.totals)
        levels = np.where(whole, np.maximum.reduceat(logs, starts), np.inf)
        return levels, whole & np.logical_and.reduceat(kept, starts)
