"""Equal content at an equal place has an equal key, and nothing else has."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from halfmask.hashing import HashedRows
from halfmask.trainer.client.content_key import content_key, work_name
from trainer.client.stand_in import (  # type: ignore[import-not-found] # beside, not in a package
    rows_of,
)

ROWS = HashedRows(
    bits=6,
    indptr=np.array([0, 2, 3], np.int64),
    indices=np.array([1, 2, 3], np.uint32),
    values=np.array([1, 2, 3], np.float32),
    labels=np.array([0, 1], np.int32),
    weights=np.array([1, 2], np.float32),
)


def _key(rows=ROWS, *, stream="s", model="m", first_row=7):
    return content_key(rows, stream=stream, model=model, first_row=first_row)


def test_it_does_not_depend_on_where_the_arrays_lie():
    rows = rows_of(50)

    again = HashedRows.from_batch(rows.slice(10, 30).to_batch())

    assert _key(rows.slice(10, 30)) == _key(again)


def test_whatever_differs_makes_another():
    others = [
        _key(stream="t"), _key(model="n"), _key(first_row=8),
        _key(stream="sm", model=""), _key(stream="", model="sm"),
    ]  # fmt: skip
    changes: dict[str, Any] = {
        "bits": 7,
        "indptr": np.array([0, 1, 3], np.int64),
        "indices": np.array([1, 2, 4], np.uint32),
        "values": np.array([1, 2, 4], np.float32),
        "labels": np.array([1, 1], np.int32),
        "weights": np.array([1, 3], np.float32),
        "classes": 3,
    }
    others += [_key(dataclasses.replace(ROWS, **{name: it})) for name, it in changes.items()]
    missing: dict[str, Any] = dict.fromkeys(("values", "labels", "weights"))
    others += [_key(dataclasses.replace(ROWS, **{name: it})) for name, it in missing.items()]
    others.append(_key(dataclasses.replace(ROWS, labels=np.array([0, 1], np.float32))))

    assert len({_key(), *others}) == len(others) + 1


def test_the_layout_belongs_to_it():
    """Six features of two rows of three aren't those of three rows of two."""
    flat = np.arange(6, dtype=np.uint32)
    found = {
        _key(HashedRows(indices=flat.reshape(shape), bits=3)) for shape in ((2, 3), (3, 2), (1, 6))
    }

    assert len(found) == 3


def test_the_words_of_a_target_don_t_run_into_each_other():
    assert work_name("ab", "c") != work_name("a", "bc")
