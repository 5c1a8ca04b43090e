"""What masking leaves at risk and what it costs, on small tables and on real ones."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError, SchemaError
from halfmask.assess.masking import MaskingAssessment, _compare, compare_masked, pairs
from halfmask.release import html_page

SHARED = Path(__file__).parents[4] / "shared" / "data"
#: Values that must not be seen outside of the tables.
CANARY, NUMBER = "canary-Žofia", 987654.321


def people(n: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.normal(45, 12, n)
    return pl.DataFrame(
        {
            "income": 900 * age + rng.normal(0, 5000, n),
            "age": age,
            "city": rng.choice(["ulm", "bonn", "kiel"], n, p=[0.5, 0.3, 0.2]),
            "job": rng.choice([f"job {i}" for i in range(8)], n),
        }
    )


def noisy(table: pl.DataFrame, size: float, columns: tuple[str, ...] = ("income", "age")):
    rng = np.random.default_rng(9)
    return table.with_columns(
        pl.col(name) + size * pl.col(name).std() * pl.Series(rng.normal(size=table.height))
        for name in columns
    )


@pytest.fixture(scope="module")
def original() -> pl.DataFrame:
    return people(500)


@pytest.fixture(scope="module")
def by_noise(original) -> dict[float, MaskingAssessment]:
    numbers = original.select("income", "age")
    return {
        size: compare_masked(numbers, noisy(numbers, size), key_columns=["age"])
        for size in (0.0, 0.1, 0.2, 0.4)
    }


@pytest.mark.slow
def test_a_table_that_equals_the_original_loses_nothing_and_is_linked(original):
    found = compare_masked(original, original, key_columns=["age", "city"], target="income")

    assert found.il1s == 0.0
    assert all(change.changed == 0.0 for change in found.columns.values())
    assert found.overlap is not None
    assert found.overlap.mean == 1.0
    assert all(fit.pmse < 1e-12 for fit in found.propensity)
    assert found.correlations.largest == found.covariances.largest == found.cramers_v.largest == 0
    assert {each.outcome.attack.rsplit("-")[-1] for each in found.linkage.findings} == {
        "distance",
        "probabilistic",
        "rank",
    }
    for finding in found.findings:
        assert finding.verdict == "broken"
        assert finding.outcome.success.value > 0.99
    assert found.uniqueness is not None
    assert found.uniqueness[0] == found.uniqueness[1]


@pytest.mark.slow
def test_more_noise_links_less_discloses_less_and_costs_more(by_noise):
    sizes = list(by_noise)
    for less, more in itertools.pairwise(sizes):
        one, two = by_noise[less], by_noise[more]
        assert one.il1s < two.il1s
        for before, after in zip(one.findings, two.findings, strict=True):
            assert before.name == after.name
            assert before.outcome.success.value > after.outcome.success.value
        assert one.overlap.mean > two.overlap.mean
    assert by_noise[0.4].propensity[0].ratio > by_noise[0.1].propensity[0].ratio


@pytest.mark.slow
def test_the_arms_of_linkage_are_another_person_and_a_guess(by_noise):
    risk = by_noise[0.1].to_dict()["linkage"][0]

    assert risk["value"] > 10 * risk["baseline"]
    assert risk["baseline"] == pytest.approx(1 / 500)
    assert risk["baseline"] < risk["control"] < risk["value"]
    assert risk["low"] <= risk["value"] <= risk["high"]


@pytest.mark.slow
def test_permuted_rows_resist_every_attack(original):
    rng = np.random.default_rng(1)
    permuted = original.select(
        pl.Series(name, rng.permutation(original[name].to_numpy())) for name in original.columns
    )

    found = compare_masked(original, permuted)

    assert {each.verdict for each in found.findings} == {"resisted"}


def test_attacks_that_fail_on_unmasked_rows_are_invalid():
    """Two values: nobody can be linked, and an interval by rank that holds one holds both."""
    alike = pl.DataFrame({"a": [0.0, 1.0] * 200})

    found = compare_masked(alike, alike)

    assert {each.verdict for each in found.linkage.findings} == {"INVALID"}
    by_rank, by_deviation = found.intervals
    assert (by_rank.verdict, by_deviation.verdict) == ("INVALID", "broken")
    assert found.worst_linkage is None
    assert found.worst_interval is by_deviation
    assert "no linkage" in repr(found)


@pytest.mark.slow
def test_sampled_rows_are_judged_by_their_owners(original):
    owners = np.random.default_rng(2).permutation(500)[:200]

    found = compare_masked(original, original[owners], rows=owners, key_columns=["age"])

    assert (found.rows, found.original_rows) == (200, 500)
    assert found.il1s == 0.0
    assert found.linkage.findings[0].outcome.success.value > 0.99
    assert found.columns["age"].mean_shift != 0.0
    assert found.propensity[0].pmse > 0.0
    assert {each.outcome.success.value for each in found.intervals} == {1.0}
    wrong = compare_masked(original, original[owners], rows=np.roll(owners, 1))
    assert wrong.linkage.findings[0].outcome.success.value < 0.05


@pytest.mark.slow
def test_models_see_the_same_people_of_reordered_rows(original, monkeypatch):
    monkeypatch.setattr(pairs, "PROPENSITY_ROWS", 100)
    owners = np.random.default_rng(3).permutation(500)

    found = compare_masked(original, original[owners], rows=owners)

    assert [fit.rows for fit in found.propensity] == [200, 200]
    assert all(fit.pmse < 1e-12 for fit in found.propensity)


@pytest.mark.slow
def test_some_people_are_linked_among_all_rows(monkeypatch):
    table = people(3000).select("income", "age")

    found = compare_masked(table, noisy(table, 0.02), linked_people=100)

    assert found.linked_people == 100
    assert found.to_dict()["linkage"][0]["baseline"] == pytest.approx(1 / 3000)
    assert found.linkage.findings[0].outcome.trials == 100
    low, high = (getattr(found.linkage.findings[0].risk, end) for end in ("low", "high"))
    assert high - low > 0.05
    monkeypatch.setattr(_compare, "PAIRS", 3000 * 250)
    assert compare_masked(table, table).linked_people == 250
    monkeypatch.setattr(_compare, "PAIRS", 1)
    assert compare_masked(table, table).linked_people == 100


def test_groups_of_k_equal_rows_are_linked_at_one_in_k():
    """Also of a large table: part of a group would look rarer than it is."""
    table = people(600).select("income", "age").sort("income")
    groups = pl.int_range(600) // 5

    found = compare_masked(
        table, table.select(pl.all().mean().over(groups)), linked_people=200, key_columns=["income"]
    )

    by_income = [each for each in found.linkage.findings if "quasi" in each.outcome.measure]
    for finding in by_income:
        assert finding.outcome.success.value <= 1 / 5 + 1e-9
    assert by_income[0].outcome.success.value > 0.15


@pytest.mark.slow
def test_uniqueness_reads_suppressed_cells_in_both_ways(original):
    suppressed = original.with_columns(
        city=pl.when(pl.int_range(pl.len()) % 2 == 0).then("city"), age=pl.col("age") // 10
    )

    found = compare_masked(original, suppressed, key_columns=["age", "city"])

    assert found.uniqueness is not None
    before, after = found.uniqueness
    assert before.as_wildcard is None
    assert after.as_wildcard is not None
    assert before.as_value.uniqueness.share.value == 1.0
    assert after.as_wildcard.uniqueness.rows <= after.as_value.uniqueness.rows < 50
    assert found.columns["city"].suppressed == 0.5


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    "masked",
    [
        (pl.col("age") // 10).cast(pl.Int64).cast(pl.String) + "-99",
        pl.lit(None, pl.Float64).alias("age"),
        pl.lit("*").alias("age"),
        pl.col("age").cast(pl.Float32),
    ],
    ids=["ranges", "all missing", "suppressed text", "single precision"],
)
def test_cells_of_other_types_are_read_or_lost(original, masked):
    found = compare_masked(original, original.with_columns(age=masked), target="age")

    assert found.columns["age"].il1s is None or found.columns["age"].il1s >= 0.0
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.slow
def test_columns_that_a_table_lacks_are_left_out_and_a_single_column_is_enough(original):
    found = compare_masked(original, original.select("age"))

    assert list(found.columns) == ["age"]
    assert found.overlap is None
    assert found.target == "age"
    words = compare_masked(original, original, columns=["city"])
    assert (words.il1s, words.intervals, words.target) == (None, (), None)
    assert "no numbers" in repr(words)


def test_uniqueness_is_that_of_sdcmicros_golden_rows():
    """Of sdcMicro's test_freqCalc.R: rows match 3, 1, 4, 2, 2, 2, 1, 3 rows, missing cells any."""
    whole = pl.DataFrame(
        {
            "A": [2, 3, 2, 2, 3, 3, 1, 2],
            "B": [3, 3, 3, 3, 3, 3, 4, 3],
            "C": [1, 3, 9, 2, 1, 1, 9, 1],
        }
    )
    suppressed = whole.with_columns(C=pl.when(pl.col("C") < 9).then("C"))

    found = compare_masked(whole, suppressed, key_columns=["A", "B", "C"])

    assert found.uniqueness is not None
    before, after = found.uniqueness
    assert before.as_value.uniqueness.rows == 4
    assert after.as_wildcard is not None
    assert after.as_wildcard.uniqueness.rows == 2
    assert after.as_wildcard.marketer.linked.value == pytest.approx(
        sum(1 / each for each in (3, 1, 4, 2, 2, 2, 1, 3)) / 8
    )


@pytest.mark.mostly_slow
@pytest.mark.parametrize("kind", ["dates", "times", "decimals", "flags", "categories", "texts"])
def test_columns_of_any_type_are_compared(kind):
    rng = np.random.default_rng(6)
    days = pl.Series(rng.integers(0, 20_000, 200)).cast(pl.Int32).cast(pl.Date)
    column = {
        "dates": days,
        "times": days.cast(pl.Datetime("ms", "UTC")),
        "decimals": pl.Series(rng.integers(0, 9_999, 200)).cast(pl.Decimal(20, 2)),
        "flags": pl.Series(rng.random(200) < 0.5),
        "categories": pl.Series(rng.choice(["a", "b"], 200)).cast(pl.Enum(["a", "b"])),
        "texts": pl.Series([f"person {i}" for i in range(200)]),
    }[kind]
    table = pl.DataFrame({"it": column, "more": rng.normal(size=200), "list": [[1]] * 200})

    same = compare_masked(table, table, key_columns=["it"])
    moved = compare_masked(table, table.with_columns(pl.col("it").shuffle(1)))

    assert list(same.columns) == ["it", "more"]
    assert same.columns["it"].changed == 0.0
    assert moved.columns["it"].changed > 0.3
    assert (same.columns["it"].il1s is None) == (kind in {"flags", "categories", "texts"})


def test_blocks_and_html_show_names_and_numbers_but_no_cell():
    table = people(200).with_columns(
        city=pl.when(pl.int_range(pl.len()) < 120).then(pl.lit(CANARY)).otherwise("city"),
        income=pl.when(pl.int_range(pl.len()) == 3).then(NUMBER).otherwise("income"),
    )
    found = compare_masked(table, noisy(table, 0.1), key_columns=["city", "age"], target="city")

    page = html_page("A <release>", found.blocks())

    for shown in (page, found._repr_html_(), repr(found), json.dumps(found.to_dict())):
        assert CANARY not in shown
        assert "987654" not in shown
    titles = [block.title for block in found.blocks()]
    assert titles == [
        "Record linkage",
        "Interval disclosure",
        "Uniqueness before and after",
        "Utility by column",
        "Utility of the table",
    ]
    assert "key columns" in page
    assert all(len(row) == len(block.columns) for block in found.blocks() for row in block.rows)


@pytest.mark.slow
def test_the_same_arguments_give_the_same_numbers(original):
    masked = noisy(original, 0.3)

    first, second = (compare_masked(original, masked).to_dict() for _ in range(2))

    assert first == second
    assert first != compare_masked(original, masked, random_state=1).to_dict()


@pytest.mark.slow
def test_frames_of_pandas_are_read(original):
    pytest.importorskip("pandas")

    assert compare_masked(original.to_pandas(), original.to_pandas()).il1s == 0.0


def test_what_can_not_be_compared_is_refused(original):
    with pytest.raises(DataError, match="500 rows, the masked table 499"):
        compare_masked(original, original[1:])
    with pytest.raises(DataError, match="no rows"):
        compare_masked(original, original[:0])
    with pytest.raises(DataError, match="share no column"):
        compare_masked(original, original.rename(lambda name: name.upper()))
    with pytest.raises(ColumnNotFoundError, match="agee"):
        compare_masked(original, original, key_columns=["agee"])
    with pytest.raises(ColumnNotFoundError, match="masked table"):
        compare_masked(original, original.drop("age"), columns=["age"])
    with pytest.raises(ColumnNotFoundError, match="compared columns"):
        compare_masked(original, original, columns=["age"], target="income")
    with pytest.raises(SchemaError, match="'it'"):
        compare_masked(pl.DataFrame({"it": [[1]]}), pl.DataFrame({"it": [[1]]}), columns=["it"])
    for numbers in ([1e300, NUMBER], [1e-300, 2e-300]):
        huge = pl.DataFrame({"it": numbers})
        with pytest.raises(DataError, match="'it' has numbers that are too large") as caught:
            compare_masked(huge, huge)
        assert "987654" not in str(caught.value)
    with pytest.raises(ParameterError, match="interval"):
        compare_masked(original, original, interval=0.0)
    for rows in ([0, 500], [0, 0], [-1, 0], [0]):
        with pytest.raises(ParameterError, match="rows"):
            compare_masked(original, original[:2], rows=rows)


@pytest.fixture(scope="session")
def tarragona() -> pl.DataFrame:
    path = SHARED / "sdc" / "Tarragona.csv"
    if not path.exists():
        pytest.skip("../shared/data has no Tarragona.csv")
    return pl.read_csv(path).cast(pl.Float64)


@pytest.mark.slow
def test_tarragona_is_linked_less_with_more_noise(tarragona):
    none, little, much = (
        compare_masked(tarragona, noisy(tarragona, size, tuple(tarragona.columns)))
        for size in (0.0, 0.1, 0.4)
    )

    rates = [each.linkage.findings[0].outcome.success.value for each in (none, little, much)]
    assert rates[0] > 0.99
    assert rates[0] > rates[1] + 0.1 > rates[2] + 0.2
    assert none.il1s == 0.0
    assert none.overlap is not None
    assert none.overlap.mean == 1.0
    # Gaussian noise of a tenth of a deviation: E|noise| / sqrt(2) = sqrt(1 / pi) / 10.
    assert little.il1s == pytest.approx(0.1 / np.pi**0.5, rel=0.03)


def test_means_shares_and_the_regression_are_weighted_and_nothing_else():
    before = people(120).with_columns(w=pl.Series(np.random.default_rng(2).uniform(1, 50, 120)))
    after = noisy(before, 0.4).with_columns(city=pl.col("city").shift(1).fill_null("ulm"))

    plain = compare_masked(before, after, target="income")
    found = compare_masked(before, after, target="income", weights="w")

    w = before["w"].to_numpy()
    means = [np.average(each["age"].to_numpy(), weights=w) for each in (before, after)]
    variance = np.average((before["age"].to_numpy() - means[0]) ** 2, weights=w) * 120 / 119
    assert found.columns["age"].mean_shift == pytest.approx((means[1] - means[0]) / variance**0.5)
    ulm, kiel = (
        [float(w[(each["city"] == town).to_numpy()].sum() / w.sum()) for each in (before, after)]
        for town in ("ulm", "kiel")
    )
    others = abs(ulm[0] + kiel[0] - ulm[1] - kiel[1])
    moved = abs(ulm[0] - ulm[1]) + abs(kiel[0] - kiel[1]) + others
    assert found.columns["city"].total_variation == pytest.approx(moved / 2)
    assert found.overlap is not None
    assert plain.overlap is not None
    assert found.overlap.mean != pytest.approx(plain.overlap.mean, rel=1e-6)
    assert found.propensity == plain.propensity
    assert found.correlations == plain.correlations
    assert (found.to_dict()["weights"], plain.to_dict()["weights"]) == ("w", None)
    assert any("weighted by w" in block.caption for block in found.blocks())


def test_weights_must_be_numbers_above_zero_in_both():
    before = people(40).with_columns(w=pl.lit(2.0))
    with pytest.raises(DataError, match="must be above 0, and 40"):
        compare_masked(before, before.with_columns(w=pl.lit(0.0)), weights="w")
    with pytest.raises(ParameterError, match="none of the compared columns"):
        compare_masked(before, before, weights="city")
