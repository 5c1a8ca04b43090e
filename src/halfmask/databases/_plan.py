"""The plan of a copy: a policy put to the tables of a schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask._errors import ColumnNotFoundError, HalfmaskError, PolicyError, SchemaError
from halfmask.databases._domains import ColumnAt, Domain, domains_of, integer_tokens, with_folds
from halfmask.databases._faults import raise_all
from halfmask.databases._written import (
    CopyRules,
    TypeName,
    objects_of,
    with_meanings,
    written_table,
)
from halfmask.masks import TableMask, check_claimed_once, map_names, traits_of

if TYPE_CHECKING:
    from halfmask.databases._policy import ColumnRule, DatabasePolicy, TableSection
    from halfmask.databases._schema import ForeignKey, TableSchema, WrittenTable
    from halfmask.masks import Mask

_MOST_LISTED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyPlan:
    """What is copied, and how."""

    sources: dict[str, TableSchema]
    tables: tuple[WrittenTable, ...]
    masks: dict[ColumnAt, Mask]
    domains: dict[ColumnAt, Domain]
    foreign_keys: tuple[ForeignKey, ...]
    left_out: tuple[str, ...]


def plan_of(
    policy: DatabasePolicy,
    tables: Sequence[TableSchema],
    type_name: TypeName,
    others: Sequence[str] = (),
) -> CopyPlan:
    """Put a policy to the tables of a schema."""
    _check_tables(policy, tables)
    sources = {it.name: it for it in tables if not policy.tables[it.name].drop}
    for table in sources.values():
        if table.refused:
            raise SchemaError(
                f"The table {table.name!r} can't be copied: {table.refused}.",
                hint="Drop it in the policy: drop = true.",
            )
        _check_columns(policy.tables[table.name], table)
    rules = {
        (table.name, column): rule
        for table in sources.values()
        for column, rule in policy.tables[table.name].columns.items()
        if rule.word != "drop"
    }
    keys = _copied_keys(sources, rules, policy)
    domains = domains_of(rules, keys)
    masks = {at: rule.mask for at, rule in rules.items() if rule.mask is not None}
    masks |= {at: domain.mask for at, domain in domains.items()}
    integers = integer_tokens(masks, domains, sources)
    masks, domains = integers.masks, integers.domains
    sources = with_folds(domains, integers.sources)
    together = {
        it.name: _table_masks(policy.tables[it.name], it, rules, domains) for it in sources.values()
    }
    masked = masks.keys() | {
        (table, name) for table, those in together.items() for it in those for name in it.columns
    }
    sources = {name: with_meanings(it, masks, together[name]) for name, it in sources.items()}
    copying = CopyRules(
        copied=rules.keys(),
        masks=masks,
        keys=keys,
        type_name=type_name,
        objects=objects_of(tables, rules.keys() - masked),
    )
    written, left_out = [], []
    faults: list[HalfmaskError] = []
    for table in sources.values():
        try:
            found, lacking = written_table(table, together[table.name], copying)
        except HalfmaskError as error:
            faults.append(error)
            continue
        written.append(found)
        left_out += lacking
    raise_all(faults)
    made = {it for table in written for it in table.needs}
    left_out += [it for it in others if it not in made]
    return CopyPlan(
        sources=sources,
        tables=tuple(written),
        masks=masks,
        domains=domains,
        foreign_keys=tuple(keys),
        left_out=tuple(left_out),
    )


def _check_tables(policy: DatabasePolicy, tables: Sequence[TableSchema]) -> None:
    there = [it.name for it in tables]
    unknown = [name for name in policy.tables if name not in there]
    if unknown:
        raise PolicyError(
            f"The schema has no table {unknown[0]!r}, which the policy names.",
            hint=f"It has {len(there)} tables; check the spelling and capitals.",
        )
    unnamed = [name for name in there if name not in policy.tables]
    if unnamed:
        raise PolicyError(
            f"The policy doesn't name {len(unnamed)} tables: {_listed(unnamed)}.",
            hint="Name each table; drop = true leaves one out.",
        )
    subset = policy.subset
    if subset is not None and (
        subset.table not in policy.tables or policy.tables[subset.table].drop
    ):
        raise PolicyError(
            "[subset] must name a table that is copied.",
            hint="Its table is dropped, or isn't in the schema.",
        )


def _check_columns(section: TableSection, table: TableSchema) -> None:
    there = [it.name for it in table.columns]
    unknown = [name for name in section.columns if name not in there]
    if unknown:
        raise ColumnNotFoundError.of(unknown, there, where=f"the table {table.name!r}")
    unnamed = [name for name in there if name not in section.columns]
    if unnamed:
        raise PolicyError(
            f"The policy doesn't name {len(unnamed)} columns of the table {table.name!r}: "
            f"{_listed(unnamed)}.",
            hint='Name each column: "keep", "drop", "reference" or a mask.',
        )
    for column in table.columns:
        rule = section.columns[column.name]
        if column.is_generated and rule.word not in {"keep", "drop"}:
            raise PolicyError(
                f"Column {column.name!r} of the table {table.name!r} is computed by the database.",
                hint="Keep or drop it; it is computed again, from what is written.",
            )
    if all(rule.word == "drop" for rule in section.columns.values()):
        raise PolicyError(
            f"All columns of the table {table.name!r} are dropped.",
            hint="Drop the table: drop = true.",
        )


def _copied_keys(
    sources: dict[str, TableSchema], rules: dict[ColumnAt, ColumnRule], policy: DatabasePolicy
) -> list[ForeignKey]:
    """Return the foreign keys whose columns are copied."""
    found = []
    for table in sources.values():
        for key in table.foreign_keys:
            if any((table.name, column) not in rules for column in key.columns):
                continue
            for column in key.parent_columns:
                if (key.parent, column) not in rules:
                    dropped = key.parent in policy.tables and policy.tables[key.parent].drop
                    raise PolicyError(
                        f"Column {column!r} of the table {key.parent!r} isn't copied, but "
                        f"{key.columns[0]!r} of the table {table.name!r} refers to it.",
                        hint=f"Drop {key.columns[0]!r}, too, or copy the other "
                        f"{'table' if dropped else 'column'}.",
                    )
            found.append(key)
    return found


def _table_masks(
    section: TableSection,
    table: TableSchema,
    rules: Mapping[ColumnAt, ColumnRule],
    domains: Mapping[ColumnAt, Domain],
) -> tuple[TableMask, ...]:
    """Return the masks of several columns of a table, if they may change these."""
    keys = {name for it in table.constraints if it.kind == "key" for name in it.columns}
    own = {
        name: rule.mask
        for (where, name), rule in rules.items()
        if where == table.name and rule.mask is not None
    }
    for mask in section.masks:
        if not isinstance(mask, TableMask):
            raise PolicyError(
                f"The mask {mask.name!r} of the table {table.name!r} drops rows.",
                hint="Choose rows with [subset], which follows foreign keys.",
            )
        if map_names(mask):
            raise PolicyError(
                f"The mask {mask.name!r} of the table {table.name!r} needs a map, and a policy of "
                "a database has no [maps].",
                hint="Give the mask radii in metres, or protect the table on its own.",
            )
        for name in mask.columns:
            column = next((it for it in table.columns if it.name == name), None)
            rule = rules.get((table.name, name))
            if column is None or rule is None:
                raise PolicyError(
                    f"The mask {mask.name!r} of the table {table.name!r} changes the column "
                    f"{name!r}, which isn't copied.",
                    hint='Write "keep" for the column.',
                )
            linked = rule.word == "reference" or (table.name, name) in domains
            no_value = column.dtype is None and column.meant is None and not column.odd
            if linked or name in keys or column.is_generated or no_value:
                raise PolicyError(
                    f"The mask {mask.name!r} of the table {table.name!r} can't change the column "
                    f"{name!r}: it is a key, a reference, computed, or of the type {column.type}.",
                    hint='Keys and references take a mask of their own, such as "token".',
                )
        _check_reads(mask, table, rules)
    check_claimed_once(own, section.masks)
    return tuple(section.masks)


def _check_reads(mask: TableMask, table: TableSchema, rules: Mapping[ColumnAt, ColumnRule]) -> None:
    for name in mask.reads:
        column = next((it for it in table.columns if it.name == name), None)
        is_there = column is not None and not column.is_generated and (table.name, name) in rules
        if traits_of(mask).reads_raw:
            is_there = column is not None and str(column.dtype) not in {"None", "Binary"}
        if not is_there:
            raise PolicyError(
                f"The mask {mask.name!r} of the table {table.name!r} reads the column {name!r}, "
                "which isn't copied, or is computed or of a type without texts.",
                hint="Check the spelling, or take another column.",
            )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(map(repr, names[:_MOST_LISTED])) + more
