"""CrosstabTarget: published tables of counts or sums, what is true, and what is known besides."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from halfmask._errors import ParameterError
from halfmask.assess.attacks._inputs import TakenInputs, as_frame, check_columns
from halfmask.crosstabs import build_equations

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.assess._arrays import Floats
    from halfmask.crosstabs import CellSystem, PublishedCells
    from halfmask.release import Release


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CrosstabTarget(TakenInputs):
    """Published tables, their true cells, and records to infer from them.

    Make one by `CrosstabTarget.of_release`. `unprotected` returns the positive control.

    Parameters
    ----------
    cells
        All cells of one measure, with their true values and equations.
    value
        What is published of each cell; NaN where it is hidden or not in a table.
    attacked
        The cells whose true values are attacked.
    earlier
        What was published of each cell before; NaN where nothing was. ``None``: there was nothing.
    signed
        Whether cells may be negative, as profits are.
    records
        The microdata that the tables count: the columns of the dimensions, codes at the bottom.
    holdout
        Records of the same population that the tables don't count.
    secret
        The dimension that an attacker infers of a record whose other codes are known.

    Raises
    ------
    ParameterError
        If there are other numbers of values than of cells, or records without a secret dimension.
    ColumnNotFoundError
        If records lack a dimension.

    Examples
    --------
    >>> import polars as pl
    >>> import halfmask as hm
    >>> firms = pl.DataFrame({"area": ["n", "s"] * 4, "kind": ["a"] * 4 + ["b"] * 4})
    >>> release = hm.crosstab(firms, rows="area", columns="kind", min_frequency=2)
    >>> CrosstabTarget.of_release(release)
    CrosstabTarget(9 cells, 0 attacked)
    """

    cells: CellSystem
    value: NDArray[np.float64]
    attacked: NDArray[np.bool_]
    earlier: NDArray[np.float64] | None = None
    signed: bool = False
    records: pl.DataFrame | None = field(default=None, metadata={"take": as_frame})
    holdout: pl.DataFrame | None = field(default=None, metadata={"take": as_frame})
    secret: str = ""

    def __post_init__(self) -> None:
        TakenInputs.__post_init__(self)
        for name in ("value", "attacked", "earlier"):
            given = getattr(self, name)
            if given is not None and np.shape(given) != (self.cells.n,):
                raise ParameterError(
                    f"The {name!r} parameter of CrosstabTarget must have a number for each of "
                    f"{self.cells.n:,} cells."
                )
        names = [each.name for each in self.cells.dimensions]
        for frame, where in ((self.records, "the records"), (self.holdout, "the holdout")):
            if frame is not None:
                check_columns(names, frame.columns, where=where)
        if (self.records is not None and not self.secret) or self.secret not in ("", *names):
            raise ParameterError(
                "The 'secret' parameter of CrosstabTarget must be a dimension of the tables.",
                hint=f"There are {names}.",
            )

    @classmethod
    def of_release(
        cls,
        release: Release[Any],
        *,
        measure: str | None = None,
        earlier: Release[Any] | None = None,
        **others: Any,  # noqa: ANN401 # those of the class
    ) -> Self:
        """Make one of a release of tables, before or after it was written.

        Parameters
        ----------
        release
            What `halfmask.crosstab` or `halfmask.protect` returned for a policy of tables.
        measure
            The column that is summed; ``None``: counts, or the only measure.
        earlier
            A release of the same data that was published before. Its cells count whose codes the
            first release has, too.
        **others
            ``records``, ``holdout``, ``secret``, ``signed``: as of the class.

        Raises
        ------
        ParameterError
            If a release has no table of the measure, or isn't of tables.
        """
        now = _published(release, measure)
        cells, value, before = now.cells, now.value, None
        if earlier is not None:
            cells, value, before = _joined(now, _published(earlier, measure))
        shown = np.arange(cells.n) < now.cells.n
        attacked = shown & ~(np.abs(value - cells.value) <= 1e-9 * np.abs(cells.value))
        return cls(cells=cells, value=value, attacked=attacked, earlier=before, **others)

    def unprotected(self) -> Self:
        """Return the same cells with their true values published: the positive control."""
        return replace(self, value=self.cells.value)

    @property
    def known(self) -> Floats:
        """What is published of each cell, now or earlier; NaN where nothing is."""
        if self.earlier is None:
            return self.value
        return np.where(np.isnan(self.value), self.earlier, self.value)

    @property
    def floor(self) -> float:
        """The least value that a cell can have."""
        return -np.inf if self.signed else 0.0

    def __repr__(self) -> str:
        return f"CrosstabTarget({self.cells.n} cells, {int(self.attacked.sum())} attacked)"


def _published(release: Release[Any], measure: str | None) -> PublishedCells:
    tables = getattr(release.facts, "tables", ())
    found: dict[str | None, PublishedCells] = {
        it.published.cells.measure: it.published for it in tables if hasattr(it, "published")
    }
    if measure is None and len(found) == 1:
        return next(iter(found.values()))
    if measure not in found:
        raise ParameterError(
            "The release has no tables of this measure.",
            hint=f"It has {sorted(map(str, found))}." if found else "Give a release of tables.",
        )
    return found[measure]


def _joined(now: PublishedCells, before: PublishedCells) -> tuple[CellSystem, Floats, Floats]:
    """Return the cells of both releases as one system, and what either published."""
    cells, old = now.cells, before.cells
    own = {each.name: each for each in old.dimensions}
    codes = np.zeros((old.n, len(cells.dimensions)), dtype=np.int32)
    fits = np.ones(old.n, dtype=bool)
    for at, dimension in enumerate(cells.dimensions):
        codes[:, at] = dimension.position[dimension.total]
        if other := own.pop(dimension.name, None):
            place = np.array([dimension.position.get(each, -1) for each in other.codes])
            codes[:, at] = place[old.codes[:, old.dimensions.index(other)]]
    for other in own.values():  # of a dimension that the first release lacks, its total counts
        fits &= old.codes[:, old.dimensions.index(other)] == other.position[other.total]
    fits &= (codes >= 0).all(axis=1)
    place_of = {tuple(each): number for number, each in enumerate(cells.codes.tolist())}
    places = [place_of.setdefault(tuple(it), len(place_of)) for it in codes[fits].tolist()]
    n = len(place_of)
    true, value, earlier = np.full((3, n), np.nan)
    true[places], earlier[places] = old.value[fits], before.value[fits]
    true[: cells.n], value[: cells.n] = cells.value, now.value
    every = np.array(list(place_of), dtype=np.int32).reshape(n, len(cells.dimensions))
    system = build_equations(every, cells.dimensions)
    return replace(cells, codes=every, value=true, equations=system), value, earlier
