"""What a candidate's job keeps for the page Compare: where each row went, and its columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.assess.utility import Distribution
    from halfmask.release import Release

PLACES: Final = "places.npy"
COMPARED: Final = "compared.json"
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
    import numpy as np  # noqa: PLC0415 # a job loads what it needs

    why = _not_linked(release)
    risk = None
    if not why:
        places = _places(release)
        np.save(folder / PLACES, places)
        risk = _rows_at_risk(release, places)
    # Of synthetic rows the attacks say it; under an epsilon nothing was measured.
    warnings = [] if release.kind.name == "synthetic" else _warnings(release)
    kept = {"columns": _columns(release), "warnings": warnings, "risk": risk}
    (folder / COMPARED).write_text(json.dumps(kept), encoding="utf-8")
    return why


def _not_linked(release: Release[Any]) -> str:
    from halfmask.masks import TableMask  # noqa: PLC0415 # as above

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
    import numpy as np  # noqa: PLC0415 # as above

    from halfmask._random import keyed_order  # noqa: PLC0415 # as above

    rows = release.source
    index = np.arange(rows.n_in)
    if release.kind.name == "microdata":
        if rows.schema.suppressing:  # rows without a cell that must not be missing have no class
            missing = rows.source.read(columns=rows.schema.suppressing)
            index = index[~missing.select(_any_missing()).to_series().to_numpy()]
        index = index[rows.cells >= 0]
    places = np.full(rows.n_in, -1)
    places[index[keyed_order(len(index), key=rows.key)]] = np.arange(len(index))
    return places


def _any_missing() -> Any:  # noqa: ANN401 # an expression of polars
    import polars as pl  # noqa: PLC0415 # as above

    return pl.any_horizontal(pl.all().is_null())


def _rows_at_risk(release: Release[Any], places: NDArray[np.int64]) -> dict[str, Any]:
    """Return the rows that fewest released rows equal, by number, and what singles them out.

    All released columns count: an attacker may know any of them. No cell is kept.
    """
    import numpy as np  # noqa: PLC0415 # as above

    from halfmask.guarantees import class_of_row  # noqa: PLC0415 # as above

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
    import numpy as np  # noqa: PLC0415 # as above

    return _turned(np.load(file))


def _turned(places: NDArray[np.int64]) -> NDArray[np.int64]:
    import numpy as np  # noqa: PLC0415 # as above

    index = np.flatnonzero(places >= 0)
    return index[np.argsort(places[index])]


def _sizes(frame: pl.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
    """Return how many rows each row equals on some columns, itself among them."""
    import numpy as np  # noqa: PLC0415 # as above

    from halfmask.guarantees import class_of_row  # noqa: PLC0415 # as above

    of_row, n_classes = class_of_row(frame, quasi_identifiers=columns)
    return np.bincount(of_row, minlength=n_classes)[of_row]


def _singling(codes: Mapping[str, NDArray[np.int64]], row: int, size: int) -> list[str]:
    """Return few columns that leave no more rows than all do: each the one that leaves fewest."""
    import numpy as np  # noqa: PLC0415 # as above

    left, chosen = np.arange(len(next(iter(codes.values())))), list[str]()
    while len(left) > size:
        same = {it: left[of[left] == of[row]] for it, of in codes.items() if it not in chosen}
        best = min(same, key=lambda it: len(same[it]))
        chosen.append(best)
        left = same[best]
    return chosen


def _warnings(release: Release[Any]) -> list[str]:
    """Return what cost most of the detail, and whether attacks find people again."""
    if release.kind.name == "microdata":
        return [*release.facts.utility.detail.warnings]
    warning = getattr(getattr(release.facts, "assessment", None), "warning", None)
    return [warning] if warning else []


def _columns(release: Release[Any]) -> list[dict[str, Any]]:
    """Return each column with the detail that it keeps and its picture, most lost first."""
    from halfmask.microdata.charts import distribution_chart  # noqa: PLC0415 # as above

    kept = _detail(release)
    found = _distributions(release)
    shown: list[dict[str, Any]] = []
    for name in dict.fromkeys((*kept, *found)):
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


def _detail(release: Release[Any]) -> Mapping[str, float]:
    return release.facts.utility.detail.columns if release.kind.name == "microdata" else {}


def _distributions(release: Release[Any]) -> Mapping[str, Distribution]:
    """Return the columns before and after that may be pictured; private rows tell nothing of it."""
    from halfmask.assess.masking.pairs import column_pairs  # noqa: PLC0415 # as above
    from halfmask.assess.synthesis import column_pictures  # noqa: PLC0415 # as above

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
    return column_pictures(before, after, pairs, min_count=_LEAST)
