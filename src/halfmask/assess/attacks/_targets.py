"""What is attacked: a model that was trained on people, or a table that was released of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError, SchemaError
from halfmask.assess.attacks._attack import EVERYONE
from halfmask.assess.attacks._inputs import (
    TakenInputs,
    as_listed,
    as_table,
    as_whole_numbers,
    check_columns,
    check_owners,
    check_plain,
    listed,
    row_count,
    several,
)
from halfmask.assess.attacks._rows import align_rows, kind_of, order_columns
from halfmask.data import Hierarchy

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.assess._arrays import Ints
    from halfmask.assess.robustness import AttackerBudget
    from halfmask.guarantees import Guarantee

#: Trains a model as its owner does, protection included: rows, labels, seed -> model.
Train = Callable[[Any, Any, int], Any]
#: Instead of owners: rows are in another order, and nobody knows which.
UNKNOWN: Final = "unknown"


def _budget(value: Any, *, parameter: str, owner: str) -> Any:  # noqa: ANN401 # sklearn loads late
    if not hasattr(value, "cost_of"):
        raise ParameterError(
            f"The {parameter!r} parameter of {owner} must be an AttackerBudget. "
            f"Got a value of type {type(value).__name__}.",
            hint="Write AttackerBudget.of_table(rows, most=...).",
        )
    return value


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class ModelTarget(TakenInputs):
    """A trained model, the people whose rows trained it, and other people.

    Parameters
    ----------
    model
        A model with ``predict_proba`` and ``classes_``, a model with ``predict`` alone, or a
        callable from rows to probabilities (rows, classes). The columns of the callable are in the
        order of ``numpy.unique`` of all labels.
    members, member_labels
        The training rows *before protection*: an attacker knows people by these rows. A frame or an
        array; all rows of one kind.
    non_members, non_member_labels
        Rows of other people of the same population, who didn't train the model. Columns of frames
        may be in another order, hold integers instead of floats, or be empty.
    trained_rows
        The members' rows after protection, if they differ: one row for each member, in the same
        order. The attacks then score and report both.
    train
        A function that trains a model as the owner does, protection included. Attacks with shadow
        models need it.
    groups
        The descriptions of subgroups, all different, and the group numbers: first of the members,
        then of the non-members (-1: no group). The report covers everyone and the worst group.
    secrets
        Columns that an attacker wants to infer about members, by name (frames) or number (arrays).
        Attribute inference needs them.
    budget
        What an attacker may change of a row that the model predicts. Evasion needs it.

    Raises
    ------
    ParameterError
        If rows and labels, or members and trained rows, differ in length or can't be counted,
        members and non-members are of different kinds, a group's number has no description, or two
        groups have the same.
    ColumnNotFoundError
        If a secret or a budget's column isn't there, or rows have a column that others haven't.
    SchemaError
        If several columns have a secret's name, rows have different numbers of columns, or a column
        has one type for members and another one for non-members.
    """

    model: Any
    members: Any
    member_labels: Any
    non_members: Any
    non_member_labels: Any
    trained_rows: Any = None
    train: Train | None = None
    groups: tuple[Sequence[str], NDArray[np.int64]] | None = None
    secrets: tuple[str | int, ...] = field(default=(), metadata={"take": listed("columns")})
    budget: AttackerBudget | None = field(default=None, metadata={"take": _budget})

    def __post_init__(self) -> None:
        TakenInputs.__post_init__(self)
        pairs = (
            ("members", self.members, "member_labels", self.member_labels),
            ("non_members", self.non_members, "non_member_labels", self.non_member_labels),
        )
        for first, rows, second, labels in pairs:
            counts = row_count(rows, parameter=first), row_count(labels, parameter=second)
            if counts[0] != counts[1]:
                raise ParameterError(
                    f"{first} and {second} must be as many. Got {counts[0]} and {counts[1]}."
                )
        if self.trained_rows is not None:
            n_trained = row_count(self.trained_rows, parameter="trained_rows")
            if n_trained != self.n_members:
                raise ParameterError(
                    "trained_rows must be as many as members. "
                    f"Got {n_trained} and {self.n_members}."
                )
        self._lay_beside()
        if self.groups is not None:
            groups = several(
                self.groups, parameter="groups", owner="ModelTarget", of="descriptions and numbers"
            )
            object.__setattr__(self, "groups", self._checked_groups(groups))
        for secret in self.secrets:
            self._check_secret(secret)
        if self.budget is not None:
            related = [name for it in self.budget.relations for name in it.terms]
            wanted, there = [*self.budget.columns, *related], list(map(str, self._columns))
            check_columns(wanted, there, where="the members' rows")

    def _lay_beside(self) -> None:
        """Put the columns of all rows into the members' order."""
        parameter = "non_members"
        others = align_rows(self.non_members, self.members, parameter=parameter)
        object.__setattr__(self, parameter, others)
        # What was protected is asked about, and never joined: its types are its own.
        if self.trained_rows is not None and kind_of(self.trained_rows) == kind_of(self.members):
            parameter = "trained_rows"
            rows = order_columns(self.trained_rows, self.members, parameter=parameter)
            object.__setattr__(self, parameter, rows)

    def _checked_groups(self, groups: tuple[Any, ...]) -> tuple[Sequence[str], Ints]:
        if len(groups) != 2:
            raise ParameterError("groups must be the descriptions of groups and a list of numbers.")
        owner = "ModelTarget"
        names = as_listed(groups[0], parameter="groups", owner=owner, of="descriptions")
        if EVERYONE in names:
            raise ParameterError(
                f"No group may have the description {EVERYONE!r}: all people are called so."
            )
        numbers = as_whole_numbers(groups[1], parameter="groups", owner=owner)
        if len(numbers) != self.n_members + self.n_non_members:
            raise ParameterError("groups must have a number for each member and non-member.")
        if len(numbers) and not -1 <= np.min(numbers) <= np.max(numbers) < len(names):
            raise ParameterError(
                f"The numbers of groups must be -1 or of one of the {len(names)} descriptions. "
                f"Got {int(np.min(numbers))} to {int(np.max(numbers))}."
            )
        return names, numbers

    def _check_secret(self, secret: str | int) -> None:
        columns = self._columns
        if secret not in columns:
            raise ColumnNotFoundError.of(
                [str(secret)], map(str, columns), where="the members' rows"
            )
        if columns.count(secret) > 1:
            raise SchemaError(
                f"Column {secret!r} is there {columns.count(secret)} times in the members' rows.",
                hint="Give a secret column a name of its own.",
            )

    @property
    def _columns(self) -> list[Any]:
        shape = np.shape(self.members)
        return list(getattr(self.members, "columns", range(shape[1] if len(shape) > 1 else 0)))

    def __repr__(self) -> str:
        return f"ModelTarget({self.n_members} members, {self.n_non_members} non-members)"

    @property
    def n_members(self) -> int:
        """How many rows trained the model."""
        return len(self.members)

    @property
    def n_non_members(self) -> int:
        """How many rows didn't."""
        return len(self.non_members)


def _owners(value: object, *, parameter: str, owner: str) -> Ints | Literal["unknown"]:
    if isinstance(value, str) and value == UNKNOWN:
        return UNKNOWN
    return as_whole_numbers(value, parameter=parameter, owner=owner)


def _guarantees(value: object, *, parameter: str, owner: str) -> tuple[Guarantee, ...]:
    given = several(value, parameter=parameter, owner=owner, of=parameter, or_none=True)
    if not all(hasattr(each, "judge") for each in given):
        raise ParameterError(
            f"The {parameter!r} parameter of {owner} must be a list of guarantees.",
            hint="Write guarantees=[KAnonymity(k=...)].",
        )
    return given


def _pairs(
    value: object, *, parameter: str, owner: str
) -> tuple[tuple[pl.DataFrame, pl.DataFrame], ...]:
    """Return releases with the rows they were made of: one pair, or a list of them."""
    pairs = () if value is None else value
    given = several(pairs, parameter=parameter, owner=owner, of="two tables", or_none=True)
    if given and not isinstance(given[0], tuple | list):
        given = (given,)
    if not all(isinstance(each, tuple | list) and len(each) == 2 for each in given):
        raise ParameterError(
            f"The {parameter!r} parameter of {owner} must be releases, each with its rows.",
            hint="Write earlier=[(released, original)].",
        )
    return tuple((as_table(released), as_table(rows)) for released, rows in given)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableTarget(TakenInputs):
    """A released table, the rows it was made of, and people who aren't in it.

    Parameters
    ----------
    released
        What left, as polars; frames of other libraries are turned, here and below.
    original
        The rows it was made of.
    control
        Rows of the same population that had no part in it; without any only those attacks run that
        count over all rows.
    quasi_identifiers
        The columns that an attacker may know.
    secrets
        The columns that an attacker wants to learn; those of the guarantees if none are named.
    guarantees
        The guarantees of the release.
    hierarchies
        Published hierarchies by column: an attacker knows them.
    earlier
        Releases of overlapping people that left before, each with the rows it was made of, for
        attacks that intersect; one pair, or a list of them.
    person
        The column that says whose row it is, to find people in earlier releases: attackers don't
        know it. ``None``: people are found by their rows.
    owners
        For each released row the number of its original row: linkage is judged by it. ``None``:
        rows are in the same order. ``"unknown"``: only attacks that need no owners are run.

    Raises
    ------
    ParameterError
        If a column isn't in the original, names or guarantees are no list, hierarchies are none by
        column, or owners are neither ``"unknown"`` nor numbers of its rows.
    DataError, SchemaError
        If a table is no frame, or one that can't be turned.
    """

    released: pl.DataFrame = field(metadata={"take": as_table})
    original: pl.DataFrame = field(metadata={"take": as_table})
    control: pl.DataFrame | None = field(default=None, metadata={"take": as_table})
    quasi_identifiers: tuple[str, ...] = field(default=(), metadata={"take": listed("columns")})
    secrets: tuple[str, ...] = field(default=(), metadata={"take": listed("columns")})
    guarantees: tuple[Guarantee, ...] = field(default=(), metadata={"take": _guarantees})
    hierarchies: dict[str, Hierarchy] | None = None
    earlier: Sequence[tuple[pl.DataFrame, pl.DataFrame]] = field(
        default=(), metadata={"take": _pairs}
    )
    person: str | None = None
    owners: NDArray[np.int64] | Literal["unknown"] | None = field(
        default=None, metadata={"take": _owners}
    )

    def __post_init__(self) -> None:
        TakenInputs.__post_init__(self)
        for name in (*self.quasi_identifiers, *self.secrets):
            if name not in self.original.columns:
                raise ParameterError(f"Column {name!r} isn't in the original table.")
        for rows in (self.original, *(rows for _, rows in self.earlier)):
            if self.person is not None:
                check_columns([self.person], rows.columns, where="the original rows")
                check_plain(rows, [self.person], where="the original rows")
                if gaps := rows[self.person].null_count():
                    raise DataError(f"The column of the person is missing in {gaps:,} rows.")
        if self.hierarchies is not None and not _are_hierarchies(self.hierarchies):
            raise ParameterError(
                "The 'hierarchies' parameter of TableTarget must be hierarchies by column.",
                hint="Give hierarchies of read_hierarchy, not their rules.",
            )
        if not isinstance(self.owners, str):
            check_owners(
                self.owners,
                self.released.height,
                self.original.height,
                hint='If you don\'t know it, write owners="unknown": fewer attacks are run.',
            )

    def __repr__(self) -> str:
        return f"TableTarget({self.released.height} released of {self.original.height} rows)"

    @property
    def missing_owners(self) -> str:
        """What is missing if the owners are unknown; empty if they are known."""
        unknown = isinstance(self.owners, str) and self.owners == UNKNOWN
        return "the original row of each released row (owners)" if unknown else ""

    @property
    def owner_of_row(self) -> NDArray[np.int64]:
        """The number of each released row's original row."""
        if isinstance(self.owners, str):  # an attack says in missing_inputs that it needs them
            raise ParameterError("The attack needs the owner of each released row.")
        if self.owners is not None:
            return self.owners
        return np.arange(self.released.height, dtype=np.int64)


def _are_hierarchies(given: object) -> bool:
    return isinstance(given, Mapping) and all(
        isinstance(each, Hierarchy) for each in given.values()
    )
