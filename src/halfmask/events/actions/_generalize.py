"""Generalize, Recode and RecodeMany: other values, by a hierarchy or by a secret table."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import polars as pl
from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from halfmask._errors import HierarchyError, PolicyError
from halfmask._sections import Number, Whole
from halfmask.data import Groups, Hierarchy, Intervals, Prefix, read_hierarchy
from halfmask.events.actions._action import Action, Memo
from halfmask.events.block._values import Kind, written_text
from halfmask.events.block._words import exact_float, lookup_word, scalar_token
from halfmask.events.policy._sections import EventSection, Text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.data import HierarchyRule
    from halfmask.events.actions._action import Resources
    from halfmask.events.block._level import Level
    from halfmask.events.block._words import Token
    from halfmask.events.running._context import Applier, Context
    from halfmask.events.secrets._tables import ElementPart, TableKind


class Recode(Action):
    """Write what a secret table says for the value.

    Parameters
    ----------
    table
        The name of a secret table of kind ``recode``.
    other
        What is written for values that it doesn't have; without it they are dropped, and counted
        as ``not-in-table``. They can't be kept: a value that nobody thought of could be anybody's.

    Notes
    -----
    **Guarantees.** Nothing is written but what the table or `other` says.

    **Edge cases.** It reveals which values are equal, unless the table gives several the same,
    and how often each occurs. The holder of the table can reverse it. It is no key, so a second
    release by the same table can be joined to this one. Values are looked up by their text: the
    number 1.0 and the text "1" are the entry "1".

    Examples
    --------
    >>> Recode(table="quantities").weaknesses
    ('equality-leaking', 'frequency-leaking', 'joinable')
    """

    do: Literal["recode"] = "recode"
    table: Text
    other: StrictStr | StrictBool | StrictInt | StrictFloat | None = Field(
        default=None, union_mode="left_to_right"
    )

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What recoded values reveal."""
        return ("equality-leaking", "frequency-leaking", "joinable")

    def tables(self) -> tuple[tuple[str, TableKind], ...]:
        """Return the table's name."""
        return ((self.table, "recode"),)

    def bind(self, resources: Resources) -> Applier:
        """Return the recoder."""
        entries: dict[str, Token] = resources.table(self.table, "recode").entries()
        other = None if self.other is None else scalar_token(self.other)

        def recoded(kind: Kind, token: bytes) -> Token | str:
            found = entries.get(lookup_word(kind, token) or "", other)
            return "not-in-table" if found is None else found

        return Memo(recoded)


#: An element stays unchanged; it is dropped.
STAYS, GOES = -1, -2


class RecodeMany(Action):
    """Replace each element of an array by several, by a secret table.

    A sale of 2 pieces of one product becomes 2 of another and 6 of a third. The rules of the
    element's fields then work on what the table made: without a rule a field isn't written.

    Parameters
    ----------
    table
        The name of a secret table of kind ``recode-many``. Its fields are named from the element
        on, such as ``name`` or ``size.width``; ``""`` is an element that is no object.
    by
        The path of the field that is looked up, such as ``products[].name``.
    other
        What becomes of elements that the table doesn't have: ``drop`` them, counted as
        ``not-in-table``, or leave them to ``stay``: what is kept of them is up to the rules of
        their fields.

    Notes
    -----
    **Guarantees.** Elements come in the order of the table, in the place of the one that they were.
    Numbers are multiplied exactly.

    **Edge cases.** It reveals that elements belong together: those that always come together,
    in the same proportions, show what the table says. Frequent elements become frequent groups.
    The holder of the table can reverse it. Conditions see the original element. With ``stay``, an
    attacker sees which elements the table lacks.

    Examples
    --------
    >>> RecodeMany(table="shelf", by="products[].name").weaknesses
    ('equality-leaking', 'frequency-leaking', 'joinable')
    """

    do: Literal["recode-many"] = "recode-many"
    table: Text
    by: Text
    other: Literal["drop", "stay"] = "drop"

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What groups of elements reveal."""
        return ("equality-leaking", "frequency-leaking", "joinable")

    def reads(self) -> tuple[str, ...]:
        """Return the path of the field that is looked up."""
        return (self.by,)

    def tables(self) -> tuple[tuple[str, TableKind], ...]:
        """Return the table's name."""
        return ((self.table, "recode-many"),)

    def splitter(self, resources: Resources) -> Splitter:
        """Return what chooses the entry of each element.

        Parameters
        ----------
        resources
            The secret tables and keys of the run.
        """
        entries = resources.table(self.table, "recode-many").entries()
        return Splitter(by=self.by, entries=entries, stays=self.other == "stay")


class Splitter:
    """Chooses the table's entry for each element."""

    __slots__ = ("_by", "_numbers", "_stays", "parts")

    def __init__(
        self, *, by: str, entries: dict[str, tuple[ElementPart, ...]], stays: bool
    ) -> None:
        self._by = by
        self._stays = stays
        self._numbers = {word: number for number, word in enumerate(entries)}
        #: What an element of each entry becomes.
        self.parts = tuple(entries.values())

    def fields(self) -> set[str]:
        """Return the fields that the table sets or multiplies, from the element on."""
        each = (part for parts in self.parts for part in parts)
        return {field for part in each for field in (*part.set, *part.times)}

    def chosen(self, level: Level, slots: NDArray[np.bool_], context: Context) -> NDArray[np.int64]:
        """Return the entry of each element, or `STAYS`, or `GOES`."""
        codes, tokens = context.values(self._by, level).distinct()
        words = [lookup_word(*token) for token in tokens]
        found = [STAYS if word is None else self._numbers.get(word, STAYS) for word in words]
        chosen = np.array([*found, STAYS], np.int64)[codes]
        lacking = chosen == STAYS
        if not self._stays:
            context.fail("not-in-table", level, slots & lacking)
            chosen = np.where(lacking, np.int64(GOES), chosen)
        return chosen


class HierarchySection(EventSection):
    """``hierarchy`` of `Generalize`: one of a file and three rules.

    Parameters
    ----------
    file
        A CSV file of ARX, relative to the policy: a value, then its coarser labels.
    delimiter
        Between its cells; ``;``.
    groups
        Named groups of values, or of groups.
    intervals, origin
        Widths of intervals of numbers, the narrowest first, and where one starts.
    prefix, length
        Characters that are kept, the most first, of labels of such a length.
    """

    file: Text | None = None
    delimiter: Annotated[str, Field(strict=True, min_length=1, max_length=1)] = ";"
    groups: dict[str, object] | None = None
    intervals: tuple[Number, ...] | None = None
    origin: Number = 0.0
    prefix: tuple[Whole, ...] | None = None
    length: Annotated[Whole, Field(ge=1, le=1_000)] | None = None

    def model_post_init(self, context: object, /) -> None:  # noqa: ARG002 # pydantic's
        """Check that there is one way to make it."""
        rules = {
            name: getattr(self, name)
            for name in ("file", "groups", "intervals", "prefix")
            if getattr(self, name) is not None
        }
        if len(rules) != 1:
            raise PolicyError(
                "must have exactly one of file, groups, intervals and prefix. "
                f"Got {len(rules)} of them."
            )
        if (self.prefix is None) != (self.length is None):
            raise PolicyError("must have 'length' with 'prefix', and only then.")
        if self.file is not None:
            named = self.file
            anchored = PurePosixPath(named).is_absolute() or PureWindowsPath(named).anchor
            if anchored or "://" in named or "\0" in named:
                raise PolicyError("has a file that isn't given relative to the policy file.")
        else:
            self.made(None)  # raises where the rule can't be

    def made(self, folder: Path | None) -> Hierarchy | HierarchyRule:
        """Return the hierarchy, or the rule that makes one.

        Parameters
        ----------
        folder
            The folder of hierarchy files; ``None`` without files.

        Raises
        ------
        PolicyError
            If there is a file and no folder to look for it in.
        HierarchyError, ParameterError
            If it can't be.
        """
        if self.intervals is not None:
            return Intervals(self.intervals, origin=self.origin)
        if self.prefix is not None:
            return Prefix(self.prefix, length=self.length)
        if self.groups is not None:
            return Groups(self.groups).build(pl.Series([], dtype=pl.String), column="groups")
        if folder is None:
            raise PolicyError(
                "A rule has a hierarchy file, and no folder to look for it in is known.",
                hint="Load the policy from its file, or give the folder.",
            )
        return read_hierarchy(folder / str(self.file), column="values", delimiter=self.delimiter)


class Generalize(Action):
    """Write a coarser label of a hierarchy: a region for a town.

    Parameters
    ----------
    hierarchy
        A file or a rule; see `HierarchySection`.
    level
        Which level is written, at least 1.

    Notes
    -----
    **Guarantees.** What is written depends on the label alone, and is one of the hierarchy's.

    **Edge cases.** It reveals which labels are equal, and how often each occurs; a label that
    few values have says about as much as they. Values that the hierarchy lacks are dropped, and
    counted as ``not-in-hierarchy``.

    Examples
    --------
    >>> Generalize(hierarchy={"intervals": (10.0,)}, level=1).weaknesses
    ('equality-leaking', 'frequency-leaking')
    """

    do: Literal["generalize"] = "generalize"
    hierarchy: HierarchySection
    level: Annotated[Whole, Field(ge=1, le=255)]

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What labels reveal."""
        return ("equality-leaking", "frequency-leaking")

    def bind(self, resources: Resources) -> Applier:
        """Return the generalizer."""
        made = self.hierarchy.made(resources.folder)
        if isinstance(made, Hierarchy):
            return Memo(_Looked(made, self.level).label)
        return Memo(_Ruled(made, self.level).label)


class _Looked:
    """Looks labels up in a hierarchy that is known whole."""

    __slots__ = ("_labels",)

    def __init__(self, tree: Hierarchy, level: int) -> None:
        if level >= tree.height:
            raise HierarchyError(
                f"A hierarchy has levels 0 to {tree.height - 1}; there is no level {level}."
            )
        self._labels = dict(zip(tree.leaves, tree.labels(level), strict=True))

    def label(self, kind: Kind, token: bytes) -> Token | str:
        label = self._labels.get(lookup_word(kind, token) or "")
        return "not-in-hierarchy" if label is None else (Kind.STRING, written_text(label))


class _Ruled:
    """Makes the label of one value at a time, by a rule whose labels depend on nothing else."""

    __slots__ = ("_level", "_numeric", "_rule")

    def __init__(self, rule: HierarchyRule, level: int) -> None:
        self._rule = rule
        self._level = level
        self._numeric = isinstance(rule, Intervals)
        tried = self._tree(0.0 if self._numeric else "x")
        if level >= tried.height:
            raise HierarchyError(
                f"A hierarchy has levels 0 to {tried.height - 1}; there is no level {level}."
            )

    def label(self, kind: Kind, token: bytes) -> Token | str:
        if self._numeric and kind not in {Kind.INTEGER, Kind.NUMBER}:
            return "wrong-type"
        word = lookup_word(kind, token) or ""
        value = exact_float(word) if self._numeric else word
        if value is None:
            return "out-of-range"
        try:
            return Kind.STRING, written_text(self._tree(value).labels(self._level)[0])
        except HierarchyError:
            return "not-in-hierarchy"

    def _tree(self, value: float | str) -> Hierarchy:
        return self._rule.build(pl.Series([value]), column="values")
