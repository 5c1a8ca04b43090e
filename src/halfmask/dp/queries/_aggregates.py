"""Aggregates: what a question may ask of the rows of a group, with bounds that are declared."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import ClassVar, Final

from halfmask._errors import ParameterError
from halfmask._validation import number_between
from halfmask.dp.ledger import checked_bounds

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def name_in_sql(name: str) -> str:
    """Return the name of a column as SQL has it: quoted unless it is a plain word."""
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """One number of a group: the kinds of aggregates have it in common.

    Parameters
    ----------
    name
        The column of the answer; by default made of the aggregate and its column.
    """

    kind: ClassVar[str]
    sql: ClassVar[str]
    name: str | None = None

    @property
    def column(self) -> str | None:
        """The column that is aggregated; ``None`` if rows are."""
        return None

    @property
    def label(self) -> str:
        """The column of the answer."""
        return self.name or (self.kind if self.column is None else f"{self.kind}_{self.column}")

    @property
    def in_sql(self) -> str:
        """The aggregate as SQL has it, without its name."""
        return self.sql.format("*" if self.column is None else name_in_sql(self.column))

    def to_dict(self) -> dict[str, object]:
        """Return the aggregate as a dictionary of JSON."""
        return {"kind": self.kind, **asdict(self), "name": self.label}


@dataclass(frozen=True, kw_only=True)
class Count(Aggregate):
    """The number of rows, or of values of a column that aren't missing.

    Parameters
    ----------
    of
        The column; by default rows are counted.
    name
        The column of the answer; by default made of the aggregate and its column.

    Examples
    --------
    >>> Count().label, Count(of="age").label
    ('count', 'count_age')
    """

    kind: ClassVar[str] = "count"
    sql: ClassVar[str] = "COUNT({})"
    of: str | None = None

    @property
    def column(self) -> str | None:
        """The column that is counted."""
        return self.of


@dataclass(frozen=True, kw_only=True)
class DistinctCount(Aggregate):
    """The number of different values of a column.

    Parameters
    ----------
    of
        The column.
    name
        The column of the answer; by default made of the aggregate and its column.
    """

    kind: ClassVar[str] = "distinct"
    sql: ClassVar[str] = "COUNT(DISTINCT {})"
    of: str

    @property
    def column(self) -> str:
        """The column whose values are counted."""
        return self.of


@dataclass(frozen=True, kw_only=True)
class BoundedAggregate(Aggregate):
    """An aggregate of numbers that are clamped to bounds, such as `Sum`.

    Parameters
    ----------
    of
        The column.
    bounds
        The least and greatest value, from general knowledge; by default those of the ledger.
    grid
        The unit that values are rounded to; by default 1 for whole numbers, else a power of two.
    name
        The column of the answer; by default made of the aggregate and its column.
    """

    of: str
    bounds: tuple[float, float] | None = None
    grid: float | None = None

    def __post_init__(self) -> None:
        if self.bounds is not None:
            object.__setattr__(self, "bounds", checked_bounds(self.of, self.bounds))

    @property
    def column(self) -> str:
        """The column that is aggregated."""
        return self.of

    @property
    def in_sql(self) -> str:
        """The aggregate as SQL has it, with its bounds and without its name."""
        column = name_in_sql(self.of)
        if self.bounds is not None:
            column = f"CLAMP({column}, {self.bounds[0]}, {self.bounds[1]})"
        return self.sql.format(column, at=getattr(self, "at", None))


class Sum(BoundedAggregate):
    """The sum of values; missing ones add nothing. See `BoundedAggregate`.

    Examples
    --------
    >>> Sum(of="hours", bounds=(0, 99)).label
    'sum_hours'
    """

    kind: ClassVar[str] = "sum"
    sql: ClassVar[str] = "SUM({})"


class Mean(BoundedAggregate):
    """The mean of values that aren't missing. See `BoundedAggregate`."""

    kind: ClassVar[str] = "mean"
    sql: ClassVar[str] = "AVG({})"


class Variance(BoundedAggregate):
    """The variance of values, divided by their number. See `BoundedAggregate`."""

    kind: ClassVar[str] = "variance"
    sql: ClassVar[str] = "VAR_POP({})"


@dataclass(frozen=True, kw_only=True)
class Quantile(BoundedAggregate):
    """A value below which a fraction of a column's values lies.

    Parameters
    ----------
    at
        The fraction, such as 0.5 for the median; above 0 and below 1.
    of
        The column.
    bounds
        The least and greatest value, from general knowledge; by default those of the ledger.
    grid
        The distance between values that may be answered; by default up to 1,024 of them.
    name
        The column of the answer; by default made of the aggregate and its column.

    Notes
    -----
    The exponential mechanism over the values of the grid (Smith 2011, algorithm 2).
    """

    kind: ClassVar[str] = "quantile"
    sql: ClassVar[str] = "PERCENTILE_CONT({at}) WITHIN GROUP (ORDER BY {})"
    at: float

    def __post_init__(self) -> None:
        number_between(0, 1, owner="Quantile", low_open=True, high_open=True, at=self.at)
        if round(self.at, 6) != self.at:
            raise ParameterError("The 'at' parameter of Quantile may have six digits at most.")
        BoundedAggregate.__post_init__(self)

    @property
    def label(self) -> str:
        """The column of the answer."""
        return self.name or f"quantile_{self.at:g}_{self.of}"
