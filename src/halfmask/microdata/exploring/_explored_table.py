"""The table of an exploration: read, masked and summarized once for all policies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import GuaranteeNotMetError, ParameterError, PolicyError
from halfmask._progress import Progress, silent
from halfmask.anonymize import METHODS, RECODINGS
from halfmask.data import Schema
from halfmask.guarantees import Classes, class_of_row
from halfmask.masks import MaskedTable, pseudonym_key
from halfmask.microdata._classed_rows import read_batches
from halfmask.microdata.opening import population_of, protection_of, schema_on, with_maps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize import Population, Protection, Summary
    from halfmask.data import Source
    from halfmask.microdata._policy import Policy
    from halfmask.vault import Vault


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploredTable:
    """What all policies of an exploration share."""

    schema: Schema
    rows: pl.DataFrame
    summary: Summary
    unchanged: NDArray[np.int64] | None
    raw: Classes
    unmasked: pl.DataFrame | None
    n_rows: int
    people: Population | None

    def __repr__(self) -> str:
        return f"ExploredTable({self.rows.height} of {self.n_rows} rows)"

    @classmethod
    def of(  # noqa: PLR0913 # each says one thing, by its name
        cls,
        opened: Source,
        policy: Policy,
        *,
        at_most: int | None = None,
        random_state: int = 0,
        is_learnt: bool = False,
        population: object = None,
        key: bytes,
        vault: Vault | None = None,
        progress: Progress = silent,
    ) -> ExploredTable:
        """Read a table, as `protect` does: all its rows, or at most so many."""
        policy.schema().check(opened.columns)
        vault_key = None if vault is None else pseudonym_key(vault)
        masked = MaskedTable.of(
            opened,
            policy.masks,
            with_maps(policy.table_masks, policy),
            key=key,
            vault_key=vault_key,
            ordinal=policy.ordinal_columns,
        )
        schema = schema_on(policy, masked.masked)
        people = population_of(population, policy, schema, masked.masked)
        protection = _any_protection(policy, schema, people)
        needed = {*protection.columns}
        columns = [
            name
            for name in masked.masked.columns
            if name not in schema.identifiers or name in needed
        ]
        drawn = _drawn(masked.masked.n_rows, at_most, random_state)
        rows = _read(masked.masked, columns, drawn, progress)
        if not rows.height:
            raise GuaranteeNotMetError("There are no rows to protect.")
        originals = [
            name
            for name in columns
            if is_learnt
            and policy.masks_of(name)
            and all(mask.is_matchable for mask in policy.masks_of(name))
        ]
        # The split targets of any policy: those named, or the labels.
        targets = (*policy.split_targets, *(name for name in schema.label if name in rows.columns))
        wide = replace(protection, split_targets=tuple(dict.fromkeys(targets)))
        kept = rows.drop_nulls(schema.suppressing) if schema.suppressing else rows
        return cls(
            schema=schema,
            rows=rows,
            summary=wide.summarize(rows),
            unchanged=_unchanged(policy, schema, kept),
            raw=_raw(policy, schema, kept),
            unmasked=_read(masked.unmasked, originals, drawn, progress) if originals else None,
            n_rows=masked.masked.n_rows,
            people=people,
        )

    def protection(self, policy: Policy) -> Protection:
        """Return the protection of a policy of this table, whose columns may have other levels."""
        columns = (
            replace(each, least_level=said.least_level, greatest_level=said.greatest_level)
            for each, said in ((it, policy.columns[it.name]) for it in self.schema.columns)
        )
        return protection_of(policy, Schema(tuple(columns)), self.people)

    def sizes_over_all(
        self, released: Classes, class_of_cell: NDArray[np.int64], cells: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """Return how many released rows share each combination of all released columns."""
        if self.unchanged is None:
            return released.sizes
        kept = cells >= 0
        width = int(self.unchanged.max()) + 1
        keys = class_of_cell[cells[kept]].astype(np.int64) * width + self.unchanged[kept]
        counts: NDArray[np.int64] = np.unique(keys, return_counts=True)[1].astype(np.int64)
        return counts


def _any_protection(policy: Policy, schema: Schema, people: Population | None) -> Protection:
    """Return the policy's protection, or with another method where its own can't be.

    All of them summarize a table alike.
    """
    try:
        return protection_of(policy, schema, people)
    except ParameterError as error:
        for method, recoding in product(METHODS, RECODINGS):
            try:
                other = policy.changed(method={"name": method}, recoding={"name": recoding})
                return protection_of(other, schema, people)
            except (ParameterError, PolicyError):
                continue
        raise error from None


def _drawn(n_rows: int, at_most: int | None, random_state: int) -> NDArray[np.bool_]:
    """Return which rows are kept: all, or some at random."""
    kept = np.ones(n_rows, dtype=np.bool_)
    if at_most is not None and n_rows > at_most:
        kept[:] = False
        rng = np.random.default_rng(random_state)
        kept[rng.choice(n_rows, at_most, replace=False)] = True
    return kept


def _read(
    source: Source, columns: Sequence[str], kept: NDArray[np.bool_], progress: Progress
) -> pl.DataFrame:
    """Read columns of the rows that are kept."""
    parts, start = [], 0
    for batch in read_batches(source, columns, "reading", progress):
        parts.append(batch.filter(pl.Series(kept[start : start + batch.height])))
        start += batch.height
    return pl.concat(parts) if parts else pl.DataFrame(schema=dict.fromkeys(columns, pl.String))


def _unchanged(policy: Policy, schema: Schema, rows: pl.DataFrame) -> NDArray[np.int64] | None:
    """Return a number for each row by the unchanged columns that somebody may know."""
    names = [
        name
        for name in rows.columns
        if name not in (*schema.quasi_identifiers, *schema.identifiers)
        and all(mask.is_matchable for mask in policy.masks_of(name))
    ]
    if not names or not rows.height:
        return None
    return class_of_row(rows, quasi_identifiers=names)[0]


def _raw(policy: Policy, schema: Schema, rows: pl.DataFrame) -> Classes:
    if policy.person is not None:  # each person once in a class
        rows = rows.unique([*schema.quasi_identifiers, policy.person])
    of_row, n_classes = class_of_row(rows, quasi_identifiers=schema.quasi_identifiers)
    return Classes(np.bincount(of_row, minlength=n_classes).astype(np.int64))
