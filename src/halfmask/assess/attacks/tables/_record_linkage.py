"""Record linkage: which released row is a person's, by distance, ranks, or an assignment."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks.classes._disclosure import class_numbers
from halfmask.assess.attacks.tables._links import (
    ALL,
    LOOK_ALIKE,
    QUASI_IDENTIFIERS,
    Comparison,
    Linkable,
    LinkageAttack,
    expected_right,
    known_people,
    look_alike,
    matched_columns,
    most_similar,
    quasi_identifiers_of,
    shared_columns,
)
from halfmask.assess.attacks.tables._matching import finite_scale, usual_numbers

if TYPE_CHECKING:
    import polars as pl

    from halfmask.assess._arrays import Floats, Ints
    from halfmask.assess.attacks._attack import Found
    from halfmask.assess.attacks._targets import TableTarget
    from halfmask.assess.attacks.tables._links import Metric, Silence
    from halfmask.assess.attacks.tables._matching import Matched


def d_risk(linkable: Linkable, interval: float) -> float:
    """Return the share of people with every number near what was released of them.

    Notes
    -----
    A range stands for its middle, a suppressed cell is near nothing. 0 without numbers.
    """
    numbers = [column for column in linkable.columns if column.is_number]
    if not numbers:
        return 0.0
    owners, first = np.unique(linkable.owners, return_index=True)
    rows = first[np.searchsorted(owners, linkable.people)]
    near = np.ones(len(rows), dtype=np.bool_)
    for column in numbers:
        middle, known = column.cells.middle, linkable.known[column.name]
        present = usual_numbers(middle[~np.isnan(middle)])
        sd = finite_scale(lambda it: it.std(ddof=1), present) if len(present) > 1 else 0.0
        with np.errstate(over="ignore"):
            is_near = np.abs(middle[rows] - known) <= interval * sd
        near &= is_near | (np.isnan(known) & column.cells.null[rows])
    return float(near.mean())


METRICS: tuple[Metric, ...] = ("gower", "standardised")
SILENCES: tuple[Silence, ...] = ("anything", "average")


@dataclass(frozen=True, slots=True, kw_only=True)
class DistanceLinkage(LinkageAttack, name="tables/record-linkage-distance"):
    """Link each person to the released row that is nearest by what is known.

    Parameters
    ----------
    n_attacks
        How many people are attacked at most.
    interval
        For the detail ``d_risk``: how many standard deviations of a released column around its
        value count as the same, above 0.

    Notes
    -----
    Distance-based record linkage after Pagliuca and Seri, "Some results of individual ranking
    method on the system of enterprise accounts annual survey" (1999), and Domingo-Ferrer and Torra,
    "Distance-based and probabilistic record linkage for re-identification of records with
    categorical variables" (2002). The worst is reported of Gower's and standardised distances, and
    of reading suppressed cells as anything or as an average value:

    - by quasi-identifiers: all of them, and 50 % and 25 % of them, drawn at random;
    - by any columns: the same, all columns, all but the quasi-identifiers, and numbers only.

    A link is right with probability 1/k where the person's row ties with k - 1 others; the success
    is the mean. Guessing at random reaches one in the number of rows. No person outside the table
    can be linked rightly, so that this is the control too. The detail ``look_alike`` is how often
    the values of the most similar other person, of the control table or else of the original, hit
    the same row.

    ``d_risk``: the share of people with *every* number within `interval` standard deviations of
    what was released; Mateo-Sanz et al., "Outlier protection in continuous microdata masking"
    (2004), "SDID".
    """

    n_attacks: int = field(default=2000, metadata={"ge": 1})
    interval: float = field(default=0.05, metadata={"gt": 0, "le": 1e9})

    def _measure(self, target: TableTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        linkable = Linkable.of(target, self.n_attacks, rng)
        worst, rates = worst_links(linkable, rng)
        rates["d_risk"] = d_risk(linkable, self.interval)
        return tuple(
            self._links(measure, right, target, {**rates, **look_alike(best, linkable, target)})
            for measure, (right, best) in worst.items()
        )


def worst_links(
    linkable: Linkable, rng: np.random.Generator
) -> tuple[dict[str, tuple[Floats, Comparison]], dict[str, float]]:
    """Link by what an attacker may know, in every way of comparing."""
    rates: dict[str, float] = {}
    worst: dict[str, tuple[Floats, Comparison]] = {}
    for measure, scenario, columns in _scenarios(linkable, rng):
        for comparison in _comparisons(columns):
            blocks = comparison.blocks(linkable.known)
            right = expected_right(blocks, linkable.people, linkable.owners)
            rates[scenario] = max(rates.get(scenario, 0.0), float(right.mean()))
            for counted in dict.fromkeys((measure, ALL)):
                if counted not in worst or right.mean() > worst[counted][0].mean():
                    worst[counted] = right, comparison
    return dict(sorted(worst.items(), reverse=True)), rates


def _scenarios(
    linkable: Linkable, rng: np.random.Generator
) -> list[tuple[str, str, tuple[Matched, ...]]]:
    """Return what an attacker may know: for which measure, under which name, which columns."""
    known, columns = linkable.quasi_identifiers, linkable.columns
    order = rng.permutation(len(known))
    found = []
    for percent in (100, 50, 25) if known else ():
        some = sorted(order[: max(1, round(len(known) * percent / 100))].tolist())
        scenario = f"{percent}% of quasi-identifiers"
        found.append((QUASI_IDENTIFIERS, scenario, tuple(known[i] for i in some)))
    found.append((ALL, "all columns", columns))
    others = tuple(column for column in columns if column not in known)
    if known and others:
        found.append((ALL, "other columns", others))
    numbers = tuple(column for column in columns if column.is_number)
    if numbers and numbers != columns:
        found.append((ALL, "numeric columns", numbers))
    return found


def _comparisons(columns: tuple[Matched, ...]) -> list[Comparison]:
    """Return the ways to compare that may differ."""
    metrics = METRICS if any(column.is_number for column in columns) else METRICS[:1]
    silences = SILENCES if Comparison(columns=columns).has_silence else SILENCES[:1]
    return [
        Comparison(columns=columns, metric=metric, silence=silence)
        for metric in metrics
        for silence in silences
    ]


#: How far two ranks are apart on average, as a share of the rows.
AVERAGE_GAP = 1 / 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLinkage(LinkageAttack, name="tables/record-linkage-rank"):
    """Link each person to the released row whose ranks are nearest.

    Parameters
    ----------
    n_attacks
        How many people are attacked at most.

    Notes
    -----
    Muralidhar and Domingo-Ferrer, "Rank-based record linkage for re-identification risk
    assessment" (Privacy in Statistical Databases 2016): the attacker has the original file, and
    ranks its numbers and those of the release, each column in its own table. A scale that masking
    changed doesn't disturb ranks. Ranks are shares of the rows, those of equal numbers their mean;
    categories agree or don't. The worst is reported of absolute and of squared differences, over
    the columns of `DistanceLinkage`. Ties, control and guess are as there.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.assess.attacks import TableTarget
    >>> original = pl.DataFrame({"income": [10.0, 20.0, 30.0, 40.0]})
    >>> target = TableTarget(released=original * 7 + 1000, original=original)
    >>> RankLinkage().run(target, random_state=0)[0].success.value
    1.0
    """

    n_attacks: int = field(default=2000, metadata={"ge": 1})

    def missing_inputs(self, target: TableTarget) -> str:
        """Return what is missing: rows, or a column of numbers."""
        types = [target.original.schema[name] for name in shared_columns(target)]
        if not any(dtype.is_numeric() or dtype.is_temporal() for dtype in types):
            return "a column of numbers that the original and the released table share"
        return LinkageAttack.missing_inputs(self, target)

    def _measure(self, target: TableTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        linkable = Linkable.of(target, self.n_attacks, rng)
        worst, rates = worst_links(_ranked(linkable, target), rng)
        return tuple(
            self._links(measure, right, target, {**rates, **_look_alike(best, linkable, target)})
            for measure, (right, best) in worst.items()
        )


def _ranked(linkable: Linkable, target: TableTarget) -> Linkable:
    """Return the same people and rows with ranks in place of numbers."""
    columns = {column.name: _ranks_of_cells(column) for column in linkable.columns}
    known = {
        column.name: _ranks_of_people(column, linkable.known[column.name], target)
        for column in linkable.columns
    }
    return replace(
        linkable,
        columns=tuple(columns.values()),
        quasi_identifiers=tuple(columns[each.name] for each in linkable.quasi_identifiers),
        known=known,
    )


def _ranks_of_cells(column: Matched) -> Matched:
    """Return a column of numbers with the ranks of its released cells."""
    if not column.is_number:
        return column
    cells = column.cells
    middle = cells.middle
    ranks = _shares(middle, among=middle)
    return replace(
        column,
        cells=replace(
            cells,
            low=np.where(cells.silent, -np.inf, ranks),
            high=np.where(cells.silent, np.inf, ranks),
        ),
        spread=1.0,
        deviation=1.0,
        average_gap=AVERAGE_GAP,
    )


def _ranks_of_people(column: Matched, values: Floats, target: TableTarget) -> Floats:
    """Return the ranks that people's numbers have in the original."""
    if not column.is_number:
        return values
    return _shares(values, among=column.known(target.original[column.name]))


def _shares(values: Floats, *, among: Floats) -> Floats:
    """Return which share of some numbers is below each value, equal ones by half; NaN stays."""
    ordered = np.sort(among[~np.isnan(among)])
    first, last = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    return np.where(np.isnan(values), np.nan, (first + last) / (2 * max(1, len(ordered))))


def _look_alike(
    comparison: Comparison, linkable: Linkable, target: TableTarget
) -> dict[str, float]:
    """Return how often another person's values hit the row of the attacked."""
    names = {column.name for column in comparison.columns}
    plain = tuple(column for column in linkable.columns if column.name in names)
    alike: pl.DataFrame | None = most_similar(replace(comparison, columns=plain), linkable, target)
    if alike is None:
        return {}
    known = {
        column.name: _ranks_of_people(column, column.known(alike[column.name]), target)
        for column in plain
    }
    right = expected_right(comparison.blocks(known), linkable.people, linkable.owners)
    return {LOOK_ALIKE: float(right.mean())}


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentLinkage(LinkageAttack, name="tables/record-linkage-assignment"):
    """Link people and released rows one to one, at the least total distance.

    Parameters
    ----------
    n_attacks
        How many people are attacked at most; the cost grows with the third power.

    Notes
    -----
    The optimal assignment of Kuhn, "The Hungarian method for the assignment problem" (1955), over
    Gower's distances, as Herranz, Nin, Rodriguez and Tassa, "Revisiting distance-based record
    linkage for privacy-preserving release of statistical datasets" (DKE 2015), use it: it can be
    right where each nearest row alone isn't.

    A larger table is attacked on a part of it, of whole classes of rows that were released alike,
    since a part of a class would make its rows rarer than they are. Rows that are alike can be
    exchanged, so that a link to a class of k counts as 1/k.
    """

    n_attacks: int = field(default=1000, metadata={"ge": 1})

    def _measure(self, target: TableTarget, random_state: int) -> Found:
        known = {QUASI_IDENTIFIERS: quasi_identifiers_of(target), ALL: shared_columns(target)}
        outcomes = []
        for place, (measure, names) in enumerate(known.items()):
            if not names:
                continue
            rng = np.random.default_rng([random_state, place])
            right = _right(target, names, self.n_attacks, rng)
            outcomes.append(self._links(measure, right, target, {}, n_rows=len(right)))
        return tuple(outcomes)


def _right(
    target: TableTarget, names: tuple[str, ...], most: int, rng: np.random.Generator
) -> Floats:
    """Return for each person of a part the probability of the right link."""
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 # scipy loads late

    numbers = class_numbers(target.released, names).to_numpy()
    classes = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    rows = _whole_classes(classes, most, rng)
    owners, of_class = target.owner_of_row[rows], classes[rows]
    people = np.unique(owners)
    columns = matched_columns(replace(target, released=target.released[rows], owners=owners), names)
    known = known_people(columns, target.original[people])
    costs = np.concatenate([block for _, block in Comparison(columns=columns).blocks(known)])
    linked, rows_of_linked = linear_sum_assignment(costs)
    row_of = np.full(len(people), -1, dtype=np.int64)
    row_of[linked] = rows_of_linked
    is_owner = owners[None, :] == people[:, None]
    in_class = (of_class[None, :] == of_class[row_of][:, None]) & (row_of >= 0)[:, None]
    # A class that is too large to be taken whole is as large as it was released.
    sizes = np.bincount(classes)[of_class[row_of]]
    return np.asarray((is_owner & in_class).sum(axis=1) / sizes)


def _whole_classes(classes: Ints, most: int, rng: np.random.Generator) -> Ints:
    """Return rows of whole classes drawn at random, in a random order, or of one if none fits."""
    sizes = np.bincount(classes)
    order = rng.permutation(len(sizes))
    fitting = order[np.cumsum(sizes[order]) <= most]
    # The order of rows must not decide ties between assignments.
    rows = rng.permutation(np.flatnonzero(np.isin(classes, fitting if len(fitting) else order[:1])))
    return rows[:most].astype(np.int64)
