"""Groups of a question: with keys that are given, or that are selected privately."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import ParameterError, SchemaError
from halfmask._validation import number_between
from halfmask.data import local_times
from halfmask.dp.accounting import EpsilonDeltaEvent
from halfmask.dp.noise import LaplaceMechanism
from halfmask.dp.queries._aggregates import name_in_sql

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.dp.ledger import PrivacyUnit


@dataclass(frozen=True)
class KeySelection:
    """Which groups are answered: those whose number of persons, with noise, reaches a threshold.

    Guarantees
    ----------
    The set of groups is (epsilon, delta)-differentially private. Two neighbouring tables differ in
    the persons of at most ``max_groups`` groups, by 1 each. Groups that both tables have are
    covered by the noise. A group that only one has holds a single person: it reaches the threshold
    with at most delta / ``max_groups``.

    Notes
    -----
    Korolova, Kenthapadi, Mishra and Ntoulas 2009; Wilson et al. 2020, section 3.
    """

    epsilon: float
    delta: float
    unit: PrivacyUnit

    @property
    def mechanism(self) -> LaplaceMechanism:
        """The noise on the number of persons of each group."""
        sensitivity = float(self.unit.max_groups)
        return LaplaceMechanism.calibrated(sensitivity=sensitivity, epsilon=self.epsilon)

    @property
    def threshold(self) -> float:
        """The least number of persons, with noise, of a group that is answered.

        It is 1 and what the noise exceeds with delta / ``max_groups``, rounded up.
        """
        share = self.delta / self.unit.max_groups
        exceeded = max(0.0, -math.log(2 * share))
        return 1 + self.mechanism.scale * (exceeded + 1e-6)

    def event(self) -> EpsilonDeltaEvent:
        """Return what the selection costs."""
        return EpsilonDeltaEvent(epsilon=self.epsilon * (1 + 1e-8), delta=self.delta)

    def selected(self, persons: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which groups are answered."""
        if not persons.size:
            return np.zeros(0, dtype=bool)
        return np.asarray(self.mechanism.release(persons) >= self.threshold)


#: Literals of text that stand for a time.
_READ: Final[Mapping[Any, Callable[[str], Any]]] = {
    pl.Date: dt.date.fromisoformat,
    pl.Datetime: dt.datetime.fromisoformat,
    pl.Time: dt.time.fromisoformat,
}
#: More given keys than this don't fit into an answer.
MOST_KEYS: Final = 1 << 20


@dataclass(frozen=True)
class Bins:
    """Bins of a column of numbers, for a histogram.

    Parameters
    ----------
    edges
        At least two numbers in order; a bin holds its lower edge and not its upper one.

    Examples
    --------
    >>> Bins((0, 18, 65)).labels
    ('[0, 18)', '[18, 65)')
    """

    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        edges = tuple(self.edges)
        object.__setattr__(self, "edges", edges)
        for edge in edges:
            number_between(-math.inf, math.inf, owner="Bins", edges=edge)
        if len(edges) < 2 or any(a >= b for a, b in itertools.pairwise(edges)):
            raise ParameterError(
                "The 'edges' parameter of Bins must be at least two finite numbers in order."
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the bins, as they stand in the answer."""
        written = [_written(edge) for edge in self.edges]
        return tuple(f"[{low}, {high})" for low, high in itertools.pairwise(written))

    def expression(self, column: str, dtype: pl.DataType) -> pl.Expr:
        """Return the label of each value's bin; missing outside of all bins.

        Parameters
        ----------
        column
            The column's name.
        dtype
            Its type.
        """
        if not dtype.is_numeric():
            raise SchemaError(f"The column {column!r} holds no numbers that bins could hold.")
        values = pl.col(column)
        label = pl.lit(None, pl.String)
        for (low, high), name in zip(itertools.pairwise(self.edges), self.labels, strict=True):
            inside = (values >= low) & (values < high)
            label = pl.when(inside).then(pl.lit(name)).otherwise(label)
        return label


GroupKeys: TypeAlias = Mapping[str, Sequence[Any] | Bins | None]


@dataclass(frozen=True, slots=True)
class Grouping:
    """The columns of groups, with the keys of each."""

    keys: tuple[tuple[str, tuple[Any, ...] | Bins | None], ...] = ()
    names: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, keys: GroupKeys) -> Self:
        """Return the groups of columns, each with its keys."""
        found = []
        for column, given in keys.items():
            listed = given if given is None or isinstance(given, Bins) else tuple(given)
            if isinstance(listed, tuple) and (not listed or len(set(listed)) < len(listed)):
                raise ParameterError(
                    f"The keys of {column!r} must be a list of at least one, each there once."
                )
            found.append((column, listed))
        made = cls(tuple(found))
        if made.is_private and any(given is not None for _, given in found):
            raise ParameterError(
                "Either all columns of groups have given keys, or none has.",
                hint="Give the keys of all, or of none and a delta to select them.",
            )
        if math.prod(len(labels) for labels in made._listed()) > MOST_KEYS:
            raise ParameterError(f"A question may have at most {MOST_KEYS:,} groups.")
        return made

    @property
    def columns(self) -> list[str]:
        """The columns that rows are grouped by."""
        return [column for column, _ in self.keys]

    @property
    def labels(self) -> list[str]:
        """The columns of keys in the answer."""
        names = dict(self.names)
        return [names.get(column, column) for column in self.columns]

    @property
    def is_private(self) -> bool:
        """Whether keys are selected from the data, which costs epsilon and delta."""
        return any(given is None for _, given in self.keys)

    @property
    def n_groups(self) -> int | None:
        """The number of groups; ``None`` if keys are selected."""
        return None if self.is_private else math.prod(len(each) for each in self._listed())

    def expressions(self, dtypes: Mapping[str, pl.DataType]) -> list[pl.Expr]:
        """Return what the rows are grouped by."""
        made = []
        for column, given in self.keys:
            if isinstance(given, Bins):
                made.append(given.expression(column, dtypes[column]).alias(column))
                continue
            if dtypes[column].is_float():
                raise SchemaError(
                    f"Rows can't be grouped by {column!r}: its numbers have fractions.",
                    hint="Group by Bins of it.",
                )
            made.append(pl.col(column))
        return made

    def frame(self, dtypes: Mapping[str, pl.DataType]) -> pl.DataFrame:
        """Return all given keys, a row for each group."""
        listed = []
        for (column, given), values in zip(self.keys, self._listed(), strict=True):
            if isinstance(given, Bins):
                listed.append(pl.DataFrame({column: values}, schema={column: pl.String}))
                continue
            listed.append(_keys(column, values, dtypes[column]).to_frame())
        made = listed[0]
        for each in listed[1:]:
            made = made.join(each, how="cross")
        return made

    def uncovered(self) -> list[str]:
        """Return which rows are in no group: those that given keys don't name."""
        return [
            f"Rows whose {column!r} is below {_written(given.edges[0])}, "
            f"{_written(given.edges[-1])} or more, or missing are in no group."
            if isinstance(given, Bins)
            else f"Rows whose {column!r} is none of the keys are in no group."
            for column, given in self.keys
            if given is not None
        ]

    def in_sql(self) -> str:
        """Return what rows are grouped by, as SQL has it."""
        return ", ".join(
            f"WIDTH_BUCKET({name_in_sql(column)}, ARRAY[{', '.join(map(str, given.edges))}])"
            if isinstance(given, Bins)
            else name_in_sql(column)
            for column, given in self.keys
        )

    def to_list(self, *, named: bool = True) -> list[list[Any]]:
        """Return the groups in JSON: column, keys, and a name if there is one."""
        names = {column: [name] for column, name in self.names} if named else {}
        return [
            [
                column,
                {"edges": given.edges} if isinstance(given, Bins) else _shown(given),
                *names.get(column, []),
            ]
            for column, given in self.keys
        ]

    def _listed(self) -> list[tuple[Any, ...]]:
        return [
            given.labels if isinstance(given, Bins) else given
            for _, given in self.keys
            if given is not None
        ]


def _keys(column: str, values: tuple[Any, ...], dtype: pl.DataType) -> pl.Series:
    """Return keys as values of their column, each there once: twice would count rows twice."""
    cells = [
        None if value is None else typed_value(_plain(value), column, dtype) for value in values
    ]
    try:
        made = pl.Series(column, cells, dtype=dtype, strict=True)
    except (pl.exceptions.PolarsError, TypeError, OverflowError):
        raise SchemaError(f"A key of {column!r} is no value of its type, {dtype}.") from None
    if made.n_unique() < len(made):
        raise ParameterError(f"Two keys of {column!r} are the same value.")
    return made


def _written(edge: float) -> str:
    """Return an edge so that no other edge is written alike."""
    short = f"{edge:g}"
    return short if float(short) == edge else str(edge)


def _plain(value: Any) -> Any:  # noqa: ANN401 - a key of any type
    """Return a key as a literal of SQL has it."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, np.generic):
        return value.item()
    return value.isoformat() if hasattr(value, "isoformat") else value


def _shown(given: tuple[Any, ...] | None) -> list[Any] | None:
    return None if given is None else [_plain(value) for value in given]


def typed_value(value: Any, column: str, dtype: pl.DataType) -> Any:  # noqa: ANN401 - any literal
    """Return a literal as a value of a column's type; a time without a zone is on its clock."""
    wrong = SchemaError(
        f"The column {column!r} has the type {dtype}, and is compared with a literal of another.",
        hint="Write text in single quotes, numbers without; dates as 'YYYY-MM-DD'.",
    )
    if dtype == pl.Boolean or dtype.is_numeric():
        if isinstance(value, str) or isinstance(value, bool) != (dtype == pl.Boolean):
            raise wrong
        most = 1 << (64 if dtype == pl.UInt64 else 63)
        wide = isinstance(value, int) and not -(1 << 63) < value < most
        return float(value) if wide else value
    if not isinstance(value, str):
        raise wrong
    if dtype == pl.String:
        return value
    read = _READ.get(dtype.base_type())
    if read is None:
        raise ParameterError(f"Columns of type {dtype} can't be compared, such as {column!r}.")
    try:
        found = read(value)
    except ValueError:
        raise wrong from None
    zone = getattr(dtype, "time_zone", None)
    if zone is None:
        if getattr(found, "tzinfo", None) is not None:
            raise wrong
        return found
    return (
        local_times(pl.Series([found]), dtype)[0]
        if found.tzinfo is None
        else found.astimezone(dt.UTC)
    )
