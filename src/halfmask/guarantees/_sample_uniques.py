"""Sample uniqueness: few rows are alone in their class."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._validation import decimal, number_between
from halfmask.guarantees._table_guarantee import Ints, TableGuarantee, sizes_around, smallest_first

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SampleUniques(TableGuarantee):
    """At most the share ``share`` of the rows is unique.

    A row is unique if no other row has its quasi-identifiers. Source: C. Skinner and M. Elliot, "A
    measure of disclosure risk for microdata", JRSS B 64(4), 2002, section 1.

    Parameters
    ----------
    share
        The largest share of unique rows, from 0 to below 1.

    Raises
    ------
    ParameterError
        When ``share`` isn't a number from 0 to below 1.

    See Also
    --------
    RecordsAtRisk : The same for rows in small classes.
    PopulationUniques : The same for the population that the rows were drawn from.

    Notes
    -----
    **Guarantees.** ``share`` is read as the decimal that was typed and compared in integers, so the
    judgement is exact. Monotone: merging makes no row unique. Classes to blame: unique rows, as
    many as there are more than allowed. Where a person is the unit, the share is of persons: one
    who is alone in any class is unique.

    **Edge cases.** A share of 0 is 2-anonymity.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> judgement = SampleUniques(share=0.1).judge(Classes.from_codes([0, 0, 0, 1], 2))
    >>> judgement.achieved, judgement.failing.tolist()
    (0.25, [1])
    """

    model: ClassVar[str] = "sample-uniqueness"
    sentence: ClassVar[str] = "No larger share of the rows is unique on the quasi-identifiers."
    monotone_with_suppression: ClassVar[bool] = True
    bounded: ClassVar[str] = "share"
    counts_persons: ClassVar[bool] = True
    monotone_in_persons: ClassVar[bool] = True

    share: float = field(metadata={"ge": 0, "lt": 1})

    def __post_init__(self) -> None:
        number_between(0.0, 1.0, owner="SampleUniques", high_open=True, share=self.share)

    def _level_of_table(self, classes: Classes) -> tuple[float, bool]:
        unique, units = _uniques(classes)
        return unique / units, unique <= decimal(self.share) * units

    def _to_blame(self, classes: Classes) -> Ints:
        unique = np.flatnonzero(classes.sizes == 1).astype(np.int64)
        found, units = _uniques(classes)
        excess = found - floor(decimal(self.share) * units)
        return smallest_first(classes.sizes, unique, excess=excess)


def _uniques(classes: Classes) -> tuple[int, int]:
    """Return how many rows, or persons, are unique, and how many there are."""
    sizes, units = sizes_around(classes)
    return int(units[sizes == 1].sum()), int(units.sum())
