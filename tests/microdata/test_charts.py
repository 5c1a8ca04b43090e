"""Charts are geometry that stays inside of its frame and keeps proportions."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.assess.synthesis import Associations
from halfmask.assess.utility import Distribution
from halfmask.microdata.charts import (
    association_chart,
    class_size_chart,
    class_size_shares,
    distribution_chart,
    place_map,
)
from halfmask.release.page import percent, shortened

shares = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=24)


def picture_of(pairs, kind):
    labels = [f"{place} to {place + 1}" for place in range(len(pairs))]
    return Distribution(
        kind=kind,
        labels=tuple(labels),
        before=tuple(before for before, _ in pairs),
        after=tuple(after for _, after in pairs),
        distance=0.0,
        min_count=5,
    )


@given(pairs=shares, kind=st.sampled_from(["numeric", "categorical"]))
def test_bars_stay_inside_of_the_drawing(pairs, kind):
    chart = distribution_chart("age", picture_of(pairs, kind), name="p")

    for bar in chart.bars:
        assert bar.x >= 0
        assert bar.y >= 0
        assert bar.x + bar.width <= chart.width + 0.1
        assert bar.y + bar.height <= chart.height + 0.1
    assert [row[0] for row in chart.rows] == [f"{n} to {n + 1}" for n in range(len(pairs))]


@pytest.mark.parametrize(("kind", "size"), [("numeric", "height"), ("categorical", "width")])
def test_a_bar_is_as_long_as_its_share(kind, size):
    chart = distribution_chart("age", picture_of([(0.2, 0.4), (0.8, 0.6)], kind), name="p")

    first, second = (getattr(bar, size) for bar in chart.bars if bar.series == "after")

    assert first / second == pytest.approx(0.4 / 0.6, rel=0.01)


def test_associations_mirror_each_other_and_no_name_becomes_markup():
    names = ("a<b", "c", "d")
    one = ((1.0, 0.25, 0.5), (0.25, 1.0, 0.0), (0.5, 0.0, 1.0))
    found = Associations(columns=names, original=one, released=one)
    chart = association_chart(found, name="p")
    sizes: dict[str, list[float]] = {"before": [], "after": []}
    for bar in chart.bars:
        sizes[bar.series].append(bar.width)
        assert bar.x + bar.width <= chart.width
        assert bar.y + bar.height <= chart.height
    assert sorted(it for it in sizes["before"] if it) == sorted(it for it in sizes["after"] if it)
    assert sizes["before"][1] / sizes["before"][0] == pytest.approx(2**0.5, rel=0.01)
    assert "<b" not in chart.svg()
    assert "a&lt;b 1" in chart.svg()


def test_class_sizes_hold_all_rows_before_and_after():
    rows = class_size_shares(np.array([1, 1, 7, 20_000]), np.array([10_004, 10_005]))

    chart = class_size_chart(rows, name="sizes")

    assert sum(before for _, before, _ in chart.rows) == pytest.approx(1.0)
    assert sum(after for *_, after in chart.rows) == pytest.approx(1.0)
    assert chart.rows[0][0] == "1"
    assert chart.rows[-1][0] == "10,000 or more"
    assert "classes of 1:" in chart.description


def test_no_classes_give_no_bars():
    nothing = np.zeros(0, dtype=np.int64)

    assert class_size_shares(nothing, nothing) == ()
    assert class_size_chart((), name="sizes").bars == ()


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.0, "0%"), (1.0, "100%"), (0.0004, "< 0.1%"), (0.9996, "> 99.9%"), (0.1234, "12.3%")],
)
def test_a_share_never_reads_as_nothing_or_all_where_it_is_not(share, shown):
    assert percent(share) == shown


def test_a_text_is_shortened_with_a_mark():
    assert (shortened("abcdef", 4), shortened("abcd", 4)) == ("abc…", "abcd")


@pytest.mark.parametrize(("unit", "metres"), [(None, None), ("kilometres", 1000.0)])
def test_a_map_has_the_rows_of_each_area_and_the_unit_of_its_file(unit, metres):
    ring = [[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]
    shapes = [{"type": "Polygon", "coordinates": [ring]}, {"type": "Point", "coordinates": [2, 2]}]
    features = [
        {"type": "Feature", "properties": {"label": f"{i}", "rows": 10 + i}, "geometry": it}
        for i, it in enumerate([*shapes, None])
    ]
    file = {"type": "FeatureCollection", "features": features} | ({"unit": unit} if unit else {})

    drawn = place_map("home", json.dumps(file), name="map-0")

    assert [(it.label, it.count) for it in drawn.areas] == [("0", 10), ("1", 11)]
    assert drawn.metres == metres
