"""Tables in files, hashed: what a client keeps of a hasher and of its labels."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from halfmask._errors import ColumnNotFoundError, DataError, SchemaError
from halfmask._progress import silent
from halfmask.engines import LocalEngine
from halfmask.hashing._cells import floats_to_send
from halfmask.hashing._csv_plan import csv_rows
from halfmask.hashing._csv_rows import NotPlainError
from halfmask.hashing._labels import LabelCodes, LabelledHasher, LabelsSeen, LabelTask
from halfmask.hashing._plan import HashPlan, fit_plan
from halfmask.hashing._reading import TableReading, open_readable
from halfmask.hashing._rows import HashedRows
from halfmask.hashing._streams import RowsWriter, open_divisible, write_hashed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from halfmask._progress import Progress
    from halfmask.engines import Engine
    from halfmask.hashing._csv_rows import Hashed
    from halfmask.hashing._settings import HasherSettings
    from halfmask.vault import Secret


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FileHasher:
    """A fitted hasher for tables in files, with the codes of the label.

    Make it with `fit`.

    Parameters
    ----------
    plan
        What hashes the columns.
    label
        The column that is to be predicted, or None.
    codes
        The codes of its classes; None where it is a number, which is sent raw.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.hashing import HasherSettings
    >>> from halfmask.vault import Secret
    >>> people = pl.DataFrame({"town": ["Bree", "Dale"], "pays": ["yes", "no"]})
    >>> settings, secret = HasherSettings(), Secret.fresh()
    >>> hasher = FileHasher.fit(people, settings=settings, secret=secret, label="pays")
    >>> [(len(rows), rows.label_kind) for rows in hasher.rows(people)]
    [(2, 'binary')]
    """

    plan: HashPlan
    label: str | None = None
    codes: LabelCodes | None = None

    @classmethod
    def fit(
        cls,
        table: object,
        *,
        settings: HasherSettings,
        secret: Secret,
        label: str | None = None,
        task: LabelTask | None = None,
        reading: TableReading | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn the columns of a table: their kinds, the bins of numbers, the classes.

        Parameters
        ----------
        table
            A path, as `halfmask.data.open_table` takes it, a frame, or an opened source.
        settings
            How columns are hashed.
        secret
            What all keys follow from.
        label
            The column that is to be predicted; it isn't hashed with the others.
        task
            What a label of whole numbers is: ``"classification"`` or ``"regression"``. Other
            numbers are numbers, and anything else is a class.
        reading
            How to read a path where the file doesn't say, and what to leave out.
        progress
            Is called with the progress.

        Raises
        ------
        DataError, SchemaError, ColumnNotFoundError
            If the table can't be read, or a column can't be hashed.

        Guarantees
        ----------
        The table is read once, in batches.
        """
        reading = reading or TableReading()
        source = open_readable(table, reading)
        features = _features(source.columns, label, reading.leave_out)
        report, seen = progress or silent, 0
        labels = LabelsSeen(label, task)

        def frames() -> Iterator[Any]:
            nonlocal seen
            for batch in source.batches([*features, *([label] if label else [])]):
                labels.see(batch)
                yield batch.select(features)
                seen += batch.num_rows
                report("fitting", seen / source.n_rows)

        known = () if reading.options is None else reading.options.typed()
        plan = fit_plan(frames(), settings=settings, secret=secret, known=known)
        return cls(plan=plan, label=label, codes=labels.codes(secret, settings.name))

    def rows(
        self,
        table: object,
        *,
        labelled: bool | None = None,
        reading: TableReading | None = None,
        progress: Progress | None = None,
    ) -> Iterator[HashedRows]:
        """Hash a table batch by batch on all processors; the key stays here.

        Parameters
        ----------
        table, reading, progress
            As of `fit`.
        labelled
            Whether labels go with the rows; by default if the table has the column.

        Raises
        ------
        DataError, SchemaError, ColumnNotFoundError
            If the table can't be read, hasn't the fitted columns or has others, or a label is
            missing or of a new class.

        Guarantees
        ----------
        Rows keep their order. Two batches for each processor are in memory; of Parquet, one row
        group as it lies packed in the file.
        """
        reading, report, seen = reading or TableReading(), progress or silent, 0
        plain = self._plain_rows(table, labelled=labelled, reading=reading)
        if plain is not None:
            with suppress(NotPlainError):
                for rows, share in plain:
                    yield rows
                    seen += len(rows)
                    report("hashing", share)
                if seen:
                    return
        yield from self._any_rows(
            table, labelled=labelled, reading=reading, progress=report, given=seen
        )

    def _plain_rows(
        self, table: object, *, labelled: bool | None, reading: TableReading
    ) -> Iterator[tuple[HashedRows, float]] | None:
        """Return the rows of plain CSV, and how far it is; None of other tables."""
        kind = None if self.codes is None else self.codes.kind
        csv = csv_rows(table, self.plan, reading, label=self.label, label_kind=kind, sent=labelled)
        return None if csv is None else ((self._labelled(each), share) for each, share in csv)

    def _labelled(self, found: Hashed) -> HashedRows:
        """Return plain rows with their labels."""
        bits, labels = self.plan.settings.bits, found.numbers
        # A missing or infinite label is an error, which the reader of all files words.
        if labels is not None and not np.isfinite(labels).all():
            raise NotPlainError
        if labels is not None and self.codes is None:
            sent = floats_to_send(labels, self.label or "", measured=True)
            return HashedRows(indices=found.indices, bits=bits, labels=sent)
        if self.codes is None or (labels is None and found.texts is None):
            return HashedRows(indices=found.indices, bits=bits)
        texts = found.texts
        if labels is not None:
            if not (labels == np.rint(labels)).all():
                raise NotPlainError
            texts = pa.array(labels.astype(np.int64))
        return HashedRows(
            indices=found.indices,
            bits=bits,
            labels=self.codes.encode(texts),
            classes=self.codes.classes,
        )

    def _any_rows(
        self,
        table: object,
        *,
        labelled: bool | None,
        reading: TableReading,
        progress: Progress,
        given: int,
    ) -> Iterator[HashedRows]:
        """Hash a table of any kind, without the first rows, that were given already."""
        kinds = {column.name: column.kind for column in self.plan.columns}
        if self.label is not None and self.codes is not None:
            kinds[self.label] = self.codes.kind
        source = open_readable(table, reading, kinds=kinds)
        hasher, wanted = self._sent(source.columns, reading, labelled=labelled)
        seen = 0
        for rows in LocalEngine().map(source.batches(wanted), hasher.rows):
            new = rows if seen >= given else rows.slice(given - seen, len(rows))
            if len(new):
                yield new
            seen += len(rows)
            progress("hashing", seen / source.n_rows)

    def _sent(
        self, columns: Sequence[str], reading: TableReading, *, labelled: bool | None
    ) -> tuple[LabelledHasher, list[str]]:
        """Return what hashes the batches of a table, and the columns that it takes."""
        there = self.label is not None and self.label in columns
        sent = there if labelled is None else labelled
        if sent and not there:
            raise ColumnNotFoundError.of([self.label or "label"], columns, where="the table")
        label = self.label if sent else None
        features = _features(columns, self.label if there else None, reading.leave_out)
        hasher = LabelledHasher(hasher=self.plan._hasher, label=label, codes=self.codes)  # noqa: SLF001 # of this package
        return hasher, [*features, *([label] if label else [])]

    def write(
        self,
        table: object,
        out: str | Path,
        *,
        overwrite: bool = False,
        labelled: bool | None = None,
        reading: TableReading | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Hash a table into a file to send, and return its number of rows.

        Parameters
        ----------
        table, labelled, reading, progress
            As of `rows`.
        out
            The file to write, a stream of Arrow of the wire format; ``"-"`` is standard output.
        overwrite
            Whether a file of that name may be replaced.

        Raises
        ------
        DataError, SchemaError, ColumnNotFoundError
            As `rows` does.
        ReleaseError
            If the file exists and may not be replaced, or can't be written.

        Guarantees
        ----------
        The file appears whole or not at all. It holds hashed rows and nothing else: no name,
        category, number or key.
        """
        with RowsWriter(out, overwrite=overwrite) as writer:
            for rows in self.rows(table, labelled=labelled, reading=reading, progress=progress):
                writer.write(rows)
        return writer.rows

    def write_folder(
        self,
        table: object,
        out: str | Path,
        *,
        overwrite: bool = False,
        labelled: bool | None = None,
        reading: TableReading | None = None,
        engine: Engine | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Hash Parquet files into a folder to send, and return its number of rows.

        Parameters
        ----------
        table
            A Parquet file, a folder of them, or a `Source` of one.
        out
            The folder to write, of streams as `write` writes one. On a cluster, it lies in a folder
            that every worker sees under the same path.
        overwrite
            Whether a folder that this wrote earlier may be replaced.
        labelled, reading, progress
            As of `rows`.
        engine
            Where rows are read, hashed and written; by default in threads of this process. Its
            workers get the keys of the columns and the classes of the label, not the secret.

        Raises
        ------
        ParameterError
            If the table isn't in files of Parquet, or columns are sets.
        DataError, SchemaError, ColumnNotFoundError
            As `rows` does.
        ReleaseError, EngineError
            If a folder can't be written, or a cluster fails or doesn't encrypt what it sends.

        Guarantees
        ----------
        The files have the same bytes on every engine. The folder appears whole or not at all.
        `read_rows` gives the rows of `write`, in the same order.
        """
        reading = reading or TableReading()
        source = open_divisible(table, reading, self.plan)
        hasher, wanted = self._sent(source.columns, reading, labelled=labelled)
        return write_hashed(
            source,
            wanted,
            hasher,
            out,
            overwrite=overwrite,
            engine=engine or LocalEngine(),
            progress=progress or silent,
        )

    def to_bytes(self) -> bytes:
        """Return it without its key: JSON, to be sealed in a vault."""
        codes = None if self.codes is None else self.codes.to_dict()
        found = {"plan": self.plan.to_dict(), "label": self.label, "codes": codes}
        return json.dumps(found, ensure_ascii=False).encode()

    @classmethod
    def from_bytes(cls, data: bytes, *, secret: Secret) -> Self:
        """Return the hasher that bytes hold.

        Parameters
        ----------
        data
            What `to_bytes` returned.
        secret
            The secret of the fit.

        Raises
        ------
        DataError
            If they hold none, or one of another version.
        KeyMismatchError
            If it was fitted with another secret.
        """
        try:
            found = json.loads(data)
            plan, label, codes = found["plan"], found["label"], found["codes"]
        except (KeyError, ValueError, TypeError):
            raise DataError(
                "The bytes hold no hasher, or a damaged one.", hint="Unseal what to_bytes() gave."
            ) from None
        return cls(
            plan=HashPlan.from_dict(plan, secret=secret),
            label=None if label is None else str(label),
            codes=None if codes is None else LabelCodes.from_dict(codes),
        )


def _features(columns: Sequence[str], label: str | None, leave_out: Sequence[str]) -> list[str]:
    asked = [*leave_out, *([label] if label else [])]
    absent = [name for name in asked if name not in columns]
    if absent:
        raise ColumnNotFoundError.of(absent, columns, where="the table")
    left = [name for name in columns if name not in asked]
    if not left:
        raise SchemaError("No column of the table is left to be hashed.")
    return left
