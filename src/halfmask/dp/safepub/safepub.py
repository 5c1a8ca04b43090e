"""SafePub: sample, generalize, suppress."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError
from halfmask._validation import check_fields, number_between
from halfmask.data import to_polars
from halfmask.dp.accounting import EpsilonDeltaEvent
from halfmask.dp.ledger import PrivacyUnit
from halfmask.dp.ledger._terms import rows_of_units
from halfmask.dp.safepub._levels import LeveledColumn, choose_levels
from halfmask.dp.safepub._private_rows import PrivateRows
from halfmask.dp.safepub._sampling_bound import LEAST_FRACTION, SamplingTerms, least_class_size

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from halfmask.data import Hierarchy, HierarchyRule
    from halfmask.dp.ledger import PrivacyLedger


@dataclass(frozen=True, kw_only=True)
class SafePub:
    """Differentially private rows: sampled, generalized, without small classes.

    Parameters
    ----------
    epsilon
        Of the whole release, above 0.
    delta
        Of the whole release, above 0 and below 1; well below 1 over the number of rows.
    sampling_fraction
        The probability with which each row is drawn, from 0.001 to
        ``1 - exp(-(epsilon - search_epsilon))``.
    search_epsilon
        The part of epsilon for the choice of levels, below epsilon; 0 with `levels`.
    hierarchies
        For each released column its hierarchy, or a rule whose labels depend on no other value;
        ``None``: the value or ``"*"``. Other columns are dropped.
    levels
        The level of each column, chosen without a look at the rows. With `search_epsilon`, some
        may lack or be ``(least, greatest)``: the exponential mechanism chooses these.
    person
        The column that names the person of each row: one row of each person is drawn from, and
        all rows of a person are protected. ``None``: single rows are.

    Attributes
    ----------
    k : int
        The least number of rows of a released class, which follows from the parameters.

    Raises
    ------
    ParameterError
        If a parameter is out of its range, or both or none of `levels` and `search_epsilon` choose.

    See Also
    --------
    halfmask.protect : Models that count classes, without differential privacy.

    Notes
    -----
    Bild, Kuhn and Prasser 2018, algorithm 1. The choice costs (search_epsilon, 0), the sample with
    its suppression (epsilon - search_epsilon, delta); both add up. Neighbouring tables differ by
    one row: where a person has several, each is protected by itself.

    **Guarantees.** Each row is drawn with exactly this probability by the operating system's
    randomness. Rows are written in the order of their labels, and nothing else of the table is:
    not its size, nor how many rows were left out.

    **Edge cases.** No file can show that rows were drawn at random, that levels were chosen so, or
    that only one release was made: the claim states this. Two releases of one table cost the sum.
    Hierarchies must have all possible values: which a table has is data. An error about the table
    is seen by the owner alone.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.data import Intervals
    >>> people = pl.DataFrame({"age": [i % 60 for i in range(6000)], "sex": ["f", "m"] * 3000})
    >>> sampler = SafePub(
    ...     epsilon=1.0, delta=1e-6, sampling_fraction=0.5, search_epsilon=0.0,
    ...     hierarchies={"age": Intervals(widths=(10, 20)), "sex": None},
    ...     levels={"age": 1, "sex": 0},
    ... )
    >>> sampler.k, sampler.release(people).data.columns
    (46, ['age', 'sex'])
    """

    epsilon: float = field(metadata={"gt": 0})
    delta: float = field(metadata={"gt": 0, "lt": 1})
    sampling_fraction: float = field(metadata={"ge": LEAST_FRACTION, "lt": 1})
    search_epsilon: float
    hierarchies: Mapping[str, Hierarchy | HierarchyRule | None]
    levels: Mapping[str, int | Sequence[int | None]] | None = None
    person: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        number_between(
            0, self.epsilon, owner="SafePub", high_open=True, search_epsilon=self.search_epsilon
        )
        given: object = self.hierarchies  # a caller may have anything here
        if not isinstance(given, Mapping) or not given:
            raise ParameterError("SafePub needs a hierarchy, or None, for each released column.")
        if self.person in self.hierarchies:
            raise ParameterError("The column that names the person is dropped, and has no levels.")
        levels = self.levels or {}
        if not set(levels) <= set(self.hierarchies):
            raise ParameterError("SafePub takes levels of released columns, and of no other.")
        chosen = [name for name in self.hierarchies if not isinstance(levels.get(name), int)]
        if bool(chosen) == (self.search_epsilon == 0):
            raise ParameterError(
                "SafePub takes one level for each released column, or a search_epsilon above 0 to "
                f"choose them. Got {'none' if chosen else 'both'}.",
                hint="Levels may not be chosen by a look at the rows.",
            )
        object.__setattr__(self, "_k", self._least_class())

    @property
    def k(self) -> int:
        """The least number of rows of a released class."""
        return int(self._k)  # type: ignore[attr-defined] # set once, for it takes a while

    @property
    def terms(self) -> SamplingTerms:
        """What a release states of how it was made."""
        return SamplingTerms(
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            sampling_fraction=float(self.sampling_fraction),
            search_epsilon=float(self.search_epsilon),
            k=self.k,
            columns=tuple(self.hierarchies),
            levels=dict(self.levels or {}),
            person=self.person,
        )

    @property
    def sample_epsilon(self) -> float:
        """The epsilon of the sample: what the choice leaves, rounded down."""
        exact = Fraction(self.epsilon) - Fraction(self.search_epsilon)
        left = float(exact)
        return left if Fraction(left) <= exact else math.nextafter(left, 0.0)

    def _least_class(self) -> int:
        return least_class_size(
            epsilon=self.sample_epsilon, delta=self.delta, sampling_fraction=self.sampling_fraction
        )

    def event(self) -> EpsilonDeltaEvent:
        """Return what one release costs."""
        return EpsilonDeltaEvent(epsilon=float(self.epsilon), delta=float(self.delta))

    def release(
        self,
        table: Any,  # noqa: ANN401 # a frame of any library
        *,
        ledger: PrivacyLedger | None = None,
    ) -> PrivateRows:
        """Return the rows that may be released; each call is a release of its own.

        Parameters
        ----------
        table
            A frame with a row for each person, or with the column `person`.
        ledger
            The budget of the table: the release is booked before a row is drawn. Without one, you
            add up the costs of all releases yourself.

        Raises
        ------
        BudgetError
            If it would cost more than is left. Nothing is drawn then.
        ColumnNotFoundError
            If the table lacks a column.
        DataError
            If it has no rows.
        ParameterError
            If a column lacks the level that is asked for, or there are too many levels to choose.
        """
        return released(self, to_polars(table), lambda: self._book(ledger, table))

    def _book(self, ledger: PrivacyLedger | None, table: object) -> None:
        if ledger is not None:
            ledger.terms.check_person(self.person)
            ledger.check_table(table)
            ledger.charge([self.event()], purpose=self.purpose)

    @property
    def purpose(self) -> str:
        """What a ledger notes of a release."""
        return f"SafePub: rows of {len(self.hierarchies)} columns"


def released(sampler: SafePub, table: pl.DataFrame, book: Callable[[], None]) -> PrivateRows:
    """Return rows that may be released; see `SafePub.release`."""
    lacking = [name for name in sampler.hierarchies if name not in table.columns]
    if lacking:
        raise ColumnNotFoundError.of(lacking, table.columns, where="the table")
    if not table.height:
        raise DataError("The table has no rows.")
    # Whose rows are kept is drawn at random, too, and reveals nothing that the release doesn't.
    frame = rows_of_units(table, PrivacyUnit(person=sampler.person))
    columns = [LeveledColumn.of(frame[name], tree) for name, tree in sampler.hierarchies.items()]
    allowed = [_allowed(column, sampler.levels or {}) for column in columns]
    book()
    levels = tuple(each.start for each in allowed)
    if sampler.search_epsilon:
        enough = math.ceil(sampler.k / sampler.sampling_fraction)
        levels = choose_levels(columns, allowed, least_rows=enough, epsilon=sampler.search_epsilon)
    drawn = _drawn(frame.height, sampler.sampling_fraction)
    written = pl.DataFrame(
        [column.at(level) for column, level in zip(columns, levels, strict=True)]
    )
    classes = written.filter(pl.Series(drawn)).group_by(written.columns).len("\0n")
    kept = classes.filter(pl.col("\0n") >= sampler.k).sort(written.columns)
    rows = kept.select(pl.exclude("\0n").repeat_by("\0n")).explode(
        written.columns, empty_as_null=False
    )
    return PrivateRows(
        terms=sampler.terms,
        data=rows.select(written.columns),
        levels=dict(zip(sampler.hierarchies, levels, strict=True)),
        heights={column.name: column.height for column in columns},
    )


def _allowed(column: LeveledColumn, levels: Mapping[str, int | Sequence[int | None]]) -> range:
    """Return the levels that a column may have."""
    given: object = levels.get(column.name, (0, None))  # a caller may have anything here
    low, high = given if isinstance(given, tuple | list) and len(given) == 2 else (given, given)
    low = 0 if low is None else low
    high = column.height if high is None else high
    if type(low) is not int or type(high) is not int or not 0 <= low <= high <= column.height:
        raise ParameterError(
            f"Column {column.name!r} has levels 0 to {column.height}. Got {given!r}."
        )
    return range(low, high + 1)


def _drawn(n: int, share: float) -> NDArray[np.bool_]:
    """Return which rows are drawn, each by 64 bits of the operating system.

    A share of 0.001 or more is a whole multiple of 2**-64, so the probability is exact.
    """
    limit = Fraction(share) * 2**64
    if limit.denominator != 1:
        raise ParameterError(f"A share of {share!r} can't be drawn exactly.")
    bits = np.frombuffer(os.urandom(8 * n), dtype=np.uint64)
    return bits < np.uint64(int(limit))
