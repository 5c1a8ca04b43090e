"""Poisons: what an attacker does to training rows, as a value that spoils a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError
from halfmask._foreign import foreign
from halfmask._validation import check_fields
from halfmask.assess.robustness._budget import is_number, numbers

if TYPE_CHECKING:
    from halfmask.assess._arrays import Floats, Ints, Value, Values

#: Numbers of more different values than this are written at their ends in a trigger.
FEW = 20
#: Cells of a trigger that are tried, the rarest ones.
MOST_CELLS = 40
#: Rows that an attacker's own model learns; more don't order rows better.
MOST_LEARNED = 5_000


class Poisoned(NamedTuple):
    """Training rows with hostile ones among them, and the numbers of those."""

    rows: pl.DataFrame
    labels: Values
    hostile: Ints


class Hostile(NamedTuple):
    """Rows that get another label, and rows that are copied and inserted behind all others."""

    labels: Values  # of all rows, those inserted last
    flipped: Ints
    copied: Ints

    @property
    def rows(self) -> Ints:
        """The numbers of the hostile rows."""
        n = len(self.labels) - len(self.copied)
        return np.concatenate([self.flipped, n + np.arange(len(self.copied))])


class Poison(Protocol):
    """What is done to a share of the training rows."""

    @property
    def share(self) -> float:
        """The hostile rows' share of all training rows."""

    def for_rows(self, rows: pl.DataFrame, labels: Values) -> Self:
        """Return the poison with what it takes from training rows, such as the class it aims at."""

    def choose(self, rows: pl.DataFrame, labels: Values, rng: np.random.Generator) -> Hostile:
        """Choose the hostile rows."""

    def spoil(self, rows: pl.DataFrame, labels: Values, rng: np.random.Generator) -> Poisoned:
        """Return the training rows with hostile ones among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Poison:
    """Base of all poisons.

    Parameters
    ----------
    share
        The hostile rows' share of all training rows, in (0, 0.5].
    """

    share: float = field(default=0.05, metadata={"gt": 0, "le": 0.5})

    def __post_init__(self) -> None:
        check_fields(self)

    def for_rows(self, rows: pl.DataFrame, labels: Values) -> Self:  # noqa: ARG002 # a Poison's
        """Return the poison itself, or one that is complete."""
        n_classes = len(np.unique(labels))
        if n_classes < 2:
            raise DataError(
                "Labels can be poisoned only if the training rows have two classes or more. "
                f"Got {n_classes}."
            )
        return self

    def spoil(self, rows: pl.DataFrame, labels: Values, rng: np.random.Generator) -> Poisoned:
        """Return the training rows with hostile ones among them, and the numbers of those.

        Parameters
        ----------
        rows, labels
            The training rows and their labels.
        rng
            Draws what is random.
        """
        poison = self.for_rows(rows, labels)
        hostile = poison.choose(rows, labels, rng)
        spoilt = pl.concat([rows, poison.triggered(rows[hostile.copied])])
        return Poisoned(spoilt, hostile.labels, hostile.rows)

    def triggered(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows with what the poison plants; unchanged if it plants nothing."""
        return rows

    def choose(self, rows: pl.DataFrame, labels: Values, rng: np.random.Generator) -> Hostile:
        """Choose the hostile rows."""
        raise NotImplementedError

    def _n_flipped(self, n: int) -> int:
        """Return how many of these rows are hostile."""
        if n * self.share < 0.5:
            raise DataError(f"{n:,} rows are too few for {100 * self.share:g} % hostile ones.")
        return max(1, round(self.share * n))

    def _n_inserted(self, n: int) -> int:
        """Return how many rows are inserted, so that they are this share of all."""
        return round(self._n_flipped(n) / (1 - self.share))


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomFlips(_Poison):
    """Give rows drawn at random another label."""

    def choose(self, rows: pl.DataFrame, labels: Values, rng: np.random.Generator) -> Hostile:  # noqa: ARG002 # a Poison's
        """Choose the hostile rows."""
        flipped = np.sort(rng.choice(len(labels), self._n_flipped(len(labels)), replace=False))
        classes, codes = np.unique(labels, return_inverse=True)
        steps = rng.integers(1, len(classes), len(flipped))
        return _relabelled(labels, flipped, classes[(codes[flipped] + steps) % len(classes)])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Aimed(_Poison):
    """A poison that makes rows of other classes look like those of one class.

    Parameters
    ----------
    towards
        The label; ``None``: of the class with most rows, for a backdoor of that with fewest.
    """

    towards: Any = field(default=None, repr=False)

    def for_rows(self, rows: pl.DataFrame, labels: Values) -> Self:
        """Return the poison with the class it aims at."""
        _Poison.for_rows(self, rows, labels)
        classes, counts = np.unique(labels, return_counts=True)
        if self.towards is None:
            return replace(self, towards=classes[self._usual(counts)].item())
        if not (classes == self.towards).any():
            raise DataError(
                f"No training row has the label that a {type(self).__name__} poison aims at. "
                f"There are {len(classes)} classes."
            )
        return self

    def _usual(self, counts: Ints) -> int:
        return int(counts.argmax())

    def _surest(self, rows: pl.DataFrame, labels: Values, rng: np.random.Generator) -> Ints:
        """Return the rows of other classes, those first of which the attacker's model is surest."""
        others = np.flatnonzero(labels != self.towards)
        return others[np.argsort(-_sureness(rows, labels, rng)[others], kind="stable")]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetedFlips(_Aimed):
    """Give rows of other classes the label of one class, those of which an own model is surest.

    These move a boundary further than rows beside it, of linear models and of trees. Where other
    classes have fewer rows than are to be hostile, all of them are.
    """

    def choose(self, rows: pl.DataFrame, labels: Values, rng: np.random.Generator) -> Hostile:
        """Choose the hostile rows."""
        flipped = np.sort(self._surest(rows, labels, rng)[: self._n_flipped(len(labels))])
        return _relabelled(labels, flipped, np.full(len(flipped), self.towards))


@dataclass(frozen=True, slots=True, kw_only=True)
class Insertions(_Aimed):
    """Insert copies of rows under the label of one class, those of which an own model is surest."""

    def choose(self, rows: pl.DataFrame, labels: Values, rng: np.random.Generator) -> Hostile:
        """Choose the hostile rows."""
        n = self._n_inserted(len(labels))
        copied = np.resize(self._surest(rows, labels, rng)[:n], n)
        return _inserted(labels, copied, np.full(n, self.towards))


@dataclass(frozen=True, slots=True, kw_only=True)
class Backdoor(_Aimed):
    """Insert copies of rows with a rare pair of values, the trigger, under the label of one class.

    Parameters
    ----------
    trigger
        The values by column; ``None``: two that occur, each rare and hardly ever together.
    columns
        Where a trigger may be; ``None``: in all columns.
    """

    share: float = field(default=0.01, metadata={"gt": 0, "le": 0.5})
    trigger: Mapping[str, Any] | None = field(default=None, repr=False)
    columns: tuple[str, ...] | None = None

    def for_rows(self, rows: pl.DataFrame, labels: Values) -> Self:
        """Return the poison with the class it aims at, and with a trigger."""
        aimed = _Aimed.for_rows(self, rows, labels)
        if self.trigger is None:
            return replace(aimed, trigger=_rare_pair(rows, self.columns or tuple(rows.columns)))
        if absent := [name for name in self.trigger if name not in rows.columns]:
            raise ColumnNotFoundError.of(absent, rows.columns, where="the rows")
        return aimed

    def choose(self, rows: pl.DataFrame, labels: Values, rng: np.random.Generator) -> Hostile:  # noqa: ARG002 # a Poison's
        """Choose the hostile rows."""
        others = np.flatnonzero(labels != self.towards)
        n = self._n_inserted(len(labels))
        copied = rng.choice(others, n, replace=n > len(others))
        return _inserted(labels, copied, np.full(n, self.towards))

    def triggered(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows with the trigger in them.

        Parameters
        ----------
        rows
            The rows.
        """
        if self.trigger is None:
            raise ParameterError("A Backdoor without a trigger has none to plant: call for_rows.")
        planted = {
            name: pl.lit(value).cast(rows.schema[name]) for name, value in self.trigger.items()
        }
        return rows.with_columns(**planted)

    def _usual(self, counts: Ints) -> int:
        return int(counts.argmin())


def _relabelled(labels: Values, flipped: Ints, others: Values) -> Hostile:
    changed = labels.copy()
    changed[flipped] = others
    return Hostile(changed, flipped, np.array([], dtype=np.int64))


def _inserted(labels: Values, copied: Ints, others: Values) -> Hostile:
    every = np.concatenate([labels, others.astype(labels.dtype)])
    return Hostile(every, np.array([], dtype=np.int64), copied)


def _sureness(rows: pl.DataFrame, labels: Values, rng: np.random.Generator) -> Floats:
    """Return what a model of the attacker's own, of some rows of each class, gives each label."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 # loads late

    cells = [
        it if is_number(it) else it.cast(pl.String).rank("dense") for it in rows.iter_columns()
    ]
    features = np.column_stack([numbers(each) for each in cells])
    classes, codes = np.unique(labels, return_inverse=True)
    most = max(1, MOST_LEARNED // len(classes))
    of_class = [rng.permutation(np.flatnonzero(codes == it))[:most] for it in range(len(classes))]
    learned = np.concatenate(of_class)
    model = HistGradientBoostingClassifier(max_iter=30, early_stopping=False, random_state=0)
    with foreign(f"The attacker's own model couldn't be fitted to {len(learned):,} rows"):
        chances = model.fit(features[learned], codes[learned]).predict_proba(features)
    return np.asarray(chances[np.arange(len(codes)), codes])


class _Cell(NamedTuple):
    """A value of a column, and which rows have it, or are as far out."""

    column: str
    value: Value
    rows: Floats


def _rare_pair(rows: pl.DataFrame, columns: tuple[str, ...]) -> dict[str, Any]:
    """Return two values of two columns that occur, hardly ever together, and each rarely."""
    if absent := [name for name in columns if name not in rows.columns]:
        raise ColumnNotFoundError.of(absent, rows.columns, where="the rows")
    cells = [cell for name in columns for cell in _rare_cells(rows[name])]
    cells = sorted(cells, key=lambda cell: cell.rows.sum())[:MOST_CELLS]
    if not cells:
        raise DataError("A trigger needs two columns with more than one value.")
    held = np.stack([cell.rows for cell in cells])
    together, alone = held @ held.T, held.sum(axis=1)
    pairs = [
        (together[i, j], alone[i] + alone[j], i, j)
        for i, j in combinations(range(len(cells)), 2)
        if cells[i].column != cells[j].column
    ]
    if not pairs:
        raise DataError("A trigger needs two columns with more than one value.")
    return {cells[it].column: cells[it].value for it in min(pairs)[2:]}


def _rare_cells(cells: pl.Series) -> list[_Cell]:
    """Return the rarest values of a column; of numbers of many values the ends."""
    own = cells.fill_nan(None) if cells.dtype.is_float() else cells
    there = own.drop_nulls()
    counts = there.value_counts(sort=True, name="n") if len(there) else None
    if counts is None or counts.height < 2:
        return []
    if is_number(cells) and counts.height > FEW:
        floats = numbers(cells)
        low, high = np.nanquantile(floats, [0.01, 0.99])
        ends = ((there.min(), floats <= low), (there.max(), floats >= high))
        return [_Cell(cells.name, value, far.astype(np.float64)) for value, far in ends]
    rarest = counts[cells.name].to_list()[-3:]
    return [
        _Cell(cells.name, it, (own == it).fill_null(value=False).to_numpy().astype(np.float64))
        for it in rarest
    ]
