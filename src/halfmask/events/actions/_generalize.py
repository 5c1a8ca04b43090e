"""Generalize: a coarser label of a hierarchy."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Annotated, Literal

import polars as pl
from pydantic import Field

from halfmask._errors import HierarchyError, PolicyError
from halfmask._sections import Number, Whole
from halfmask.data import Groups, Hierarchy, Intervals, Prefix, read_hierarchy
from halfmask.events.actions._action import Action
from halfmask.events.actions._memo import Memo
from halfmask.events.block._values import Kind, written_text
from halfmask.events.block._words import exact_float, lookup_word
from halfmask.events.policy._sections import EventSection, Text

if TYPE_CHECKING:
    from halfmask.data import HierarchyRule
    from halfmask.events.actions._action import Resources
    from halfmask.events.block._words import Token
    from halfmask.events.running._context import Applier


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
