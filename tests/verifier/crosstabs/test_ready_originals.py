"""Ready tables as originals: read again, totals added up, and rules on what they know."""

from __future__ import annotations

import polars as pl
import pytest

import halfmask
from halfmask.claims.crosstab_manifest import StatedReady
from verifier.crosstabs.table_releases import (  # type: ignore[import-not-found] # beside
    Table,
    cells_of,
    claim,
    flat,
    intervals,
    protected,
    release,
)

ROW, COLUMN = flat("row", "r1", "r2"), flat("column", "c1", "c2")
READY = StatedReady(value="sum", count="firms", largest=("first", "second"))
INNER = {("r1", "c1"): 100, ("r1", "c2"): 80, ("r2", "c1"): 60, ("r2", "c2"): 90}
#: Contributors, the largest and the second of each cell; r1, c1 breaks p percent.
FIRMS = {
    ("r1", "c1"): (3, 70, 28),
    ("r1", "c2"): (6, 20, 18),
    ("r2", "c1"): (9, 12, 9),
    ("r2", "c2"): (9, 20, 16),
}
SQUARE = {*INNER}
P10 = {"rule": "p-percent", "p": 10.0}


def frame(cells, firms=FIRMS, decimals=0):
    rows = [
        {
            "row": row,
            "column": column,
            "sum": round(float(value), decimals),
            **dict(
                zip(
                    ("firms", "first", "second"),
                    firms.get((row, column), (27, 20.0, 18.0)),
                    strict=True,
                )
            ),
        }
        for (row, column), value in cells.items()
    ]
    return pl.DataFrame(rows, schema_overrides={"first": pl.Float64, "second": pl.Float64})


def made(folder, hidden=SQUARE, rules=(P10,), **more):
    table = Table("t", (ROW, COLUMN), cells_of(INNER, (ROW, COLUMN)), hidden, measure="sum")
    claims = [
        claim("true-values", cells=9 - len(hidden)),
        intervals(0.5, len(hidden), measure="sum"),
        protected(rules, **{"sensitive": 1, "hidden_sums": "off"} | more),
    ]
    return release(folder, [table], claims if hidden else [claims[0], claims[2]], ready=READY)


@pytest.mark.parametrize("how", ["frame", "file", "folder", "mapping", "list"])
def test_each_way_to_give_them(tmp_path, how):
    ready = frame(cells_of(INNER, (ROW, COLUMN)))
    (tmp_path / "ready").mkdir()
    path = tmp_path / "ready" / "t.csv"
    ready.write_csv(path)
    given = {
        "frame": ready,
        "file": path,
        "folder": path.parent,
        "mapping": {"t": ready},
        "list": [path],
    }[how]
    found = halfmask.verify(made(tmp_path / "r"), originals=given)
    assert found.holds, found.sentences()


def test_totals_that_are_missing_are_added_up(tmp_path):
    """Totals of two contributors of inner cells aren't known: those of parts count."""
    folder = made(tmp_path / "r")
    assert halfmask.verify(folder, originals=frame(INNER)).holds
    short = {place: value for place, value in INNER.items() if place != ("r1", "c1")}
    assert not halfmask.verify(folder, originals=frame(short)).holds


@pytest.mark.parametrize("cell", sorted(SQUARE))
def test_each_cell_of_the_square_is_needed(tmp_path, cell):
    folder = made(tmp_path / "r", SQUARE - {cell})
    assert not halfmask.verify(folder, originals=frame(INNER)).claims[2].holds


def test_nothing_hidden(tmp_path):
    found = halfmask.verify(made(tmp_path / "r", set()), originals=frame(INNER))
    assert found.claims[1].found["published"] == 1


def test_what_is_not_known_is_taken_at_worst(tmp_path):
    """Without the second one, it may be all that the first leaves."""
    unknown = {place: (n, first, None) for place, (n, first, _) in FIRMS.items()}
    found = halfmask.verify(made(tmp_path / "a"), originals=frame(INNER, unknown))
    assert found.claims[2].found["sensitive"] == 1
    few = {place: (2, value / 2, None) for place, value in INNER.items()}
    found = halfmask.verify(made(tmp_path / "b"), originals=frame(INNER, few))
    assert found.claims[2].found["sensitive"] == 4
    assert not found.claims[2].holds


def test_lone_contributors(tmp_path):
    """Who is alone in r2, c1 computes the other cells of the square."""
    alone = FIRMS | {("r2", "c1"): (1, 60, None)}
    rules = [P10]
    found = halfmask.verify(
        made(tmp_path / "a", rules=rules, sensitive=2), originals=frame(INNER, alone)
    )
    assert found.claims[2].found["unmet"] != 0
    folder = made(tmp_path / "b", rules=rules, sensitive=2, singletons="off")
    assert halfmask.verify(folder, originals=frame(INNER, alone)).claims[2].holds


@pytest.mark.parametrize(
    "how",
    [
        lambda it: pl.concat([it, it.head(1)]),
        lambda it: it.drop("sum"),
        lambda it: it.with_columns(sum=pl.lit(None, dtype=pl.Float64)),
        lambda it: it.with_columns(row=pl.lit("r9")),
        lambda it: it.with_columns(sum=pl.col("sum") + 1),
        lambda _: {"other": frame(INNER)},
        lambda _: [],
        lambda _: 5,
    ],
)
def test_tables_that_are_not_those(tmp_path, how):
    folder = made(tmp_path / "r")
    assert not halfmask.verify(folder, originals=how(frame(INNER))).holds


def rounded(folder, within, inner):
    cells = {place: round(value, 1) for place, value in cells_of(inner, (ROW, COLUMN)).items()}
    table = Table("t", (ROW, COLUMN), cells, SQUARE, measure="sum")
    claims = [
        claim("additive", {"within": within} if within else {}, equations=2),
        intervals(0.1, 4, measure="sum"),
    ]
    return halfmask.verify(release(folder, [table], claims))


def test_sums_of_rounded_values(tmp_path):
    """Rounded to one decimal, sums are off by up to half a unit for each cell."""
    inner = {place: value + 0.03 for place, value in INNER.items()}
    found = rounded(tmp_path / "a", 0.05, inner)
    assert found.holds, found.sentences()
    assert found.claims[0].sentence == "additive with within = 0.05: counted in the files."
    assert not rounded(tmp_path / "b", 0.0, inner).holds
    assert not rounded(tmp_path / "c", 0.5, inner).holds  # values have more decimals
    inner = {place: value + 0.3 * (place == ("r1", "c1")) for place, value in INNER.items()}
    assert rounded(tmp_path / "d", 0.05, inner).holds


def test_a_small_table_of_whole_numbers_is_released(tmp_path):
    cells = {(row, column): 0 for row in ROW.codes for column in COLUMN.codes}
    for (row, column), value in {**INNER, ("r2", "c1"): 61}.items():
        for key in ((row, column), (row, "Total"), ("Total", column), ("Total", "Total")):
            cells[key] += value
    made_of = frame(cells)
    release = halfmask.crosstab(
        made_of,
        dimensions=["row", "column"],
        value="sum",
        count="firms",
        largest=["first", "second"],
        p_percent=10,
    )
    release.write(tmp_path / "out")

    assert halfmask.verify(tmp_path / "out", originals=made_of).holds
