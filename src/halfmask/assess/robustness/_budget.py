"""What an attacker may change of a row, how far, and at what cost."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias, get_args

import numpy as np
import polars as pl
import tomlkit

from halfmask._errors import ColumnNotFoundError, ParameterError, PolicyError, SchemaError
from halfmask._foreign import foreign
from halfmask._validation import check_fields, is_text, list_of, mapping_of, number_between
from halfmask.data import Schema, to_polars
from halfmask.description import describe
from halfmask.description.column_names import hint_of

if TYPE_CHECKING:
    from halfmask.assess._arrays import Bools, Floats, Rows
    from halfmask.description import Description

#: In which direction a number may be changed; categories: to any, or not at all.
Change: TypeAlias = Literal["no", "up", "down", "any"]
#: How the costs of a row's columns are one cost: the greatest, their sum, or how many changed.
Norm: TypeAlias = Literal["greatest", "sum", "columns"]
#: The rounding, relative to a number, that limits and relations forgive.
SLACK: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnBudget:
    """What may be changed of one column.

    Parameters
    ----------
    change
        The direction.
    low, high
        What a number may be, both included; by default what occurs in the rows.
    cost
        Of a unit of a number, or of another category. By default a number's whole range costs 1,
        and so does another category.
    categories
        What may be written in the place of a category; ``None``: those that occur.
    """

    change: Change = field(default="any", metadata={"one_of": get_args(Change)})
    low: float | None = field(default=None, repr=False, metadata={"ge": -inf})
    high: float | None = field(default=None, repr=False, metadata={"ge": -inf})
    cost: float | None = field(default=None, repr=False, metadata={"gt": 0})
    categories: tuple[str, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ParameterError("The low of a ColumnBudget must be at most its high.")
        if self.categories is not None:
            list_of("texts", is_text, owner="ColumnBudget", categories=self.categories)
            object.__setattr__(self, "categories", tuple(dict.fromkeys(self.categories)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A relation that a changed row keeps if the row had it: sum of terms <= most.

    Parameters
    ----------
    terms
        The factor of each column.
    most
        What the sum is at most.
    is_equal
        Whether the sum is exactly that.
    """

    terms: Mapping[str, float]
    most: float = 0.0
    is_equal: bool = False

    def __post_init__(self) -> None:
        mapping_of("numbers", _is_a(int | float), owner="Relation", terms=self.terms)
        if not self.terms:
            raise ParameterError("The 'terms' parameter of Relation must name a column.")
        for factor in self.terms.values():
            number_between(-inf, inf, owner="Relation", most=self.most, terms=factor)

    def holds(self, rows: pl.DataFrame) -> Bools:
        """Return which rows have it; a row with a missing cell in it doesn't.

        Parameters
        ----------
        rows
            The rows.
        """
        terms = np.column_stack([factor * numbers(rows[it]) for it, factor in self.terms.items()])
        over = terms.sum(axis=1) - self.most
        slack = SLACK * (abs(self.most) + np.abs(terms).sum(axis=1))
        return np.asarray((np.abs(over) if self.is_equal else over) <= slack)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackerBudget:
    """What an attacker may change of a row, and what it may cost.

    A missing cell stays missing, and no cell becomes missing. A column of whole numbers or truth
    values, by its type, holds no fractions.

    Parameters
    ----------
    columns
        By column, in an array by its number, such as `"0"`; one that isn't named can't be changed.
    most
        What all changes of a row may cost, above 0.
    norm
        How costs of columns are one: the ``"greatest"``, their ``"sum"``, or the number of changed
        ``"columns"``.
    relations
        What changed rows keep.
    knows
        Whether the attacker knows the ``"model"``, or only asks for ``"labels"``.

    Raises
    ------
    ParameterError
        If an argument isn't what it may be, or nothing may be changed.
    """

    columns: Mapping[str, ColumnBudget]
    most: float = field(metadata={"gt": 0})
    norm: Norm = field(default="greatest", metadata={"one_of": get_args(Norm)})
    relations: tuple[Relation, ...] = ()
    knows: Literal["model", "labels"] = field(
        default="model", metadata={"one_of": ("model", "labels")}
    )

    def __post_init__(self) -> None:
        owner = "AttackerBudget"
        mapping_of("ColumnBudget", _is_a(ColumnBudget), owner=owner, columns=self.columns)
        list_of("Relation", _is_a(Relation), owner=owner, relations=self.relations)
        object.__setattr__(self, "relations", tuple(self.relations))
        check_fields(self)
        if all(it.change == "no" or it.categories == () for it in self.columns.values()):
            raise ParameterError(
                "Under this budget nothing may be changed, so no attack can be tried.",
                hint="Name a column with more than one value, whose change isn't 'no'.",
            )

    @classmethod
    def of_table(
        cls,
        rows: object,
        schema: Schema | Description | None = None,
        *,
        most: float,
        **settings: Any,  # noqa: ANN401 # norm, relations, knows
    ) -> Self:
        """Propose a budget: identifiers, labels and dates can't change, ages only go up.

        Parameters
        ----------
        rows
            The training rows.
        schema
            What is declared of the columns; ``None``: what `describe` proposes.
        most, settings
            The other fields.
        """
        table = as_columns(rows)
        if not isinstance(schema, Schema):
            schema = (describe(table) if schema is None else schema).schema
        columns = {}
        for each in schema.columns:
            cells = table.get_column(each.name, default=pl.Series([], dtype=pl.Null))
            is_free = each.role != "identifier" and not each.label and each.kind != "text"
            if is_free and (is_number(cells) or cells.dtype == pl.String):
                hint = hint_of(each.name) if is_number(cells) else None
                is_age = hint is not None and hint.topic.about == "age"
                columns[each.name] = ColumnBudget(change="up" if is_age else "any")
        return cls(columns=columns, most=most, **settings).for_rows(table)

    def for_rows(self, rows: object) -> Self:
        """Return the budget with the limits and costs of training rows where it has none.

        Parameters
        ----------
        rows
            The training rows.
        """
        table = as_columns(rows)
        related = [name for it in self.relations for name in it.terms]
        if absent := [name for name in (*self.columns, *related) if name not in table.columns]:
            raise ColumnNotFoundError.of(absent, table.columns, where="the rows")
        for name in related:
            if not is_number(table[name]):
                raise SchemaError(f"Column {name!r} of a relation must hold numbers.")
        filled = {name: _filled(it, name, table[name]) for name, it in self.columns.items()}
        return replace(self, columns=filled)

    def for_attack(self, rows: object) -> Self:
        """Return the budget as `for_rows` does, unless each change costs more.

        Parameters
        ----------
        rows
            The training rows.
        """
        found, table = self.for_rows(rows), as_columns(rows)
        least = min(_least(it, table[name].dtype, self.norm) for name, it in found.columns.items())
        if not are_within(np.array(least), self.most):
            raise ParameterError(
                f"Each change costs more than the budget of {self.most:g}: nothing may be changed, "
                "so no attack can be tried.",
                hint="Give a greater 'most'. By default another category costs 1, the whole range.",
            )
        return found

    def interval(self, column: pl.Series) -> tuple[Floats, Floats]:
        """Return between what each number may be changed; NaN where it is missing.

        A cell outside of the limits may stay, and may be changed towards them.

        Parameters
        ----------
        column
            The column of the rows.
        """
        it, cells = self.columns.get(column.name, ColumnBudget(change="no")), numbers(column)
        low, high = -inf if it.low is None else it.low, inf if it.high is None else it.high
        if is_whole(column.dtype):
            kind: Any = pl.UInt8 if column.dtype == pl.Boolean else column.dtype
            least, most = pl.select(low=kind.min(), high=kind.max()).row(0)
            most = 1 if column.dtype == pl.Boolean else most
            low, high = max(np.ceil(low), least), min(np.floor(high), most)
        return (
            np.minimum(cells, low) if it.change in {"down", "any"} else cells,
            np.maximum(cells, high) if it.change in {"up", "any"} else cells,
        )

    def _costs(self, column: str, cells: pl.Series, changed: pl.Series) -> Floats:
        """Return the cost of each cell of a column."""
        it = self.columns.get(column, ColumnBudget(change="no"))
        unit = it.cost or 1.0
        if is_number(cells):
            own, other = numbers(cells), numbers(changed)
            low, high = self.interval(cells)
            slack = SLACK * (np.abs(own) + np.abs(other))
            is_allowed = (low - slack <= other) & (other <= high + slack)
            is_allowed &= not is_whole(cells.dtype) or np.rint(other) == other
            costs = unit * np.abs(other - own)
        else:
            is_known = changed.is_in(it.categories or ()).fill_null(value=False)
            is_allowed = (cells.is_not_null() & is_known).to_numpy()
            costs = np.full(len(cells), unit)
        costs = np.ones(len(cells)) if self.norm == "columns" else costs
        allowed = np.where(is_allowed & (it.change != "no"), costs, inf)
        return np.where(cells.eq_missing(changed).to_numpy(), 0.0, allowed)

    def cost_of(self, rows: pl.DataFrame, changed: pl.DataFrame) -> Floats:
        """Return the cost of changing each row so; infinite where it isn't allowed.

        Parameters
        ----------
        rows, changed
            The rows before and after, with the same columns.
        """
        with np.errstate(invalid="ignore"):  # of infinite cells
            each = [self._costs(name, rows[name], changed[name]) for name in rows.columns]
            broken = [it.holds(rows) & ~it.holds(changed) for it in self.relations]
        return np.where(np.any(broken, axis=0), inf, combined(np.column_stack(each), self.norm))

    def to_dict(self) -> dict[str, Any]:
        """Return the budget for JSON, without defaults."""
        found = asdict(self)
        for each in found["columns"].values():
            for name in [name for name, value in each.items() if value is None]:
                del each[name]
        related = list(found.pop("relations"))  # last, where an owner adds one to a file
        return {**found, "relations": related} if related else found

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Self:
        """Return the budget that `to_dict` gave.

        Parameters
        ----------
        found
            What JSON held.
        """
        try:
            columns = {name: ColumnBudget(**it) for name, it in found["columns"].items()}
            relations = tuple(Relation(**it) for it in found.get("relations", ()))
            return cls(**{**found, "columns": columns, "relations": relations})
        except (AttributeError, KeyError, TypeError):
            raise PolicyError(
                "The budget has an unknown key or lacks one.",
                hint="Give most, and under columns a table of each. Its keys are "
                f"{', '.join(ColumnBudget.__dataclass_fields__)}.",
            ) from None

    def to_toml(self) -> str:
        """Return the budget as TOML; `from_toml` reads it."""
        return tomlkit.dumps(self.to_dict())

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Read a budget from TOML.

        Parameters
        ----------
        text
            The TOML.
        """
        try:
            return cls.from_dict(tomllib.loads(text))
        except (tomllib.TOMLDecodeError, RecursionError):
            raise PolicyError(
                "The budget isn't valid TOML.", hint="Write each key and each table once."
            ) from None


def _is_a(kind: Any) -> Callable[[object], bool]:  # noqa: ANN401 # a type or several
    return lambda value: isinstance(value, kind)


def combined(costs: Floats, norm: Norm) -> Floats:
    """Return the costs of columns, the last axis, as one cost."""
    return np.asarray(costs.max(axis=-1, initial=0.0) if norm == "greatest" else costs.sum(axis=-1))


def are_within(costs: Floats, most: float) -> Bools:
    """Return which costs are at most the budget; what sums and products round doesn't count."""
    return np.asarray(costs <= most * (1 + SLACK))


def as_columns(rows: Rows) -> pl.DataFrame:
    """Return rows of any kind as columns, those of an array under their numbers."""
    if not isinstance(rows, np.ndarray) or rows.ndim != 2:
        return to_polars(rows)
    with foreign(f"The array of {len(rows):,} rows can't be turned into columns"):
        return to_polars(pl.DataFrame({str(n): each.tolist() for n, each in enumerate(rows.T)}))


def is_number(cells: pl.Series) -> bool:
    """Return whether a column holds numbers or truth values."""
    return cells.dtype.is_numeric() or cells.dtype == pl.Boolean


def is_whole(kind: pl.DataType) -> bool:
    """Return whether a column of a type can only hold whole numbers or truth values."""
    return kind.is_integer() or kind == pl.Boolean


def numbers(cells: pl.Series) -> Floats:
    """Return the numbers of a column; NaN where one is missing."""
    return cells.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _least(it: ColumnBudget, kind: pl.DataType, norm: Norm) -> float:
    """Return what each change of a column costs at least; infinite where there is none."""
    if it.change == "no" or it.categories == ():
        return inf
    if norm == "columns":
        return 1.0
    return (it.cost or 1.0) if it.categories is not None or is_whole(kind) else 0.0


def _filled(it: ColumnBudget, name: str, cells: pl.Series) -> ColumnBudget:
    """Return a column's budget with the limits and the cost of cells where it has none."""
    has_range = it.change in {"up", "down"} or (it.low, it.high) != (None, None)
    if cells.dtype == pl.String and not has_range:
        chosen = it.categories
        if chosen is None:
            occurring = cells.drop_nulls().unique().sort().to_list()
            chosen = tuple(occurring) if len(occurring) > 1 else ()
        way: Change = it.change if chosen else "no"
        return replace(it, change=way, categories=chosen, cost=it.cost or 1.0)
    if not is_number(cells) or it.categories is not None:
        raise SchemaError(
            f"The budget of column {name!r} doesn't fit its cells. Numbers have a range and a "
            "direction, and texts have categories; other types can't be changed.",
            hint="Leave the column out of the budget, or give what fits.",
        )
    there = numbers(cells)[np.isfinite(numbers(cells))]
    least, most = (float(there.min()), float(there.max())) if len(there) else (0.0, 0.0)
    low, high, unit = it.low, it.high, 1 / (most - least) if most > least else 1.0
    low = min(least, most if high is None else high) if low is None else low
    high = max(most, low) if high is None else high
    change: Change = "no" if least == most == low == high else it.change
    return replace(it, change=change, low=low, high=high, cost=it.cost or unit)
