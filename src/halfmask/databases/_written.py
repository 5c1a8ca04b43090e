"""A table of the copy: the types of its columns, and what of its definition is made again."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from halfmask._errors import HalfmaskError, PolicyError, SchemaError
from halfmask.databases._faults import raise_all
from halfmask.databases._schema import ForeignKey, TableColumn, TableSchema, WrittenTable
from halfmask.masks import TableMask, traits_of

if TYPE_CHECKING:
    import polars as pl

    from halfmask.databases._domains import ColumnAt
    from halfmask.databases._schema import Constraint
    from halfmask.masks import Mask

#: From a column, the type of what is written and its mask, to the type as SQL writes it.
TypeName: TypeAlias = Callable[[TableColumn, "pl.DataType", "Mask | TableMask"], str]
#: A text or a number in an expression of SQL.
_LITERAL = re.compile(r"'|(?<![\w\"])\d")
_UNIQUE_INDEX = re.compile(r"\s*CREATE\s+UNIQUE\b", re.IGNORECASE)
_NO_DATES = (
    "Take another mask. In a file of SQLite, texts are dates if all are written as 2020-01-31, or "
    "all as 2020-01-31 10:30:00."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRules:
    """What is copied, and what the copy has that definitions may need."""

    copied: Collection[ColumnAt]
    masks: Mapping[ColumnAt, Mask]
    keys: Sequence[ForeignKey]
    type_name: TypeName
    objects: frozenset[str]


def objects_of(tables: Sequence[TableSchema], kept: Collection[ColumnAt]) -> frozenset[str]:
    """Return the enumerations and sequences that the copy has: those of kept columns alone.

    A sequence counts the values of all columns that it is a default of, masked ones too.
    """
    columns = {(table.name, it.name): it for table in tables for it in table.columns}
    lost = {need for at, it in columns.items() if at not in kept for need in it.needs}
    used = {need for at, it in columns.items() if at in kept for need in it.needs}
    sequences = {it for it in used - lost if it.startswith("sequence ")}
    return frozenset({it.enum for at, it in columns.items() if at in kept} | sequences)


def with_meanings(
    table: TableSchema, masks: Mapping[ColumnAt, Mask], together: Sequence[TableMask]
) -> TableSchema:
    """Return a table whose texts are what they mean where a mask doesn't take texts."""
    columns = {it.name: it for it in table.columns}
    for name, it in columns.items():
        mask = masks.get((table.name, name))
        if mask is not None and not _takes(mask, it):
            columns[name] = _as_meant(it)
    for several in together:
        untyped = {name for name in several.columns if columns[name].dtype is None}
        columns |= {name: _as_meant(columns[name]) for name in untyped}
        if not _takes_all(several, columns):
            columns |= {name: _as_meant(columns[name]) for name in several.columns}
    return replace(table, columns=tuple(columns.values()))


def _as_meant(column: TableColumn) -> TableColumn:
    return replace(column, dtype=column.meant or column.dtype)


def _takes(mask: Mask, column: TableColumn) -> bool:
    try:
        return column.dtype is not None and bool(mask.written(column.name, column.dtype))
    except HalfmaskError:
        return False


def _takes_all(mask: TableMask, columns: Mapping[str, TableColumn]) -> bool:
    try:
        return bool(mask.written({it.name: it.dtype for it in columns.values() if it.dtype}))
    except HalfmaskError:
        return False


def written_table(
    table: TableSchema, together: Sequence[TableMask], rules: CopyRules
) -> tuple[WrittenTable, list[str]]:
    """Return a table of the copy, and what it lacks."""
    copied = [it for it in table.columns if (table.name, it.name) in rules.copied]
    masked = frozenset(it.name for it in copied if (table.name, it.name) in rules.masks)
    masked |= {column for mask in together for column in mask.columns}
    _check_columns(table.name, copied, masked, rules)
    columns = [_column(table.name, it, rules) for it in copied]
    for mask in together:
        columns = _changed(columns, mask, table, rules.type_name)
    _check_computed(table.name, copied, columns, masked)
    is_whole = not masked and len(columns) == len(table.columns)
    # What the database computes may follow from a masked cell.
    touched = masked | {it.name for it in copied if masked and it.is_generated}
    kept = [
        it
        for it in table.constraints
        if it.needs <= rules.objects
        and _is_kept(it, {it.name for it in columns}, touched, is_whole=is_whole)
    ]
    _check_unique(table.name, kept, rules.masks)
    mine = tuple(key for key in rules.keys if key.table == table.name)
    lacking = [
        *(f"{it.kind} {it.name!r}" for it in table.constraints if it not in kept),
        *(f"reference {key.name!r}" for key in table.foreign_keys if key not in mine),
        *(
            f"{lost} of the column {now.name!r}"
            for was, now in zip(copied, columns, strict=True)
            for lost in _lost(was, now)
        ),
    ]
    found = WrittenTable(
        name=table.name,
        columns=tuple(columns),
        masked=masked,
        foreign_keys=mine,
        constraints=tuple(kept),
        definition=table.definition if is_whole else "",
        is_unlogged=table.is_unlogged,
        masks=tuple(together),
    )
    return found, [f"{it} of the table {table.name!r}" for it in lacking]


def _check_columns(
    table: str, copied: Sequence[TableColumn], masked: frozenset[str], rules: CopyRules
) -> None:
    """Raise for all columns whose cells can't be copied as the policy says."""
    faults: list[HalfmaskError] = []
    for it in copied:
        mask = rules.masks.get((table, it.name))
        where = f"Column {it.name!r} of the table {table!r}"
        if it.refused:
            faults.append(SchemaError(f"{where} {it.refused}.", hint="Drop the column."))
        elif it.odd and it.name in masked:
            faults.append(
                SchemaError(
                    f"{where} has {it.odd}, which no mask takes.",
                    hint="Correct these cells in the source, or keep or drop the column.",
                )
            )
        elif mask is not None and (it.dtype is None or str(it.dtype) == "Binary"):
            faults.append(
                SchemaError(
                    f"{where} is of the type {it.type}, which no mask supports.",
                    hint="Drop the column, or keep it.",
                )
            )
        elif mask is not None and it.dtype is not None:
            try:
                mask.written(it.name, it.dtype)
            except SchemaError as error:
                faults.append(_unsupported(table, error))
    raise_all(faults)


def _unsupported(table: str, error: SchemaError) -> SchemaError:
    """Return the error of a mask that doesn't support the type of its column, with the table."""
    hint = "Take another mask."
    if "for dates" in error.what:
        hint = _NO_DATES
    elif "Got the type Decimal" in error.what:
        hint = "Take the mask 'round' or 'tails', which are for numeric."
    return SchemaError(f"In the table {table!r}: {error.what.written}", hint=hint)


def _check_unique(
    table: str, constraints: Sequence[Constraint], masks: Mapping[ColumnAt, Mask]
) -> None:
    """Raise if it is the key that decides whether cells of a unique column stay different."""
    for each in constraints:
        if each.kind != "key" and not _UNIQUE_INDEX.match(each.definition):
            continue
        for name in sorted(each.columns):
            mask = masks.get((table, name))
            if mask is not None and "shared-substitutes" in mask.weaknesses:
                raise PolicyError(
                    f"Column {name!r} of the table {table!r} must be unique, by {each.name!r}. Its "
                    f"mask {mask.name!r} can write one value for two.",
                    hint="Say unique = true, or take the mask 'token'.",
                )


def _column(table: str, column: TableColumn, rules: CopyRules) -> TableColumn:
    mask = rules.masks.get((table, column.name))
    if mask is not None and column.dtype is not None:
        return _masked(column, mask.written(column.name, column.dtype), mask, rules.type_name)
    if column.needs <= rules.objects or column.is_generated:
        return column
    return replace(column, clauses="", needs=frozenset())


def _masked(
    column: TableColumn, written: pl.DataType, mask: Mask | TableMask, type_name: TypeName
) -> TableColumn:
    """Return a column as its mask writes it; a default or a sequence is of raw values."""
    dtype = _same_width(column.dtype, written)
    return replace(
        column,
        dtype=dtype,
        type=type_name(column, dtype, mask),
        collation="",
        clauses="",
        enum="",
        needs=frozenset(),
    )


def _same_width(before: pl.DataType | None, written: pl.DataType) -> pl.DataType:
    """Return the type of the raw column if what a mask writes is of the same kind."""
    import polars as pl  # noqa: PLC0415 - half a second

    if before is None:
        return written
    both = before, written
    if all(it.is_integer() for it in both) or all(it.is_float() for it in both):
        return before
    if isinstance(written, pl.Enum):
        return pl.String()  # the enumeration isn't copied: its labels are values
    if isinstance(before, pl.Decimal) and isinstance(written, pl.Decimal):
        return before if before.scale == written.scale else written
    return written


def _changed(
    columns: Sequence[TableColumn], mask: TableMask, table: TableSchema, type_name: TypeName
) -> list[TableColumn]:
    """Return the columns of a table as a mask of several of them writes them."""
    import polars as pl  # noqa: PLC0415 - half a second

    # A mask that reads raw cells reads those of dropped columns, too.
    raw = [it for it in table.columns if it.name in mask.reads and traits_of(mask).reads_raw]
    try:
        found = mask.written({it.name: it.dtype or pl.String() for it in (*columns, *raw)})
    except SchemaError as error:
        raise _unsupported(table.name, error) from None
    return [
        _masked(it, found[it.name], mask, type_name) if it.name in found else it for it in columns
    ]


def _check_computed(
    table: str,
    copied: Sequence[TableColumn],
    written: Sequence[TableColumn],
    masked: frozenset[str],
) -> None:
    """Raise if a computed column can't be computed in the copy, or would show a raw value."""
    now = {it.name: it for it in written}
    for column in copied:
        if not column.is_generated:
            continue
        where = f"Column {column.name!r} of the table {table!r} is computed"
        absent = sorted(column.uses - now.keys()) or sorted(column.needs)
        if absent:
            raise PolicyError(
                f"{where} from {absent[0]!r}, which isn't copied.", hint="Drop the computed column."
            )
        for raw in (it for it in copied if it.name in masked & column.uses):
            if _LITERAL.search(column.clauses):
                raise PolicyError(
                    f"{where} from the masked column {raw.name!r} by an expression with a literal, "
                    "which the copy would show.",
                    hint="Drop the computed column.",
                )
            if now[raw.name].dtype != raw.dtype:
                raise PolicyError(
                    f"{where} from the masked column {raw.name!r}, which gets another type.",
                    hint="Drop the computed column.",
                )


def _is_kept(each: Constraint, names: set[str], touched: frozenset[str], *, is_whole: bool) -> bool:
    """Return whether a constraint is made again: it holds of masked cells, too.

    Expressions and conditions may name raw values, so theirs are columns that no mask touches; one
    without columns may name any.
    """
    if not each.columns:
        return is_whole
    if not each.columns <= names:
        return False
    return (each.is_plain and each.kind != "check") or not each.columns & touched


def _lost(was: TableColumn, now: TableColumn) -> list[str]:
    """Return what a column of the copy lacks."""
    lost = list(was.lost)
    if now.type != was.type:
        lost.append(f"type {was.type or 'none'} (now {now.type})")
    if was.collation and not now.collation:
        lost.append("collation")
    if was.clauses and not now.clauses:
        lost.append("default")
    return lost
