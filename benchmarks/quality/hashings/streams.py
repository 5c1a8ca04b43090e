"""Rows hashed once, under one key and in one order: with any bits, and as Vowpal Wabbit's text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.hashing import HashedRows, KeyedHasher
from halfmask.vault import Secret

if TYPE_CHECKING:
    from pathlib import Path

    from quality.hashings.subjects import Subject

__all__ = ["Stream", "secret_of"]

#: So many that two values almost never share an index: what Vowpal Wabbit takes for names.
WIDE = 31


def secret_of(seed: int) -> Secret:
    """Return a key of a number, so that a run can be repeated; real rows have a fresh one."""
    return Secret.from_bytes(np.random.default_rng(seed).bytes(32))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stream:
    """A subject's rows in one order, hashed under one key.

    Parameters
    ----------
    subject
        What was hashed.
    seed
        The number of the order and of the key.
    rows
        Of 31 bits. An index of fewer bits is its lower ones.
    """

    subject: Subject
    seed: int
    rows: HashedRows

    @classmethod
    def of(cls, subject: Subject, seed: int, **settings: Any) -> Stream:  # noqa: ANN401 # the hasher's
        shuffled = subject.shuffled(seed)
        hasher = KeyedHasher(secret=secret_of(seed), bits=WIDE, **subject.said, **settings)
        rows = hasher.fit(shuffled.table).hash_batch(
            shuffled.table, shuffled.labels, classes=subject.classes
        )
        return cls(subject=shuffled, seed=seed, rows=rows)

    def at(self, bits: int) -> HashedRows:
        """Return the rows as a hasher of fewer bits makes them."""
        return _with(self.rows, self.rows.indices & np.uint32((1 << bits) - 1), bits)

    def shared(self, bits: int) -> float:
        """Return the share of the values there are that share their index with another."""
        wide = np.unique(self.rows.indices)
        _, counts = np.unique(wide & np.uint32((1 << bits) - 1), return_counts=True)
        return float(counts[counts > 1].sum() / len(wide))

    @property
    def values(self) -> int:
        """How many values there are in all columns together."""
        return len(np.unique(self.rows.indices))

    def write_vw(self, path: Path) -> None:
        """Write the rows for Vowpal Wabbit, which hashes the names of the features anew.

        Labels 0 and 1 become -1 and 1, more classes are counted from 1.
        """
        bounds, indices, values = self.rows.flat()
        labels = self.rows.labels
        if labels is None:
            raise ValueError("rows without labels")
        numbers = labels
        if labels.dtype == np.int32:
            numbers = labels + 1 if self.subject.classes > 2 else 2 * labels - 1
        words = [f"f{index}" for index in indices.tolist()]
        if values is not None:
            words = [f"{w}:{v:.9g}" for w, v in zip(words, values.tolist(), strict=True)]
        edges = bounds.tolist()
        with path.open("w", encoding="ascii") as file:
            for row, label in enumerate(numbers.tolist()):
                file.write(f"{label:.9g} |f {' '.join(words[edges[row] : edges[row + 1]])}\n")


def _with(rows: HashedRows, indices: Any, bits: int) -> HashedRows:  # noqa: ANN401 # an array
    return HashedRows(
        indices=indices,
        bits=bits,
        indptr=rows.indptr,
        values=rows.values,
        labels=rows.labels,
        classes=rows.classes,
    )
