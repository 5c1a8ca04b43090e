"""What is unknown of a measure to the receiver of releases: cells and equations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.claims.crosstab_manifest import DEVIATIONS, TRUE_VALUES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scipy.sparse import csr_array

    from halfmask.claims import Manifest
    from halfmask.verifier.crosstabs._opened import Opened
    from halfmask.verifier.crosstabs._system import Bools, CodeTree, Floats, Ints, TableCells

#: The codes of a cell that aren't totals, by dimension: the same cell in every release.
Place = frozenset[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Unknown:
    """The unknown cells: `matrix` @ cells is `sums`, each between `lower` and `upper`.

    Sums of rounded values may be off by `slack`.

    `number` has the number of each hidden cell of the release, in their order.
    """

    matrix: csr_array
    sums: Floats
    slack: Floats
    lower: Floats
    upper: Floats
    number: Ints


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """A release that was published before, and by how much its values may differ from the truth."""

    opened: Opened
    off: float


def read_earlier(opened: Opened, manifest: Manifest) -> Earlier | None:
    """Return what an earlier release says of true values; ``None``: nothing that is certain."""
    models = {each.model: each for each in manifest.claims}
    if TRUE_VALUES in models:
        return Earlier(opened=opened, off=0.0)
    if DEVIATIONS in models:
        return Earlier(opened=opened, off=float(models[DEVIATIONS].parameters["at_most"]))
    return None


def find_unknown(opened: Opened, measure: str | None, earlier: Sequence[Earlier] = ()) -> Unknown:
    """Return what is unknown of a measure."""
    cells = opened.cells[measure]
    lower = np.full(len(cells.value), -np.inf if cells.negative else 0.0)
    upper = np.full(len(cells.value), np.inf)
    empty = cells.hidden & _nobody(opened, cells)
    lower[empty] = upper[empty] = 0.0
    others = [each for each in earlier if measure in each.opened.cells]
    if not others:
        asked = np.flatnonzero(cells.hidden)
        return _unknown(cells.equations, cells.value, (lower, upper), asked, opened.within)
    return _joined(opened, measure, others, lower, upper)


def _unknown(
    equations: csr_array,
    value: Floats,
    bounds: tuple[Floats, Floats],
    asked: Ints,
    within: float,
) -> Unknown:
    """Return the unknown cells among all, and where those that are asked for are among them."""
    is_unknown = np.isnan(value)
    columns = equations.tocsc()
    matrix = columns[:, is_unknown].tocsr()
    sums = -(columns[:, ~is_unknown] @ value[~is_unknown])
    kept = np.diff(matrix.indptr) > 0
    return Unknown(
        matrix=matrix[kept],
        sums=sums[kept],
        slack=within * abs(columns).sum(axis=1)[kept],
        lower=bounds[0][is_unknown],
        upper=bounds[1][is_unknown],
        number=(np.cumsum(is_unknown) - 1)[asked],
    )


def _nobody(opened: Opened, cells: TableCells) -> Bools:
    """Return the cells of a sum that the release shows to be of nobody, by its counts."""
    found: Bools = np.zeros(len(cells.value), dtype=np.bool_)
    if cells.measure is None or None not in opened.cells:
        return found
    counts = opened.cells[None]
    shown = dict(zip(map(bytes, counts.codes), counts.value.tolist(), strict=True))
    inside = _in_scope(cells.codes, opened, None)
    for at in np.flatnonzero(cells.hidden & inside).tolist():
        found[at] = shown.get(bytes(cells.codes[at]), 0.0) == 0
    return found


def _in_scope(codes: Any, opened: Opened, measure: str | None) -> Bools:  # noqa: ANN401 # an array
    """Return which cells are in a table of a measure: there they are 0 without a line."""
    totals = np.array([tree.total for tree in opened.trees.values()])
    inside: Bools = np.zeros(len(codes), dtype=np.bool_)
    for table in opened.tables_of(measure):
        others = [at for at, name in enumerate(opened.trees) if name not in table.dimensions]
        inside |= (codes[:, others] == totals[others]).all(axis=1)
    return inside


def _joined(
    opened: Opened,
    measure: str | None,
    earlier: Sequence[Earlier],
    lower: Floats,
    upper: Floats,
) -> Unknown:
    """Return what is unknown to a receiver of all releases: equal codes are the same cells."""
    from scipy.sparse import vstack  # noqa: PLC0415 # for earlier releases alone

    own = _places(opened.cells[measure], opened.trees)
    number: dict[Place, int] = {place: at for at, place in enumerate(own)}
    sources = [(opened, own, 0.0)]
    for each in earlier:
        places = _places(each.opened.cells[measure], each.opened.trees)
        for place in places:
            number.setdefault(place, len(number))
        sources.append((each.opened, places, each.off))
    n = len(number)
    value = np.full(n, np.nan)
    bounds = np.full((2, n), [[-np.inf if opened.cells[measure].negative else 0.0], [np.inf]])
    bounds[0, : len(lower)], bounds[1, : len(upper)] = lower, upper
    blocks = []
    for source, places, off in sources:
        cells = source.cells[measure]
        at = np.array([number[place] for place in places], dtype=np.int64)
        shown, known = np.zeros(n), _zeros(number, source, measure)
        shown[at] = np.nan_to_num(cells.value)
        known[at] = ~cells.hidden
        if _differs(value, shown, known, off):  # it is of other rows: nothing of it is linked
            continue
        if off:
            bounds[0, known] = np.maximum(bounds[0, known], shown[known] - off)
            bounds[1, known] = np.minimum(bounds[1, known], shown[known] + off)
        else:
            value[known] = shown[known]
        blocks.append(_moved(cells.equations, at, n))
    whole = vstack(blocks, format="csr")
    asked = np.flatnonzero(opened.cells[measure].hidden)
    told = asked[~np.isnan(value[asked])]
    bounds[:, told] = value[told]  # an earlier release shows what this one hides
    value[told] = np.nan
    within = max(source.within for source, _, _ in sources)
    return _unknown(whole, value, (bounds[0], bounds[1]), asked, within)


def _differs(value: Floats, shown: Floats, known: Bools, off: float) -> bool:
    both = known & ~np.isnan(value)
    return not np.allclose(value[both], shown[both], rtol=1e-9, atol=off)


def _places(cells: TableCells, trees: Mapping[str, CodeTree]) -> list[Place]:
    """Return each cell by the names of its codes."""
    columns = [
        [None if code == tree.total else (name, tree.codes[code]) for code in column]
        for (name, tree), column in zip(trees.items(), cells.codes.T.tolist(), strict=True)
    ]
    if not columns:
        return [frozenset()] * len(cells.value)
    return [
        frozenset(each for each in row if each is not None) for row in zip(*columns, strict=True)
    ]


def _zeros(number: Mapping[Place, int], source: Opened, measure: str | None) -> Bools:
    """Return the cells that are in a table of a release, where those without a line are 0."""
    inside: Bools = np.zeros(len(number), dtype=np.bool_)
    tables = [{*each.dimensions} for each in source.tables_of(measure)]
    for place, at in number.items():
        names = {name for name, _ in place}
        if any(names <= each for each in tables):
            inside[at] = all(code in source.trees[name].number for name, code in place)
    return inside


def _moved(equations: csr_array, at: Ints, n: int) -> csr_array:
    """Return equations over the cells of all releases."""
    from scipy.sparse import csr_array  # noqa: PLC0415 # for earlier releases alone

    entries = equations.tocoo()
    rows, columns = entries.coords
    return csr_array((entries.data, (rows, at[columns])), shape=(equations.shape[0], n))
