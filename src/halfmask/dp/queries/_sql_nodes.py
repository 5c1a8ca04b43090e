"""Nodes of SQL as sqlglot parses it: what they are, and the words that refuse them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from halfmask._errors import ColumnNotFoundError, PolicyError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sqlglot import exp

#: What SQL may have in it.
HINT: Final = (
    "Allowed are SELECT of group columns and COUNT, SUM, AVG, VAR_POP, MEDIAN, PERCENTILE_CONT; "
    "WHERE with comparisons of columns and literals, IN, BETWEEN, IS NULL, AND, OR, NOT; JOIN of "
    'public tables; GROUP BY. Quote names that aren\'t plain words, as in "hours-per-week".'
)


def refused(what: str) -> PolicyError:
    """Return the error for SQL outside of the subset."""
    return PolicyError(f"This SQL isn't supported: {what}.", hint=HINT)


def given(node: exp.Expr) -> list[str]:
    """Return the names of a node's parts that are there."""
    return [name for name, part in node.args.items() if part]


def column_of(node: exp.Expr) -> str:
    """Return the name of a column."""
    from sqlglot import exp  # noqa: PLC0415 # 0.2 s

    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        raise refused(f"{shown(node)} where a column has to stand")
    if not set(given(node)) <= {"this", "table"}:
        raise refused("a column with the name of a schema")
    return str(node.name)


def check_tables(tree: exp.Expr, tables: Mapping[str, Collection[str]]) -> None:
    """Raise unless each table that a column is said to be of is there, and has it."""
    from sqlglot import exp  # noqa: PLC0415 # 0.2 s

    for each in tree.find_all(exp.Column):
        if not each.table:
            continue
        if each.table not in tables:
            raise refused(f"a column of {each.table!r}, which is neither the data set nor joined")
        if each.name not in tables[each.table]:
            where = f"the table {each.table!r}"
            raise ColumnNotFoundError.of([each.name], tables[each.table], where=where)


def literal_of(node: exp.Expr) -> str | int | float | bool:
    """Return the value of a literal."""
    from sqlglot import exp  # noqa: PLC0415 # 0.2 s

    if isinstance(node, exp.Boolean):
        return bool(node.this)
    negative = isinstance(node, exp.Neg)
    inner = node.this if isinstance(node, exp.Neg) else node
    if not isinstance(inner, exp.Literal) or (negative and inner.is_string):
        raise refused(f"{shown(node)} where a literal has to stand")
    if inner.is_string:
        return str(inner.this)
    try:
        value: int | float = int(inner.this)
    except ValueError:
        value = float(inner.this)
        if not math.isfinite(value):
            raise refused("a number too large for a float") from None
    return -value if negative else value


def word_of(node: exp.Expr) -> str:
    """Return the name of a node's kind."""
    return type(node).__name__.upper()


def shown(node: exp.Expr) -> str:
    """Return what a node is in the words of SQL."""
    from sqlglot import exp  # noqa: PLC0415 # 0.2 s

    if isinstance(node, exp.Anonymous):
        return f"the function {str(node.this).upper()[:40]}"
    if isinstance(node, exp.Func) and not isinstance(node, exp.And | exp.Or):
        return f"the function {node.sql_names()[0]}"
    if isinstance(node, exp.Column | exp.Literal):
        return "*" if isinstance(node.this, exp.Star) else f"a {node.key}"
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod | exp.Neg | exp.DPipe):
        return "arithmetic"
    return "*" if isinstance(node, exp.Star) else word_of(node)
