from __future__ import annotations

import itertools
import json
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError
from halfmask.assess.risk import THRESHOLDS, classes_risk, table_risk
from halfmask.guarantees import Classes

CELL = st.none() | st.integers(0, 2)
ROWS = st.lists(st.tuples(CELL, CELL), min_size=1, max_size=30)
MORE = st.lists(st.tuples(CELL, CELL), max_size=30)


def frame_of(rows: list[tuple[int | None, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"a": pl.Int64, "b": pl.Int64}, orient="row")


def match(left: tuple[int | None, ...], right: tuple[int | None, ...]) -> bool:
    return all(a == b or a is None or b is None for a, b in zip(left, right, strict=True))


def mean_chance(people: list[int]) -> float:
    return float(sum(Fraction(1, n) for n in people) / len(people))


def check(found, alike: list[int], population: list[int] | None, n_population: int | None):
    """Compare one reading with how many rows each row looks like, row by row."""
    n = len(alike)
    assert found.rows == n
    assert found.uniqueness.rows == alike.count(1)
    assert found.uniqueness.share.value == alike.count(1) / n
    assert found.prosecutor.highest.value == 1 / min(alike)
    assert found.prosecutor.highest.baseline == 1 / n
    assert found.prosecutor.rows_at_highest == alike.count(min(alike))
    assert found.prosecutor.average.value == pytest.approx(mean_chance(alike))
    for above, threshold in zip(found.prosecutor.at_risk, THRESHOLDS, strict=True):
        expected = sum(Fraction(1, f) > Fraction(str(threshold)) for f in alike)
        assert (above.threshold, above.rows, above.share) == (threshold, expected, expected / n)
    linked = alike if population is None else population
    assert found.marketer.linked.value == pytest.approx(mean_chance(linked))
    if population is None:
        assert found.journalist is None
        return
    assert n_population is not None
    assert found.journalist.highest.value == 1 / min(population)
    assert found.journalist.highest.baseline == 1 / n_population
    assert found.journalist.rows_at_highest == population.count(min(population))
    assert [above.rows for above in found.journalist.at_risk] == [
        sum(Fraction(1, f) > Fraction(str(t)) for f in population) for t in THRESHOLDS
    ]


@pytest.mark.slow
@given(ROWS)
def test_risks_of_a_table_are_counted_row_by_row_in_both_readings(rows):
    risk = table_risk(frame_of(rows), quasi_identifiers=["a", "b"])

    check(risk.as_value, [rows.count(row) for row in rows], None, None)
    if any(cell is None for row in rows for cell in row):
        check(risk.as_wildcard, [sum(match(row, o) for o in rows) for row in rows], None, None)
    else:
        assert risk.as_wildcard is None


@pytest.mark.slow
@given(ROWS, MORE)
def test_risks_in_a_population_are_counted_row_by_row_in_both_readings(rows, others):
    people = rows + others

    risk = table_risk(frame_of(rows), quasi_identifiers=["a", "b"], population=frame_of(people))

    alike, population = [rows.count(row) for row in rows], [people.count(row) for row in rows]
    check(risk.as_value, alike, population, len(people))
    by_classes = Fraction(len(set(rows)), sum(people.count(row) for row in set(rows)))
    assert risk.as_value.journalist is not None
    assert risk.as_value.journalist.average.value == pytest.approx(
        max(float(by_classes), mean_chance(population))
    )
    if risk.as_wildcard is not None:
        alike = [sum(match(row, other) for other in rows) for row in rows]
        population = [sum(match(row, other) for other in people) for row in rows]
        check(risk.as_wildcard, alike, population, len(people))


@pytest.mark.slow
@given(ROWS)
def test_the_worse_reading_is_that_of_a_value_as_wildcards_only_add_matches(rows):
    risk = table_risk(frame_of(rows), quasi_identifiers=["a", "b"])

    assert risk.worse is risk.as_value


@pytest.mark.slow
@given(ROWS)
def test_the_distribution_of_class_sizes_has_every_row_once(rows):
    sizes = table_risk(frame_of(rows), quasi_identifiers=["a", "b"]).as_value.class_sizes

    counts = Counter(rows)
    of_rows = sorted(counts[row] for row in rows)
    assert sizes.classes == len(counts)
    assert (sizes.smallest, sizes.largest) == (of_rows[0], of_rows[-1])
    assert sizes.average == len(rows) / len(counts)
    assert sum(size >= sizes.median_of_rows for size in of_rows) * 2 >= len(rows)
    assert sum(size > sizes.median_of_rows for size in of_rows) * 2 <= len(rows)
    for low, high, classes, held in [(b.low, b.high, b.classes, b.rows) for b in sizes.bins]:
        inside = [n for n in counts.values() if low <= n and (high is None or n <= high)]
        assert (classes, held) == (len(inside), sum(inside))
    assert sum(b.rows for b in sizes.bins) == len(rows)


def test_bins_adjoin_and_the_last_is_open():
    bins = classes_risk(Classes.from_codes(np.zeros(5000), 1)).class_sizes.bins

    assert bins[0].low == 1
    for left, right in itertools.pairwise(bins):
        assert left.high == right.low - 1
    assert (bins[-1].high, bins[-1].rows) == (None, 5000)


def test_thresholds_met_exactly_are_not_above():
    sizes = [20, 10, 5, 3]
    classes = Classes.from_codes(np.repeat(range(4), sizes), 4)

    at_risk = classes_risk(classes).prosecutor.at_risk

    assert [above.rows for above in at_risk] == [18, 18, 8, 3, 3]


@pytest.mark.real_data
def test_adult_has_the_risks_that_arx_counts(shared_data):
    """ARX's TestRiskMetrics on its adult.csv: all nine columns are quasi-identifiers."""
    adult = pl.read_csv(
        shared_data / "arx" / "adult_arx_30162.csv", separator=";", infer_schema=False
    )

    risk = table_risk(adult, quasi_identifiers=adult.columns).as_value

    assert risk.prosecutor.average.value == 0.6465751607983555
    assert risk.uniqueness.share.value == 0.5142895033485844
    assert risk.marketer.linked.value == 0.6465751607983555


def test_population_sizes_may_be_given_per_class():
    classes = Classes.from_codes([0, 0, 1], 2)

    risk = classes_risk(classes, population_sizes=[8, 4], population_rows=100)

    assert risk.journalist is not None
    assert risk.journalist.highest.value == 0.25
    assert risk.journalist.highest.baseline == 0.01
    assert risk.marketer.linked.value == pytest.approx((2 / 8 + 1 / 4) / 3)
    assert risk.marketer.against_population


def test_a_population_that_lacks_people_of_the_table_is_refused():
    frame = frame_of([(1, 1), (1, 1), (2, 2)])

    with pytest.raises(DataError, match="2 classes"):
        table_risk(frame, quasi_identifiers=["a", "b"], population=frame_of([(1, 1)]))
    with pytest.raises(DataError, match="1 classes"):
        classes_risk(Classes.from_codes([0, 0, 1], 2), population_sizes=[1, 1])


def test_what_cannot_be_judged_is_refused():
    with pytest.raises(ParameterError, match="no rows"):
        table_risk(frame_of([]), quasi_identifiers=["a"])
    with pytest.raises(ParameterError, match="no rows"):
        classes_risk(Classes.from_codes([1], 2))
    with pytest.raises(ParameterError, match="one size for each"):
        classes_risk(Classes.from_codes([0], 1), population_sizes=[1, 2])
    with pytest.raises(ParameterError, match="threshold"):
        classes_risk(Classes.from_codes([0], 1), thresholds=[1.5])
    with pytest.raises(ColumnNotFoundError, match="'c'"):
        table_risk(frame_of([]), quasi_identifiers=["c"])


def test_a_table_without_quasi_identifiers_is_one_class():
    risk = table_risk(frame_of([(1, 2), (3, 4)]), quasi_identifiers=[])

    assert risk.as_value.prosecutor.highest.value == 0.5


def test_results_turn_into_json_and_say_themselves_without_a_value():
    frame = pl.DataFrame({"a": ["canary", None, "canary"], "b": ["canary2"] * 3})

    risk = table_risk(frame, quasi_identifiers=["a", "b"], population=pl.concat([frame] * 2))

    content = json.dumps(risk.to_dict(), allow_nan=False)
    assert risk.as_wildcard is not None
    sentences = [*risk.as_value.sentences, *risk.as_wildcard.sentences]
    sentences += [above.sentence for above in risk.as_value.prosecutor.at_risk]
    assert len(sentences) == 15
    assert all(sentence.endswith((".", "person.")) for sentence in sentences)
    assert "canary" not in content + " ".join(sentences) + repr(risk)
    assert json.loads(content)["missing_as_value"]["uniqueness"]["rows"] == 1


def test_sentences_say_what_was_counted():
    classes = Classes.from_codes(np.repeat(range(3), [1, 4, 5]), 3)

    risk = classes_risk(classes, population_sizes=[2, 40, 50], population_rows=1000)

    unique, prosecutor, journalist, marketer, sizes = risk.sentences
    assert unique.startswith("1 row (10 %) is the only one")
    assert "100 % at worst (1 row) and of 30 % on average" in prosecutor
    assert "50 % at worst (1 row) and of 7 % on average" in journalist
    assert "right for 7 % of the rows" in marketer
    assert "3 groups" in sizes
    assert "half of the rows are in groups of 5 or more" in sizes
