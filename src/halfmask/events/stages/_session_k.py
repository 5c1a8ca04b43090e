"""session-k: what a session shows in some fields is shown by sessions of at least k entities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.events.block._grouping import number_rows
from halfmask.events.policy._policy_sections import place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.events.policy._stage_sections import GuaranteeSection
    from halfmask.events.stages._cells import Coarser
    from halfmask.events.stages._held import PaneColumn, PaneEvents


def hold_sessions(
    pane: PaneEvents, section: GuaranteeSection, coarser: Mapping[str, Coarser]
) -> tuple[bool, int | None]:
    """Make what sessions show coarser, or leave it out, until each class has k entities.

    Sessions that fail are made coarser together, one field by one level at a time: that by which
    most of them then pass for what the level costs, and of equals that by which they differ least.
    Those that pass are done with. What passes at no level is left out, with its events.
    """
    search = _Search.of(pane, section, coarser)
    left = np.zeros(len(search.owners), np.bool_)
    left[pane.session[pane.alive]] = True
    at = [0] * len(search.levels)
    chosen = np.zeros((len(at), len(left)), np.int64)
    passed, _, least = search.passing(left, at)
    left &= ~passed
    changed = bool(left.any())
    while left.any():
        tried = []
        for number in range(len(at)):
            if at[number] + 1 < len(search.levels[number]):
                up = [level + (number == it) for it, level in enumerate(at)]
                passed, classes, _ = search.passing(left, up)
                # A level costs one over how many the field has: a whole field lost costs 1.
                worth = int(np.count_nonzero(passed)) * (len(search.levels[number]) - 1)
                tried.append((-worth, classes, number, up, passed))
        if not tried:
            break
        *_, at, passed = min(tried, key=lambda it: it[:3])
        for number, level in enumerate(at):
            chosen[number, passed] = level
        left &= ~passed
    pane.alive &= ~left[pane.session]
    search.write(pane, chosen)
    return changed, least


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Search:
    """What sessions show at each level of each field."""

    columns: Sequence[PaneColumn]
    levels: Sequence[Sequence[NDArray[np.int64]]]
    session: NDArray[np.int64]
    owners: NDArray[np.int64]
    k: int

    @classmethod
    def of(
        cls, pane: PaneEvents, section: GuaranteeSection, coarser: Mapping[str, Coarser]
    ) -> _Search:
        paths = [place(path).place for path in section.paths]
        columns = [pane.columns[path] for path in paths]
        level = columns[0].level
        return cls(
            columns=columns,
            levels=[
                _levels(column, coarser.get(path), drops=section.fails == "field")
                for path, column in zip(paths, columns, strict=True)
            ],
            session=np.where(pane.live(level), pane.session[level.event], -1),
            owners=pane.owners(pane.session),
            k=section.k,
        )

    def passing(
        self, wanted: NDArray[np.bool_], at: Sequence[int]
    ) -> tuple[NDArray[np.bool_], int, int | None]:
        """Say which of some sessions pass if fields are at some levels.

        Also how many classes there are, and of how many entities the smallest is that passes.
        """
        rows = np.flatnonzero((self.session >= 0) & wanted[self.session])
        session = self.session[rows]
        shown = [levels[level][rows] for levels, level in zip(self.levels, at, strict=True)]
        found = np.zeros(len(wanted), np.int64)  # class 0: nothing is shown
        if len(rows):
            _, point = number_rows(shown)
            first, _ = number_rows([session, point])
            _class_sets(session[first], point[first], found)
        there = np.flatnonzero(wanted)
        classes = int(found[there].max(initial=0)) + 1
        known = there[self.owners[there] >= 0]
        if not len(known):
            return np.zeros(len(wanted), np.bool_), classes, None
        first, _ = number_rows([found[known], self.owners[known]])
        counts = np.bincount(found[known][first], minlength=classes)
        wide = counts[counts >= self.k]
        least = int(wide.min()) if len(wide) else None
        return wanted & (counts[found] >= self.k), classes, least

    def write(self, pane: PaneEvents, chosen: NDArray[np.int64]) -> None:
        """Write each session's fields at the levels that were chosen for it."""
        for column, levels, level in zip(self.columns, self.levels, chosen, strict=True):
            of = level[pane.session[column.level.event]]
            column.codes = np.stack(levels)[of, np.arange(len(of))]


def _class_sets(
    session: NDArray[np.int64], point: NDArray[np.int64], found: NDArray[np.int64]
) -> None:
    """Give each different set of points that sessions have a number, from 1 on; rows are sorted."""
    starts = np.flatnonzero(np.diff(session, prepend=-1))
    sizes = np.diff(starts, append=len(session))
    count = 1
    for size in np.unique(sizes).tolist():
        these = starts[sizes == size]
        sets = point[these[:, None] + np.arange(size)]
        different, number = np.unique(sets, axis=0, return_inverse=True)
        found[session[these]] = count + number.reshape(-1)
        count += len(different)


def _levels(column: PaneColumn, coarser: Coarser | None, *, drops: bool) -> list[NDArray[np.int64]]:
    """Return a column's codes at each level."""
    codes, known = column.codes, range(len(column.tokens))
    levels = [codes]
    if coarser is not None:
        labels = [coarser.labels(column.tokens[number]) for number in known]
        for level in range(max(map(len, labels), default=0)):
            # What the hierarchy lacks isn't shown at any coarser level.
            up = [column.number(it[level]) if level < len(it) else -1 for it in labels]
            levels.append(np.array([*up, -1], np.int64)[codes])
    if drops:
        levels.append(np.full(len(codes), -1, np.int64))
    return levels
