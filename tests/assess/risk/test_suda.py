"""SUDA2 against the numbers in sdcMicro's own tests, and a search of all sets in plain Python."""

from __future__ import annotations

import itertools
from collections import Counter
from math import comb, factorial, prod

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.assess.risk import _minimal_uniques, suda

CELL = st.none() | st.integers(0, 2)
ROWS = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.tuples(*[CELL] * n), min_size=1, max_size=14)
)


def frame_of(rows):
    names = [f"c{i}" for i in range(len(rows[0]))]
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Int64), orient="row")


def minimal_sets(rows, largest, *, wildcards):
    """Return the minimal uniques of each row, all sets tried one by one."""

    def agrees(row, other, names):
        return all(row[i] == other[i] or (wildcards and other[i] is None) for i in names)

    found = []
    for place, row in enumerate(rows):
        others = [other for i, other in enumerate(rows) if i != place]
        sets: list[tuple[int, ...]] = []
        for size in range(1, largest + 1):
            for names in itertools.combinations(range(len(row)), size):
                known = not wildcards or all(row[i] is not None for i in names)
                alone = known and not any(agrees(row, other, names) for other in others)
                if alone and not any(set(part) <= set(names) for part in sets):
                    sets.append(names)
        found.append(sets)
    return found


def weight(n, size, largest):
    return prod(n - i for i in range(size, min(largest, n - 1) + 1))


@pytest.mark.slow
@given(ROWS, st.integers(1, 4), st.booleans())
def test_scores_and_shares_are_those_of_a_search_of_all_sets(rows, largest, wildcards):
    frame, n = frame_of(rows), len(rows[0])
    largest = min(largest, n)

    risk = suda(frame, quasi_identifiers=frame.columns, largest=largest)
    found = risk.as_wildcard if wildcards else risk.as_value

    if found is None:
        assert not any(cell is None for row in rows for cell in row)
        return
    sets = minimal_sets(rows, largest, wildcards=wildcards)
    scores = [sum(weight(n, len(names), largest) for names in each) for each in sets]
    assert found.score.tolist() == scores
    assert list(found.by_size) == [
        sum(len(names) == size for each in sets for names in each) for size in range(1, largest + 1)
    ]
    assert found.special == sum(map(bool, sets))
    for share in found.columns:
        column = int(share.column[1:])
        holds = [weight(n, len(s), largest) for each in sets for s in each if column in s]
        assert share.share == pytest.approx(sum(holds) / max(sum(scores), 1))


def test_the_oracle_fails_a_search_that_forgets_a_part():
    """Power: a set that isn't minimal would change the scores that are compared."""
    rows = [(0, 0), (1, 0), (0, 1), (0, 0)]

    assert minimal_sets(rows, 2, wildcards=False) == [[], [(0,)], [(1,)], []]
    assert suda(frame_of(rows), quasi_identifiers=["c0", "c1"]).worse.by_size == (2, 0)


@pytest.mark.parametrize("order", list(itertools.permutations("abc")))
def test_columns_add_what_sdcmicro_says(order):
    """Of sdcMicro's test_suda2.R, "simple example contribution"."""
    table = pl.DataFrame({"a": [2, 1, 1], "b": [0, 3, 0], "c": [0, 6, 0]}).select(order)

    found = suda(table, quasi_identifiers=order).worse

    assert {each.column: each.share for each in found.columns} == {"a": 0.5, "b": 0.375, "c": 0.375}


def test_the_book_example_of_sdcmicro():
    """Of sdcMicro's test_suda2.R, "book example": Templ (2017)."""
    table = pl.DataFrame(
        {
            "age": ["20s"] * 7 + ["60s"],
            "gender": ["male"] * 4 + ["female"] * 3 + ["male"],
            "income": ["50k+"] * 2 + ["50k-"] * 6,
            "education": ["high"] * 4 + ["university", "high", "middle", "university"],
        }
    )

    assert suda(table, quasi_identifiers=table.columns).worse.score[4:].tolist() == [4, 2, 6, 8]


GUIDELINE = pl.DataFrame(
    {
        "residence": ["urban"] * 4 + ["rural"] + ["urban"] * 5,
        "gender": ["f", "f", "f", "m", "f", "m", "f", "m", "f", "f"],
        "education": ["si", "si", "pi", "sc", "sc", "sc", "pc", "ps", "si", "si"],
        "labor": ["e", "e", "n", "e", "u", "e", "n", "u", "n", "n"],
    }
)


def test_the_guideline_example_of_sdcmicro():
    """Of sdcMicro's test_suda2.R, "sdc guideline": the IHSN's guide to disclosure control."""
    found = suda(GUIDELINE, quasi_identifiers=GUIDELINE.columns).worse

    assert found.score.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]


def test_the_weights_of_the_ihsn():
    found = suda(GUIDELINE, quasi_identifiers=GUIDELINE.columns, formula="ihsn").worse

    sets = minimal_sets(GUIDELINE.rows(), 4, wildcards=False)
    expected = [sum((2 ** (4 - len(s)) - 1) / comb(4, len(s)) for s in each) for each in sets]
    assert found.score.tolist() == pytest.approx(expected)


def test_dis_scores_are_those_of_the_formula():
    """4 unique rows; the pairs are rows 1 and 2, 4 and 6, 9 and 10: 6 rows in pairs."""
    found = suda(GUIDELINE, quasi_identifiers=GUIDELINE.columns, sampling_fraction=0.1).worse

    dis = 4 * 0.1 / (4 * 0.1 + 6 * 0.9)
    assert found.dis == pytest.approx(dis)
    scores, power = [6, 12, 6, 10], 1 + (8 - 4) / 20
    factor = sum(score**-power for score in scores)
    expected = [1 / (1 + (4 / dis - 4) / (score**power * factor)) for score in scores]
    assert found.dis_score is not None
    assert found.dis_score[found.score > 0].tolist() == pytest.approx(expected)
    assert found.dis_score[found.score == 0].tolist() == [0] * 6


def test_rows_with_equal_scores_share_dis_equally():
    table = pl.DataFrame({"a": [1, 2, 3, 4, 4], "b": [0] * 5})

    found = suda(table, quasi_identifiers=["a", "b"], sampling_fraction=0.5).worse

    assert found.dis_score is not None
    assert found.dis_score.tolist() == pytest.approx([0.6, 0.6, 0.6, 0, 0])


def test_a_population_in_full_makes_every_unique_row_a_right_link():
    table = pl.DataFrame({"a": [1, 2, 2]})

    found = suda(table, quasi_identifiers=["a"], sampling_fraction=1.0).worse

    assert found.dis == 1.0
    assert found.dis_score is not None
    assert found.dis_score.tolist() == [1, 0, 0]


def test_missing_cells_as_values_are_the_worse_reading():
    table = pl.DataFrame({"a": [1, 1, None], "b": [1, 2, 2]})

    risk = suda(table, quasi_identifiers=["a", "b"])

    assert risk.as_value.score.tolist() == [1, 1, 1]
    assert risk.as_wildcard is not None
    assert risk.as_wildcard.score.tolist() == [1, 0, 0]
    assert risk.worse is risk.as_value
    assert list(risk.to_dict()) == ["missing_as_value", "missing_as_wildcard"]


def test_what_is_said_names_columns_and_no_value():
    table = pl.DataFrame({"job": ["canary", "x", "x"], "town": ["y", "y", "y"]})

    found = suda(table, quasi_identifiers=["job", "town"]).worse

    assert found.sentence == (
        "1 row (33.33 %) is unique on a set of up to 2 quasi-identifiers, 1 of them on 1 "
        "quasi-identifier alone. The column job adds most: it is in sets with 100 % of the weight."
    )
    assert found.to_dict()["columns"] == [
        {"column": "job", "share": 1.0, "values": [{"rows": 1, "share": 1.0}]},
        {"column": "town", "share": 0.0, "values": []},
    ]
    assert "canary" not in repr(found.to_dict())


def test_equal_rows_have_no_score():
    table = pl.DataFrame({"a": [1, 1], "b": [2, 2]})

    found = suda(table, quasi_identifiers=["a", "b"], sampling_fraction=0.1).worse

    assert found.score.tolist() == [0, 0]
    assert found.sentence == "No row is unique on a set of up to 2 quasi-identifiers."
    assert found.dis == 0.0


def test_many_columns_have_finite_scores():
    table = pl.DataFrame({f"c{i}": [0, 1, 1] for i in range(60)})

    found = suda(table, quasi_identifiers=table.columns, largest=2, sampling_fraction=0.1).worse

    assert found.score[0] == 60 * 59 * 58
    assert found.by_size == (60, 0)
    assert np.isfinite(found.dis_score).all()  # type: ignore[arg-type] # a fraction is given


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        ({"largest": 0}, "largest"),
        ({"sampling_fraction": 0}, "sampling_fraction"),
        ({"sampling_fraction": 1.5}, "sampling_fraction"),
        ({"formula": "other"}, "formula"),
        ({"quasi_identifiers": []}, "quasi-identifiers"),
    ],
)
def test_bad_parameters_are_named(given_, says):
    table = pl.DataFrame({"a": [1, 2]})

    with pytest.raises(ParameterError, match=says):
        suda(table, **{"quasi_identifiers": ["a"], **given_})


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(ColumnNotFoundError, match="'b'"):
        suda(pl.DataFrame({"a": [1]}), quasi_identifiers=["b"])


def test_a_search_beyond_memory_is_refused(monkeypatch):
    table = pl.DataFrame({f"c{i}": [0, 1, 2] for i in range(10)})
    monkeypatch.setattr(_minimal_uniques, "MAX_BYTES", 100)

    with pytest.raises(ParameterError, match=r"too much memory.*\n\nHint: .*largest"):
        suda(table, quasi_identifiers=table.columns)

    assert suda(table, quasi_identifiers=table.columns, largest=2).worse.special == 3


def test_too_many_missing_cells_are_refused(monkeypatch):
    rows: list[tuple[int | None, ...]] = [(i, None, i) for i in range(40)]
    rows += [(None, i, i) for i in range(8)]
    rows += [(i, j, None) for i in range(8) for j in range(8)]
    monkeypatch.setattr(_minimal_uniques, "MAX_ENTRIES", 1)
    frame = frame_of(rows)

    with pytest.raises(ParameterError, match="missing cells"):
        suda(frame, quasi_identifiers=frame.columns)


def test_weights_of_all_sizes_are_factorials():
    """With all sizes searched, the weight of the papers is (n - s)!."""
    assert [weight(5, size, 5) for size in range(1, 6)] == [factorial(5 - s) for s in range(1, 6)]


@pytest.mark.real_data
def test_a_survey_has_the_scores_of_a_search_of_all_sets(shared_data):
    """sdcMicro's testdata: a set is a minimal unique if it is unique, and no part of it is."""
    keys = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
    rows = pl.read_csv(shared_data / "sdc" / "testdata.csv").select(keys).rows()
    sets = [s for size in range(1, 8) for s in itertools.combinations(range(7), size)]
    counts = {s: Counter(tuple(row[i] for i in s) for row in rows) for s in sets}
    scores = []
    for row in rows:
        unique = {s for s in sets if counts[s][tuple(row[i] for i in s)] == 1}
        minimal = [s for s in unique if not any(set(part) < set(s) for part in unique)]
        scores.append(sum(factorial(7 - len(s)) for s in minimal))

    found = suda(pl.DataFrame(rows, schema=keys, orient="row"), quasi_identifiers=keys).worse

    assert found.score.tolist() == scores
    assert found.special == found.unique == 157
