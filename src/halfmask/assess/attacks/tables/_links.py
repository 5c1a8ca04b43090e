"""What an attacker of a released table knows, how far it is from each row, and the right links."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from halfmask.assess.attacks._arms import Certain, Expected
from halfmask.assess.attacks._attack import DeclaredAttack
from halfmask.assess.attacks._rows import some_rows
from halfmask.assess.attacks._targets import TableTarget
from halfmask.assess.attacks.tables._matching import match
from halfmask.guarantees import size_asked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import polars as pl

    from halfmask.assess._arrays import Bools, Floats, Ints
    from halfmask.assess.attacks._attack import Outcome
    from halfmask.assess.attacks.tables._matching import Matched


def shared_columns(target: TableTarget) -> tuple[str, ...]:
    """Return the released columns that the original has and that have more than one value."""
    return tuple(
        name
        for name, dtype in target.original.schema.items()
        if name in target.released.columns and not dtype.is_nested()
    )


def secrets_of(target: TableTarget) -> tuple[str, ...]:
    """Return the secrets that are named, else the columns that the guarantees protect."""
    named = target.secrets or tuple(
        dict.fromkeys(g.column for g in target.guarantees if g.column is not None)
    )
    shared = shared_columns(target)
    return tuple(name for name in named if name in shared)


def quasi_identifiers_of(target: TableTarget) -> tuple[str, ...]:
    """Return the quasi-identifiers that are named, else all columns that are no secret."""
    shared = shared_columns(target)
    secrets = secrets_of(target)
    named = target.quasi_identifiers or tuple(name for name in shared if name not in secrets)
    return tuple(name for name in named if name in shared)


def matched_columns(target: TableTarget, names: tuple[str, ...]) -> tuple[Matched, ...]:
    """Return released columns read against those of the original and the control."""
    tables = [target.original, *([] if target.control is None else [target.control])]
    trees = target.hierarchies or {}
    return tuple(
        match(
            name,
            target.released[name],
            [table[name] for table in tables if name in table.columns],
            trees.get(name),
        )
        for name in names
    )


def known_people(columns: tuple[Matched, ...], people: pl.DataFrame) -> Known:
    """Return what is known of people in these columns."""
    return {column.name: column.known(people[column.name]) for column in columns}


def lacking_control(target: TableTarget, names: tuple[str, ...] | None = None) -> str:
    """Return what of a control table over these columns, or all shared ones, is missing."""
    names = shared_columns(target) if names is None else names
    if not names:
        return "a column that the original and the released table share"
    if not target.released.height:
        return "released rows"
    if target.control is None or not target.control.height:
        return "a control table"
    absent = [name for name in names if name not in target.control.columns]
    return f"columns {absent} in the control table" if absent else ""


def lacking_links(target: TableTarget) -> str:
    """Return what is missing to link people to released rows; empty if nothing is."""
    if not shared_columns(target):
        return "a column that the original and the released table share"
    return target.missing_owners or ("" if target.released.height else "released rows")


Metric: TypeAlias = Literal["gower", "standardised"]
Silence: TypeAlias = Literal["anything", "average", "nothing"]
#: By column what is known of people, as `Matched.known` has it.
Known: TypeAlias = "Mapping[str, Floats]"

#: Pairs in a block: 32 MB of distances.
PAIRS_PER_BLOCK = 4_000_000
#: Among rows at one distance, more specific ones are preferred.
HARDLY = 1e-4
#: More than any distance.
FAR = 1e4
#: Distances are equal within what adding them up may lose.
SLACK = 1e-10
NOTHING = 1e-15


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Known people against released rows, over some columns."""

    columns: tuple[Matched, ...]
    metric: Metric = "gower"
    silence: Silence = "anything"

    @property
    def has_silence(self) -> bool:
        """Whether a cell of these columns holds no information."""
        return any(bool(column.cells.silent.any()) for column in self.columns)

    def blocks(self, known: Known) -> Iterator[tuple[slice, Floats]]:
        """Yield which people, and their distances to all released rows: (people, rows)."""
        n_people = len(known[self.columns[0].name])
        n_rows = len(self.columns[0].cells)
        step = max(1, PAIRS_PER_BLOCK // max(1, n_rows))
        for start in range(0, n_people, step):
            some = slice(start, min(start + step, n_people))
            yield some, self._distances(known, some, n_rows)

    def _distances(self, known: Known, some: slice, n_rows: int) -> Floats:
        from halfmask.kernels.attacks import linkage  # noqa: PLC0415 # numba loads late

        out = np.zeros((some.stop - some.start, n_rows), dtype=np.float64)
        squared = self.metric == "standardised"
        for column in self.columns:
            values = np.ascontiguousarray(known[column.name][some])
            cells = column.cells
            unit = column.deviation if squared else column.spread
            average = column.average_gap * (column.spread / unit)
            average = average * average if squared else average
            silent = {"anything": HARDLY, "average": average, "nothing": FAR}[self.silence]
            costs = cells.silent.astype(np.float64) * silent
            if column.is_number:
                ends = cells.low, cells.high
                linkage.add_number_gaps(
                    values, *ends, cells.admits, costs, 1 / unit, average, squared, out
                )
            else:
                linkage.add_category_gaps(
                    values, cells.codes, cells.sets, cells.admits, costs, average, out
                )
        return out


def nearest(distances: Floats) -> Bools:
    """Return which rows are nearest to each person, all that tie."""
    least = distances.min(axis=1, keepdims=True)
    return np.asarray(distances <= least * (1 + SLACK) + NOTHING)


def nearest_few(distances: Floats, n: int, rng: np.random.Generator) -> Ints:
    """Return the numbers of the n rows nearest to each person, drawn at random where they tie."""
    n = min(n, distances.shape[1])
    edge = np.partition(distances, n - 1, axis=1)[:, n - 1 : n]
    slack = edge * SLACK + NOTHING
    # What is nearer than the last one that is wanted comes first, then a draw of those that tie.
    order = rng.random(distances.shape, dtype=np.float32)
    order[distances < edge - slack] = -1.0
    order[distances > edge + slack] = 2.0
    return np.argpartition(order, n - 1, axis=1)[:, :n]


#: What an attacker may know, as measures call it.
QUASI_IDENTIFIERS = "quasi-identifiers"
ALL = "any columns"
#: The detail that says how often the values of the most similar other person hit a person's row.
LOOK_ALIKE = "look_alike"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Linkable:
    """People whose row was released, and what there is to link them by."""

    columns: tuple[Matched, ...]
    quasi_identifiers: tuple[Matched, ...]
    people: Ints
    known: Known
    owners: Ints

    @classmethod
    def of(cls, target: TableTarget, n_attacks: int, rng: np.random.Generator) -> Linkable:
        """Draw the people."""
        columns = matched_columns(target, shared_columns(target))
        named = quasi_identifiers_of(target)
        released = np.unique(target.owner_of_row)
        people = rng.permutation(released[some_rows(len(released), n_attacks, rng)])
        return cls(
            columns=columns,
            quasi_identifiers=tuple(column for column in columns if column.name in named),
            people=people,
            known=known_people(columns, target.original[people]),
            owners=target.owner_of_row,
        )


def expected_right(blocks: Iterable[tuple[slice, Floats]], people: Ints, owners: Ints) -> Floats:
    """Return for each person the probability of the right link, ties broken at random."""
    right = np.zeros(len(people))
    for some, distances in blocks:
        right[some] = right_of_block(distances, people[some], owners)
    return right


def right_of_block(distances: Floats, people: Ints, owners: Ints) -> Floats:
    """Return the same for the people of one block."""
    tied = nearest(distances)
    is_owner = owners[None, :] == people[:, None]
    return np.asarray((tied & is_owner).sum(axis=1) / tied.sum(axis=1))


class LinkageAttack(DeclaredAttack, target=TableTarget, needs=(lacking_links,)):
    """An attack that links people to the released rows."""

    __slots__ = ()

    def _links(
        self,
        measure: str,
        right: Floats,
        target: TableTarget,
        details: dict[str, float],
        n_rows: int | None = None,
    ) -> Outcome:
        """Return how many links are right, compared with a guess among the rows and the claim."""
        # 1/k of right links is what k-anonymity concedes.
        k = size_asked(target.guarantees, least=0)
        return self._make_outcome(
            f"share of right links by {measure}",
            Expected(float(right.sum()), len(right)),
            Certain(1 / (target.released.height if n_rows is None else n_rows)),
            claimed=1 / k if k else None,
            needed=(100, "people"),
            details=details,
        )


def look_alike(comparison: Comparison, linkable: Linkable, target: TableTarget) -> dict[str, float]:
    """Return how often another person's values hit the row of the attacked."""
    alike = most_similar(comparison, linkable, target)
    if alike is None:
        return {}
    known = known_people(comparison.columns, alike)
    right = expected_right(comparison.blocks(known), linkable.people, linkable.owners)
    return {LOOK_ALIKE: float(right.mean())}


def most_similar(
    comparison: Comparison, linkable: Linkable, target: TableTarget
) -> pl.DataFrame | None:
    """Return for each of the attacked the most similar other person; None if there is no other."""
    names = [column.name for column in comparison.columns]
    original, control = target.original, target.control
    has_control = control is not None and control.height and set(names) <= set(control.columns)
    others = control if control is not None and has_control else original
    if not has_control and original.height < 2:
        return None
    tables = (original, others)
    columns = tuple(match(name, others[name], [t[name] for t in tables]) for name in names)
    alike = np.empty(len(linkable.people), dtype=np.int64)
    for some, distances in replace(comparison, columns=columns).blocks(linkable.known):
        if not has_control:
            people = linkable.people[some]
            distances[np.arange(len(people)), people] = np.inf
        alike[some] = distances.argmin(axis=1)
    return others[alike]
