"""The file that says whose rows a release has: a number for each row, kept outside of it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from halfmask._errors import ParameterError
from halfmask.data import atomic_file
from halfmask.microdata._classed_rows import PERSON

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl

    from halfmask.claims import DataFile


@dataclass(frozen=True, slots=True)
class PersonFile:
    """Collects the person of each row while a release is written.

    Notes
    -----
    **Guarantees.** A file that is written has no identifier: persons are numbered in the order in
    which they first occur among the released rows, which is random. It does say which rows are of
    one person, so it is written with the mode 0600 and belongs in no release.
    """

    parts: dict[int, np.ndarray[tuple[int], np.dtype[np.int64]]] = field(default_factory=dict)

    def add(self, number: int, placed: pl.DataFrame) -> None:
        """Note the persons of one data file."""
        self.parts[number] = placed[PERSON].to_numpy()

    def write(self, path: Path, files: Sequence[DataFile], *, overwrite: bool = False) -> None:
        """Write the numbers, and which data files they are of."""
        codes = np.concatenate([self.parts[number] for number in sorted(self.parts)])
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        numbers = np.argsort(np.argsort(first))[inverse]
        table = pa.table({"person": pa.array(numbers.astype(np.uint32))})
        hashes = json.dumps([each.sha256 for each in files])
        with atomic_file(path, overwrite=overwrite) as file:
            os.fchmod(file.fileno(), 0o600)
            pq.write_table(table.replace_schema_metadata({"halfmask.files": hashes}), file)


def check_person_file(path: Path, out: Path, whose: PersonFile | None, *, overwrite: bool) -> None:
    """Raise where a file of persons can't be written, before a release is made."""
    if whose is None:
        raise ParameterError(
            "persons names a file, and the policy doesn't say whose row it is.",
            hint='Write person = "COLUMN" into the policy.',
        )
    if out.absolute() in [path.absolute(), *path.absolute().parents]:
        raise ParameterError(
            "The file of persons must be outside of the release.",
            hint="It says which rows are of one person: keep it at home.",
        )
    if not path.absolute().parent.is_dir() or (path.exists() and not overwrite):
        raise ParameterError(
            "The file of persons exists already, or its folder doesn't.",
            hint="Choose another name, or overwrite.",
        )
