"""What a policy wants of one table: its columns on the values that occur, and the protection."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from halfmask._errors import ColumnNotFoundError
from halfmask.anonymize import Protection
from halfmask.data import Hierarchy, Schema
from halfmask.microdata._opening import opened_as

if TYPE_CHECKING:
    from halfmask.data import Source
    from halfmask.microdata._policy import Policy

__all__ = ["people_of", "protection_of", "schema_on"]


def schema_on(policy: Policy, source: Source) -> Schema:
    """Return the policy's columns, with the orders of their types and with trees by rules.

    Parameters
    ----------
    policy, source
        The policy, and the table with masks applied.
    """
    return _with_trees(_with_orders(policy.schema(), source), source)


def protection_of(policy: Policy, schema: Schema) -> Protection:
    """Return the protection that a policy asks for.

    Parameters
    ----------
    policy, schema
        The policy, and its columns on the table: see `schema_on`.
    """
    return Protection(
        schema=schema,
        guarantees=policy.guarantees(schema),
        method=policy.method.made(),
        recoding=policy.recoding.made(),
        max_suppression_fraction=float(policy.suppression.max_fraction),
        split_targets=policy.split_targets,
        column_recodings=policy.column_recodings,
        person=policy.person,
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
            tree = rule.build(values.drop_nulls().unique().sort(), column=column.name)
            columns.append(replace(column, hierarchy=tree))
        else:
            columns.append(column)
    return Schema(tuple(columns))


def people_of(population: object, policy: Policy, schema: Schema) -> pl.DataFrame:
    """Read the population as the table is read: what means missing there means missing here."""
    options = policy.read_options()
    wanted = schema.quasi_identifiers
    source = opened_as(population, options.of(wanted), called="The population")
    absent = [name for name in schema.quasi_identifiers if name not in source.columns]
    if absent:
        raise ColumnNotFoundError.of(absent, source.columns, where="the population")
    return source.read(columns=schema.quasi_identifiers)
