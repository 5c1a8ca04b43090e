"""What tests of masks have in common."""

from __future__ import annotations

KEY = bytes(range(32))


def masked(mask, column, counts=None, first_row=0):
    """Return the column as the mask writes it, of the type that it says."""
    mask.written(column.name, column.dtype)
    found = mask.fit(column.name, column.dtype, counts, KEY).apply(column, first_row)
    assert found.dtype == mask.written(column.name, column.dtype)
    return found
