"""Keyed feature hashing: rows become integers at home, and are learnt from elsewhere.

Start with `KeyedHasher`, a transformer of scikit-learn, or with `FileHasher` for tables in files
(`halfmask hash` is that). Both make `HashedRows`, which are sent: integers, maybe values,
labels and weights, and neither a name nor a key. `LabelCodes` keeps the meaning of labels at home.
A trainer of hashed rows needs `HashedRows` alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from halfmask.hashing._rows import HashedRows

if TYPE_CHECKING:
    from halfmask.hashing._file_hasher import FileHasher
    from halfmask.hashing._hasher import KeyedHasher
    from halfmask.hashing._labels import LabelCodes, LabelTask
    from halfmask.hashing._plan import HashPlan
    from halfmask.hashing._reading import TableReading
    from halfmask.hashing._settings import HasherSettings
    from halfmask.hashing._streams import RowsWriter, read_rows

__all__ = [
    "FileHasher",
    "HashPlan",
    "HashedRows",
    "HasherSettings",
    "KeyedHasher",
    "LabelCodes",
    "LabelTask",
    "RowsWriter",
    "TableReading",
    "read_rows",
]

#: A service has no use for scikit-learn, nor a file for it: each name brings what it needs.
_FILES = {
    "FileHasher": "_file_hasher",
    "HashPlan": "_plan",
    "KeyedHasher": "_hasher",
    "LabelCodes": "_labels",
    "LabelTask": "_file_hasher",
    "RowsWriter": "_streams",
    "HasherSettings": "_settings",
    "TableReading": "_reading",
    "read_rows": "_streams",
}


def __getattr__(name: str) -> object:
    """Import a public name from its file when it is first asked for."""
    if name not in _FILES:
        raise AttributeError(f"module 'halfmask.hashing' has no attribute {name!r}")
    return getattr(importlib.import_module(f"halfmask.hashing.{_FILES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
