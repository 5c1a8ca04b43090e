"""Labels of any type as codes that only home can read; a hasher that sends them along."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask._foreign import foreign
from halfmask._validation import one_of
from halfmask.hashing._cells import absent, columns_of, floats_to_send, kind_of, numbers_of
from halfmask.hashing._rows import MAX_CLASSES
from halfmask.hashing._slots import HasherKeys, hashes_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from halfmask.hashing._row_hasher import RowHasher
    from halfmask.hashing._rows import HashedRows
    from halfmask.vault import Secret


_FORMAT, _VERSION = "halfmask labels", 1
_TYPES = {
    "text": pa.string(),
    "integer": pa.int64(),
    "float": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LabelCodes:
    """The classes of a label, in the order of the codes that replace them.

    Make it with `fit`. The order is derived from the secret, so the codes don't reveal the classes.

    Parameters
    ----------
    kind
        What a label is: ``text``, ``integer``, ``float``, ``boolean`` or ``date``.
    values
        The classes, by their codes.

    Guarantees
    ----------
    ``decode(encode(labels))`` returns the labels. Codes alone reveal how many classes there are and
    how often each occurs. This may identify a class: the rare one is the illness, the fraud or the
    click.

    Examples
    --------
    >>> from halfmask.vault import Secret
    >>> codes = LabelCodes.fit(["no", "yes", "no"], secret=Secret.from_bytes(bytes(32)))
    >>> codes
    LabelCodes(2 classes of kind text)
    >>> codes.decode(codes.encode(["yes", "no"])).tolist()
    ['yes', 'no']
    """

    kind: str
    values: Any

    def __repr__(self) -> str:
        return f"LabelCodes({len(self)} classes of kind {self.kind})"

    def __len__(self) -> int:
        return len(self.values)

    @property
    def classes(self) -> int:
        """How many classes a trainer has to distinguish: at least two."""
        return max(2, len(self.values))

    @property
    def names(self) -> NDArray[Any]:
        """The classes in their own order, as the columns of `decode_probabilities`."""
        return np.asarray(self.values.take(self._home()).to_numpy(zero_copy_only=False))

    @classmethod
    def fit(cls, labels: object, *, secret: Secret, name: str = "hasher") -> Self:
        """Return the codes of all classes that labels have.

        Parameters
        ----------
        labels
            An array, list or Series of texts, whole numbers, truth values, floats or dates.
        secret
            What the order follows from.
        name
            The hasher's name; hashers of other names have other orders.

        Raises
        ------
        DataError
            If a label is missing, or there is none.
        """
        return cls.fit_batches([labels], secret=secret, name=name)

    @classmethod
    def fit_batches(
        cls, batches: Iterable[object], *, secret: Secret, name: str = "hasher"
    ) -> Self:
        """Return the codes of the labels of several batches.

        Parameters
        ----------
        batches
            Labels, batch by batch.
        secret, name
            As of `fit`.
        """
        kind, found = "", None
        for batch in batches:
            array = _array(batch)
            kind = kind or _kind(array)
            some = _cast(array, kind).unique()
            found = some if found is None else pa.concat_arrays([found, some]).unique()
            if len(found) > MAX_CLASSES:
                raise DataError(
                    f"The label has more than {MAX_CLASSES:,} classes.",
                    hint="Send numbers as numbers: they are no classes.",
                )
        if found is None or not len(found):
            raise DataError("There are no labels.")
        hashes = hashes_of(found, HasherKeys(secret=secret, name=name).of("label"))
        return cls(kind=kind, values=found.take(pa.array(np.argsort(hashes, kind="stable"))))

    def encode(self, labels: object) -> NDArray[np.int32]:
        """Return the code of each label.

        Parameters
        ----------
        labels
            Labels of the fit.

        Raises
        ------
        DataError
            If a label is missing, or of a class that wasn't there at the fit.
        """
        found = pc.index_in(_cast(_array(labels), self.kind), self.values)
        if found.null_count:
            raise DataError(
                f"{found.null_count} labels are of a class that wasn't there at the fit.",
                hint="Fit the labels again, to all of them.",
            )
        return np.asarray(found.to_numpy(zero_copy_only=False), np.int32)

    def decode(self, codes: Any) -> NDArray[Any]:  # noqa: ANN401 # an array
        """Return the class of each code.

        Parameters
        ----------
        codes
            Codes, as a trainer answers them.

        Raises
        ------
        DataError
            If a code is of no class.
        """
        array = np.asarray(codes)
        if array.dtype.kind not in "iu" or array.ndim != 1:
            raise DataError("Codes of labels must be whole numbers, one for each row.")
        if array.size and not 0 <= array.min() <= array.max() < len(self):
            raise DataError("A code is of no class: predictions of another model, or another key.")
        return np.asarray(self.values.take(pa.array(array)).to_numpy(zero_copy_only=False))

    def decode_probabilities(self, probabilities: Any) -> NDArray[np.float64]:  # noqa: ANN401 # an array
        """Return probabilities with a column for each class, in the order of `names`.

        Parameters
        ----------
        probabilities
            Of code 1, for two classes, (rows,); or of each code, (rows, classes).

        Raises
        ------
        DataError
            If there are not as many columns as classes.
        """
        array = np.asarray(probabilities, np.float64)
        if array.ndim == 1:
            array = np.stack([1.0 - array, array], axis=1)
        if array.ndim != 2 or array.shape[1] != self.classes:
            raise DataError(f"Probabilities must have {self.classes} columns, one a class.")
        return array[:, self._home()]

    def _home(self) -> NDArray[np.int64]:
        return np.asarray(pc.sort_indices(self.values).to_numpy().astype(np.int64))

    def to_dict(self) -> dict[str, Any]:
        """Return the classes as JSON can hold them."""
        values = self.values
        if self.kind == "date":
            values = values.cast(pa.int32())
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "kind": self.kind,
            "values": values.to_pylist(),
        }

    @classmethod
    def from_dict(cls, found: Any) -> Self:  # noqa: ANN401 # what JSON held
        """Return the codes that a dictionary holds; see `from_bytes`.

        Parameters
        ----------
        found
            What `to_dict` returned.
        """
        try:
            if (found["format"], found["version"]) != (_FORMAT, _VERSION):
                raise _unreadable()
            kind = found["kind"]
            values = pa.array(found["values"], pa.int32() if kind == "date" else _TYPES[kind])
            values = values.cast(_TYPES[kind])
        except (KeyError, TypeError, ValueError, pa.ArrowException):
            raise _unreadable() from None
        if not len(values) or values.null_count or len(values.unique()) < len(values):
            raise _unreadable()
        return cls(kind=kind, values=values)

    def to_bytes(self) -> bytes:
        """Return the classes as bytes, to be sealed in a vault: the meaning of the codes."""
        return json.dumps(self.to_dict(), ensure_ascii=False).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the codes that bytes hold.

        Parameters
        ----------
        data
            What `to_bytes` returned.

        Raises
        ------
        DataError
            If they hold none.
        """
        try:
            found = json.loads(data)
        except (ValueError, TypeError):
            raise _unreadable() from None
        return cls.from_dict(found)


def _unreadable() -> DataError:
    return DataError(
        "The bytes hold no codes of labels, or damaged ones.", hint="Unseal what to_bytes() gave."
    )


def _array(labels: Any) -> Any:  # noqa: ANN401 # any library's
    with foreign("Labels must be one list of values of one type"):
        if hasattr(labels, "to_arrow"):
            labels = labels.to_arrow()
        if isinstance(labels, pa.ChunkedArray):
            labels = labels.combine_chunks()
        if isinstance(labels, pa.ChunkedArray):
            labels = pa.concat_arrays(labels.chunks)
        array = labels if isinstance(labels, pa.Array) else pa.array(labels, from_pandas=True)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if absent(array) is not None:
        raise DataError("A label is missing.", hint="Leave out the rows without a label.")
    return array


def _kind(array: Any) -> str:  # noqa: ANN401 # pyarrow ships no types
    kind = kind_of(array.type, "of labels")
    if kind not in _TYPES:
        raise SchemaError(
            f"Labels of kind {kind} have no codes.",
            hint="Use texts, whole numbers, truth values, floats or dates.",
        )
    return kind


def _cast(array: Any, kind: str) -> Any:  # noqa: ANN401 # pyarrow ships no types
    if _kind(array) != kind:
        raise SchemaError(f"Labels are of kind {_kind(array)} here, {kind} before.")
    try:
        return array.cast(_TYPES[kind])
    except pa.ArrowException:
        raise ParameterError("A label is out of the range of 64-bit integers.") from None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LabelledHasher:
    """What hashes batches of a table, where its label is sent and where it isn't."""

    hasher: RowHasher
    label: str | None
    codes: LabelCodes | None

    def rows(self, batch: Any) -> HashedRows:  # noqa: ANN401 # pyarrow ships no types
        """Return the hashed rows of a batch, with their labels."""
        if self.label is None:
            return self.hasher.rows(batch)
        features = [name for name in batch.schema.names if name != self.label]
        column = columns_of(batch.select([self.label]))[self.label]
        if self.codes is None:
            labels: Any = number_labels(column, self.label)
            return self.hasher.rows(batch.select(features), labels=labels)
        return self.hasher.rows(
            batch.select(features), labels=self.codes.encode(column), classes=self.codes.classes
        )


def number_labels(column: Any, label: str) -> NDArray[np.float32]:  # noqa: ANN401 # pyarrow ships no types
    """Return labels that are numbers."""
    kind = kind_of(column.type, label)
    if kind not in {"integer", "float"}:
        raise SchemaError(f"Column {label!r} is to be predicted as a number, and isn't one.")
    numbers = numbers_of(column)
    if not np.isfinite(numbers).all():
        raise DataError("A label is missing or infinite.", hint="Leave out the rows without one.")
    return floats_to_send(numbers, label, measured=kind == "float")


#: What the label is: classes or numbers.
LabelTask: TypeAlias = Literal["classification", "regression"]
_TASKS = ("classification", "regression")


class LabelsSeen:
    """The classes of a label, gathered batch by batch, unless it is a number."""

    def __init__(self, label: str | None, task: LabelTask | None) -> None:
        if task is not None:
            one_of(_TASKS, owner="FileHasher", task=task)
        self._label, self._task = label, task
        self._found: list[Any] = []

    def see(self, batch: Any) -> None:  # noqa: ANN401 # pyarrow ships no types
        """Look at a batch."""
        if self._label is None:
            return
        column = columns_of(batch.select([self._label]))[self._label]
        kind = kind_of(column.type, self._label)
        if self._task is None and kind == "integer":
            raise SchemaError(
                f"Column {self._label!r} is a label of whole numbers: classes, or numbers?",
                hint="Say the task: classification or regression.",
            )
        if self._task is None:
            self._task = "regression" if kind == "float" else "classification"
        if self._task == "regression":
            number_labels(column, self._label)
        else:
            self._found.append(column.unique())

    def codes(self, secret: Secret, name: str) -> LabelCodes | None:
        """Return the classes' codes; None of numbers."""
        if self._label is None or self._task == "regression":
            return None
        return LabelCodes.fit_batches(self._found, secret=secret, name=name)
