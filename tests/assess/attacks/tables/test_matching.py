"""Reading released cells: what a value is held against, and how far it is off."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfmask as hm
from halfmask.assess.attacks.tables._links import Comparison
from halfmask.assess.attacks.tables._matching import Matched, match
from halfmask.data import Hierarchy

if TYPE_CHECKING:
    from halfmask.anonymize import Recoding


def gaps(column: Matched, values: pl.Series) -> list[list[float]]:
    comparison = Comparison(columns=(column,))
    blocks = [block for _, block in comparison.blocks({column.name: column.known(values)})]
    return [[round(float(gap), 3) for gap in row] for row in np.concatenate(blocks)]


def test_a_number_is_far_from_a_range_by_what_it_lies_outside():
    ages = pl.Series([20, 30, 40])
    column = match("age", pl.Series(["[20, 30]", "40", "[30, 40] or missing"]), [ages])

    assert gaps(column, ages) == [[0, 1, 0.5], [0, 0.5, 0], [0.5, 0, 0]]


def test_a_suppressed_cell_may_stand_for_anything_but_hardly():
    ages = pl.Series([20, 40, None])
    column = match("age", pl.Series([None, "*", "20"]), [ages])

    assert gaps(column, ages)[0][0] == pytest.approx(1e-4, abs=1e-3)
    assert gaps(column, ages)[0][2] == 0
    assert gaps(column, ages)[2] == [0, 0, 1]  # the average gap of 20 and 40 is all their spread


def test_a_category_is_in_a_set_or_is_not():
    cities = pl.Series(["ulm", "bonn, west", "kiel", None])
    released = pl.Series(["{bonn, west, ulm}", "kiel", "{kiel, ulm} or missing", "rome"])
    column = match("city", released, [cities])

    assert gaps(column, cities)[:3] == [[0, 1, 0, 1], [0, 1, 1, 1], [1, 0, 0, 1]]
    assert gaps(column, cities)[3][2] == 0


def test_a_set_whose_members_are_left_out_says_nothing():
    cities = pl.Series(["a", "b", "c"])
    column = match("city", pl.Series(["{a, b, ... 40 in all}"]), [cities])

    assert column.cells.silent.tolist() == [True]


def test_a_node_of_a_hierarchy_stands_for_its_leaves():
    tree = Hierarchy.from_rows([("ulm", "de"), ("graz", "at"), ("kiel", "de")], column="city")
    cities = pl.Series(["ulm", "graz", "kiel"])
    column = match("city", pl.Series(["de", "at", "*", "ulm"]), [cities], tree)

    assert [row[:2] + row[3:] for row in gaps(column, cities)] == [[0, 1, 0], [1, 0, 1], [0, 1, 1]]
    assert column.cells.silent.tolist() == [False, False, True, False]


def test_a_node_of_numbers_stands_for_their_range():
    rows = [(str(n), "young" if n < 30 else "old") for n in (20, 29, 30, 60)]
    tree = Hierarchy.from_rows(rows, column="age")
    column = match("age", pl.Series(["young", "old"]), [pl.Series([20, 60])], tree)

    assert column.cells.low.tolist() == [20, 30]
    assert column.cells.high.tolist() == [29, 60]


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([date(2020, 1, 1), date(2021, 1, 1)]),
        pl.Series([datetime(2020, 1, 1, 3), datetime(2021, 1, 1)]),  # noqa: DTZ001 # no zone is a kind
        pl.Series([datetime(2020, 1, 1, 3, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)]),
        pl.Series([0.5, -3.25]),
        pl.Series([-7, 5]),
    ],
    ids=lambda values: str(values.dtype),
)
def test_every_ordered_type_is_read_back_from_its_range(values: pl.Series):
    texts = values.sort().cast(pl.String).to_list()
    column = match("c", pl.Series([f"[{texts[0]}, {texts[1]}]", *texts]), [values])

    numbers = sorted(column.known(values).tolist())
    assert column.cells.low.tolist() == [numbers[0], *numbers]
    assert column.cells.high.tolist() == [numbers[1], *numbers]


INF = float("inf")
SPELLINGS = {
    # Ages are whole numbers: 39 is the last before 40.
    "[30, 40]": (30, 40),
    "[30, 40)": (30, 39),
    "[30,40[": (30, 39),
    "(30, 40]": (31, 40),
    "]30, 40]": (31, 40),
    "(30, 40)": (31, 39),
    "(30, 31)": (30.5, 30.5),
    "30-39": (30, 39),
    "30 - 39": (30, 39),
    "30\u201339": (30, 39),
    "30 \u2014 39": (30, 39),
    "30..39": (30, 39),
    "30 to 39": (30, 39),
    "-5--1": (-5, -1),
    ">=30": (30, INF),
    "\u2265 30": (30, INF),
    "30+": (30, INF),
    ">30": (31, INF),
    "> 30": (31, INF),
    "<=30": (-INF, 30),
    "\u226430": (-INF, 30),
    "<30": (-INF, 29),
    "[90, inf)": (90, INF),
    "(-inf, 20.0]": (-INF, 20),
    ">=30 or missing": (30, INF),
}
SILENT = ("30ish", "40-30", "[40, 30)", "(-inf, inf)", "> x", "+", "a+", "-")


@pytest.mark.parametrize(("label", "ends"), SPELLINGS.items(), ids=str)
def test_ranges_are_read_as_people_write_them(label: str, ends: tuple[float, float]):
    ages = pl.Series([20, 21, 30, 40, 90])
    column = match("age", pl.Series([label]), [ages])

    assert (column.cells.low[0], column.cells.high[0]) == ends
    assert not column.cells.silent[0]


@pytest.mark.parametrize("label", SILENT)
def test_what_is_no_range_says_nothing(label: str):
    assert match("age", pl.Series([label]), [pl.Series([20, 21])]).cells.silent.tolist() == [True]


def test_an_end_that_is_left_out_is_a_step_of_the_column_away():
    tenths = match("t", pl.Series(["[0.1, 0.3)"]), [pl.Series([0.1, 0.2, 0.30000000000000004])])
    days = pl.Series([date(2020, 1, 1), date(2020, 1, 2), date(2021, 1, 1)])
    moments = days.cast(pl.Datetime("us"))
    label = pl.Series(["[2020-01-01, 2021-01-01)"])
    last = pl.Series([date(2020, 12, 31)])

    assert tenths.cells.high.tolist() == pytest.approx([0.2])
    for values in (days, moments):
        column = match("day", label, [values])
        assert column.cells.high.tolist() == column.known(last.cast(values.dtype)).tolist()
    # In a column of tens the one before 40 is 30.
    assert match("age", pl.Series(["[30, 40)"]), [pl.Series([30, 40])]).cells.high[0] == 30


def test_a_range_with_one_end_stands_for_that_end():
    column = match("age", pl.Series([">= 30", "<20", "[20, 40]", "*"]), [pl.Series([20, 21, 50])])

    assert column.cells.middle[:3].tolist() == [30, 19, 30]
    assert np.isnan(column.cells.middle[3])
    assert column.cells.bounded.tolist() == [False, False, True, False]
    assert not column.cells.single.any()


def test_a_day_of_a_hierarchy_of_moments_is_the_whole_day():
    moments = pl.Series([datetime(2020, 1, day, hour) for day in (1, 2) for hour in (0, 20)])  # noqa: DTZ001
    texts = moments.cast(pl.String).to_list()
    tree = Hierarchy.from_rows([(text, text[:10]) for text in texts], column="at")
    column = match("at", pl.Series(["2020-01-01", texts[1]]), [moments], tree)

    first, last = column.known(moments[:2]).tolist()
    assert column.cells.low.tolist() == [first, last]
    assert column.cells.high.tolist() == [last, last]


def test_truth_values_are_read_as_others_spell_them():
    flags = pl.Series([True, False])

    for released in (["True", "False"], ["TRUE", "false"], ["1", "0"]):
        assert gaps(match("f", pl.Series(released), [flags]), flags) == [[0, 1], [1, 0]]


def test_numbers_kept_as_text_are_read_where_ranges_were_released():
    ages = pl.Series(["20", "40"])

    for released in (["[20, 40]"], ["[20, 40)"], ["20-40"], ["[20, 40] or missing"], [20]):
        assert match("age", pl.Series(released), [ages]).is_number
    assert not match("age", pl.Series(["20"]), [ages]).is_number


def test_truth_values_and_whole_floats_match_themselves():
    flags = pl.Series([True, False])
    assert gaps(match("f", flags, [flags]), flags) == [[0, 1], [1, 0]]
    ids = pl.Series([1.0, 2.0])
    assert gaps(match("i", pl.Series([1, 2]), [ids]), ids) == [[0, 1], [1, 0]]


def test_a_person_of_an_unknown_category_is_in_no_set():
    column = match("c", pl.Series(["{a, b}", "a"]), [pl.Series(["a", "b"])])

    assert gaps(column, pl.Series(["z"])) == [[1, 1]]


@pytest.mark.slow
@given(
    st.lists(
        st.text(alphabet='ab,{}[]" \\.', min_size=1, max_size=6),
        min_size=2,
        max_size=6,
        unique=True,
    )
)
def test_a_written_set_admits_its_members_and_no_others(texts):
    *members, other = texts
    people = pl.DataFrame({"c": members * 2})
    written = hm.Anonymizer(
        guarantees=[hm.KAnonymity(k=2 * len(members))],
        quasi_identifiers=["c"],
        recoding=hm.Ranges(),
    ).fit_transform(people)["c"]

    column = match("c", written.unique(), [pl.Series("c", texts)])

    # Blanks at the ends are no part of a value for whoever reads a table of people.
    assert gaps(column, pl.Series("c", members)) == [[0] for _ in members]
    if other.strip() not in {member.strip() for member in members}:
        assert gaps(column, pl.Series("c", [other])) == [[1]]


def test_no_repr_holds_a_cell():
    column = match("c", pl.Series(["canary", "{canary, b}"]), [pl.Series(["canary", "b"])])

    assert "canary" not in repr(column) + repr(column.cells) + repr(Comparison(columns=(column,)))


@pytest.mark.parametrize("recoding", [hm.Ranges(), hm.Level()], ids=["ranges", "level"])
def test_what_anonymizer_writes_admits_its_own_row(recoding: Recoding):
    """Whatever a class is called, each of its rows lies inside."""
    rng = np.random.default_rng(0)
    rows = pl.DataFrame(
        {
            "age": pl.Series(rng.integers(18, 90, 200)).set(pl.Series(rng.random(200) < 0.1), None),
            "city": rng.choice(["a, b", "c", "{d}", "e or missing", "f"], 200),
            "born": pl.Series(rng.integers(0, 9000, 200)).cast(pl.Int32).cast(pl.Date),
        }
    )
    made = hm.Anonymizer(guarantees=[hm.KAnonymity(k=7)], recoding=recoding).fit_transform(rows)

    for name in rows.columns:
        column = match(name, made[name], [rows[name]])
        assert np.diag(np.array(gaps(column, rows[name]))).max() <= 1e-3, name


@pytest.mark.slow
@given(
    st.lists(st.integers(-50, 50) | st.none(), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 20)), min_size=1, max_size=12),
)
def test_distances_are_those_of_the_definition(
    values: list[int | None], ends: list[tuple[int, int]]
):
    """Hand-written Gower distances, one pair after the other."""
    known = [value for value in values if value is not None]
    spread = (max(known) - min(known) or 1) if known else 1
    released = pl.Series([f"[{low}, {low + width}]" for low, width in ends])
    series = pl.Series(values, dtype=pl.Int64)

    found = gaps(match("c", released, [series]), series)

    for value, row in zip(values, found, strict=True):
        if value is not None:
            by_hand = [max(low - value, value - low - width, 0) / spread for low, width in ends]
            assert row == pytest.approx(by_hand, abs=1e-3)
