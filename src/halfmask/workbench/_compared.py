"""What a candidate's job keeps for the page Compare: where each row went, and its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from halfmask._random import keyed_order
from halfmask.assess.masking.pairs import column_pairs
from halfmask.assess.synthesis import column_pictures
from halfmask.guarantees import class_of_row
from halfmask.masks import TableMask
from halfmask.microdata.charts import distribution_chart
from halfmask.workbench._candidate import COMPARED, PLACES
from halfmask.workbench._json_files import write_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.utility import Distribution
    from halfmask.release import Release

#: No bar shows fewer rows.
_LEAST: Final = 10
#: So many rows at risk are listed.
_LISTED: Final = 50
_APART: Final = {
    "synthetic": "Synthetic rows are drawn: no released row is the row of a person.",
    "private-microdata": "Private rows are a random sample, and which ones isn't written down.",
    "tables": "Tables have cells, and no rows of people.",
}


def keep_compared(release: Release[Any], folder: Path) -> str:
    """Keep what Compare shows; return why rows can't be linked, or nothing where they can."""
    why = _not_linked(release)
    risk = None
    if not why:
        places = _places(release)
        np.save(folder / PLACES, places)
        risk = _rows_at_risk(release, places)
    write_json(folder / COMPARED, {"columns": _columns(release), "risk": risk})
    return why


def _not_linked(release: Release[Any]) -> str:
    kind = release.kind.name
    if kind not in {"microdata", "masked"}:
        return _APART.get(kind, "This kind of release has no row for each row of the table.")
    if not all(isinstance(each, TableMask) for each in release.policy.table_masks):
        return "The policy draws a sample of the rows."
    if len(release.written[0].files) != 1 or (kind == "microdata" and release.source.cells is None):
        return "The release is so large that its rows are shuffled in parts."
    return ""


def _places(release: Release[Any]) -> NDArray[np.int64]:
    """Return where each row of the table is in the release; -1 where it was left out.

    The key of the release draws the order, and only the process that makes it has the key.
    """
    rows = release.source
    index = np.arange(rows.n_in)
    if release.kind.name == "microdata":
        if rows.schema.suppressing:  # rows without a cell that must not be missing have no class
            missing = rows.source.read(columns=rows.schema.suppressing)
            index = index[
                ~missing.select(pl.any_horizontal(pl.all().is_null())).to_series().to_numpy()
            ]
        index = index[rows.cells >= 0]
    places = np.full(rows.n_in, -1)
    places[index[keyed_order(len(index), key=rows.key)]] = np.arange(len(index))
    return places


def _rows_at_risk(release: Release[Any], places: NDArray[np.int64]) -> dict[str, Any]:
    """Return the rows that fewest released rows equal, by number, and what singles them out.

    All released columns count: an attacker may know any of them. No cell is kept.
    """
    frame = release.data
    names = [name for name, dtype in frame.schema.items() if not dtype.is_nested()]
    known = [name for name in release.policy.schema().quasi_identifiers if name in names]
    sizes, classes = (_sizes(frame, columns) for columns in (names, known or names))
    number = _turned(places)
    worst = np.lexsort((number, classes, sizes))[:_LISTED]
    codes = {it: class_of_row(frame, quasi_identifiers=[it])[0] for it in names}
    return {
        "columns": len(names),
        "rows": frame.height,
        "unique": int((sizes == 1).sum()),
        "least": int(sizes.min()),
        "listed": [
            {
                "row": int(number[row]) + 1,
                "same": int(sizes[row]),
                "of_class": int(classes[row]),
                "by": _singling(codes, int(row), int(sizes[row])),
            }
            for row in worst[sizes[worst] == sizes.min()].tolist()
        ],
    }


def owners_of(file: Path) -> NDArray[np.int64]:
    """Return the row of the table that each released row is, from the file of places."""
    return _turned(np.load(file))


def _turned(places: NDArray[np.int64]) -> NDArray[np.int64]:
    index = np.flatnonzero(places >= 0)
    return index[np.argsort(places[index])]


def _sizes(frame: pl.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
    """Return how many rows each row equals on some columns, itself among them."""
    of_row, n_classes = class_of_row(frame, quasi_identifiers=columns)
    return np.bincount(of_row, minlength=n_classes)[of_row]


def _singling(codes: Mapping[str, NDArray[np.int64]], row: int, size: int) -> list[str]:
    """Return few columns that leave no more rows than all do: each the one that leaves fewest."""
    left, chosen = np.arange(len(next(iter(codes.values())))), list[str]()
    while len(left) > size:
        same = {it: left[of[left] == of[row]] for it, of in codes.items() if it not in chosen}
        best = min(same, key=lambda it: len(same[it]))
        chosen.append(best)
        left = same[best]
    return chosen


def warnings_of(release: Release[Any]) -> list[str]:
    """Return who is singled out, what cost most of the detail, and whether people are found."""
    facts = release.facts
    if release.kind.name == "synthetic":
        return []  # the attacks say it; under an epsilon nothing was measured
    if release.kind.name == "microdata":
        columns = facts.risk.columns
        singled = [columns.warning, columns.advice]
        return [it for it in (*singled, *facts.utility.detail.warnings) if it]
    warning = getattr(getattr(facts, "assessment", None), "warning", None)
    return [warning] if warning else []


def _columns(release: Release[Any]) -> list[dict[str, Any]]:
    """Return each column with the detail that it keeps and its picture, most lost first."""
    is_classes = release.kind.name == "microdata"
    kept = release.facts.utility.detail.columns if is_classes else {}
    found = _distributions(release)
    every = release.data.columns if is_classes or found else ()
    shown: list[dict[str, Any]] = []
    for name in dict.fromkeys((*kept, *found, *every)):
        picture = found.get(name)
        chart = picture and distribution_chart(name, picture, name=f"picture-{len(shown)}")
        each = {
            "name": name,
            "kept": kept.get(name),
            "picture": chart.svg() if chart else "",
            "sentence": picture.sentence if picture else "",
        }
        shown.append(each)
    return sorted(shown, key=lambda each: 1.0 if each["kept"] is None else each["kept"])


def _distributions(release: Release[Any]) -> Mapping[str, Distribution]:
    """Return the columns before and after that may be pictured; private rows tell nothing of it."""
    kind, rows = release.kind.name, release.source
    if kind == "microdata":
        found: Mapping[str, Distribution] = release.facts.utility.distributions
        return found
    if kind == "masked":
        # Tokens say nothing of the values that they stand for.
        masks_of = rows.policy.masks_of
        names = [it for it in rows.columns if all(mask.is_matchable for mask in masks_of(it))]
        before, after = rows.table.unmasked.read(columns=names), rows.read(names)
    elif kind == "synthetic" and rows.paid is None:
        before, after = rows.learnt, rows.copies[0]
    else:
        return {}
    pairs = column_pairs(before, after, before.columns)
    return column_pictures(before, after, pairs, min_count=_LEAST, spans_both=True)
