"""A dimension of a table: its codes, and the sums that hold between them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from halfmask._errors import HierarchyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class CodeSum:
    """One code that is the sum of others, such as a region of its districts."""

    total: str
    #: At least one, each once.
    parts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Dimension:
    """The codes of a dimension, and which of them are sums of others.

    Parameters
    ----------
    name
        The name of its column.
    codes
        Every code, in the order in which a table shows them.
    sums
        Which codes are sums of others. One code may be several sums, and a code may be part of
        several: so there are several trees over one list of codes, and sums that overlap.
    total
        The code that covers all others.

    Raises
    ------
    HierarchyError
        If a sum has an unknown code or a cycle, counts a code twice, disagrees with another sum of
        the same code, or if a code isn't covered by the total.

    Examples
    --------
    >>> sector = Dimension(
    ...     name="sector",
    ...     codes=("Total", "farms", "mines", "shops"),
    ...     sums=(
    ...         CodeSum("Total", ("farms", "mines", "shops")),
    ...     ),
    ...     total="Total",
    ... )
    >>> sector.leaves
    ('farms', 'mines', 'shops')
    """

    name: str
    codes: tuple[str, ...]
    sums: tuple[CodeSum, ...]
    total: str

    def __post_init__(self) -> None:
        if len(set(self.codes)) != len(self.codes):
            raise HierarchyError(f"Dimension {self.name!r} has a code twice.")
        if "" in self.codes:
            raise HierarchyError(
                f"Dimension {self.name!r} has a code that is an empty text.",
                hint="Give it a name, such as unknown.",
            )
        for each in self.sums:
            unknown = {each.total, *each.parts} - set(self.codes)
            if unknown or not each.parts:
                raise HierarchyError(
                    f"A sum of dimension {self.name!r} has {len(unknown)} unknown codes.",
                    hint="Each total and each part of a sum must be a code of the dimension.",
                )
        if self.total not in self.codes:
            raise HierarchyError(
                f"Dimension {self.name!r} lacks the code of its total.",
                hint="Name this code under the key total.",
            )
        if len(self.covers[self.total]) != len(self.leaves):
            raise HierarchyError(
                f"The total of dimension {self.name!r} covers {len(self.covers[self.total])} of "
                f"{len(self.leaves)} codes at the bottom.",
                hint="Each code must be part of a sum that leads to the total.",
            )

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The codes that are no sums, in the order of `codes`."""
        totals = {each.total for each in self.sums}
        return tuple(code for code in self.codes if code not in totals)

    @cached_property
    def position(self) -> Mapping[str, int]:
        """The position of each code in `codes`."""
        return {code: number for number, code in enumerate(self.codes)}

    @cached_property
    def covers(self) -> Mapping[str, frozenset[str]]:
        """The leaves that each code covers: a leaf covers itself."""
        parts: dict[str, list[str]] = {}
        for each in self.sums:
            parts.setdefault(each.total, []).extend(each.parts)
        try:
            place = {code: at for at, code in enumerate(TopologicalSorter(parts).static_order())}
        except CycleError:
            raise HierarchyError(
                f"The sums of dimension {self.name!r} lead back to themselves."
            ) from None  # it has codes
        found = {leaf: frozenset([leaf]) for leaf in self.leaves}
        for each in sorted(self.sums, key=lambda it: place[it.total]):
            self._cover(each, found)
        return found

    def _cover(self, each: CodeSum, found: dict[str, frozenset[str]]) -> None:
        counts = Counter(leaf for part in each.parts for leaf in found[part])
        if len(counts) < counts.total():
            raise HierarchyError(
                f"A sum of dimension {self.name!r} counts a code twice.",
                hint="The parts of one sum must not overlap. Write overlapping groups as sums of "
                "their own.",
            )
        if found.setdefault(each.total, frozenset(counts)) != frozenset(counts):
            raise HierarchyError(
                f"Two sums of dimension {self.name!r} have one total and cover different codes.",
                hint="All sums of one code must cover the same codes at the bottom.",
            )

    @cached_property
    def depth(self) -> int:
        """The most codes that cover one leaf, itself among them."""
        counts = Counter(leaf for code in self.codes for leaf in self.covers[code])
        return max(counts.values())


def flat_dimension(name: str, codes: Sequence[str], *, total: str = "Total") -> Dimension:
    """Return a dimension whose total is the sum of all other codes."""
    parts = tuple(code for code in codes if code != total)
    return Dimension(name=name, codes=(total, *parts), sums=(CodeSum(total, parts),), total=total)


def tree_dimension(name: str, paths: Iterable[Sequence[str]], *, total: str = "Total") -> Dimension:
    """Return a dimension of paths to leaves; a code of its parent's name is the parent."""
    parts: dict[str, dict[str, None]] = {total: {}}
    for path in paths:
        above = total
        for code in path:
            if code != above:
                parts.setdefault(above, {})[code] = None
                above = code
    parents = Counter(child for children in parts.values() for child in children)
    n_twice = sum(n > 1 for n in parents.values())
    if n_twice:
        raise HierarchyError(
            f"{n_twice} codes of dimension {name!r} lie under two others.",
            hint="A tree has one parent for each code. Write other groups as sums.",
        )
    return Dimension(
        name=name,
        codes=tuple(_in_order(total, parts)),
        sums=tuple(CodeSum(code, tuple(below)) for code, below in parts.items() if below),
        total=total,
    )


def _in_order(code: str, parts: Mapping[str, Mapping[str, None]]) -> Iterable[str]:
    yield code
    for child in parts.get(code, ()):
        yield from _in_order(child, parts)
