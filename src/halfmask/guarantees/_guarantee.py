"""Guarantees: values that judge the classes of a table, and their verdicts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from halfmask._errors import ParameterError
from halfmask._validation import check_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from halfmask.data import Hierarchy, Kind
    from halfmask.guarantees._classes import Classes
    from halfmask.guarantees._histogram import ClassMembers


Levels = npt.NDArray[np.float64]
Met = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judgement:
    """The level that every class achieves, and which classes miss the guarantee.

    Parameters
    ----------
    guarantee
        What was judged.
    achieved
        The level of the worst class: the smallest k or l, the largest c or t.
    levels
        The level of each class (float64); that of the table where it has one level.
    failing
        The indices of the classes that miss the guarantee, ascending (int64). Where the table has
        one level, those to blame for it.
    classes
        The number of classes that were judged.
    rows
        The number of rows in them.
    rows_failing
        The number of rows in the classes that miss.
    """

    guarantee: Guarantee
    achieved: float
    levels: Levels
    failing: npt.NDArray[np.int64]
    classes: int
    rows: int
    rows_failing: int

    def __repr__(self) -> str:
        return (
            f"Judgement({self.guarantee!r}: achieved {self.achieved:g}, "
            f"{len(self.failing)} of {self.classes} classes miss it)"
        )

    @property
    def holds(self) -> bool:
        """Whether no class misses the guarantee."""
        return self.failing.size == 0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Guarantee(ABC):
    """A privacy model with its parameters and its column.

    A subclass says how classes are measured (``_measure``), and brings everything that others ask
    of a model: nothing outside its module compares its name or its class.
    """

    model: ClassVar[str]
    """The name in policies and manifests."""
    sentence: ClassVar[str]
    """What it says of a release, in one sentence."""
    meaning: ClassVar[str] = ""
    """The same as a format of numbers, where the sentence has no letters for them."""
    bounded: ClassVar[str]
    """The parameter that the level of a class is held against."""
    monotone: ClassVar[bool] = True
    """Whether merging classes that meet the guarantee always gives a class that meets it."""
    monotone_with_suppression: ClassVar[bool] = False
    """Whether a class that meets the guarantee still does with any other rows added to it.

    Of the whole table: whether it still does once its smallest classes are suppressed, as few as
    must be, after some classes were merged.
    """
    worse_when_larger: ClassVar[bool] = False
    relative: ClassVar[bool] = False
    """Whether a class is held against the whole table, so that suppression anywhere moves it."""
    of_table: ClassVar[bool] = False
    """Whether the level is one number of the whole table: see ``TableGuarantee``."""
    basis: ClassVar[Literal["counted", "estimated"]] = "counted"
    """The evidence that a claim of it stands on."""
    needs_population: ClassVar[bool] = False
    """Whether classes are held against a population: see ``Classes.population``."""
    needs_written: ClassVar[bool] = False
    """Whether it reads what is written for each class in each column: ``Classes.written``."""
    weaknesses: ClassVar[tuple[str, ...]] = ()
    """The weaknesses of a release that has it, by name."""
    counts_persons: ClassVar[bool] = False
    """Whether it is defined where a person with several rows counts once in a class."""
    takes_several_values: ClassVar[bool] = False
    """Whether that is so, too, where a person has several values of the column."""
    monotone_in_persons: ClassVar[bool] = False
    """Whether it stays monotone in persons who have one value: see `merges_in`."""

    column: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Raise unless the parameters keep to the bounds of their fields, as in policies."""
        check_fields(self)

    @property
    def parameters(self) -> dict[str, float | int | str]:
        """The parameters as they stand in a policy; neither the column nor the hierarchy."""
        given = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in given.items()
            if name not in {"column", "hierarchy"} and value is not None
        }

    @property
    def required(self) -> float:
        """The level that every class must reach, or that none may exceed."""
        return float(getattr(self, self.bounded))

    @property
    def bound(self) -> Literal["at least", "at most"]:
        """In which direction `required` bounds a level."""
        return "at most" if self.worse_when_larger else "at least"

    @property
    def min_rows(self) -> int:
        """The least number of rows that a class which meets the guarantee can have."""
        return 1

    @property
    def class_size(self) -> int:
        """The rows of a class that a parameter such as k asks for; 1 if none does."""
        return self.min_rows if self.column is None else 1

    @property
    def over_all(self) -> Guarantee | None:
        """A guarantee of each class that implies it, where it is about fewer columns."""
        return None

    @property
    def needs_order(self) -> bool:
        """Whether the guarantee needs an order of values that it doesn't hold."""
        return False

    @property
    def support(self) -> pl.DataFrame | None:
        """The order or tree of the column's values, which a release publishes."""
        return None

    @classmethod
    def needs_hierarchy(cls, parameters: Mapping[str, object], kind: Kind | None) -> bool:  # noqa: ARG003 # a subclass needs them
        """Return whether, in a policy, the column must have a hierarchy.

        Parameters
        ----------
        parameters
            The parameters as the policy has them.
        kind
            The kind of the column.
        """
        return False

    @property
    def order(self) -> tuple[str, ...] | None:
        """The order in which values are counted; ``None``: the natural order."""
        return None

    def ordered(self, values: pl.Series, order: tuple[str, ...]) -> Guarantee:  # noqa: ARG002 # a subclass needs them
        """Return the guarantee with the order of its column, where it `needs_order`.

        Parameters
        ----------
        values
            The values that the column holds.
        order
            What the column's type says of their order; empty if nothing.
        """
        return self

    def restricted(self, values: pl.Series) -> Guarantee:  # noqa: ARG002 # a subclass needs them
        """Return the guarantee for a column that holds these values and no others.

        Parameters
        ----------
        values
            The values that the column holds.
        """
        return self

    def judge(self, classes: Classes) -> Judgement:
        """Measure every class.

        Parameters
        ----------
        classes
            The classes, counted.

        Raises
        ------
        ParameterError
            When there are no rows, or a class without any: an empty table keeps every guarantee,
            and a guarantee about nothing must not look like one that is kept.
        ColumnNotFoundError
            When the guarantee's column wasn't counted.

        Notes
        -----
        Where the classes have ``members``, the level of a class counts its persons, each once.
        ``rows`` and ``rows_failing`` are rows all the same.
        """
        if self.needs_population and classes.population is None:
            raise ParameterError(
                f"{self!r} can't be judged: the classes of the population weren't counted.",
                hint="Give the population to protect or measure.",
            )
        if classes.n_classes == 0 or int(classes.sizes.min()) == 0:
            raise ParameterError(
                f"{self!r} can't be judged: there are no rows, or a class has none.",
                hint="Check that the table isn't empty, and drop classes without rows.",
            )
        self.check_persons(classes)
        levels, met = self._measure(replace(classes.by_person(), members=classes.members))
        failing = np.flatnonzero(~met).astype(np.int64)
        return Judgement(
            guarantee=self,
            achieved=float(levels.max() if self.worse_when_larger else levels.min()),
            levels=levels,
            failing=failing,
            classes=classes.n_classes,
            rows=classes.rows,
            rows_failing=int(classes.sizes[failing].sum()),
        )

    def check_columns(self, n_columns: int) -> None:  # noqa: B027 # most models take any number
        """Raise unless the guarantee is defined for so many quasi-identifiers.

        Parameters
        ----------
        n_columns
            Their number.
        """

    def check_persons(self, classes: Classes) -> None:
        """Raise unless it is defined for the persons of classes that have members.

        Parameters
        ----------
        classes
            The classes.

        Raises
        ------
        ParameterError
            If the model isn't defined for persons, or only where a person has one value of the
            column and some have several.
        """
        if classes.members is None:
            return
        if not self.counts_persons:
            raise ParameterError(
                f"{self!r} isn't defined where a person is the unit.",
                hint="Ask for another model, or leave the person out: then it counts rows.",
            )
        if self.column is None or self.takes_several_values:
            return
        if several := classes.members.with_several_values(self.column):
            raise ParameterError(
                f"{self!r} isn't defined where a person has several values of the column: "
                f"{several} persons have.",
                hint="alpha-k-anonymity is defined: it bounds the share of the persons of a class "
                "who have a value.",
            )

    def merges_in(self, members: ClassMembers | None) -> bool:
        """Return whether merging classes that keep it gives one that keeps it.

        A person may be in both of the classes, with another value in each.

        Parameters
        ----------
        members
            The persons of the classes; ``None`` where rows are counted.
        """
        if members is None:
            return self.monotone
        if self.column is None or not self.monotone_in_persons:
            return self.monotone_in_persons
        return not members.with_several_values(self.column)

    def criterion(self) -> Criterion | None:
        """Return the rule by which the engine tests this at every cut.

        ``None`` where `min_rows` says it all, or where the engine has no rule for it: cells that
        miss the guarantee are then merged with their neighbours after they have grown.
        """
        return None

    @abstractmethod
    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        """Return the level of each class, and whether it meets the guarantee."""

    def __repr__(self) -> str:
        """Show the model's parameters and column; never a hierarchy, which holds values."""
        shown = [f"{name}={value!r}" for name, value in self.parameters.items()]
        if self.column is not None:
            shown.append(f"column={self.column!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


def size_asked(guarantees: Iterable[Guarantee], *, least: int = 1) -> int:
    """Return the class size that guarantees require: k, or ``least`` if larger.

    Examples
    --------
    >>> from halfmask.guarantees import DistinctLDiversity, KAnonymity
    >>> size_asked([KAnonymity(k=10), DistinctLDiversity(l=20, column="ill")])
    10
    """
    return max([least, *(each.class_size for each in guarantees)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """The rule of the engine that tests a guarantee, and its parameters as numbers.

    Parameters
    ----------
    rule
        The name of the rule; see ``RULES`` in ``halfmask.kernels.partition.criteria``.
    column
        The sensitive column that it counts.
    thresholds
        The parameters, in the order that the rule takes them.
    hierarchy
        The tree of a distance, or the order of its values.
    """

    rule: str
    column: str
    thresholds: tuple[float, ...]
    hierarchy: Hierarchy | None = None
