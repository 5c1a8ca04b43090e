"""SQL: a stated subset of SELECT, turned into a question; all else is refused by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from halfmask._errors import ColumnNotFoundError, PolicyError
from halfmask.dp.queries._aggregates import (
    Aggregate,
    BoundedAggregate,
    Count,
    DistinctCount,
    Mean,
    Quantile,
    Sum,
    Variance,
)
from halfmask.dp.queries._grouping import Bins
from halfmask.dp.queries._row_condition import (
    RowCondition,
    check_tables,
    column_of,
    given,
    literal_of,
    refused,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from halfmask.dp.queries._private_table import PrivateQuery, PrivateTable

_CLAUSES: Final = frozenset({"expressions", "from_", "joins", "where", "group"})
_LONGEST: Final = 10_000
_MOST_BINS: Final = 10_000
#: Aggregates of numbers, by the names of sqlglot's nodes.
_OF_NUMBERS: Final[Mapping[str, type[Sum | Mean | Variance]]] = {
    "SUM": Sum,
    "AVG": Mean,
    "VARIANCEPOP": Variance,
}


def query_sql(
    table: PrivateTable,
    sql: str,
    *,
    public: Mapping[str, object] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    keys: Mapping[str, Sequence[Any]] | None = None,
) -> PrivateQuery:
    """Return the question that a statement of SQL asks.

    ``SELECT`` of aggregates and group columns ``FROM`` the data set, with ``JOIN`` of public
    tables, ``WHERE`` and ``GROUP BY``. Aggregates are ``COUNT(*)``, ``COUNT(c)``,
    ``COUNT(DISTINCT c)``, ``SUM``, ``AVG``, ``VAR_POP``, ``MEDIAN`` and ``PERCENTILE_CONT(f)
    WITHIN GROUP (ORDER BY c)``. ``CLAMP(c, low, high)`` declares bounds, and ``GROUP BY
    WIDTH_BUCKET(c, low, high, n)`` makes a histogram.

    Parameters
    ----------
    table
        The table. ``FROM`` has the name of its data set.
    sql
        One statement.
    public
        By name in SQL: tables that everybody may know.
    bounds
        By column: the least and greatest value, where ``CLAMP`` doesn't declare them.
    keys
        By column: the keys of groups, known without the data.

    Raises
    ------
    PolicyError
        If the statement isn't of the subset; the message names what isn't.
    ColumnNotFoundError
        If bounds or keys are of a column that isn't there.

    Notes
    -----
    Keys of a group column are those given, those that ``WHERE`` lists (``c IN (...)``), or those
    of the ledger, or the values of a public table that has the column. Without any, they are
    selected privately, which costs epsilon and delta.

    Examples
    --------
    >>> import tempfile, polars as pl
    >>> from halfmask.dp.ledger import PrivacyLedger
    >>> from halfmask.dp.queries import PrivateTable, query_sql
    >>> folder = tempfile.TemporaryDirectory()
    >>> people = pl.DataFrame({"age": [41, 17, 33], "sex": ["f", "m", "f"]})
    >>> ledger = PrivacyLedger.create(
    ...     f"{folder.name}/vault", people, dataset="people", epsilon=3.0, delta=1e-6
    ... )
    >>> table = PrivateTable.open(people, ledger=ledger)
    >>> question = query_sql(
    ...     table,
    ...     "SELECT sex, AVG(CLAMP(age, 0, 120)) FROM people WHERE sex IN ('f', 'm') GROUP BY sex",
    ... )
    >>> question.answer(epsilon=1.0).frame["sex"].to_list()
    ['f', 'm']
    >>> query_sql(table, "SELECT age FROM people")
    Traceback (most recent call last):
    ...
    halfmask._errors.PolicyError: This SQL isn't supported: a column that isn't in GROUP BY.
    ...
    >>> folder.cleanup()
    """
    select = _parsed(sql)
    name = _name_of(select.args["from_"].this)
    dataset = table.ledger.terms.dataset
    if name != dataset:
        raise PolicyError(f"FROM must name the data set {dataset!r}.")
    for join in select.args.get("joins") or []:
        table = _joined(table, join, public or {})
    check_tables(select, table.tables)
    listed: dict[str, Sequence[Any]] = {}
    where = select.args.get("where")
    if where is not None:
        condition = RowCondition(where.this)
        table = replace(table, conditions=(*table.conditions, condition))
        listed = dict(condition.listed())
    known_columns = {name for columns in table.tables.values() for name in columns}
    labels = _grouped(select, known_columns)
    if labels:
        known = {**listed, **(keys or {})}
        table = table.group_by(
            {
                column: known.get(column) if bins is None else bins
                for column, bins in labels.values()
            }
        )
        names = _names_of_groups(select, labels)
        table = replace(table, grouping=replace(table.grouping, names=names))
    found = _aggregates(select, labels)
    absent = [name for name in (*(bounds or {}), *(keys or {})) if name not in known_columns]
    if absent:
        raise ColumnNotFoundError.of(absent, known_columns, where="the table")
    return table.select(*(_with_bounds(each, bounds or {}) for each in found))


def _parsed(sql: str) -> exp.Select:
    """Return the one SELECT of a statement, with no clause but those of the subset."""
    if len(sql) > _LONGEST:
        raise PolicyError(f"The statement is longer than {_LONGEST:,} letters.")
    try:
        statements = sqlglot.parse(sql, read="postgres")
    except (SqlglotError, RecursionError):
        raise PolicyError("The statement isn't SQL that can be read.") from None
    if len(statements) != 1:
        raise refused(f"{len(statements)} statements")
    (select,) = statements
    if not isinstance(select, exp.Select):
        raise refused("a statement other than SELECT")
    beyond = sorted(set(given(select)) - _CLAUSES)
    if beyond:
        raise refused(beyond[0].rstrip("_").upper())
    if select.args.get("from_") is None:
        raise refused("SELECT without FROM")
    return select


def _name_of(node: exp.Expr) -> str:
    """Return the plain name of a table."""
    if not isinstance(node, exp.Table):
        raise refused("a subquery in FROM" if isinstance(node, exp.Subquery) else "FROM of another")
    if not isinstance(node.this, exp.Identifier) or set(given(node)) != {"this"}:
        raise refused("a table with a schema, an alias or a sample")
    return str(node.name)


def _joined(table: PrivateTable, join: exp.Expr, public: Mapping[str, object]) -> PrivateTable:
    """Return the table with a public one, joined by the same column of both."""
    beyond = sorted(set(given(join)) - {"this", "on", "using"})
    if beyond and (beyond != ["kind"] or join.args["kind"] != "INNER"):
        raise refused("a JOIN that isn't an inner one")
    name = _name_of(join.this)
    if name not in public:
        raise PolicyError(
            f"The public table {name!r} isn't given.",
            hint="Only the data set, and tables that are declared to be public, can be joined.",
        )
    using = join.args.get("using") or []
    on = join.args.get("on")
    if len(using) == 1 and on is None:
        return table.join(public[name], on=str(using[0].name), name=name)
    if not using and isinstance(on, exp.EQ):
        sides = {column_of(on.this), column_of(on.expression)}
        tables = {on.this.table, on.expression.table}
        if len(sides) == 1 and tables == {name, table.ledger.terms.dataset}:
            return table.join(public[name], on=sides.pop(), name=name)
    raise refused("a JOIN by anything but one column of the same name in both tables")


def _grouped(select: exp.Select, columns: Collection[str]) -> dict[str, tuple[str, Bins | None]]:
    """Return the columns of groups with their bins, by how they are written.

    As in PostgreSQL, a name is one of the table's columns if it can be, else one of SELECT. Names
    are resolved before anything is read: the question is the same one as with the column itself,
    in the book and for the ledger, so a name changes neither noise nor cost.
    """
    group = select.args.get("group")
    if group is None:
        return {}
    beyond = sorted(set(given(group)) - {"expressions"})
    if beyond or not group.expressions:
        raise refused(f"GROUP BY with {beyond[0].upper() if beyond else 'no column'}")
    named = _named(select)
    found: dict[str, tuple[str, Bins | None]] = {}
    for written in group.expressions:
        is_name = isinstance(written, exp.Column) and not written.table
        each = written
        if is_name and written.name not in columns:
            each, *others = named.get(_folded(written.this), [written])
            if others:
                raise refused("a name in GROUP BY that SELECT has twice")
        if isinstance(each, exp.WidthBucket):
            found[_text(each)] = (column_of(each.this), _bins(each))
        else:
            found[_text(each)] = (column_of(each), None)
    if len({column for column, _ in found.values()}) < len(group.expressions):
        raise refused("GROUP BY of the same column twice")
    return found


def _named(select: exp.Select) -> dict[str, list[exp.Expr]]:
    """Return what SELECT gives each name to."""
    found: dict[str, list[exp.Expr]] = {}
    for each in select.expressions:
        if isinstance(each, exp.Alias):
            found.setdefault(_folded(each.args["alias"]), []).append(each.this)
    return found


def _folded(name: exp.Expr) -> str:
    """Return a name as PostgreSQL compares it: in small letters unless it is quoted."""
    return str(name.name) if name.args.get("quoted") else str(name.name).lower()


def _text(node: exp.Expr) -> str:
    """Return how a node is written, without the tables of columns: no two have the same column."""
    plain = node.copy()
    for each in plain.find_all(exp.Column):
        each.set("table", None)
    return plain.sql()


def _names_of_groups(
    select: exp.Select, labels: Mapping[str, tuple[str, Bins | None]]
) -> tuple[tuple[str, str], ...]:
    """Return the columns of groups that SELECT gives another name."""
    found: dict[str, str] = {}
    for each in select.expressions:
        written = each.this if isinstance(each, exp.Alias) else each
        if _text(written) not in labels:
            continue
        column, _ = labels[_text(written)]
        if column in found:
            raise refused("a group column that SELECT has twice")
        found[column] = each.alias if isinstance(each, exp.Alias) else column
    return tuple((column, name) for column, name in found.items() if name != column)


def _bins(node: exp.Expr) -> Bins:
    parts = ("min_value", "max_value", "num_buckets")
    low, high, number = (literal_of(node.args[part]) for part in parts)
    if (
        isinstance(low, str)
        or isinstance(high, str)
        or not (isinstance(number, int) and 0 < number <= _MOST_BINS)
    ):
        raise refused("WIDTH_BUCKET with anything but numbers")
    return Bins(tuple(low + (high - low) * at / number for at in range(number + 1)))


def _aggregates(
    select: exp.Select, labels: Mapping[str, tuple[str, Bins | None]]
) -> list[Aggregate]:
    found = []
    for each in select.expressions:
        name, node = (each.alias, each.this) if isinstance(each, exp.Alias) else (None, each)
        if _text(node) in labels:
            continue
        if isinstance(node, exp.Column):
            raise refused("a column that isn't in GROUP BY")
        found.append(_aggregate(node, name))
    return found


def _with_bounds(each: Aggregate, bounds: Mapping[str, tuple[float, float]]) -> Aggregate:
    if isinstance(each, BoundedAggregate) and each.bounds is None and each.of in bounds:
        return replace(each, bounds=bounds[each.of])
    return each


def _aggregate(node: exp.Expr, name: str | None) -> Aggregate:
    word = type(node).__name__.upper()
    if isinstance(node, exp.Count):
        return _count(node, name)
    if isinstance(node, exp.Median) and set(given(node)) == {"this"}:
        column, bounds = _clamped(node.this)
        return Quantile(of=column, at=0.5, bounds=bounds, name=name)
    if isinstance(node, exp.WithinGroup) and isinstance(node.this, exp.PercentileCont):
        return _percentile(node, name)
    if word not in _OF_NUMBERS or set(given(node)) != {"this"}:
        raise refused(f"{shown(node)} in SELECT")
    column, bounds = _clamped(node.this)
    return _OF_NUMBERS[word](of=column, bounds=bounds, name=name)


def _count(node: exp.Expr, name: str | None) -> Aggregate:
    if not set(given(node)) <= {"this", "big_int"}:
        raise refused("COUNT of several columns")
    if isinstance(node.this, exp.Star) and not given(node.this):
        return Count(name=name)
    if isinstance(node.this, exp.Distinct):
        if set(given(node.this)) != {"expressions"} or len(node.this.expressions) != 1:
            raise refused("COUNT(DISTINCT ...) of several columns")
        return DistinctCount(of=column_of(node.this.expressions[0]), name=name)
    return Count(of=column_of(node.this), name=name)


def _percentile(node: exp.Expr, name: str | None) -> Aggregate:
    at = literal_of(node.this.this)
    ordered = node.expression.expressions
    plain = len(ordered) == 1 and set(given(ordered[0])) <= {"this", "nulls_first"}
    if not plain or not isinstance(at, float) or set(given(node.this)) != {"this"}:
        raise refused("PERCENTILE_CONT of this kind")
    column, bounds = _clamped(ordered[0].this)
    return Quantile(of=column, at=at, bounds=bounds, name=name)


def _clamped(node: exp.Expr) -> tuple[str, tuple[float, float] | None]:
    """Return a column, and the bounds that CLAMP(column, low, high) declares."""
    if not isinstance(node, exp.Anonymous):
        return column_of(node), None
    if str(node.this).upper() != "CLAMP" or len(node.expressions) != 3:
        raise refused(f"the function {str(node.this).upper()[:40]}")
    column, low, high = node.expressions
    bounds = literal_of(low), literal_of(high)
    if isinstance(bounds[0], str) or isinstance(bounds[1], str):
        raise refused("CLAMP with anything but numbers")
    return column_of(column), (bounds[0], bounds[1])
