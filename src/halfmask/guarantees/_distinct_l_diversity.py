"""Distinct l-diversity: no class has fewer than l values of the sensitive column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._validation import integer_at_least
from halfmask.guarantees._guarantee import Criterion, Guarantee, Levels, Met

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes, Ints
    from halfmask.guarantees._histogram import Histogram


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DistinctLDiversity(Guarantee):
    """Every class has at least ``l`` different values of a sensitive column.

    The level of a class is the number of its different values. Source: A. Machanavajjhala et al.,
    "l-diversity: privacy beyond k-anonymity", TKDD 1(1), 2007, section 4; the name is from N. Li
    et al., "t-closeness", ICDE 2007, section 3.

    Parameters
    ----------
    l
        The least number of different values, 1 or more.
    column
        The sensitive column.

    See Also
    --------
    EntropyLDiversity : Counts how frequent the values are, too.
    TCloseness : Compares each class with the whole table.

    Notes
    -----
    **Guarantees.** Integers are compared, so the judgement is exact. The guarantee is monotone: a
    merged class has all values of both classes.

    One value may still be far more frequent than the others: see entropy l-diversity.

    **Persons with several values**, such as patients with several diagnoses, each have a set of
    values. Then any ``l - 1`` values together are held by fewer persons than the class has: they
    are counted once for each value, and the most frequent values are added up. So an attacker who
    knows the class can't say that a person has one of ``l - 1`` values: somebody has none of them.
    Where each person has one value, this is ``l`` different values. It isn't monotone then, since
    a person may be in both of the classes that are merged.

    **Edge cases.** A missing cell counts as a value. All missing cells count as one.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> classes = Classes.from_codes([0, 0, 1, 1], 2, {"ill": ([0, 1, 1, 1], 2)})
    >>> judgement = DistinctLDiversity(l=2, column="ill").judge(classes)
    >>> judgement.achieved, judgement.failing.tolist()
    (1.0, [1])
    """

    model: ClassVar[str] = "distinct-l-diversity"
    sentence: ClassVar[str] = "Every class has at least l different values of the column."
    bounded: ClassVar[str] = "l"
    monotone_with_suppression: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = True
    takes_several_values: ClassVar[bool] = True
    monotone_in_persons: ClassVar[bool] = True

    l: int = field(metadata={"ge": 2})
    column: str

    def __post_init__(self) -> None:
        integer_at_least(1, owner="DistinctLDiversity", l=self.l)

    def criterion(self) -> Criterion:
        """Return the guarantee as numbers, for the compiled engine."""
        return Criterion(rule="distinct-l", column=self.column, thresholds=(float(self.l),))

    @property
    def min_rows(self) -> int:
        """``l``: so many values need so many rows."""
        return int(self.l)

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        histogram = classes.histogram(self.column)
        distinct = np.diff(histogram.offsets)
        if classes.members is not None and len(distinct) and histogram.counts.sum() > classes.rows:
            distinct = _values_to_cover(histogram, classes.sizes)
        return distinct.astype(np.float64), distinct >= self.l


def _values_to_cover(histogram: Histogram, persons: Ints) -> Ints:
    """Return for each class one more than the values whose persons are fewer than the class has.

    These are its most frequent values, each with all of its persons.
    """
    owners = np.repeat(np.arange(len(persons)), np.diff(histogram.offsets))
    frequent_first = np.lexsort((-histogram.counts, owners))
    added = np.cumsum(histogram.counts[frequent_first])
    before = np.concatenate(([0], added))[histogram.offsets[:-1]]
    too_few = added - before[owners] < persons[owners]
    return 1 + np.bincount(owners[too_few], minlength=len(persons))
