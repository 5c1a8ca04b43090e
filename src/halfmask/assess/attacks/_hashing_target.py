"""HashingTarget: hashed rows as a trainer sees them, and the cells that they stand for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least, one_of
from halfmask.assess.attacks._inputs import (
    TakenInputs,
    as_frame,
    as_whole_numbers,
    check_columns,
    check_plain,
    several,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from halfmask.assess._arrays import Floats
    from halfmask.hashing import HashedRows
    from halfmask.vault import Secret

MAX_BITS = 31
_ROWS_TO_TELL = 500
#: The weights of the model that a trainer makes of buckets (rows, columns) and labels 0 and 1.
TrainWeights: TypeAlias = "Callable[[NDArray[np.uint32], Floats], Floats]"
#: The buckets of rows as their owner hashes them, by a secret: all but the secret is known.
Rehash: TypeAlias = "Callable[[Secret, pl.DataFrame], NDArray[np.uint32]]"


class Hasher(Protocol):
    """A fitted hasher, such as :class:`~halfmask.hashing.KeyedHasher`."""

    bits: int

    def hash_batch(self, frame: Any, labels: Any = None) -> HashedRows:  # noqa: ANN401 # a frame
        """Return the hashed rows of a frame."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HashingTarget(TakenInputs):
    """Hashed rows to be attacked, the raw cells, and the attacker's knowledge.

    Parameters
    ----------
    buckets
        The indices that left: (rows, columns), column by column of `original`, each below
        2**`bits`. Which place of a row belongs to which column is granted to an attacker.
    original
        The cells at home *as they were hashed*: categories, and numbers by the bin that they lie
        in. Cells are taken as text, a missing one as the empty text.
    bits
        There are 2**`bits` buckets, 1 to 31.
    labels
        The label of each row, 0 or 1, as it left. Attacks on weights need them.
    population
        Other rows of the same population, with the original's columns: a sample, or a public table.
    population_labels
        Their labels, if the attacker knows what the label means and has it of those rows.
    dictionary
        By column, the values that an attacker tries. A column that isn't named: its true values,
        which is the best that an attacker can have, among as many words that aren't.
    train
        Trains the weights of the model that the trainer keeps; attacks on weights need it.
    rehash
        How the owner hashes rows by a secret. With it an attacker tries secrets that people choose
        when they don't draw one.

    Raises
    ------
    ParameterError
        If buckets and cells, or rows and labels, differ in number, a bucket is out of range or
        `bits` is, or a label isn't 0 or 1.
    ColumnNotFoundError
        If the population lacks a column, or the dictionary names one that isn't there.
    DataError, SchemaError
        If a table is no frame, or one that can't be turned.

    Examples
    --------
    >>> rows = pl.DataFrame({"town": ["Aachen", "Bonn", "Bonn"]})
    >>> drawn = np.array([[7], [1], [1]], dtype=np.uint32)
    >>> target = HashingTarget(buckets=drawn, original=rows, bits=3)
    >>> target, target.unprotected().buckets.shape
    (HashingTarget(3 rows, 1 column, 3 bits), (3, 1))
    """

    buckets: NDArray[np.uint32]
    original: pl.DataFrame = field(metadata={"take": as_frame})
    bits: int
    labels: NDArray[np.float64] | None = None
    population: pl.DataFrame | None = field(default=None, metadata={"take": as_frame})
    population_labels: NDArray[np.float64] | None = None
    dictionary: Mapping[str, Sequence[str]] = field(default_factory=dict)
    train: TrainWeights | None = None
    rehash: Rehash | None = None

    def __post_init__(self) -> None:
        integer_at_least(1, owner="HashingTarget", bits=self.bits)
        if self.bits > MAX_BITS:
            raise ParameterError(f"HashingTarget has at most {MAX_BITS} bits. Got {self.bits}.")
        TakenInputs.__post_init__(self)
        object.__setattr__(self, "buckets", self._checked_buckets())
        self._check_dictionary()
        self._check_population()
        for which, whose in (("labels", self.original), ("population_labels", self.population)):
            if whose is not None and getattr(self, which) is not None:
                object.__setattr__(self, which, self._checked_labels(which, whose.height))
        object.__setattr__(self, "original", _texts(self.original, "original"))

    def _checked_buckets(self) -> NDArray[np.uint32]:
        try:
            buckets = np.asarray(self.buckets)
        except ValueError:  # rows of different lengths
            buckets = np.empty(0, dtype=object)
        if buckets.dtype.kind not in "iu":
            raise ParameterError(
                "The 'buckets' parameter of HashingTarget must be whole numbers. "
                f"Got {buckets.dtype}."
            )
        if buckets.shape != self.original.shape:
            raise ParameterError(
                "buckets must have a place for each cell of the original. "
                f"Got shapes {buckets.shape} and {self.original.shape}."
            )
        if buckets.size and (int(buckets.max()) >> self.bits or buckets.min() < 0):
            raise ParameterError(f"A bucket is out of the range of {self.bits} bits.")
        return buckets.astype(np.uint32, copy=False)

    def _check_dictionary(self) -> None:
        names = self.original.columns
        found: dict[str, tuple[str, ...]] = {}
        for name, words in self.dictionary.items():
            check_columns([name], names, where="the original")
            of = f"texts for column {name!r}"
            found[name] = several(
                words, parameter="dictionary", owner="HashingTarget", of=of, or_none=True
            )
            if not all(isinstance(word, str) for word in found[name]):
                raise ParameterError(
                    f"The dictionary of column {name!r} must be a list of texts.",
                    hint="Cells are taken as text: write numbers as they are written there.",
                )
        object.__setattr__(self, "dictionary", found)

    def _check_population(self) -> None:
        if self.population is None:
            return
        names = self.original.columns
        check_columns(names, self.population.columns, where="the population")
        known = _texts(self.population.select(names), "population")
        object.__setattr__(self, "population", known)

    def _checked_labels(self, which: str, n_rows: int) -> Floats:
        labels = as_whole_numbers(getattr(self, which), parameter=which, owner="HashingTarget")
        if len(labels) != n_rows:
            raise ParameterError(f"{which} must be as many as rows.")
        if not np.isin(labels, (0, 1)).all():
            raise ParameterError(f"The {which!r} parameter of HashingTarget must be of 0 and 1.")
        return labels.astype(np.float64)

    @classmethod
    def of_hasher(
        cls,
        hasher: Hasher,
        table: object,
        *,
        labels: ArrayLike | None = None,
        population: object = None,
        population_labels: ArrayLike | None = None,
        train: TrainWeights | None = None,
    ) -> Self:
        """Make one of a fitted hasher and the rows that it is to send.

        Parameters
        ----------
        hasher
            A fitted hasher without interactions, texts and sets, whose cells are one bucket each.
            Columns of numbers should have been put into bins before, as text: an attacker is
            judged by the cell.
        table
            The rows at home.
        labels, population, population_labels, train
            As of the class.

        Raises
        ------
        ParameterError
            If the hasher makes another number of buckets of a row than there are columns.
        """
        from halfmask.data import to_polars  # noqa: PLC0415 # loads late

        rows = to_polars(table)
        return cls(
            buckets=_buckets(hasher, rows),
            original=rows,
            bits=hasher.bits,
            labels=labels,  # type: ignore[arg-type] # a target takes any list of them
            population=None if population is None else to_polars(population),
            population_labels=population_labels,  # type: ignore[arg-type] # the same
            train=train,
            rehash=partial(_hash_again, hasher),
        )

    def unprotected(self, *, hash: str = "murmur3", seed: int = 0) -> Self:  # noqa: A002 # its name
        """Return the same rows as the usual libraries hash them: the positive control.

        Parameters
        ----------
        hash
            ``"murmur3"`` (scikit-learn, Vowpal Wabbit) or ``"siphash"``, both of "column=value".
        seed
            The seed of murmur3, or the key of SipHash as a number. 0 is the usual default; what
            is large must be searched.
        """
        from halfmask.assess.attacks._hashes import HashScheme  # noqa: PLC0415 # it imports this

        one_of(("murmur3", "siphash"), owner="HashingTarget.unprotected", hash=hash)
        scheme = HashScheme(base=hash, seed=seed)
        columns = []
        for name, column in zip(self.original.columns, self.original.iter_columns(), strict=True):
            values, number = np.unique(column.to_numpy().astype(str), return_inverse=True)
            columns.append(scheme.buckets(name, values.tolist(), self.bits)[number.ravel()])
        return replace(self, buckets=np.column_stack(columns), rehash=None)

    def __repr__(self) -> str:
        n, width = self.original.shape
        return f"HashingTarget({n} rows, {width} column{'s' * (width != 1)}, {self.bits} bits)"


def _hash_again(hasher: Any, secret: Secret, rows: pl.DataFrame) -> NDArray[np.uint32]:  # noqa: ANN401 # a fitted hasher
    """Return what the same hasher makes of rows under another secret."""
    from sklearn.base import clone  # noqa: PLC0415 # sklearn loads late

    return _buckets(clone(hasher).set_params(secret=secret).fit(rows), rows)


def _buckets(hasher: Hasher, rows: pl.DataFrame) -> NDArray[np.uint32]:
    """Return what a hasher makes of each cell, column by column.

    Where a row's places are in a keyed order, those that change with a column are its own.
    """
    indices = hasher.hash_batch(rows).indices
    if indices.shape != rows.shape:
        raise ParameterError(
            "HashingTarget.of_hasher needs a hasher that makes one bucket of each cell.",
            hint="Leave out interactions, texts and sets.",
        )
    some = rows.head(_ROWS_TO_TELL)
    before = hasher.hash_batch(some).indices
    places: list[int] = []
    for name in rows.columns:
        without = some.with_columns(pl.lit(None, dtype=rows.schema[name]).alias(name))
        changed = (hasher.hash_batch(without).indices != before).any(axis=0)
        # Of a column without any value nothing changes: any place that is left will do.
        left = [place for place in range(rows.width) if place not in places]
        places.append(next((place for place in left if changed[place]), left[-1]))
    return np.ascontiguousarray(indices[:, places])


def _texts(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    check_plain(frame, frame.columns, where=where)
    return frame.select(pl.all().cast(pl.String).fill_null(""))
