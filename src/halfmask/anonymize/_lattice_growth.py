"""From coded columns to the classes of the node of the lattice that loses least."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask.anonymize._lattice_partition import LatticePartition, SearchFacts
from halfmask.anonymize._lattice_rounds import choose_in_rounds
from halfmask.anonymize._partition import balanced_tree, boxes
from halfmask.anonymize.lattice import (
    GroupedRows,
    Lattice,
    TableJudge,
    lattice_column,
    search,
)
from halfmask.anonymize.method import MAX_CLASSES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize._partition import Partition
    from halfmask.anonymize._summary import PersonCodes, SensitiveCodes
    from halfmask.anonymize.coding import Coding
    from halfmask.anonymize.lattice import (
        ChosenNode,
        LatticeColumn,
        LatticeSearch,
        NodePeople,
        Objective,
    )
    from halfmask.guarantees import Guarantee

#: The label among the columns that are counted; no column of a table may have such a name.
_LABEL = "\0label"


def choose_levels(  # noqa: PLR0913 # each says one thing, by its name
    codings: Sequence[Coding],
    codes: Sequence[NDArray[np.integer]],
    *,
    sensitive: Sequence[SensitiveCodes],
    guarantees: Sequence[Guarantee],
    wanted: LatticeSearch,
    guides: NDArray[np.float64] | None,
    persons: PersonCodes | None,
    max_suppressed: int,
    people: NodePeople | None = None,
) -> tuple[Partition, NDArray[np.int32]]:
    """Choose a level for each column so that every released class keeps every guarantee."""
    columns = [lattice_column(*each) for each in zip(codings, codes, strict=True)]
    lattice = _lattice(codings, tuple(column.n_levels - 1 for column in columns))
    counted = {column.name: (column.codes, column.n_values) for column in sensitive}
    label = None
    if wanted.objective.needs_label:
        label = _LABEL
        counted[label] = _label_codes(wanted.objective, guides)
    person_of_row = None if persons is None else persons.codes

    def choose(
        rows: NDArray[np.intp], max_suppressed: int
    ) -> tuple[LatticePartition, NDArray[np.int32]]:
        own = [column[rows] for column in codes]
        of_rows = [
            replace(column, rows=np.bincount(each, minlength=len(column.rows)).astype(np.int64))
            for column, each in zip(columns, own, strict=True)
        ]
        grouped = GroupedRows.of_rows(
            own,
            of_rows,
            {name: (each[rows], n_values) for name, (each, n_values) in counted.items()},
            person_of_row=None if person_of_row is None else person_of_row[rows],
        )
        return _search(
            of_rows,
            *grouped,
            lattice=lattice,
            guarantees=guarantees,
            wanted=wanted,
            label=label,
            max_suppressed=max_suppressed,
            people=people,
        )

    n_rows = len(codes[0])
    if wanted.rounds == 1:
        return choose(np.arange(n_rows), max_suppressed)
    return choose_in_rounds(
        choose,
        n_rows,
        counted=counted,
        person_of_row=person_of_row,
        guarantees=guarantees,
        rounds=wanted.rounds,
        max_suppressed=max_suppressed,
    )


def _search(  # noqa: PLR0913 # the same
    columns: Sequence[LatticeColumn],
    rows: GroupedRows,
    item_of_row: NDArray[np.int32],
    *,
    lattice: Lattice,
    guarantees: Sequence[Guarantee],
    wanted: LatticeSearch,
    label: str | None,
    max_suppressed: int,
    people: NodePeople | None,
) -> tuple[LatticePartition, NDArray[np.int32]]:
    """Search the lattice once; raise if no node that was judged keeps the guarantees."""
    scorer = wanted.objective.scorer(
        columns,
        n_rows=len(item_of_row),
        min_rows=max(each.min_rows for each in guarantees),
    )
    judge = TableJudge(
        columns,
        rows,
        guarantees=guarantees,
        scorer=scorer,
        max_suppressed=max_suppressed,
        label=label,
        people=people,
    )
    found = search(
        lattice,
        judge,
        strategy=wanted.strategy,
        limit=wanted.limit,
        seed=wanted.seed,
        n_best=wanted.n_best,
    )
    if found.best is None:
        raise judge.none_holds(found)
    chosen = judge.chosen(found.best.levels)
    facts = SearchFacts(
        nodes=lattice.n_nodes, judged=found.n_judged, optimal=found.optimal, near=found.near
    )
    return _partition(columns, rows, chosen, facts), chosen.cell_of_item[item_of_row]


def _partition(
    columns: Sequence[LatticeColumn], rows: GroupedRows, chosen: ChosenNode, facts: SearchFacts
) -> LatticePartition:
    """Return the partition of a chosen node's classes."""
    feature, cut, left, right = balanced_tree(len(chosen.sizes))
    kept = np.flatnonzero(chosen.cell_of_item >= 0)
    kept = kept[np.argsort(chosen.cell_of_item[kept], kind="stable")]
    ends = np.cumsum(np.bincount(chosen.cell_of_item[kept]))
    low, high = boxes(
        rows.codes[:, kept].T.astype(np.int32), np.concatenate([[0], ends]).astype(np.int64)
    )
    return LatticePartition(
        feature=feature,
        cut=cut,
        left=left,
        right=right,
        low=low,
        high=high,
        sizes=chosen.sizes,
        levels=chosen.levels,
        heights=tuple(column.n_levels - 1 for column in columns),
        node_of_code=tuple(
            column.nodes[level] for column, level in zip(columns, chosen.levels, strict=True)
        ),
        nodes=chosen.nodes,
        facts=facts,
    )


def _lattice(codings: Sequence[Coding], heights: tuple[int, ...]) -> Lattice:
    """Return the lattice between the levels that the columns' declarations allow."""
    least, greatest = [], []
    for coding, height in zip(codings, heights, strict=True):
        column = coding.column
        for level in (column.least_level, column.greatest_level):
            if level is not None and level > height:
                raise ParameterError(
                    f"Column {column.name!r} has levels 0 to {height}. Got level {level}.",
                    hint="Level 0 is the raw value, and the last one stands for all values.",
                )
        least.append(column.least_level or 0)
        greatest.append(height if column.greatest_level is None else column.greatest_level)
    return Lattice(least=tuple(least), greatest=tuple(greatest))


def _label_codes(
    objective: Objective, guides: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], int]:
    """Return the label of each row as a number from 0, and how many labels there are."""
    if guides is None:
        raise ParameterError(f"{objective!r} needs a label. Got none.")
    labels, codes = np.unique(guides, axis=0, return_inverse=True)
    if len(labels) > MAX_CLASSES + 1:
        raise ParameterError(
            f"{objective!r} needs a label of at most {MAX_CLASSES} classes. "
            f"Got {len(labels):,} different values.",
            hint="Give the label itself, and not predictions or numbers.",
        )
    return codes.reshape(-1).astype(np.int64), len(labels)
