"""The plan of a hasher: its columns and their keys; what turns rows into hashed rows."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from halfmask._errors import (
    DataError,
    HalfmaskError,
    KeyMismatchError,
    SchemaError,
)
from halfmask._optional import need
from halfmask.hashing._columns import HashedColumn, wired
from halfmask.hashing._row_hasher import RowHasher
from halfmask.hashing._settings import HasherSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import ArrayLike

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
            wired=wired(self.columns, settings=self.settings, secret=self.secret),
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
