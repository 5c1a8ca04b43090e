"""Question: what is asked of a table and of public ones, in one form for all ways to ask it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from halfmask._errors import ColumnNotFoundError, ParameterError, SchemaError
from halfmask.data import open_table
from halfmask.dp.ledger import fingerprint_of
from halfmask.dp.ledger._charge import LONGEST_PURPOSE
from halfmask.dp.queries._aggregates import (
    Aggregate,
    BoundedAggregate,
    Count,
    Mean,
    Variance,
    name_in_sql,
)
from halfmask.dp.queries._grouping import MOST_KEYS, Bins
from halfmask.dp.queries._measures import present

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.dp.ledger import BudgetTerms
    from halfmask.dp.queries._grouping import Grouping, GroupKeys
    from halfmask.dp.queries._row_condition import RowCondition


#: Types of columns whose values stay the same ones as literals of keys.
_EXACT_KEYS: Final = (
    pl.String, pl.Boolean, pl.Date, pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16,
    pl.UInt32,
)  # fmt: skip


@dataclass(frozen=True)
class PublicTable:
    """A table that everybody may know, with one row for each key."""

    name: str
    on: str
    frame: pl.DataFrame
    fingerprint: str

    @classmethod
    def of(cls, table: object, *, name: str, on: str) -> PublicTable:
        """Read a public table."""
        source = open_table(table, called="The table")
        if on not in source.columns:
            raise ColumnNotFoundError.of([on], source.columns, where=f"the public table {name!r}")
        frame = source.read()
        keyed = frame.drop_nulls(on)
        if keyed[on].n_unique() < keyed.height:
            raise ParameterError(
                f"The column {on!r} of the public table {name!r} has values that are there twice, "
                "so that one private row would count twice.",
                hint="Give a table with one row for each key.",
            )
        return cls(name, on, keyed, fingerprint_of(source))

    def keys_of(self, column: str) -> tuple[Any, ...] | None:
        """Return the values of a column, as keys of groups; ``None`` if they can't be keys.

        Guarantees
        ----------
        They depend on this table alone, which is public by declaration: neighbouring private tables
        have the same groups, so that keys cost nothing. A private row matches one row at most
        (`of`), so it counts in one group at most, and no sensitivity changes.
        """
        if column not in self.frame.columns or not self.frame.height:
            return None
        values = self.frame[column].unique().sort(nulls_last=True)
        exact = values.dtype in _EXACT_KEYS and len(values) <= MOST_KEYS
        return tuple(values.to_list()) if exact else None

    def complete(self) -> list[str]:
        """Return the columns without a missing cell: a row that matches has a value of each."""
        values = self.frame.select(
            present(name, dtype) for name, dtype in self.frame.schema.items()
        )
        return [column.name for column in values if not column.null_count()]

    def joined(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows that match, with the columns of this table."""
        return rows.join(self.frame, on=self.on, how="inner", maintain_order="left")


def with_public_keys(given: GroupKeys, joins: tuple[PublicTable, ...]) -> GroupKeys:
    """Return keys of groups, with those of public tables for columns without any.

    Keys are selected privately, as before, if that leaves a column without keys, or if two columns
    are of one public table: not each pair of their values is one of its rows.
    """
    found: dict[str, tuple[Any, ...]] = {}
    used: set[str] = set()
    for column in (name for name, listed in given.items() if listed is None):
        having = [each for each in joins if column in each.frame.columns]
        listed = having[0].keys_of(column) if having else None
        names = {each.name for each in having}
        if listed is None or used & names:
            return given
        used |= names
        found[column] = listed
    return given if math.prod(map(len, found.values())) > MOST_KEYS else {**given, **found}


_MOST_AGGREGATES: Final = 32


@dataclass(frozen=True)
class Question:
    """Conditions, public tables, groups and aggregates, checked against the types of a table."""

    dtypes: Mapping[str, pl.DataType]
    aggregates: tuple[Aggregate, ...]
    grouping: Grouping
    conditions: tuple[RowCondition, ...] = ()
    joins: tuple[PublicTable, ...] = ()
    #: See `counted_by`.
    of_one_count: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        dtypes: Mapping[str, pl.DataType],
        aggregates: tuple[Aggregate, ...],
        *,
        grouping: Grouping,
        conditions: tuple[RowCondition, ...],
        joins: tuple[PublicTable, ...],
        terms: BudgetTerms,
    ) -> Question:
        """Check a question, before anything is paid for."""
        if not all(isinstance(each, Aggregate) for each in aggregates):
            raise ParameterError(f"An aggregate must be one such as {Count.__name__}().")
        together = _joined(dict(dtypes), joins)
        used = [*(each.column for each in aggregates if each.column is not None), *grouping.columns]
        absent = [name for name in dict.fromkeys(used) if name not in together]
        if absent:
            raise ColumnNotFoundError.of(absent, together, where="the table")
        of_one_count = _columns_of_one_count(
            aggregates, _complete_columns(conditions, joins, grouping)
        )
        bounded = tuple(
            replace(each, of=of_one_count[0], name=each.label)
            if of_one_count and isinstance(each, Count) and each.of is None
            else _bounded(each, terms)
            for each in aggregates
        )
        question = cls(together, bounded, grouping, conditions, joins, of_one_count)
        _check_labels(question)
        for each in conditions:
            each.expression(together)
        grouping.expressions(together)
        if grouping.n_groups and grouping.keys:
            grouping.frame(together)
        return question

    @property
    def columns(self) -> list[str]:
        """The columns of the private table that are read."""
        public = {name for each in self.joins for name in each.frame.columns if name != each.on}
        used = {each.column for each in self.aggregates} | set(self.grouping.columns)
        used |= {name for each in self.conditions for name in each.columns}
        used |= {each.on for each in self.joins}
        return [name for name in self.dtypes if name in used and name not in public]

    @property
    def labels(self) -> list[str]:
        """The columns of the answer."""
        ends = ("", "_low", "_high")
        return [
            *self.grouping.labels,
            *(f"{each.label}{end}" for each in self.aggregates for end in ends),
        ]

    def counted_by(self, column: str) -> str:
        """Return the column whose count of values is that of a column, too.

        Guarantees
        ----------
        Columns that share a count have a value in each row that counts, so the exact counts are
        equal. One noisy count is then drawn and charged once, with the sensitivity of one count;
        what is computed from it afterwards costs nothing (post-processing).
        """
        return self.of_one_count[0] if column in self.of_one_count else column

    def key(self) -> str:
        """Return the question as the ledger finds it again: what shares a count changes noise."""
        shared = f" {json.dumps(self.of_one_count)}" if len(self.of_one_count) > 1 else ""
        return f"{self.text(named=False)}{shared}"

    def text(self, *, named: bool = True) -> str:
        """Return the question as JSON, the same for each way to ask it."""
        asked = [each if named else replace(each, name="") for each in self.aggregates]
        written: dict[str, Any] = {
            "aggregates": [each.to_dict() for each in asked],
            "groups": self.grouping.to_list(named=named),
            "where": sorted(each.text for each in self.conditions),
            "joins": [[each.name, each.on, each.fingerprint] for each in self.joins],
        }
        return json.dumps(written, sort_keys=True)

    def purpose(self) -> str:
        """Return the question in SQL, without SELECT and FROM, for the list of charges."""
        asked = ", ".join(each.in_sql for each in self.aggregates)
        joins = "".join(
            f" JOIN {name_in_sql(each.name)} USING ({name_in_sql(each.on)})" for each in self.joins
        )
        where = " AND ".join(f"({each.text})" for each in self.conditions)
        groups = self.grouping.in_sql()
        text = f"{asked}{joins}{where and f' WHERE {where}'}{groups and f' GROUP BY {groups}'}"
        return text if len(text) <= LONGEST_PURPOSE else f"{text[: LONGEST_PURPOSE - 4]} ..."


def _joined(
    dtypes: dict[str, pl.DataType], joins: tuple[PublicTable, ...]
) -> dict[str, pl.DataType]:
    for each in joins:
        if each.on not in dtypes:
            raise ColumnNotFoundError.of([each.on], dtypes, where="the table")
        schema = dict(each.frame.schema)
        if schema.pop(each.on) != dtypes[each.on]:
            raise SchemaError(
                f"The column {each.on!r} has another type in the public table {each.name!r}."
            )
        twice = sorted(set(schema) & set(dtypes))
        if twice:
            raise SchemaError(
                f"The column {twice[0]!r} of the public table {each.name!r} is in the table, too.",
                hint="Rename it in the public table.",
            )
        dtypes.update(schema)
    return dtypes


def _columns_of_one_count(aggregates: tuple[Aggregate, ...], complete: set[str]) -> tuple[str, ...]:
    """Return the columns whose values one noisy count counts: each row that counts has them all."""
    counted = (it.of for it in aggregates if isinstance(it, Count | Mean | Variance))
    return tuple(dict.fromkeys(of for of in counted if of is not None and of in complete))


def _complete_columns(
    conditions: tuple[RowCondition, ...], joins: tuple[PublicTable, ...], grouping: Grouping
) -> set[str]:
    """Return columns without a missing cell in any row that counts, whatever the rows are.

    Only the question and public tables say so. Whether a private column has missing cells is a
    secret of its rows: a cost that depended on it would reveal it.
    """
    found = {name for each in conditions for name in each.present()}
    found |= {name for each in joins for name in each.complete()}
    for column, keys in grouping.keys:
        if isinstance(keys, Bins) or (keys is not None and None not in keys):
            found.add(column)
    return found


def _bounded(each: Aggregate, terms: BudgetTerms) -> Aggregate:
    """Return an aggregate with the bounds that the ledger declares, if it has none."""
    if not isinstance(each, BoundedAggregate) or each.bounds is not None:
        return each
    declared = terms.bounds.get(each.of)
    if declared is None:
        raise ParameterError(
            f"The column {each.of!r} has no bounds, so that one row could change its {each.kind} "
            "by any amount.",
            hint="Declare bounds without the data: [[bounds of the aggregate|CLAMP in SQL, or "
            "--bounds]].",
        )
    return replace(each, bounds=(declared[0], declared[1]))


def _check_labels(question: Question) -> None:
    if not 1 <= len(question.aggregates) <= _MOST_AGGREGATES:
        raise ParameterError(f"A question must have 1 to {_MOST_AGGREGATES} aggregates.")
    labels = question.labels
    if len(set(labels)) < len(labels):
        raise ParameterError(
            "Two columns of the answer have the same name.",
            hint="Name aggregates: AS in SQL, name= in Python.",
        )
