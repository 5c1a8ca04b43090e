"""crosstab: the short form of `protect` for one table of counts or sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from halfmask._errors import ParameterError
from halfmask._progress import Progress, silent
from halfmask.crosstabs._policy import TablesPolicy
from halfmask.release import Inputs, Release, kind_named

if TYPE_CHECKING:
    from halfmask.crosstabs._release import TablesFacts
    from halfmask.engines import Engine


def crosstab(  # noqa: PLR0913 # the short form of a policy
    table: object,
    *,
    rows: str | Sequence[str] = (),
    columns: str | Sequence[str] = (),
    sum: str | None = None,  # noqa: A002 # the word for it
    name: str | None = None,
    derived: Sequence[Literal["mean", "share"]] = (),
    negative: bool = False,
    owner: str | None = None,
    weight: str | None = None,
    weights: Literal["replicated", "sample"] | None = None,
    dimensions: Sequence[str] | None = None,
    value: str | None = None,
    count: str | None = None,
    largest: str | Sequence[str] = (),
    hierarchies: str | Path | Mapping[str, str | Path] | None = None,
    total: str = "Total",
    p_percent: float | None = None,
    dominance: tuple[int, float] | None = None,
    prior_posterior: tuple[float, float] | None = None,
    min_frequency: int | None = None,
    margin: float | None = None,
    format: Literal["csv", "parquet", "excel"] = "csv",  # noqa: A002 # as of the policy
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Release[TablesFacts]:
    """Make one table of counts or sums, protect it by suppression, and audit it.

    Parameters
    ----------
    table
        Microdata, a row for each contribution, as of :func:`halfmask.protect`. With `dimensions`:
        ready tables, a row for each cell; several files of one folder are linked tables.
    rows, columns
        Columns of microdata that the table crosses; `columns` stand across.
    sum
        The column that is summed. Without it rows are counted.
    name
        The name of the table and of its file; by default that of `sum`, or ``"counts"``.
    derived
        Statistics that are shown as well: ``"mean"``, ``"share"``.
    negative
        Whether contributions may be below 0, as profits are.
    owner
        The column of who contributes: several rows may be of one company or person.
    weight, weights
        The column of sampling weights, and how rules see a weighted contribution:
        ``"replicated"`` or ``"sample"``.
    dimensions, value, count, largest
        Of ready tables: the columns of codes, of values, of the number of contributors, and of the
        largest contributions.
    hierarchies
        The file of a tree for dimensions, by name: CSV or ``.hrc`` of tau-argus. Or a folder that
        has them as ``region.csv`` or ``region.hrc``.
    total
        The code of the total in each dimension.
    p_percent
        A sum is sensitive if its second contributor can estimate the largest within ``p`` percent.
    dominance
        ``(n, k)``: a sum is sensitive if its ``n`` largest contributions exceed ``k`` percent.
    prior_posterior
        ``(p, q)``: `p_percent` against an attacker who knows contributions within ``q`` percent.
    min_frequency
        A cell with fewer contributors is sensitive.
    margin
        With `min_frequency` and `sum`: the protection that a sensitive sum needs on either side, in
        percent of it.
    format
        The format of the long table.
    engine, progress
        As of :func:`halfmask.protect`.

    Returns
    -------
    Release
        ``.data`` is the long table; ``.write(out)`` verifies it on disk.

    Raises
    ------
    ParameterError
        If no rule is given, or parameters of microdata and of ready tables are mixed.
    PolicyError
        If rules don't fit the table.
    GuaranteeNotMetError
        If all cells would be hidden.
    DataError
        If a ready table isn't additive.

    See Also
    --------
    TablesPolicy : Several tables, other rules and protections.
    halfmask.protect : Makes a release by a policy.

    Notes
    -----
    **Claims.** Every sensitive cell is hidden. Others are hidden until the feasibility interval of
    each sensitive cell contains its protection interval. An owner who is alone in a hidden cell
    can't compute another sensitive cell exactly. The whole table is audited before it is returned.
    Coalitions and attackers who know more contributions aren't covered.

    **Edge cases.** Combinations that nobody is in are published as 0. If no cell is sensitive,
    nothing is hidden. A column named ``value`` or ``state`` can't be a dimension. The ``write``
    method also makes ``OUT.owner.html``, which says which cells are sensitive: don't hand it over.

    Examples
    --------
    >>> import polars as pl
    >>> import halfmask as hm
    >>> firms = pl.DataFrame({
    ...     "region": ["north"] * 4 + ["south"] * 4 + ["west"] * 4,
    ...     "sector": ["food", "food", "food", "cars"] * 3,
    ...     "turnover": [20, 21, 22, 50, 30, 31, 32, 60, 25, 26, 27, 70],
    ... })
    >>> release = hm.crosstab(
    ...     firms, rows="region", columns="sector", sum="turnover", p_percent=10
    ... )
    >>> release.data.filter(pl.col("state") == "hidden").height >= 4
    True
    """
    crossed = (*_names(rows), *_names(columns))
    of_rows = {"rows": rows, "columns": columns, "sum": sum, "derived": derived}
    of_cells = {"dimensions": dimensions, "value": value, "count": count, "largest": largest}
    shape: dict[str, Any]
    if dimensions is None:
        _refuse(of_cells, "ready tables: name their dimensions, too")
        table_section = {"name": name or sum or "counts", "dimensions": crossed, "value": sum}
        more = {"derived": tuple(derived), "negative": negative}
        shape = {"tables": [{**table_section, **more}]}
    else:
        _refuse(of_rows, "microdata: of ready tables name dimensions and value")
        crossed = _names(dimensions)
        shape = {"ready": {"value": value, "count": count, "largest": _names(largest)}}
        where = Path(table) if isinstance(table, str | Path) else None
        if not isinstance(table, Mapping | list | tuple) and not (where and where.is_dir()):
            own = "table" if where is None else where.name.partition(".")[0]
            shape["tables"] = [{"name": name or own, "dimensions": crossed, "negative": negative}]
    if not crossed or (dimensions is not None and value is None):
        raise ParameterError(
            "crosstab lacks the columns to cross, or those of a ready table.",
            hint="Name rows or columns. Of a ready table: its dimensions and its value.",
        )
    policy = TablesPolicy(
        **{"halfmask-tables": 1, "owner": owner, "weight": weight, "weights": weights},
        dimensions=_dimension_sections(crossed, hierarchies, total),
        rules=_rules(p_percent, dominance, prior_posterior, min_frequency, margin),
        output={"format": format},
        **shape,
    )
    inputs = Inputs(engine=engine, progress=progress or silent)
    return kind_named(policy.kind).make_release(table, policy, inputs)


def _refuse(given: Mapping[str, object], of: str) -> None:
    """Refuse parameters that are about the other kind of table."""
    wrong = [name for name, value in given.items() if value]
    if wrong:
        raise ParameterError(f"The {wrong[0]!r} parameter of crosstab is for {of}.")


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _dimension_sections(
    names: Sequence[str], hierarchies: str | Path | Mapping[str, str | Path] | None, total: str
) -> dict[str, dict[str, str]]:
    found = _hierarchy_files(names, hierarchies).items()
    trees = {name: {"hierarchy": str(Path(path).absolute())} for name, path in found}
    return {name: {"total": total, **trees.get(name, {})} for name in names}


def _hierarchy_files(
    names: Sequence[str], hierarchies: str | Path | Mapping[str, str | Path] | None
) -> Mapping[str, str | Path]:
    """Return the file of each dimension that has one; those of a folder are found by its name."""
    if hierarchies is None:
        return {}
    if not isinstance(hierarchies, str | Path):
        unknown = len(set(hierarchies) - set(names))
        if unknown:
            raise ParameterError(
                f"The 'hierarchies' parameter of crosstab is about {unknown} dimensions that the "
                "table doesn't have.",
                hint="Give a file for dimensions of the table, by name.",
            )
        return hierarchies
    folder = Path(hierarchies)
    if not folder.is_dir():
        raise ParameterError(
            "The 'hierarchies' parameter of crosstab must be a folder, or a file by dimension.",
            hint="Put region.csv or region.hrc into the folder for a dimension region.",
        )
    known = {(name.replace("/", "%2F")): name for name in names}
    return {
        known[path.stem]: path
        for path in sorted(folder.iterdir())
        if path.suffix in (".csv", ".hrc") and path.stem in known
    }


def _rules(
    p_percent: float | None,
    dominance: tuple[int, float] | None,
    prior_posterior: tuple[float, float] | None,
    min_frequency: int | None,
    margin: float | None,
) -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = []
    if min_frequency is not None:
        rules.append({"rule": "minimum-frequency", "n": min_frequency, "margin": margin})
    if p_percent is not None:
        rules.append({"rule": "p-percent", "p": _number(p_percent)})
    if dominance is not None:
        n, k = _pair(dominance, "dominance", "(n, k), such as (2, 85)")
        rules.append({"rule": "dominance", "n": n, "k": _number(k)})
    if prior_posterior is not None:
        p, q = _pair(prior_posterior, "prior_posterior", "(p, q), such as (10, 50)")
        rules.append({"rule": "prior-posterior", "p": _number(p), "q": _number(q)})
    if not rules:
        raise ParameterError(
            "crosstab needs a rule that says which cells are sensitive.",
            hint="Give [[min_frequency, p_percent, dominance or prior_posterior|--min-frequency, "
            "--p-percent, --dominance or --prior-posterior]].",
        )
    return rules


def _number(given: Any) -> Any:  # noqa: ANN401 # the policy refuses what isn't a number
    return float(given) if isinstance(given, int) and not isinstance(given, bool) else given


def _pair(given: object, name: str, hint: str) -> tuple[Any, Any]:
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 2:
        raise ParameterError(
            f"The {name!r} parameter of crosstab must be a pair of numbers.", hint=f"Give {hint}."
        )
    return given[0], given[1]
