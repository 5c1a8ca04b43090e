"""The table and the population that a caller gives, and what a policy wants of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask._errors import (
    ColumnNotFoundError,
    DataError,
    ParameterError,
    PolicyError,
    SchemaError,
)
from halfmask.anonymize import Population, Protection, Ranges, Recoding
from halfmask.data import Hierarchy, ReadOptions, Schema, Source, open_table
from halfmask.guarantees import class_of_row
from halfmask.masks import MaskedTable, map_names, pseudonym_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.engines import Engine
    from halfmask.masks import AnyTableMask
    from halfmask.microdata._policy import Policy
    from halfmask.release import Inputs


def schema_on(policy: Policy, source: Source) -> Schema:
    """Return the policy's columns, with the orders of their types and with trees by rules."""
    return _with_trees(_with_orders(policy.schema(), source), source)


def protection_of(
    policy: Policy, schema: Schema, population: Population | None = None
) -> Protection:
    """Return the protection that a policy asks for."""
    guarantees = policy.guarantees(schema)
    about_people = any(each.needs_population for each in guarantees)

    def whole(recoding: Recoding) -> Recoding:
        """Name all members of sets where people are held against them."""
        if about_people and isinstance(recoding, Ranges):
            return replace(recoding, whole_sets=True)
        return recoding

    return Protection(
        schema=schema,
        guarantees=guarantees,
        method=policy.method.made(),
        recoding=whole(policy.recoding.made()),
        max_suppression_fraction=float(policy.suppression.max_fraction),
        split_targets=policy.split_targets,
        column_recodings={name: whole(it) for name, it in policy.column_recodings.items()},
        person=policy.person,
        population=population,
    )


def _with_orders(schema: Schema, source: Source) -> Schema:
    """Give each column the order that its type has in the table."""
    orders = source.orders
    columns = (replace(column, order=orders.get(column.name, ())) for column in schema.columns)
    return Schema(tuple(columns))


def _with_trees(schema: Schema, source: Source) -> Schema:
    """Build the hierarchies that rules give to sensitive columns, on the values that occur."""
    columns = []
    for column in schema.columns:
        rule = column.hierarchy
        if (
            column.role == "sensitive"
            and rule is not None
            and not isinstance(rule, Hierarchy)
            and column.name in source.columns
        ):
            values = pl.concat(
                [batch.to_series().unique() for batch in source.batches(columns=[column.name])]
            )
            tree = rule.build(_distinct(values), column=column.name)
            columns.append(replace(column, hierarchy=tree))
        else:
            columns.append(column)
    return Schema(tuple(columns))


def population_of(
    population: object, policy: Policy, schema: Schema, source: Source
) -> Population | None:
    """Return the people that the table was drawn from, if they were given."""
    if population is None:
        return None
    people = people_of(population, policy, schema)
    if any(each.needs_population for each in policy.guarantees(schema)):
        for name in schema.quasi_identifiers:
            if policy.masks_of(name):
                raise PolicyError(
                    f"Column {name!r} has a mask, and a guarantee is about the population.",
                    hint="Leave the mask out: the classes generalize the column.",
                )
        _check_contained(source, people, schema.quasi_identifiers)
    return Population(people=people)


def _check_contained(source: Source, people: pl.DataFrame, names: Sequence[str]) -> None:
    """Raise unless the population has each combination of values as often as the table."""
    batches = source.batches(columns=list(names))
    rows = pl.concat([batch.group_by(names).len("rows") for batch in batches])
    try:
        both = pl.concat([rows.select(names), people], how="vertical_relaxed")
        of_row, n_classes = class_of_row(both, quasi_identifiers=names)
    except pl.exceptions.PolarsError:
        raise SchemaError(
            "A quasi-identifier has another type in the population than in the table.",
            hint="Read both with the same column types.",
        ) from None
    drawn = np.bincount(of_row[: rows.height], weights=rows["rows"], minlength=n_classes)
    there = np.bincount(of_row[rows.height :], minlength=n_classes)
    lacking = int(np.maximum(drawn - there, 0).sum())
    if lacking:
        raise DataError(
            f"The population of {people.height:,} people lacks {lacking:,} of the table's "
            f"{int(drawn.sum()):,} people.",
            hint="Give all people that the table was drawn from, with the same raw values.",
        )


def people_of(population: object, policy: Policy, schema: Schema) -> pl.DataFrame:
    """Read the population as the table is read: what means missing there means missing here."""
    options = policy.read_options()
    wanted = schema.quasi_identifiers
    source = open_table(population, options=options.of(wanted), called="The population")
    absent = [name for name in schema.quasi_identifiers if name not in source.columns]
    if absent:
        raise ColumnNotFoundError.of(absent, source.columns, where="the population")
    return source.read(columns=schema.quasi_identifiers)


def read_population(
    population: object, policy: Policy
) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """Read a population by a policy, and build the hierarchies on its values.

    `halfmask.verify` takes both, to count claims about a population again.

    Parameters
    ----------
    population
        The people that a table was drawn from: a frame, a file, or an opened source.
    policy
        The policy by which the table was protected.

    Returns
    -------
    people, hierarchies
        The quasi-identifiers of each person, and for each column with a hierarchy its levels.

    Raises
    ------
    ColumnNotFoundError
        If the population lacks a quasi-identifier.
    HierarchyError
        If a value doesn't fit the rule of its hierarchy.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.microdata import Policy, read_population
    >>> policy = Policy.from_toml('''
    ... halfmask = 1
    ... [columns.age]
    ... role = "quasi_identifier"
    ... kind = "numeric"
    ... hierarchy = { intervals = [10, 20] }
    ... [[guarantees]]
    ... model = "k-map"
    ... k = 2
    ... ''')
    >>> people, hierarchies = read_population(pl.DataFrame({"age": [21, 25, 58]}), policy)
    >>> hierarchies["age"].rows()[0]
    ('21', '[20, 30)', '[20, 40)', '*')
    """
    schema = policy.schema()
    people = people_of(population, policy, schema)
    trees = {}
    for column in schema.columns:
        given = column.hierarchy
        if column.name not in people.columns or given is None:
            continue
        if not isinstance(given, Hierarchy):
            given = given.build(_distinct(people[column.name]), column=column.name)
        trees[column.name] = given.levels
    return people, trees


def _distinct(values: pl.Series) -> pl.Series:
    return values.drop_nulls().unique().sort()


#: Formats whose readers decide a column's type by all of its cells.
_TEXTS: Final = ("csv", "tsv", "jsonl")
_WORKBOOK: Final = "excel"


def behind_masks(
    source: Source,
    policy: Policy,
    table_masks: Sequence[AnyTableMask],
    inputs: Inputs,
    *,
    key: bytes,
    engine: Engine,
) -> MaskedTable:
    """Put the masks of a policy before an opened table, if it has any."""
    if not policy.masks and not table_masks:
        return MaskedTable(masked=source, unmasked=source)
    return MaskedTable.of(
        source,
        policy.masks,
        with_maps(table_masks, policy),
        key=key,
        vault_key=None if inputs.vault is None else pseudonym_key(inputs.vault),
        engine=engine,
        ordinal=policy.ordinal_columns,
    )


def with_maps(table_masks: Sequence[AnyTableMask], policy: Policy) -> tuple[AnyTableMask, ...]:
    """Return masks that have the maps which they name, opened."""
    maps = policy.opened_maps() if any(map(map_names, table_masks)) else {}
    return tuple(
        replace(mask, maps={name: maps[name] for name in map_names(mask)})  # type: ignore[type-var] # a geomask
        if map_names(mask)
        else mask
        for mask in table_masks
    )


def opened_as_texts(table: object, options: ReadOptions, dtypes: Mapping[str, str]) -> Source:
    """Open a table such that no cell of a file is read differently because of other rows."""
    as_texts = replace(options, dtypes={**options.dtypes, **dtypes})
    if isinstance(table, str) and table == "-":  # it can be read once
        return open_table(table, options=as_texts)
    source = open_table(table, options=options)
    if isinstance(table, Source) or source.format not in (*_TEXTS, _WORKBOOK):
        return source
    if source.format == _WORKBOOK:  # with one time of day, all days would be points in time
        free = set(dtypes) - set(options.typed())
        days = [name for name in free if source.dtypes.get(name) == pl.Date]
        as_texts = replace(options, dtypes={**options.dtypes, **dict.fromkeys(days, "datetime")})
    return open_table(table, options=as_texts)


def ledger_view(table: object, options: ReadOptions) -> Source:
    """Open a table as its ledger was set for it: cells in their own spelling."""
    if isinstance(table, str) and table == "-":
        raise ParameterError(
            "A table with a ledger is read twice, and standard input only once.",
            hint="Give the table as a file.",
        )
    return open_table(table, options=replace(options, normalize={}, derived={}))


def text_columns(policy: Policy) -> dict[str, str]:
    """Return types for columns of text files: text, where the policy declares nothing.

    What a reader finds depends on every cell: one row would change the text of all others.
    """
    declared = policy.input
    known = {*declared.dtypes, *declared.date_formats, *declared.number_formats, *declared.lists}
    undeclared = {
        name: "string"
        for name, it in policy.columns.items()
        if name not in known and (it.role != "identifier" or name == policy.person)
    }
    return {**declared.dtypes, **undeclared}
