"""Shares of rows above thresholds of risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from halfmask._validation import fraction
from halfmask.assess.risk._wording import percent, row_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from halfmask.assess.risk._alike import Alike

THRESHOLDS = (0.05, 0.09, 0.1, 0.2, 0.33)
"""Thresholds that custodians use (El Emam 2013, ch. 18), as they are written.

0.09 and 0.33 are meant for classes of 11 and 3 rows; 1/11 and 1/3 are just above them, so rows of
just those classes count as above.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareAbove:
    """Which share of the rows has a risk above a threshold.

    Parameters
    ----------
    threshold
        The threshold, in [0, 1].
    share
        The share of the rows, in [0, 1].
    rows
        Their number.
    """

    threshold: float
    share: float
    rows: int

    @property
    def sentence(self) -> str:
        """The numbers in one sentence, for a privacy officer."""
        return (
            f"For {row_text(self.rows)} ({percent(self.share)}) the chance is above "
            f"{percent(self.threshold)}."
        )

    def to_dict(self) -> dict[str, float]:
        """Return the numbers under their names, for JSON."""
        return asdict(self)


def shares_above(
    alike: Alike, chance: npt.NDArray[np.float64], thresholds: Sequence[float]
) -> tuple[ShareAbove, ...]:
    """Return for each threshold the share of rows whose chance is above it.

    A chance is 1 over an integer, correctly rounded, and so is the threshold that was typed: one
    that is met exactly, such as 1 / 10 and 0.1, isn't above.
    """
    for threshold in thresholds:
        fraction(owner="thresholds", threshold=threshold)
    above = {threshold: chance > threshold for threshold in thresholds}
    return tuple(
        ShareAbove(
            threshold=threshold,
            share=alike.share_of_rows(groups),
            rows=int(alike.rows[groups].sum()),
        )
        for threshold, groups in above.items()
    )
