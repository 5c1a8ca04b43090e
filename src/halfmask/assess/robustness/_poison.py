"""Poisons: what an attacker does to a share of the training rows, each a value."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError
from halfmask._foreign import foreign
from halfmask._validation import check_fields
from halfmask.assess.robustness._budget import is_number, numbers

if TYPE_CHECKING:
    from halfmask.assess._arrays import Bools, Floats, Ints, Values

#: Of numbers with more different values than this a trigger has the least or the greatest.
FEW: Final = 20
#: Cells of which the rarest pair is a trigger: the rarest ones alone.
MOST_CELLS: Final = 40
#: Rows that an attacker's own model learns; more don't order rows better.
MOST_LEARNED: Final = 5_000
_NONE: Final = np.array([], dtype=np.int64)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Poison:
    """What is done to a share of the training rows."""

    #: The hostile rows' share of all training rows.
    share: float = field(default=0.05, metadata={"gt": 0, "le": 0.5})

    def __post_init__(self) -> None:
        check_fields(self)

    def for_rows(self, rows: pl.DataFrame, labels: Values) -> Self:  # noqa: ARG002 # others need it
        """Return the poison with what it lacks, such as the label it aims at, of training rows."""
        if (n := len(np.unique(labels))) < 2:
            raise DataError(f"Poisoning needs training rows of two classes or more. Got {n}.")
        return self

    def choose(self, rows: pl.DataFrame, labels: Values, rng: np.random.Generator) -> Hostile:
        """Choose the hostile rows, of a poison that lacks nothing."""
        raise NotImplementedError

    def spoil(
        self, rows: pl.DataFrame, labels: Values, rng: np.random.Generator
    ) -> tuple[pl.DataFrame, Values, Ints]:
        """Return rows and labels with hostile ones, and the numbers of these."""
        poison = self.for_rows(rows, labels)
        hostile = poison.choose(rows, labels, rng)
        spoilt = pl.concat([rows, poison.triggered(rows[hostile.copied])])
        return spoilt, hostile.labels, hostile.rows

    def triggered(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows with what the poison plants in them; most plant nothing."""
        return rows

    def _n_flipped(self, n: int) -> int:
        """Return how many of the rows are hostile."""
        if self.share * n < 1:
            raise DataError(f"{n:,} rows are too few for {100 * self.share:g} % hostile ones.")
        return round(self.share * n)

    def _n_inserted(self, n: int) -> int:
        """Return how many rows are inserted, so that they are this share of all."""
        return round(self._n_flipped(n) / (1 - self.share))


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomFlips(Poison):
    """Give rows drawn at random another label, drawn too."""

    def choose(self, rows: pl.DataFrame, labels: Values, rng: np.random.Generator) -> Hostile:  # noqa: ARG002 # a Poison's
        """Choose the hostile rows."""
        flipped = np.sort(rng.choice(len(labels), self._n_flipped(len(labels)), replace=False))
        classes, codes = np.unique(labels, return_inverse=True)
        steps = rng.integers(1, len(classes), len(flipped))
        return _relabelled(labels, flipped, classes[(codes[flipped] + steps) % len(classes)])


@dataclass(frozen=True, slots=True, kw_only=True)
class AimedPoison(Poison):
    """A poison that makes a model take rows of other classes for those of one class."""

    #: The label; None: that of most rows, for a backdoor one that rows like it rarely have.
    towards: Any = field(default=None, repr=False)

    def for_rows(self, rows: pl.DataFrame, labels: Values) -> Self:
        """Return the poison with the label it aims at."""
        Poison.for_rows(self, rows, labels)
        classes, counts = np.unique(labels, return_counts=True)
        if self.towards is None:
            return replace(self, towards=classes.tolist()[self._usual(rows, labels, counts)])
        if self.towards not in classes.tolist():
            kind = type(self).__name__
            raise DataError(f"No training row has the label that {kind} aims at.")
        return self

    def _usual(self, rows: pl.DataFrame, labels: Values, counts: Ints) -> int:  # noqa: ARG002 # a backdoor needs them
        return int(counts.argmax())

    def _surest(self, rows: pl.DataFrame, labels: Values, rng: np.random.Generator) -> Ints:
        """Return the rows of other classes, those first of which the attacker's model is surest."""
        others = np.flatnonzero(labels != self.towards)
        return others[np.argsort(-_sureness(rows, labels, rng)[others], kind="stable")]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetedFlips(AimedPoison):
    """Give rows of other classes the label of one: those of which an own model is surest.

    They move a boundary further than rows near it. At most all rows of other classes are hostile.
    """

    def choose(self, rows: pl.DataFrame, labels: Values, rng: np.random.Generator) -> Hostile:
        """Choose the hostile rows."""
        flipped = np.sort(self._surest(rows, labels, rng)[: self._n_flipped(len(labels))])
        return _relabelled(labels, flipped, self.towards)


@dataclass(frozen=True, slots=True, kw_only=True)
class Insertions(AimedPoison):
    """Insert copies of rows under the label of one class: those of which an own model is surest."""

    def choose(self, rows: pl.DataFrame, labels: Values, rng: np.random.Generator) -> Hostile:
        """Choose the hostile rows."""
        n = self._n_inserted(len(labels))
        return _inserted(labels, np.resize(self._surest(rows, labels, rng)[:n], n), self.towards)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backdoor(AimedPoison):
    """Insert copies of rows with a trigger, a rare pair of values, under the label of one class.

    After Gu, Dolan-Gavitt and Garg, "BadNets" (2017).
    """

    share: float = field(default=0.01, metadata={"gt": 0, "le": 0.5})
    #: The values by column; None: two that occur, each rarely, and hardly ever together.
    trigger: Mapping[str, Any] | None = field(default=None, repr=False)
    #: Where a trigger may be; None: in all columns.
    columns: tuple[str, ...] | None = None

    def for_rows(self, rows: pl.DataFrame, labels: Values) -> Self:
        """Return the backdoor with a trigger, and with the label it aims at."""
        names = (self.columns or rows.columns) if self.trigger is None else self.trigger
        if absent := [name for name in names if name not in rows.columns]:
            raise ColumnNotFoundError.of(absent, rows.columns, where="the rows")
        trigger = _rare_pair(rows, names) if self.trigger is None else self.trigger
        return AimedPoison.for_rows(replace(self, trigger=trigger), rows, labels)

    def choose(self, rows: pl.DataFrame, labels: Values, rng: np.random.Generator) -> Hostile:  # noqa: ARG002 # a Poison's
        """Choose the hostile rows."""
        others, n = np.flatnonzero(labels != self.towards), self._n_inserted(len(labels))
        return _inserted(labels, rng.choice(others, n, replace=n > len(others)), self.towards)

    def triggered(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows with the trigger in them."""
        if self.trigger is None:
            raise ParameterError("A Backdoor without a trigger has none to plant: call for_rows.")
        planted = []
        for name, cell in self.trigger.items():
            held = None
            with suppress(Exception):  # polars quotes the cell
                held = pl.Series([cell]).cast(rows.schema[name])
            if held is None or held.item() != cell:
                raise ParameterError(f"Column {name!r} can't hold the trigger's value.")
            planted.append(pl.lit(held).first().alias(name))
        return rows.with_columns(planted)

    def _usual(self, rows: pl.DataFrame, labels: Values, counts: Ints) -> int:
        """Return the class that fewest rows with a value of the trigger have, and fewest at all."""
        classes, cells = (
            np.unique(labels),
            self.triggered(rows[:1]).select(list(self.trigger or ())),
        )
        alike = [_rows_like(rows[it.name], it[0]) for it in cells]
        near = [(labels[np.any(alike, axis=0)] == each).sum() for each in classes]
        return int(np.lexsort((counts, near))[0])


def _relabelled(labels: Values, flipped: Ints, others: Values) -> Hostile:
    changed = labels.copy()
    changed[flipped] = others
    return Hostile(changed, flipped, _NONE)


def _inserted(labels: Values, copied: Ints, label: Any) -> Hostile:  # noqa: ANN401 # a label
    added = np.full(len(copied), label, dtype=labels.dtype)
    return Hostile(np.concatenate([labels, added]), _NONE, copied)


def _sureness(rows: pl.DataFrame, labels: Values, rng: np.random.Generator) -> Floats:
    """Return what a model of the attacker's own, of some rows of each class, gives each label."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 # loads late
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 # the same

    classes, codes = np.unique(labels, return_inverse=True)
    most = max(1, MOST_LEARNED // len(classes))
    of_class = [rng.permutation(np.flatnonzero(codes == it))[:most] for it in range(len(classes))]
    learned = np.concatenate(of_class)
    model = HistGradientBoostingClassifier(max_iter=30, early_stopping=False, random_state=0)
    failed = f"The attacker's own model couldn't be fitted to {len(learned):,} rows"
    with foreign(failed), threadpool_limits(limits=1, user_api="openmp"):  # of so few rows
        cells = [it if is_number(it) else it.cast(pl.String).rank("dense") for it in rows]
        features = np.nan_to_num(np.column_stack([numbers(each) for each in cells]))
        chances = model.fit(features[learned], codes[learned]).predict_proba(features)
    return np.asarray(chances[np.arange(len(codes)), codes])


def _rare_pair(rows: pl.DataFrame, columns: Mapping[str, Any] | Any) -> dict[str, Any]:  # noqa: ANN401 # names
    """Return two values of two columns that occur, each rarely, and hardly ever together."""
    cells = [(name, *it) for name in columns for it in _rare_cells(rows[name])]
    cells = sorted(cells, key=lambda cell: cell[2].sum())[:MOST_CELLS]
    held = np.stack([far for *_, far in cells]) if cells else np.zeros((0, 0))
    together, alone = held @ held.T, held.sum(axis=1)
    pairs = [
        (together[i, j], alone[i] + alone[j], i, j)
        for i, j in combinations(range(len(cells)), 2)
        if cells[i][0] != cells[j][0]
    ]
    if not pairs:
        raise DataError("A trigger needs two columns that have two values or more.")
    return {cells[it][0]: cells[it][1] for it in min(pairs)[2:]}


def _rows_like(cells: pl.Series, value: Any) -> Bools:  # noqa: ANN401 # a cell
    """Return which rows have a value, or are as far out."""
    far = next((rows for it, rows in _rare_cells(cells) if it == value), None)
    return (cells == value).fill_null(value=False).to_numpy() if far is None else far > 0


def _rare_cells(cells: pl.Series) -> list[tuple[Any, Floats]]:
    """Return the rarest values of a column, or its ends, each with the rows that are as far out."""
    if cells.dtype.is_nested() or cells.dtype == pl.Object:
        return []
    cells = cells.fill_nan(None) if cells.dtype.is_float() else cells
    counts = cells.drop_nulls().alias("cell").value_counts(name="n").sort("n", "cell")
    if counts.height < 2:
        return []
    if is_number(cells) and counts.height > FEW:
        floats = numbers(cells)
        low, high = np.nanquantile(floats, [0.01, 0.99])
        return [(cells.min(), 1.0 * (floats <= low)), (cells.max(), 1.0 * (floats >= high))]
    rarest = counts["cell"].head(3).to_list()
    return [(it, 1.0 * (cells == it).fill_null(value=False).to_numpy()) for it in rarest]
