"""True values, sums, rounding, cell keys, noise and earlier releases: each holds and fails."""

from __future__ import annotations

import hashlib

import polars as pl
import pytest

import halfmask
from verifier.crosstabs.table_releases import (  # type: ignore[import-not-found] # beside
    Table,
    cells_of,
    change,
    claim,
    flat,
    intervals,
    release,
)

ROW, COLUMN = flat("row", "r1", "r2"), flat("column", "c1", "c2")
INNER = {("r1", "c1"): 4, ("r1", "c2"): 7, ("r2", "c1"): 6, ("r2", "c2"): 8}
SQUARE = {*INNER}


def people(**more):
    places = [place for place, n in (INNER | more).items() for _ in range(n)]
    return pl.DataFrame(places, schema=["row", "column"], orient="row")


def table(hidden=(), **changes):
    cells = cells_of(INNER, (ROW, COLUMN))
    return Table("t", (ROW, COLUMN), cells | changes.get("cells", {}), hidden)


def holds(folder, **given):
    return halfmask.verify(folder, **given).holds


def test_true_values(tmp_path):
    folder = release(tmp_path / "a", [table()], [claim("true-values", cells=9)])
    assert holds(folder, originals=people())
    assert not holds(folder, originals=people().head(-1))
    assert not holds(release(tmp_path / "b", [table()], [claim("true-values", cells=10)]))
    other = table(cells={("r1", "c1"): 5})
    folder = release(tmp_path / "c", [other], [claim("true-values", cells=9)])
    assert not holds(folder, originals=people())


def test_true_cells_that_the_release_lacks(tmp_path):
    """A cell without a line is published as 0."""
    short = table()
    del short.cells["r1", "c1"]
    folder = release(tmp_path / "a", [short], [claim("true-values", cells=8)])
    found = halfmask.verify(folder, originals=people())
    assert found.claims[0].found == {"cells": 8, "other_cells": 1}


@pytest.mark.parametrize("cell", [("r1", "c1"), ("r1", "Total"), ("Total", "Total")])
def test_additive(tmp_path, cell):
    claims = [claim("additive", equations=6)]
    assert holds(release(tmp_path / "a", [table()], claims))
    other = table(cells={cell: 5})
    assert not holds(release(tmp_path / "b", [other], claims))
    other.hidden = {cell}
    folder = release(tmp_path / "c", [other], [claim("additive", equations=1)])
    assert not holds(folder)  # nothing claims the interval of the hidden cell
    assert halfmask.verify(folder).claims[0].holds
    assert not holds(release(tmp_path / "d", [table()], [claim("additive", equations=7)]))


def test_multiples(tmp_path):
    rounded = {cell: 5 * round(n / 5) for cell, n in table().cells.items()}
    for base, expected in ((5, True), (5.0, True), (4, False), (0, False), (-5, False)):
        folder = tmp_path / f"{base}"
        release(folder, [table(cells=rounded)], [claim("multiples", {"base": base})])
        assert holds(folder) is expected
    release(
        tmp_path / "one",
        [table(cells=rounded | {("r1", "c1"): 6})],
        [claim("multiples", {"base": 5})],
    )
    assert not holds(tmp_path / "one")


def test_deviations(tmp_path):
    rounded = {cell: 5 * round(n / 5) for cell, n in table().cells.items()}
    for most, expected in ((2, True), (1.9, False), (0, False)):
        folder = tmp_path / f"{most}"
        release(folder, [table(cells=rounded)], [claim("deviations", {"at_most": most})])
        assert holds(folder, originals=people()) is expected
        assert not holds(folder)


def test_minimum_count(tmp_path):
    for n, expected in ((4, True), (5, False), (1, False)):
        folder = release(tmp_path / f"{n}", [table()], [claim("minimum-count", {"n": n})])
        assert holds(folder) is expected
    sums = table()
    sums.measure = "turnover"
    assert not holds(release(tmp_path / "sums", [sums], [claim("minimum-count", {"n": 2})]))


def keyed(folder, transitions, most=2, variance=1.0):
    parameters = {"max_deviation": most, "variance": variance}
    claims = [claim("cell-key", parameters, basis="accounted", transitions=transitions)]
    return holds(release(folder, [table()], claims))


@pytest.mark.parametrize(
    ("transitions", "expected"),
    [
        ([[0, 0, 1, 0, 0], [0, 0.5, 0, 0.5, 0], [0.125, 0, 0.75, 0, 0.125]], True),
        ([[0, 0, 1, 0, 0], [0, 0.5, 0, 0.5, 0]], False),  # none for a count of 2
        ([[0, 0, 1, 0, 0], [0, 0.5, 0, 0.5, 0], [0.125, 0, 0.75, 0, 0.1]], False),
        ([[0, 0, 1, 0, 0], [0, 0.5, 0, 0.5, 0], [0, 0.4, 0.2, 0.4, 0]], False),  # variance
        ([[0, 0, 1, 0, 0], [0, 0.5, 0, 0.5, 0], [0, 0.25, 0, 0.75, 0]], False),  # mean
        ([[0, 0, 1, 0, 0], [0.125, 0, 0.75, 0, 0.125], [0, 0.5, 0, 0.5, 0]], False),  # below 0
        ([[0, 0, 0.9, 0.1, 0], [0, 0.5, 0, 0.5, 0], [0.125, 0, 0.75, 0, 0.125]], False),
        ([[0, 1, 0], [0.5, 0, 0.5], [0.5, 0, 0.5]], False),
        ([[0, 0, 1, 0, 0], [0, 0.5, 0, 0.5, 0], [0.125, 0.5, -0.25, 0.5, 0.125]], False),
        ("none", False),
    ],
)
def test_cell_key(tmp_path, transitions, expected):
    assert keyed(tmp_path / "a", transitions) is expected


def test_cell_key_is_for_its_parameters(tmp_path):
    good = [[0, 0, 1, 0, 0], [0, 0.5, 0, 0.5, 0], [0.125, 0, 0.75, 0, 0.125]]
    assert not keyed(tmp_path / "a", good, most=1)
    assert not keyed(tmp_path / "b", good, variance=1.1)
    assert not keyed(tmp_path / "c", good, most=2.0)


EVENT = {"mechanism": "laplace", "noise_multiplier": 2.0, "coordinates": 4}
NOISE = {"table": "t", "cells": 4, "sensitivity": 3.0, "scale": 6.0}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"epsilon": 0.4}, False),
        ({"event": {"coordinates": 3}}, False),
        ({"event": {"noise_multiplier": 2.5}}, False),
        ({"noise": {"cells": 3}}, False),
        ({"noise": {"scale": 5.0}}, False),
        ({"noise": {"sensitivity": 2.0, "scale": 4.0}}, False),  # a person has three rows
        ({"noise": {"table": "other"}}, False),
        ({"times": 0}, False),
        ({"times": 2}, False),
    ],
)
def test_counts_under_differential_privacy(tmp_path, changes, expected):
    """Noise makes counts below 0; the price is that of the stated events."""
    times = changes.get("times", 1)
    noisy = table(cells={("r1", "c1"): -3})
    stated = claim(
        "differential-privacy",
        {"epsilon": changes.get("epsilon", 0.5), "delta": 0.0},
        about={
            "unit": {"person": "who", "max_rows": 3},
            "noise": [NOISE | changes.get("noise", {})] * times,
        },
        basis="accounted",
        events=[EVENT | changes.get("event", {})] * times,
    )
    assert holds(release(tmp_path / "a", [noisy], [stated])) is expected


def test_counts_below_zero_need_noise(tmp_path):
    noisy = table(cells={("r1", "c1"): -3})
    folder = release(tmp_path / "a", [noisy], [claim("additive", equations=0)])
    assert "A table that can't have values below 0 has some." in halfmask.verify(folder).problems


def sha256(folder):
    return hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()


def two_releases(tmp_path, first, second, claims=None):
    """An earlier release, and one that names it."""
    shown = [claim("true-values", cells=len(first.cells) - len(first.hidden))]
    if first.hidden:
        shown.append(intervals(1, len(first.hidden)))
    earlier = release(tmp_path / "earlier", [first], shown)
    claims = claims or [intervals(1, len(second.hidden)), claim("earlier-tables", {"releases": 1})]
    later = release(tmp_path / "later", [second], claims, earlier=(sha256(earlier),))
    return earlier, later


def test_an_earlier_release_of_the_same_cells(tmp_path):
    earlier, later = two_releases(tmp_path, table(SQUARE), table(SQUARE))
    assert holds(later, earlier=[earlier])
    found = halfmask.verify(later)
    assert not found.holds
    assert not found.is_broken
    assert not holds(later, earlier=[])
    assert not holds(later, earlier=[earlier, earlier])
    assert not holds(later, earlier=[later])


def test_an_earlier_release_shows_what_is_hidden(tmp_path):
    earlier, later = two_releases(tmp_path, table(), table(SQUARE))
    assert not holds(later, earlier=[earlier])
    assert halfmask.verify(later).claims[0].holds
    one = Table("rows", (ROW,), {("Total",): 25, ("r1",): 11, ("r2",): 14})
    earlier, later = two_releases(tmp_path / "b", one, table(SQUARE))
    assert holds(later, earlier=[earlier])
    hidden = {*SQUARE, ("r1", "Total"), ("r2", "Total")}
    earlier, later = two_releases(tmp_path / "c", one, table(hidden))
    assert not holds(later, earlier=[earlier])


def test_an_earlier_release_with_another_sum(tmp_path):
    """It showed c1 and c3 together; the later one shows c3, so c1 is exact."""
    three = flat("column", "c1", "c2", "c3")
    grouped = type(three)(
        name="column",
        total="Total",
        codes=(*three.codes, "c1+c3"),
        sums=(*three.sums, type(three.sums[0])(total="c1+c3", parts=("c1", "c3"))),
    )
    inner = INNER | {("r1", "c3"): 5, ("r2", "c3"): 9}
    places = {*SQUARE, ("r1", "c3"), ("r2", "c3")}
    first = Table("t", (ROW, grouped), cells_of(inner, (ROW, grouped)), places | {("r1", "c1+c3")})
    first.hidden |= {("r2", "c1+c3")}
    for hidden, expected in ((first.hidden, True), (places, False)):
        first.hidden = hidden
        second = Table("t", (ROW, three), cells_of(inner, (ROW, three)), SQUARE)
        earlier, later = two_releases(tmp_path / f"{expected}", first, second)
        assert holds(later) is False
        assert holds(later, earlier=[earlier]) is expected


def test_an_earlier_release_that_was_rounded(tmp_path):
    """Values that are rounded bound the true ones."""
    rounded = table(cells={cell: 5 * round(n / 5) for cell, n in table().cells.items()})
    for most, expected in ((1, False), (2.5, True)):
        folder = tmp_path / f"{most}"
        earlier = release(folder / "earlier", [rounded], [claim("deviations", {"at_most": most})])
        claims = [intervals(3, 4), claim("earlier-tables", {"releases": 1})]
        later = release(folder / "later", [table(SQUARE)], claims, earlier=(sha256(earlier),))
        assert holds(later, earlier=[earlier]) is expected


def test_an_earlier_release_with_other_values(tmp_path):
    other = table({("r1", "c1"), ("r1", "c2")}, cells={("r2", "c1"): 5, ("r2", "c2"): 9})
    earlier, later = two_releases(tmp_path, other, table(SQUARE))
    assert not holds(later, earlier=[earlier])


def test_an_earlier_release_that_was_changed(tmp_path):
    earlier, later = two_releases(tmp_path, table(SQUARE), table(SQUARE))
    path = earlier / "data" / "t.csv"
    path.write_text(path.read_text().replace("11.0", "12.0"))
    assert not holds(later, earlier=[earlier])


def test_earlier_releases_that_nothing_is_claimed_of(tmp_path):
    _, later = two_releases(tmp_path, table(SQUARE), table(SQUARE), [intervals(1, 4)])
    assert any("earlier" in each for each in halfmask.verify(later).problems)


def test_inputs_of_other_kinds_are_refused(tmp_path):
    folder = release(tmp_path / "a", [table()], [claim("additive", equations=6)])
    with pytest.raises(halfmask.VerificationError, match="file of persons"):
        halfmask.verify(folder, persons=tmp_path)


def test_a_claim_without_its_parameter_or_with_another(tmp_path):
    folder = release(tmp_path / "a", [table()], [claim("additive", {"to": 5}, equations=6)])
    assert not holds(folder)
    folder = release(tmp_path / "b", [table()], [claim("multiples")])
    assert not holds(folder)
    folder = release(tmp_path / "c", [table()], [claim("additive", equations=6)])
    change(folder, lambda said: said["claims"][0].update(basis="measured"))
    assert not holds(folder)
    change(folder, lambda said: said["claims"][0].update(basis="counted"))
    assert holds(folder)
