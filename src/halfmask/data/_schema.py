"""The schema of a table's columns: the role, kind, hierarchy and missing policy of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from halfmask._errors import ColumnNotFoundError, SchemaError
from halfmask._html_table import html_table
from halfmask._validation import integer_at_least, list_of, number_between, one_of

if TYPE_CHECKING:
    from halfmask.data.hierarchy._rules import HierarchyRule
    from halfmask.data.hierarchy.tree import Hierarchy

#: What a column says about a person.
Role: TypeAlias = Literal["identifier", "quasi_identifier", "sensitive", "insensitive"]
#: What the values of a column are.
Kind: TypeAlias = Literal["numeric", "ordinal", "categorical", "datetime", "geo", "text"]
#: What becomes of missing cells: a value of their own, their row suppressed, or an error.
Missing: TypeAlias = Literal["value", "suppress", "reject"]

ROLES: tuple[Role, ...] = get_args(Role)
KINDS: tuple[Kind, ...] = get_args(Kind)
MISSING: tuple[Missing, ...] = get_args(Missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What is declared about one column.

    Parameters
    ----------
    name
        The column's name as the table has it, not empty.
    role
        ``"identifier"`` is dropped (or masked); ``"quasi_identifier"``, which points at people in
        combination, is generalized; ``"sensitive"`` is what nobody may learn about a person;
        ``"insensitive"`` is none of these and stays unchanged.
    kind
        What the values are: ``"numeric"``, ``"ordinal"``, ``"categorical"``, ``"datetime"``,
        ``"geo"`` or ``"text"``.
    hierarchy
        The column's levels of generalization, built or as a rule that builds them, or ``None``.
    missing
        What a missing cell is: ``"value"``, a value of its own; ``"suppress"``, its row is
        left out; ``"reject"``, an error.
    label
        Whether a model is to predict this column.
    weight
        How much the detail of a quasi-identifier matters, compared with the others: above 0.
    least_level, greatest_level
        The lowest and the highest level of its hierarchy that full-domain generalization may
        choose, both included; ``None``: the hierarchy's.
    order
        The categories in their order, where the table's type has one.

    Raises
    ------
    ParameterError
        If role, kind or missing isn't one of the words above, the weight isn't above 0, or a
        level isn't a whole number.
    SchemaError
        If the name is empty, an identifier is a label, or the least level is above the greatest.

    Examples
    --------
    >>> Column(name="age", role="quasi_identifier", kind="numeric").missing
    'value'
    """

    name: str
    role: Role
    kind: Kind
    hierarchy: Hierarchy | HierarchyRule | None = None
    missing: Missing = "value"
    label: bool = False
    weight: float = 1.0
    least_level: int | None = None
    greatest_level: int | None = None
    order: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not self.name:
            raise SchemaError("A column must have a name that is not empty.")
        owner = f"column {self.name!r}"
        one_of(ROLES, owner=owner, role=self.role)
        one_of(KINDS, owner=owner, kind=self.kind)
        one_of(MISSING, owner=owner, missing=self.missing)
        number_between(0.0, inf, owner=owner, low_open=True, weight=self.weight)
        self._check_levels(owner)
        if self.label and self.role == "identifier":
            raise SchemaError(
                f"Column {self.name!r} is an identifier and a label; identifiers are dropped.",
                hint="Give it another role, or set label to false.",
            )

    def _check_levels(self, owner: str) -> None:
        levels = {"least_level": self.least_level, "greatest_level": self.greatest_level}
        given = {name: level for name, level in levels.items() if level is not None}
        integer_at_least(0, owner=owner, **given)
        if len(given) == 2 and given["least_level"] > given["greatest_level"]:
            raise SchemaError(
                f"Column {self.name!r} has a least level above its greatest. Got "
                f"{self.least_level} and {self.greatest_level}.",
                hint="Level 0 is the raw value; a higher level says less.",
            )


@dataclass(frozen=True, slots=True)
class Schema:
    """What is declared about every column of a table, in the table's order.

    Parameters
    ----------
    columns
        One `Column` for each column of the table; names differ.

    Raises
    ------
    SchemaError
        If two columns have the same name.

    Examples
    --------
    >>> schema = Schema(
    ...     (
    ...         Column(name="age", role="quasi_identifier", kind="numeric"),
    ...         Column(name="income", role="insensitive", kind="categorical", label=True),
    ...     )
    ... )
    >>> schema.quasi_identifiers, schema.label
    (('age',), ('income',))
    >>> schema["age"].kind
    'numeric'
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        list_of("Column", lambda it: isinstance(it, Column), owner="Schema", columns=self.columns)
        object.__setattr__(self, "columns", tuple(self.columns))
        twice = [name for name, n in Counter(self.names).items() if n > 1]
        if twice:
            raise SchemaError(
                f"These columns are described more than once: {', '.join(map(repr, twice))}.",
                hint="Keep one description for each column.",
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(column.name for column in self.columns)

    @property
    def identifiers(self) -> tuple[str, ...]:
        """The names of the columns that identify a person by themselves."""
        return self._of("identifier")

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The names of the columns that identify a person in combination."""
        return self._of("quasi_identifier")

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The names of the columns that nobody may learn of a person."""
        return self._of("sensitive")

    @property
    def insensitive(self) -> tuple[str, ...]:
        """The names of the columns that stay unchanged."""
        return self._of("insensitive")

    @property
    def label(self) -> tuple[str, ...]:
        """The names of the columns that a model is to predict."""
        return tuple(column.name for column in self.columns if column.label)

    @property
    def suppressing(self) -> tuple[str, ...]:
        """The names of the columns whose missing cells suppress the row.

        An identifier isn't read at all: none of its cells suppresses anything.
        """
        return tuple(
            column.name
            for column in self.columns
            if column.missing == "suppress" and column.role != "identifier"
        )

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise ColumnNotFoundError.of([name], self.names, where="the schema")

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def _repr_html_(self) -> str:
        """Show the columns as a table in a notebook, without labels of hierarchies."""
        return html_table(
            f"Schema of {len(self)} columns",
            ("column", "role", "kind", "hierarchy", "missing cells", "label"),
            (
                (
                    column.name,
                    column.role,
                    column.kind,
                    "" if column.hierarchy is None else "yes",
                    column.missing,
                    "yes" if column.label else "",
                )
                for column in self.columns
            ),
        )

    def __len__(self) -> int:
        return len(self.columns)

    def check(self, names: Iterable[str]) -> None:
        """Raise unless the schema names exactly the columns of a table.

        Parameters
        ----------
        names
            The names of the table's columns; their order doesn't matter.

        Raises
        ------
        ColumnNotFoundError
            If the schema names columns that the table doesn't have. A misspelt name is an error
            of this kind and says which name is near.
        SchemaError
            If the table has columns that the schema doesn't name. They get no default role: a
            column that nobody looked at may hold anything.
        """
        there = list(names)
        named, there_set = set(self.names), set(there)
        absent = [name for name in self.names if name not in there_set]
        if absent:
            unnamed = [name for name in there if name not in named]
            raise ColumnNotFoundError.of(absent, unnamed or there, where="the table")
        unnamed = [name for name in there if name not in named]
        if unnamed:
            raise SchemaError(
                "The schema doesn't name these columns of the table: "
                f"{', '.join(map(repr, unnamed))}.",
                hint="Give each of them a role; one that is not needed may be an identifier, "
                "which is dropped.",
            )

    def _of(self, role: Role) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.role == role)
