"""The plan of a hasher, its columns and their keys, and how it is fitted to rows."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from halfmask._errors import DataError, HalfmaskError, KeyMismatchError, SchemaError
from halfmask._foreign import need
from halfmask.data.text_forms import TextWatch
from halfmask.hashing._cells import (
    arrow_of,
    columns_of,
    is_empty,
    kind_of,
    numbers_of,
    same_kind,
    texts_of_table,
    with_column,
)
from halfmask.hashing._row_hasher import RowHasher
from halfmask.hashing._settings import HashedColumn, HasherSettings, wire_columns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from halfmask.hashing._rows import HashedRows
    from halfmask.vault import Secret


#: Raised whenever the same secret and rows would give other indices.
HASHER_VERSION = 1
_FORMAT = "halfmask hasher"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class HashPlan:
    """What turns rows into hashed rows: a fitted hasher, without scikit-learn.

    Parameters
    ----------
    settings
        The settings of the hasher.
    columns
        The columns that it knows, each with its bins.
    secret
        What all keys follow from.

    Guarantees
    ----------
    The same secret, settings, columns and row give the same integers, on every machine and in
    every version of the same `HASHER_VERSION`, compiled or not, whatever the batches are, in
    whatever order the columns come, and whether a category comes as a text or in a dictionary.

    Edge cases
    ----------
    It holds the names of columns and the edges of bins: it stays at home.
    """

    settings: HasherSettings
    columns: tuple[HashedColumn, ...]
    secret: Secret
    _hasher: RowHasher = field(init=False)

    def __post_init__(self) -> None:
        if not self.columns:
            raise SchemaError("A hasher needs at least one column.")
        roles = {column.name: column.role for column in self.columns}
        self.settings.check_columns(roles)
        made = RowHasher(
            bits=self.settings.bits,
            signed=self.settings.signed,
            kinds={column.name: column.kind for column in self.columns},
            wired=wire_columns(self.columns, settings=self.settings, secret=self.secret),
        )
        object.__setattr__(self, "_hasher", made)

    def __repr__(self) -> str:
        return f"HashPlan({len(self.columns)} columns, bits={self.settings.bits})"

    @property
    def width(self) -> int | None:
        """How many features each row has; None where rows have texts or sets, and differ."""
        return None if self._hasher.wired.bags else len(self._hasher.wired.slots)

    def rows(
        self,
        frame: object,
        *,
        labels: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        classes: int = 2,
    ) -> HashedRows:
        """Hash the rows of a frame.

        Parameters
        ----------
        frame
            A frame of polars, pandas or pyarrow, or an array, with the fitted columns.
        labels
            Codes of classes, or numbers; sent unchanged.
        weights
            How much each row counts.
        classes
            How many classes labels of whole numbers have.

        Raises
        ------
        ColumnNotFoundError, SchemaError
            If a column is missing, not known, or holds something else than at the fit.
        DataError
            If a number that is kept is infinite, or labels or weights aren't what may be sent.
        """
        return self._hasher.rows(frame, labels=labels, weights=weights, classes=classes)

    def batches(self, frames: Iterable[object]) -> Iterator[HashedRows]:
        """Hash frames in order, on all processors, with few of them in memory.

        Parameters
        ----------
        frames
            The frames to hash.
        """
        return self._hasher.batches(frames)

    def to_dict(self) -> dict[str, Any]:
        """Return what it is made of but the secret, as JSON can hold it."""
        columns = [
            {
                "name": it.name,
                "kind": it.kind,
                "role": it.role,
                "edges": None if it.edges is None else it.edges.tolist(),
            }
            for it in self.columns
        ]
        return {
            "format": _FORMAT,
            "version": HASHER_VERSION,
            "secret": self.secret.id,
            "settings": self.settings.to_dict(),
            "columns": columns,
        }

    @classmethod
    def from_dict(cls, found: Any, *, secret: Secret) -> Self:  # noqa: ANN401 # what JSON held
        """Return the plan that a dictionary holds; see `from_bytes`.

        Parameters
        ----------
        found
            What `to_dict` returned.
        secret
            The secret of the hasher.
        """
        need("numba")
        try:
            form = found["format"], found["version"], found["secret"]
        except (KeyError, TypeError):
            raise _unreadable() from None
        if form[:2] != (_FORMAT, HASHER_VERSION):
            raise DataError(
                f"The hasher is of another version; this halfmask reads {HASHER_VERSION}.",
                hint="Use the version of halfmask that wrote it.",
            )
        if form[2] != secret.id:
            raise KeyMismatchError("The hasher was fitted with another secret.")
        try:
            columns = tuple(
                HashedColumn(
                    name=str(it["name"]),
                    kind=str(it["kind"]),
                    role=it["role"],
                    edges=None if it["edges"] is None else np.array(it["edges"], np.float64),
                )
                for it in found["columns"]
            )
            settings = HasherSettings.from_dict(found["settings"])
            return cls(settings=settings, columns=columns, secret=secret)
        except (KeyError, TypeError, ValueError, HalfmaskError):
            raise _unreadable() from None

    def to_bytes(self) -> bytes:
        """Return the plan without its key: JSON, to be sealed in a vault.

        Guarantees
        ----------
        `from_bytes` gives, with the same secret, a plan that hashes as this one does. The bytes
        hold no key; they hold the names of columns and where bins begin.
        """
        return json.dumps(self.to_dict(), ensure_ascii=False).encode()

    @classmethod
    def from_bytes(cls, data: bytes, *, secret: Secret) -> Self:
        """Return the plan that bytes hold.

        Parameters
        ----------
        data
            What `to_bytes` returned.
        secret
            The secret of the hasher.

        Raises
        ------
        DataError
            If they hold none, or one of another version.
        KeyMismatchError
            If it was fitted with another secret.
        """
        try:
            found = json.loads(data)
        except (ValueError, TypeError):
            raise _unreadable() from None
        return cls.from_dict(found, secret=secret)


def _unreadable() -> DataError:
    return DataError(
        "The bytes hold no hasher, or a damaged one.", hint="Unseal what to_bytes() gave."
    )


#: Rows that bins are made of: a bin's share is then within half a percent of what it should be.
_SAMPLE = 1 << 16


def plan_of_schema(schema: Any, *, settings: HasherSettings, secret: Secret) -> HashPlan:  # noqa: ANN401 # no types
    """Return the plan of columns whose numbers need no look at them."""
    columns = []
    for name, dtype in zip(schema.names, schema.types, strict=True):
        kind = kind_of(dtype, name)
        columns.append(HashedColumn(name=name, kind=kind, role=settings.role_of(name, kind)))
    return HashPlan(settings=settings, columns=tuple(columns), secret=secret)


def fit_plan(
    frames: Iterable[object],
    *,
    settings: HasherSettings,
    secret: Secret,
    known: Collection[str] = (),
) -> HashPlan:
    """Return the plan of the columns of frames that follow one another.

    Numbers are binned by the quantiles of at most 65,536 rows: those whose numbers, counted from
    the first, have the smallest values of a fixed function, so that any batches of the same rows
    give the same bins.
    """
    need("numba")
    declared = {*known, *settings.categorical, *settings.text, *settings.sets}
    watch = TextWatch(owner="A hasher", known=declared)
    kinds: dict[str, str] = {}
    sample = _Sample()
    rows = 0
    for frame in frames:
        table = arrow_of(frame)
        watch.see(texts_of_table(table))
        table, found = _alike(table, kinds)
        _agree(kinds, found)
        kinds = {
            name: found[name] if kinds.get(name, "empty") == "empty" else kinds[name]
            for name in found
        }
        if settings.numbers == "quantiles":
            numeric = [n for n, kind in found.items() if settings.role_of(n, kind) == "number"]
            sample.add(columns_of(table), numeric, first=rows, n_rows=table.num_rows)
        rows += table.num_rows
    watch.warn()
    if not rows:
        raise DataError("A hasher can't be fitted to a table without rows.")
    columns = [
        HashedColumn(
            name=name,
            kind=kind,
            role=(role := settings.role_of(name, kind)),
            edges=_edges(sample.of(name), settings.bins)
            if role == "number" and settings.numbers == "quantiles"
            else None,
        )
        for name, kind in kinds.items()
    ]
    return HashPlan(settings=settings, columns=tuple(columns), secret=secret)


def _alike(table: Any, kinds: dict[str, str]) -> tuple[Any, dict[str, str]]:  # noqa: ANN401 # no types
    """Return a table and the kinds of its columns; one without a value is of any kind."""
    found = {n: kind_of(t, n) for n, t in zip(table.schema.names, table.schema.types, strict=True)}
    for name, kind in found.items():
        if not same_kind(kinds.get(name, kind), kind) and is_empty(table.column(name)):
            table = with_column(table, name, pa.nulls(table.num_rows))
            found[name] = "empty"
    return table, found


def _agree(kinds: dict[str, str], found: dict[str, str]) -> None:
    if not kinds:
        return
    if set(kinds) != set(found):
        raise SchemaError("A batch has other columns than the one before.")
    for name, kind in found.items():
        if not same_kind(kinds[name], kind):
            raise SchemaError(
                f"Column {name!r} is of kind {kind} in one batch, {kinds[name]} before."
            )


class _Sample:
    """The numbers of some rows, chosen by the rows' numbers alone."""

    def __init__(self) -> None:
        self._columns: dict[str, list[NDArray[np.float64]]] = {}
        self._ranks: list[NDArray[np.uint64]] = []
        self._held = 0
        self._bound = np.uint64(0xFFFFFFFFFFFFFFFF)

    def add(self, columns: dict[str, Any], names: list[str], *, first: int, n_rows: int) -> None:
        """Look at a batch whose first row has a number."""
        ranks = _mix_bits(np.arange(first, first + n_rows, dtype=np.uint64))
        chosen = np.flatnonzero(ranks <= self._bound)
        for name in names:
            if name not in self._columns:  # without a value until now
                gone = [np.full(len(each), np.nan) for each in self._ranks]
                self._columns[name] = gone
        for name, held in self._columns.items():
            held.append(numbers_of(columns[name])[chosen])
        self._ranks.append(ranks[chosen])
        self._held += len(chosen)
        if self._held > 2 * _SAMPLE:
            self._prune()

    def of(self, name: str) -> NDArray[np.float64]:
        """Return a column's numbers, ascending, without those that are missing."""
        self._prune()
        numbers = np.concatenate(self._columns.get(name, [np.zeros(0)]))
        return np.sort(numbers[~np.isnan(numbers)])

    def _prune(self) -> None:
        ranks = np.concatenate(self._ranks)
        if len(ranks) > _SAMPLE:
            self._bound = np.partition(ranks, _SAMPLE - 1)[_SAMPLE - 1]
        kept = ranks <= self._bound
        self._ranks = [ranks[kept]]
        self._held = int(kept.sum())
        for name, held in self._columns.items():
            self._columns[name] = [np.concatenate(held)[kept]]


def _mix_bits(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers mixed one to one: the finalizer of SplitMix64 (Steele, Lea, Flood 2014)."""
    mixed = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def _edges(numbers: NDArray[np.float64], bins: int) -> NDArray[np.float64]:
    """Return where at most so many bins of about equal numbers begin, without the first."""
    if not len(numbers):
        return np.zeros(0)
    places = np.arange(1, bins) * len(numbers) // bins
    edges = np.unique(numbers[places])
    return np.asarray(edges[(edges > numbers[0]) & np.isfinite(edges)])
