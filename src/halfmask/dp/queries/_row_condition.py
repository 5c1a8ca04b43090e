"""Conditions on one row, in the words of SQL; the nodes of SQL, and the words that refuse them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import polars as pl
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from halfmask._errors import ColumnNotFoundError, PolicyError, SchemaError
from halfmask.dp.queries._grouping import typed_value
from halfmask.dp.queries._measures import present

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

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
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        raise refused(f"{shown(node)} where a column has to stand")
    if not set(given(node)) <= {"this", "table"}:
        raise refused("a column with the name of a schema")
    return str(node.name)


def check_tables(tree: exp.Expr, tables: Mapping[str, Collection[str]]) -> None:
    """Raise unless each table that a column is said to be of is there, and has it."""
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
    if isinstance(node, exp.Anonymous):
        return f"the function {str(node.this).upper()[:40]}"
    if isinstance(node, exp.Func) and not isinstance(node, exp.And | exp.Or):
        return f"the function {node.sql_names()[0]}"
    if isinstance(node, exp.Column | exp.Literal):
        return "*" if isinstance(node.this, exp.Star) else f"a {node.key}"
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod | exp.Neg | exp.DPipe):
        return "arithmetic"
    return "*" if isinstance(node, exp.Star) else word_of(node)


_COMPARISONS: Final = {
    "EQ": "__eq__",
    "NEQ": "__ne__",
    "GT": "__gt__",
    "GTE": "__ge__",
    "LT": "__lt__",
    "LTE": "__le__",
}
_LOGIC: Final = frozenset({"AND", "OR", "NOT", "PAREN"})
#: The nodes that are allowed, by the names of the parts that they may have.
_PARTS: Final[Mapping[str, frozenset[str]]] = {
    "AND": frozenset({"this", "expression"}),
    "OR": frozenset({"this", "expression"}),
    "NOT": frozenset({"this"}),
    "PAREN": frozenset({"this"}),
    "IN": frozenset({"this", "expressions"}),
    "BETWEEN": frozenset({"this", "low", "high"}),
    "IS": frozenset({"this", "expression", "negate"}),
    **dict.fromkeys(_COMPARISONS, frozenset({"this", "expression"})),
}
#: Nodes that a predicate may nest before it is refused.
_DEEPEST: Final = 50


class RowCondition:
    """A condition that keeps a row or drops it, by its own cells alone.

    Notes
    -----
    Comparisons of columns with columns and literals, ``IN``, ``BETWEEN``, ``IS NULL``, ``AND``,
    ``OR``, ``NOT``. As in SQL, a comparison with a missing cell is neither true nor false. NaN is
    a missing cell.

    Examples
    --------
    >>> condition = RowCondition.of("age >= 18 AND sex IN ('f', 'm')")
    >>> condition.text, sorted(condition.columns)
    ("age >= 18 AND sex IN ('f', 'm')", ['age', 'sex'])
    """

    def __init__(self, tree: exp.Expr) -> None:
        self._tree = tree
        self.text = tree.sql(dialect="postgres")
        columns: set[str] = set()
        _check(tree, columns, 0)
        self.columns = frozenset(columns)

    @classmethod
    def of(cls, text: str) -> RowCondition:
        """Parse a condition."""
        try:
            tree = sqlglot.parse_one(f"SELECT 1 WHERE {text}", read="postgres")
        except (SqlglotError, RecursionError):
            raise PolicyError("The condition isn't one of SQL.", hint=HINT) from None
        where = tree.args.get("where")
        if where is None or set(given(tree)) != {"expressions", "where"}:
            raise PolicyError("The condition has more in it than a condition.", hint=HINT)
        return cls(where.this)

    def expression(self, dtypes: Mapping[str, pl.DataType]) -> pl.Expr:
        """Return the condition for polars, checked against the types of columns."""
        absent = sorted(self.columns - set(dtypes))
        if absent:
            raise ColumnNotFoundError.of(absent, dtypes, where="the table")
        return _compiled(self._tree, dtypes)

    def check_tables(self, tables: Mapping[str, Collection[str]]) -> None:
        """Raise unless each table that a column is said to be of is there; see `check_tables`."""
        check_tables(self._tree, tables)

    def present(self) -> set[str]:
        """Return the columns that aren't missing in any row that the condition keeps."""
        found: set[str] = set()
        for each in _conjuncts(self._tree):
            inner = each.this if isinstance(each, exp.Not) else each
            is_null = isinstance(inner, exp.Is) and not inner.args.get("negate")
            if is_null == isinstance(each, exp.Not) and not isinstance(inner, exp.Or):
                found |= {str(column.name) for column in inner.find_all(exp.Column)}
        return found

    def listed(self) -> dict[str, list[Any]]:
        """Return the values of columns that the condition lists: they are no secret of the data."""
        found = {}
        for each in _conjuncts(self._tree):
            if isinstance(each, exp.In) and isinstance(each.this, exp.Column):
                found[each.this.name] = [literal_of(value) for value in each.expressions]
            elif (
                isinstance(each, exp.EQ)
                and isinstance(each.this, exp.Column)
                and not isinstance(each.expression, exp.Column)
            ):
                found[each.this.name] = [literal_of(each.expression)]
        return found


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """Return conditions that all have to hold."""
    if isinstance(node, exp.Paren):
        return _conjuncts(node.this)
    if isinstance(node, exp.And):
        return [*_conjuncts(node.this), *_conjuncts(node.expression)]
    return [node]


def _check(node: exp.Expr, columns: set[str], depth: int) -> None:
    """Raise unless a node and all below are of the subset; collect the columns."""
    parts = _PARTS.get(word_of(node))
    if parts is None or depth > _DEEPEST:
        raise refused("a condition that is nested too deeply" if parts else shown(node))
    # A part that isn't expected could mean anything: NOT is one of IS.
    if not set(given(node)) <= parts:
        raise refused(f"{word_of(node)} with anything but columns and literals")
    if word_of(node) in _LOGIC:
        for part in sorted(parts):
            _check(node.args[part], columns, depth + 1)
    elif word_of(node) in _COMPARISONS:
        _check_comparison(node, columns)
    else:
        columns.add(column_of(node.this))
        for each in _literals(node):
            literal_of(each)


def _check_comparison(node: exp.Expr, columns: set[str]) -> None:
    for side in (node.this, node.expression):
        if isinstance(side, exp.Column):
            columns.add(column_of(side))
        else:
            literal_of(side)
    if not isinstance(node.this, exp.Column) and not isinstance(node.expression, exp.Column):
        raise refused("a comparison without a column")


def _literals(node: exp.Expr) -> list[exp.Expr]:
    """Return what IN or BETWEEN compare a column with; IS compares it with NULL."""
    if isinstance(node, exp.Is):
        if not isinstance(node.expression, exp.Null):
            raise refused("IS with anything but NULL")
        return []
    if isinstance(node, exp.Between):
        return [node.args["low"], node.args["high"]]
    if not node.expressions:
        raise refused("IN with anything but a list of literals")
    return list(node.expressions)


def _compiled(node: exp.Expr, dtypes: Mapping[str, pl.DataType]) -> pl.Expr:
    if isinstance(node, exp.And):
        return _compiled(node.this, dtypes) & _compiled(node.expression, dtypes)
    if isinstance(node, exp.Or):
        return _compiled(node.this, dtypes) | _compiled(node.expression, dtypes)
    if isinstance(node, exp.Not):
        return ~_compiled(node.this, dtypes)
    if isinstance(node, exp.Paren):
        return _compiled(node.this, dtypes)
    if isinstance(node, exp.In | exp.Between | exp.Is):
        return _listed(node, dtypes)
    return _comparison(node, dtypes)


def _listed(node: exp.In | exp.Between | exp.Is, dtypes: Mapping[str, pl.DataType]) -> pl.Expr:
    """Return a column that is compared with literals, or with NULL."""
    name = column_of(node.this)
    column = present(name, dtypes[name])
    if isinstance(node, exp.Is):
        return column.is_not_null() if node.args.get("negate") else column.is_null()
    values = [typed_literal(literal_of(each), name, dtypes[name]) for each in _literals(node)]
    if isinstance(node, exp.In):
        return pl.any_horizontal(column == value for value in values)
    return (column >= values[0]) & (column <= values[1])


def _comparison(node: exp.Expr, dtypes: Mapping[str, pl.DataType]) -> pl.Expr:
    sides = [node.this, node.expression]
    names = [column_of(side) for side in sides if isinstance(side, exp.Column)]
    kinds = {_kind(dtypes[name]) for name in names}
    if len(kinds) > 1:
        raise SchemaError(f"The columns {names[0]!r} and {names[1]!r} are of different types.")
    left, right = (
        present(column_of(side), dtypes[column_of(side)])
        if isinstance(side, exp.Column)
        else typed_literal(literal_of(side), names[0], dtypes[names[0]])
        for side in sides
    )
    compared: pl.Expr = getattr(left, _COMPARISONS[word_of(node)])(right)
    return compared


def _kind(dtype: pl.DataType) -> str:
    return "number" if dtype.is_numeric() else str(dtype.base_type())


def typed_literal(value: Any, column: str, dtype: pl.DataType) -> pl.Expr:  # noqa: ANN401 - any literal
    """Return a literal as an expression of a column's type; see `typed_value`."""
    literal = pl.lit(typed_value(value, column, dtype))
    return literal.cast(dtype) if dtype.is_temporal() else literal
