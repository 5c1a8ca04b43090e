"""The page of tables, which is released with them, and the page of their owner, which isn't.

The released page has what everybody can compute from the tables: never a true value of a hidden
cell, a sum of them, or a reason. The owner's page has the rest.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask.crosstabs._changes import crosstab_change
from halfmask.crosstabs._protections import Suppression, TableRounding
from halfmask.crosstabs._writing import CROSS, crossed_lines, number_text
from halfmask.release import TableBlock, TextBlock
from halfmask.release.page import ChapterBlock, StyledCell, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halfmask.crosstabs._pattern import PublishedCells
    from halfmask.crosstabs._protections import CellProtection
    from halfmask.crosstabs._released import ReleasedTable
    from halfmask.release.page import AnyBlock

#: Of larger tables the page shows the beginning.
_ROWS: Final = 50
_COLUMNS: Final = 20
_LISTED: Final = 1000
_SEARCHES: Final = {
    "linear": "a search by linear programs",
    "optimal": "a search for the least cost",
    "elimination": "elimination in the equations",
}


def page_blocks(
    tables: Sequence[ReleasedTable], protection: CellProtection, noise: Sequence[str] = ()
) -> Iterator[AnyBlock]:
    """Yield what the released page shows: each table, and how many of its cells are hidden."""
    yield TextBlock("How cells are protected", [*_how(tables, protection), *noise])
    if isinstance(protection, Suppression):
        yield TableBlock(
            "Cells",
            ("table", "dimensions", "cells", "hidden", "share"),
            [
                (
                    table.name,
                    ", ".join(table.dimensions) or "none",
                    f"{len(table.cells):,}",
                    f"{int(table.hidden.sum()):,}",
                    percent(float(table.hidden.mean())) if len(table.cells) else "0%",
                )
                for table in tables
            ],
        )
    for table in tables:
        yield _shown(table)


def _how(tables: Sequence[ReleasedTable], protection: CellProtection) -> Iterator[str]:
    if not isinstance(protection, Suppression):
        words = {name: getattr(protection, name) for name in protection.__dataclass_fields__}
        said = ", ".join(f"{name} = {value}" for name, value in words.items())
        yield f"Protection: {protection.method}{f' with {said}' if said else ''}."
        if isinstance(protection, TableRounding):
            yield from _true_values(tables, protection)
        return
    yield "All tables are protected as one system: a cell that is in several tables is one cell."
    patterns = {table.measure: table.published.pattern for table in tables}
    for measure, pattern in patterns.items():
        what = "counts" if measure is None else f"sums of {measure}"
        if pattern is None:
            yield f"No cell of the {what} is sensitive, so all are published."
        else:
            stopped = " It was stopped before its end." if pattern.stopped else ""
            yield f"Hidden cells of the {what} were chosen by {_SEARCHES[pattern.search]}.{stopped}"
    if any(patterns.values()):
        yield (
            "Next to a hidden cell is its feasibility interval: what anybody can compute of it "
            "from all published cells. Whether the cell is sensitive or protects another isn't "
            "stated."
        )


def _true_values(tables: Sequence[ReleasedTable], settings: TableRounding) -> Iterator[str]:
    """Yield, by an example, which true values are published as one rounded value."""
    from halfmask.crosstabs._round import existence_interval  # noqa: PLC0415 # loads a kernel

    example = np.array([(10 + settings.steps) * settings.base])  # its ends aren't below 0
    for what, value in {table.measure: table.published.cells.value for table in tables}.items():
        whole = what is None and settings.base % 1 == 0 and bool((value % 1 == 0).all())
        ends = existence_interval(example, settings, whole=whole)
        low, high = (number_text(float(end[0])) for end in ends)
        span = f"from {low} to" if whole else f"between {low} and"
        shown = number_text(float(example[0]))
        said = "count" if what is None else f"sum of {what}"
        yield f"A published {said} of {shown} can stand for each true one {span} {high}."


def _shown(table: ReleasedTable) -> TableBlock:
    """Return a table for readers; of a large one, its first rows and columns."""
    what = "Counts" if table.measure is None else f"Sums of {table.measure}"
    head, *rows = crossed_lines(table)
    n_down = len(table.dimensions) - (len(table.dimensions) > 1)
    across = [(name,) if n_down < len(table.dimensions) else () for name in head[n_down:]]
    places, n_columns = _intervals(table), len(across)
    marked = [
        [*row[:n_down], *(_cell(text, places.get((*row[:n_down], *it))) for it, text in own)]
        for row in rows[:_ROWS]
        for own in [list(zip(across, row[n_down:], strict=True))[:_COLUMNS]]
    ]
    head = head[: n_down + _COLUMNS]
    more = [
        f"the first {shown} of {n:,} {what}"
        for n, shown, what in ((len(rows), _ROWS, "rows"), (n_columns, _COLUMNS, "columns"))
        if n > shown
    ]
    cut = f" Shown are {' and '.join(more)}." if more else ""
    return TableBlock(table.name, head, marked, caption=f"{what}.{cut}")


def _intervals(table: ReleasedTable) -> dict[tuple[str, ...], str]:
    """Return the attacker's interval of each hidden cell, by its codes."""
    found = table.published.audit
    if found is None:
        return {}
    cells = table.cells[table.hidden]
    codes = table.published.cells.labels(cells, table.dimensions).rows()
    return {
        each: interval_text(float(found.lower[cell]), float(found.upper[cell]))
        for each, cell in zip(codes or [()] * len(cells), cells, strict=True)
    }


def _cell(text: str, interval: str | None) -> str:
    return text if interval is None else StyledCell(f"{CROSS} ({interval})", "soft")


def interval_text(lower: float, upper: float) -> str:
    """Return an interval in words."""
    if math.isfinite(upper) and 0 < lower < 1e-9 * upper:
        lower = 0.0  # noise of linear programs
    low, high = number_text(_outwards(lower, -1)), number_text(_outwards(upper, 1))
    if math.isinf(lower):
        return "any" if math.isinf(upper) else f"{high} or less"
    return f"{low} or more" if math.isinf(upper) else f"{low} to {high}"


def _outwards(end: float, sign: int) -> float:
    """Return an end of an interval in six digits; the interval gets no narrower by it."""
    if end == 0 or math.isinf(end):
        return end + 0.0
    step = 10.0 ** (math.floor(math.log10(abs(end))) - 5)
    noise = 1e-3  # of linear programs
    steps = end / step
    return float(
        f"{(math.ceil(steps - noise) if sign > 0 else math.floor(steps + noise)) * step:.6g}"
    )


def owner_blocks(
    tables: Sequence[ReleasedTable], protection: CellProtection
) -> Iterator[ChapterBlock]:
    """Yield what only the owner sees: which cells are sensitive, why, and the cost."""
    for each in dict.fromkeys(id(table.published) for table in tables):
        published = next(table.published for table in tables if id(table.published) == each)
        what = "Counts" if published.cells.is_count else f"Sums of {published.cells.measure}"
        own = _suppressed if isinstance(protection, Suppression) else _changed
        notes = [TextBlock("", said)] if (said := list(_notes(published))) else []
        yield ChapterBlock(what, [*own(published), *notes])


def _notes(published: PublishedCells) -> Iterator[str]:
    """Yield what was done with cells that aren't as they were published, or read, before."""
    if published.unlinked:
        yield (
            f"Cells that an earlier release published with another value: {published.unlinked:,}; "
            "they are taken for other cells and aren't linked with it."
        )
    if published.cells.added:
        yield (
            f"Totals that the ready tables lack: {published.cells.added:,}; they were added as "
            "sums of their parts and are protected and released, too."
        )


def _suppressed(published: PublishedCells) -> Iterator[AnyBlock]:
    sensitivity, pattern, cells = published.sensitivity, published.pattern, published.cells
    if sensitivity is None or pattern is None:
        yield TextBlock("", ["No cell is sensitive, so all are published."])
        return
    is_sensitive, hidden = sensitivity.is_sensitive, published.hidden
    rows = [
        ("cells", f"{cells.n:,}"),
        ("sensitive cells", f"{int(is_sensitive.sum()):,}"),
        ("other hidden cells", f"{int((hidden & ~is_sensitive).sum()):,}"),
        ("hidden value, of all cells", percent(crosstab_change(published).hidden_value)),
        ("search", _SEARCHES[pattern.search]),
        ("cost", f"{pattern.cost:,.6g}"),
    ]
    if pattern.gap is None:
        rows.append(("proven", "no bound on the least cost"))
    else:
        rows.append(("proven", f"another pattern saves at most {percent(pattern.gap)} of the cost"))
    if pattern.stopped:
        rows.append(("stopped", "before its end; all requirements are met"))
    yield TableBlock("", (), rows)
    yield from _listed(published)


def _listed(published: PublishedCells) -> Iterator[AnyBlock]:
    """Yield the hidden cells: sensitive ones first, in the order of the cells."""
    sensitivity, found, cells = published.sensitivity, published.audit, published.cells
    if sensitivity is None or found is None:
        return
    is_sensitive = sensitivity.is_sensitive
    hidden = np.flatnonzero(published.hidden)
    order = hidden[np.argsort(~is_sensitive[hidden], kind="stable")]
    names = [each.name for each in cells.dimensions]
    codes = cells.labels(order[:_LISTED], names).rows() or [()] * len(order[:_LISTED])
    low, high = cells.value - sensitivity.below, cells.value + sensitivity.above
    rows = [
        (
            *own,
            number_text(float(cells.value[cell])),
            ", ".join(sensitivity.reasons[cell]) or "protects others",
            interval_text(float(low[cell]), float(high[cell])) if is_sensitive[cell] else "",
            interval_text(float(found.lower[cell]), float(found.upper[cell])),
        )
        for own, cell in zip(codes, order[:_LISTED].tolist(), strict=True)
    ]
    cut = f" Shown are the first {_LISTED:,} of {len(order):,}." if len(order) > _LISTED else ""
    yield TableBlock(
        "Hidden cells",
        (*names, "true value", "rules", "needs", "attacker's interval"),
        rows,
        caption=f"Sensitive cells come first.{cut}",
    )


def _changed(published: PublishedCells) -> Iterator[AnyBlock]:
    """Yield how far published values are from the true ones."""
    change = crosstab_change(published)
    rows = [
        ("cells that aren't 0", f"{change.cells:,}"),
        ("mean distance", f"{change.mean_absolute or 0:,.4g}"),
        ("mean distance, of the true value", percent(change.mean_relative or 0.0)),
        ("largest distance", f"{change.largest or 0:,.4g}"),
    ]
    if change.hellinger is not None:
        rows.append(("Hellinger's distance of the distributions", f"{change.hellinger:.4g}"))
    yield TableBlock("Distance of published values from the true ones", (), rows)
