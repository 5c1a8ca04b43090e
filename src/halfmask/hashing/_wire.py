"""The wire format ``hashed-rows/1``: record batches of Arrow, the same when sent and in files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from halfmask._errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

FORMAT = "hashed-rows/1"
_FORMAT_KEY, _BITS_KEY, _LABELS_KEY = b"halfmask.format", b"halfmask.bits", b"halfmask.labels"
#: More than this many digits is no number of ours, and Python takes its time over long ones.
_NUMBER = re.compile(rb"[1-9][0-9]{0,6}")


def batch_of(
    arrays: Mapping[str, NDArray[Any] | None],
    indptr: NDArray[np.int64] | None,
    *,
    bits: int,
    labels: str,
) -> Any:  # noqa: ANN401 - pyarrow ships no types
    """Return rows as a record batch, whose buffers are the rows' own."""
    columns = [
        (name, _lists(array, indptr) if name in "iv" else pa.array(array))
        for name, array in arrays.items()
        if array is not None
    ]
    metadata = {
        _FORMAT_KEY: FORMAT.encode(),
        _BITS_KEY: str(bits).encode(),
        _LABELS_KEY: labels.encode(),
    }
    fields = [pa.field(name, column.type, nullable=False) for name, column in columns]
    return pa.RecordBatch.from_arrays(
        [column for _, column in columns], schema=pa.schema(fields, metadata=metadata)
    )


def _lists(array: NDArray[Any], indptr: NDArray[np.int64] | None) -> Any:  # noqa: ANN401 - pyarrow ships no types
    flat = pa.array(array.reshape(-1))
    item = pa.field("item", flat.type, nullable=False)
    if indptr is None:
        return pa.FixedSizeListArray.from_arrays(flat, type=pa.list_(item, array.shape[1]))
    if len(flat) >= 1 << 31:
        raise DataError(
            "A record batch has at most 2 ** 31 - 1 indices.", hint="Send it in smaller batches."
        )
    return pa.ListArray.from_arrays(pa.array(indptr.astype(np.int32)), flat, type=pa.list_(item))


def arrays_of(batch: object) -> dict[str, Any]:
    """Return the parts of hashed rows that a record batch holds, its structure checked."""
    if not isinstance(batch, pa.RecordBatch):
        raise DataError("Hashed rows come as a record batch of Arrow.")
    bits, kind, classes = _read_metadata(batch.schema)
    names = batch.schema.names
    if not names or names[0] != "i" or names[1:] != [each for each in "vyw" if each in names]:
        raise DataError("Hashed rows have the fields i, v, y and w, in that order, and no other.")
    if ("y" in names) != (kind is not None):
        raise DataError("The field y must be there exactly if halfmask.labels isn't 'none'.")
    try:
        # Offsets and masks from outside may point anywhere.
        batch.validate(full=True)
    except pa.ArrowException:
        raise DataError("The record batch of hashed rows is damaged.") from None
    found: dict[str, Any] = {"bits": bits, "classes": classes}
    bounds, found["indices"] = _split_lists(batch.column("i"), pa.uint32(), "i")
    if "v" in names:
        other, found["values"] = _split_lists(batch.column("v"), pa.float32(), "v")
        if (bounds is None) != (other is None) or not np.array_equal(bounds, other):
            raise DataError("The fields i and v of hashed rows must have the same lists.")
    if bounds is not None:
        found["indptr"] = bounds
    if kind is not None:
        found["labels"] = _numbers(batch.column("y"), kind, "y")
    if "w" in names:
        found["weights"] = _numbers(batch.column("w"), pa.float32(), "w")
    return found


def _read_metadata(schema: Any) -> tuple[int, Any, int]:  # noqa: ANN401 - pyarrow ships no types
    """Return the bits, the type of labels or None, and the number of classes."""
    metadata = schema.metadata or {}
    if metadata.get(_FORMAT_KEY) != FORMAT.encode():
        raise DataError(
            f"The metadata 'halfmask.format' of the schema must be {FORMAT!r}.",
            hint="The page on the wire format says what a client has to send.",
        )
    bits, labels = metadata.get(_BITS_KEY, b""), metadata.get(_LABELS_KEY, b"")
    if not _NUMBER.fullmatch(bits):
        raise DataError("The metadata 'halfmask.bits' of the schema must be a number, 1 to 31.")
    if labels == b"none":
        return int(bits), None, 2
    if labels == b"number":
        return int(bits), pa.float32(), 2
    if labels == b"binary":
        return int(bits), pa.int32(), 2
    if labels.startswith(b"classes:") and _NUMBER.fullmatch(labels[8:]) and int(labels[8:]) > 2:
        return int(bits), pa.int32(), int(labels[8:])
    raise DataError(
        "The metadata 'halfmask.labels' of the schema must be 'none', 'number', 'binary' or "
        "'classes:N' with N of 3 or more."
    )


def _split_lists(column: Any, kind: Any, name: str) -> tuple[Any, Any]:  # noqa: ANN401 - no types
    """Return the offsets (None where all lists are of one length) and the items of lists."""
    fixed = pa.types.is_fixed_size_list(column.type)
    if not (fixed or pa.types.is_list(column.type)) or column.type.value_type != kind:
        raise DataError(f"The field {name} of hashed rows must be lists of {kind}.")
    if column.null_count:
        raise DataError(f"A list of the field {name} of hashed rows is missing.")
    if not fixed:
        bounds = _numbers(column.offsets, pa.int32(), name).astype(np.int64)
        items = _numbers(column.values, kind, name)
        return bounds - bounds[0], items[bounds[0] : bounds[-1]]
    width = column.type.list_size
    if width < 1:
        raise DataError(f"The lists of the field {name} of hashed rows must not be empty.")
    start = column.offset * width
    items = _numbers(column.values, kind, name)[start : start + len(column) * width]
    return None, items.reshape(len(column), width)


def _numbers(column: Any, kind: Any, name: str) -> Any:  # noqa: ANN401 - pyarrow ships no types
    if column.type != kind:
        raise DataError(f"The field {name} of hashed rows must be {kind}. Got {column.type}.")
    if column.null_count:
        raise DataError(f"A value of the field {name} of hashed rows is missing.")
    return column.to_numpy(zero_copy_only=True)
