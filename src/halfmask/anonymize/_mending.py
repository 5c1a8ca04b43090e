"""Mend cells that miss a guarantee: suppress the smallest, merge the others into their parents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from halfmask._errors import GuaranteeNotMetError
from halfmask._validation import rows_of_share
from halfmask.anonymize._cells import CellCounts
from halfmask.anonymize._summary import written_codes
from halfmask.anonymize._suppressing import smallest_enough

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from halfmask.anonymize._fitted import Fitted
    from halfmask.anonymize._level_people import PeopleOfNode
    from halfmask.anonymize._partition import Partition
    from halfmask.anonymize._population import PlacedPeople
    from halfmask.guarantees import Classes, Guarantee

Integers = NDArray[np.int64]


class CellSpans:
    """The parent of each node of the tree, and the run of cells below it."""

    def __init__(self, parent: Integers, first: Integers, last: Integers, leaf: Integers) -> None:
        self.parent, self.first, self.last, self.leaf = parent, first, last, leaf

    @classmethod
    def of(cls, partition: Partition) -> Self:
        """Return the spans of a partition."""
        from halfmask.kernels.partition.descent import cell_spans  # noqa: PLC0415 # the compiler loads late

        n = len(partition.feature)
        parent = np.empty(n, dtype=np.int32)
        first, last = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        cell_spans(partition.feature, partition.left, partition.right, parent, first, last)
        leaf = np.empty(partition.n_cells, dtype=np.int64)
        cells = np.flatnonzero(partition.feature < 0)
        leaf[partition.left[cells]] = cells
        return cls(parent.astype(np.int64), first, last, leaf)

    def above(self, firsts: Integers, lasts: Integers, live: Integers) -> Integers:
        """Return for each run of cells the lowest node that holds more live cells.

        -1 if there is none.
        """
        own = live[lasts + 1] - live[firsts]
        nodes = self.leaf[firsts].copy()
        climbing = np.arange(len(nodes))
        while len(climbing):
            at = nodes[climbing]
            held = live[self.last[at] + 1] - live[self.first[at]]
            climbing = climbing[held <= own[climbing]]
            nodes[climbing] = self.parent[nodes[climbing]]
            climbing = climbing[nodes[climbing] >= 0]
        return nodes


def join_failing(tree: CellSpans, target: Integers, failing: Integers) -> Integers:
    """Join each failing cell with the failing cells below the lowest node that has others.

    One that is alone is joined with all cells below the lowest node that has any.
    """
    fails = np.isin(target, failing)
    among = fails if len(failing) > 1 else target >= 0
    before = np.concatenate([[0], np.cumsum(among)])
    order = np.argsort(target, kind="stable")
    starts = np.searchsorted(target[order], failing)
    ends = np.searchsorted(target[order], failing, side="right")
    parent = np.arange(int(target.max()) + 1)
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        own, first, last = np.sort(order[start:end]), 0, -1
        node = int(tree.leaf[own[0]])
        while node >= 0:
            first, last = int(tree.first[node]), int(tree.last[node])
            held = np.searchsorted(own, last, side="right") - np.searchsorted(own, first)
            if before[last + 1] - before[first] > held:
                break
            node = int(tree.parent[node])
        if node < 0:
            raise GuaranteeNotMetError(
                "The whole table as one class misses a guarantee.",
                hint="Ask for less, or give more rows.",
            )
        below = np.unique(target[first : last + 1][among[first : last + 1]])
        _unite(parent, [int(target[own[0]]), *below.tolist()])
    joined = np.array([_root(parent, number) for number in range(len(parent))])
    return np.where(target >= 0, joined[target], -1)


def _unite(parent: Integers, numbers: list[int]) -> None:
    roots = {_root(parent, number) for number in numbers}
    parent[list(roots)] = min(roots)


def _root(parent: Integers, number: int) -> int:
    while parent[number] != number:
        parent[number] = parent[parent[number]]
        number = int(parent[number])
    return number


def mend(
    fitted: Fitted,
    counts: CellCounts,
    *,
    guarantees: Sequence[Guarantee],
    max_suppression_fraction: float,
    people: PlacedPeople | None = None,
) -> tuple[Fitted, CellCounts]:
    """Return cells that all keep every guarantee, by counts of all rows.

    Guarantees
    ----------
    Every guarantee holds for the cells returned, judged on the rows that are left: merging never
    breaks one (all are monotone), and suppression, which moves the reference of t-closeness and the
    level of a whole table, is judged again. Each round joins or suppresses a cell, so it ends.
    """
    budget = rows_of_share(max_suppression_fraction, counts.classes.rows)
    try:
        target, current = _mended(fitted, counts, guarantees, budget, people)
    except GuaranteeNotMetError:
        if not budget:
            raise
        # What is left may be too little for a guarantee that all rows together keep.
        target, current = _mended(fitted, counts, guarantees, 0, people)
    is_known = fitted.partition.sizes.sum() == counts.classes.rows  # else it was made of other rows
    if current is counts and counts.counts is None and is_known:
        return fitted, counts
    return _renumbered(fitted, target, current), current


def drop_failing(
    fitted: Fitted, people_of: Callable[[Fitted], PlacedPeople | PeopleOfNode | None]
) -> tuple[Fitted, CellCounts]:
    """Return the cells that keep every guarantee by the rows that are left; none is joined.

    Rows may have been left out after the cells were judged.
    """
    while True:
        counts = CellCounts.of(fitted)
        live = counts.classes.sizes > 0
        if not live.any():
            raise _none_left()
        target = np.where(live, np.cumsum(live) - 1, -1)
        fitted = _renumbered(fitted, target, counts.renumbered(target, int(live.sum())))
        counts = CellCounts.of(fitted)
        most = counts.classes.rows
        failing, _ = _missing(counts, fitted.guarantees, people_of(fitted), most)
        if not len(failing):
            return fitted, counts
        fitted = fitted.without(np.isin(fitted.cell_of_row, failing))


def _renumbered(fitted: Fitted, target: Integers, counts: CellCounts) -> Fitted:
    """Return the cells under new numbers (-1: suppressed), as wide as the rows that are left."""
    low, high = counts.extents()
    moved = fitted.partition.renumbered(target, sizes=counts.classes.sizes)
    # Rows that were suppressed before stay so: -1 is no place among the cells.
    cell_of_row = np.where(fitted.cell_of_row < 0, -1, target[fitted.cell_of_row])
    partition = replace(moved, low=low, high=high)
    return replace(fitted, partition=partition, cell_of_row=cell_of_row.astype(np.int32))


def _mended(
    fitted: Fitted,
    counts: CellCounts,
    guarantees: Sequence[Guarantee],
    budget: int,
    people: PlacedPeople | None,
) -> tuple[Integers, CellCounts]:
    """Return the new number of each cell (-1: suppressed), and the counts by them."""
    partition = fitted.partition
    tree = CellSpans.of(partition)
    target, current = np.arange(partition.n_cells), counts
    # Relaxed cuts leave cells that no row finds by its values alone: nothing to guarantee there.
    moved = np.where(counts.classes.sizes > 0, target, -1)
    # What is written for one cell counts for others, so cells that keep everything stay.
    apart = any(guarantee.needs_written for guarantee in guarantees)
    closest: tuple[int, CellCounts] | None = None
    while True:
        if not np.array_equal(moved, target):
            target, n_cells = _compacted(moved)
            if not n_cells:
                raise _none_left()
            current = counts.renumbered(target, n_cells)
        judged = _with_written(fitted, current) if apart else current
        failing, dropped = _missing(judged, guarantees, people, budget)
        if not len(failing):
            return target, current
        missing = int(current.classes.sizes[failing].sum())
        if closest is None or missing < closest[0]:
            closest = missing, judged
        budget -= int(current.classes.sizes[dropped].sum())
        stays = np.ones(current.classes.n_classes, dtype=np.bool_)
        stays[dropped] = False
        moved = np.where((target >= 0) & stays[target], target, -1)
        rest = failing[stays[failing]]
        try:
            moved = join_failing(tree, moved, rest) if apart else _merge_upwards(tree, moved, rest)
        except GuaranteeNotMetError:  # one class is left
            raise _unmet(closest[1], guarantees, people) from None


def _none_left() -> GuaranteeNotMetError:
    return GuaranteeNotMetError(
        "No cell keeps the guarantees; every row would be suppressed.",
        hint="Ask for less, or name fewer quasi-identifiers.",
    )


def _unmet(
    closest: CellCounts, guarantees: Sequence[Guarantee], people: PlacedPeople | None
) -> GuaranteeNotMetError:
    """Return the error where merging ends in one class that misses a guarantee."""
    judged = [each.judge(closest.classes) for each in guarantees if not each.needs_population]
    if people is not None:
        written = people.classes(closest)[0]
        judged += [each.judge(written) for each in guarantees if each.needs_population]
    missed = [each for each in judged if not each.holds]
    levels = "; ".join(
        f"{it.guarantee!r} reaches {it.achieved:g}, and {it.rows_failing:,} of {it.rows:,} rows "
        "miss it"
        for it in missed
    )
    why = ""
    if closest.classes.members is not None and any(
        not each.guarantee.merges_in(closest.classes.members) for each in missed
    ):
        why = " Merging may not mend it: who is in several classes counts once in what they become."
    return GuaranteeNotMetError(
        "The whole table as one class misses a guarantee. The closest partition has "
        f"{closest.classes.n_classes:,} classes: there {levels}.{why}",
        hint="Ask for less, allow more suppression, or give more rows.",
    )


def _with_written(fitted: Fitted, counts: CellCounts) -> CellCounts:
    """Return the counts with what is written for each cell."""
    n_values = (coding.n_values for coding in fitted.codings)
    columns = ((*counts.entries(place)[:2], n) for place, n in enumerate(n_values))
    written = written_codes(columns, counts.classes.n_classes)
    return replace(counts, classes=replace(counts.classes, written=written))


def _missing(
    counts: CellCounts,
    guarantees: Sequence[Guarantee],
    people: PlacedPeople | PeopleOfNode | None,
    budget: int,
) -> tuple[Integers, Integers]:
    """Return the cells that miss a guarantee, and the cells to suppress: both may be others.

    Guarantees of the whole table wait until every cell keeps its own: mending may be enough.
    """
    classes = counts.classes
    asked = [each for each in guarantees if not each.needs_population]
    missed = [each for each in (it.judge(classes) for it in asked) if not each.holds]
    alone = [each.failing for each in missed if not each.guarantee.of_table]
    wholes: list[Integers] = []
    if people is not None:
        written, class_of_cell = people.classes(counts)
        for guarantee in (each for each in guarantees if each.needs_population):
            held = np.isin(class_of_cell, guarantee.judge(written).failing)
            (wholes if guarantee.of_table else alone).append(np.flatnonzero(held))
    if any(map(len, alone)):
        failing = _joined(alone, classes.n_classes)
        return failing, _smallest_within(classes, failing, budget)
    if missed:
        dropped = smallest_enough(classes, [each.guarantee for each in missed], max_rows=budget)
        if len(dropped):
            return dropped, dropped
    wholes += [each.failing for each in missed]
    return _joined(wholes, classes.n_classes), np.zeros(0, dtype=np.int64)


def _joined(places: Sequence[Integers], n: int) -> Integers:
    """Return the numbers below n that are in any of the arrays, ascending."""
    there = np.zeros(n, dtype=np.bool_)
    for each in places:
        there[each] = True
    return np.flatnonzero(there).astype(np.int64)


def _smallest_within(classes: Classes, failing: Integers, budget: int) -> Integers:
    """Return the smallest failing cells that together have no more rows than the budget."""
    by_size = failing[np.argsort(classes.sizes[failing], kind="stable")]
    return by_size[np.cumsum(classes.sizes[by_size]) <= budget]


def _merge_upwards(tree: CellSpans, target: Integers, failing: Integers) -> Integers:
    """Join each failing cell with all cells below the next node above it that has others.

    Joined cells are always all that is left below one node, so their runs are nested or apart.
    """
    if not len(failing):
        return target
    held = np.flatnonzero(target >= 0)
    firsts = np.full(len(target), len(target), dtype=np.int64)
    lasts = np.full(len(target), -1, dtype=np.int64)
    np.minimum.at(firsts, target[held], held)
    np.maximum.at(lasts, target[held], held)
    live = np.concatenate([[0], np.cumsum(target >= 0)])
    above = tree.above(firsts[failing], lasts[failing], live)
    if (above < 0).any():
        raise GuaranteeNotMetError(
            "The whole table as one class misses a guarantee.",
            hint="Ask for less, or give more rows.",
        )
    nodes = _joined([above], len(tree.parent))
    order = np.lexsort((-tree.last[nodes], tree.first[nodes]))
    first, last = tree.first[nodes[order]], tree.last[nodes[order]]
    # Of nested runs the widest comes first; all that begin before it ends are in it.
    widest = first > np.concatenate([[-1], np.maximum.accumulate(last)])[:-1]
    first, last = first[widest], last[widest]
    joined = np.zeros(len(target) + 1, dtype=np.int64)
    joined[first] += 1
    joined[last + 1] -= 1
    places = np.flatnonzero((np.cumsum(joined[:-1]) > 0) & (target >= 0))
    run = np.searchsorted(first, places, side="right") - 1
    least = np.full(len(first), len(target), dtype=np.int64)
    np.minimum.at(least, run, target[places])
    moved = target.copy()
    moved[places] = least[run]
    return moved


def _compacted(target: Integers) -> tuple[Integers, int]:
    """Return new numbers for the cells that are left, from 0 on, in their order."""
    kept = target >= 0
    _, first, numbers = np.unique(target[kept], return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    compacted = np.full(len(target), -1, dtype=np.int64)
    compacted[kept] = order[numbers]
    return compacted, len(first)


def better_start(starts: Iterable[Fitted], *, max_suppression_fraction: float) -> Fitted:
    """Return the cells that lose least after mending; of equal ones the first."""
    best: tuple[float, Fitted] | None = None
    failed: GuaranteeNotMetError | None = None
    for start in starts:
        try:
            mended, _ = mend(
                start,
                CellCounts.of(start),
                guarantees=[each for each in start.guarantees if not each.needs_population],
                max_suppression_fraction=max_suppression_fraction,
            )
        except GuaranteeNotMetError as error:
            failed = error
            continue
        loss = _width(mended)
        if best is None or loss < best[0]:
            best = loss, start
    if best is not None:
        return best[1]
    raise failed if failed is not None else GuaranteeNotMetError("There are no cells.")


def _width(fitted: Fitted) -> float:
    """Return the mean width of the rows' cells, in [0, 1]; that of a suppressed row is 1."""
    partition = fitted.partition
    spans = np.array([max(1, coding.n_codes - 1) for coding in fitted.codings])
    widths = ((partition.high - partition.low) / spans).mean(axis=1)
    n_rows = len(fitted.cell_of_row)
    suppressed = n_rows - int(partition.sizes.sum())
    return float(((widths * partition.sizes).sum() + suppressed) / n_rows)
