"""Cells that went through text: read back as what they were, and attacked as if they were raw."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.assess.attacks import Attack, TableTarget
from halfmask.assess.attacks._reading import common_type, read_numbers, read_times, spelt
from halfmask.assess.attacks.classes import (
    BackgroundKnowledge,
    Downcoding,
    Homogeneity,
    Minimality,
    Skewness,
)
from halfmask.assess.attacks.releases import Intersection
from halfmask.assess.attacks.tables import (
    AssignmentLinkage,
    DistanceLinkage,
    ProbabilisticLinkage,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

N = 120


def by_polars(table: pl.DataFrame) -> pl.DataFrame:
    return pl.read_csv(io.BytesIO(table.write_csv().encode()))


def by_pandas(table: pl.DataFrame) -> pl.DataFrame:
    """Return what pandas writes, read as text throughout."""
    return pl.read_csv(
        io.BytesIO(table.to_pandas().to_csv(index=False).encode()), infer_schema=False
    )


def as_texts(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.all().cast(pl.String))


def in_single_precision(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.all().cast(pl.Float32))


rng = np.random.default_rng(0)
HOURS = [int(hour) for hour in rng.permutation(90_000)[:N]]
SECONDS = [int(second) for second in rng.permutation(86_400)[:N]]
COLUMNS: dict[str, Sequence[object]] = {
    "moment": [datetime(2000, 1, 1) + timedelta(hours=hour) for hour in HOURS],  # noqa: DTZ001
    "midnight": [datetime(2000, 1, 1) + timedelta(days=hour) for hour in HOURS],  # noqa: DTZ001
    "zoned": [datetime(2000, 1, 1, tzinfo=UTC) + timedelta(hours=hour) for hour in HOURS],
    "date": [date(2000, 1, 1) + timedelta(days=hour) for hour in HOURS],
    "time": [time(second // 3600, second // 60 % 60, second % 60) for second in SECONDS],
    "span": [timedelta(seconds=hour) for hour in HOURS],
    "decimal": [Decimal(hour).scaleb(-2) for hour in HOURS],
    "float": rng.normal(size=N).tolist(),
    "whole": HOURS,
    "truth": (rng.random(N) < 0.5).tolist(),
}
ROUND_TRIPS = [
    *((by_polars, name) for name in COLUMNS if name != "span"),
    *((by_pandas, name) for name in COLUMNS),
    *((as_texts, name) for name in COLUMNS if name != "span"),
    (in_single_precision, "float"),
    (in_single_precision, "whole"),
]


def targets(
    column: str, through: Callable[[pl.DataFrame], pl.DataFrame], **roles: Any
) -> list[TableTarget]:
    """Return a table released as it is, and one that went through text."""
    table = pl.DataFrame({column: COLUMNS[column]})
    number = pl.DataFrame({"id": range(table.height)})
    return [
        TableTarget(
            released=number.hstack(released),
            original=number.hstack(table),
            earlier=[(number.hstack(through(table)), number.hstack(table))],
            **roles,
        )
        for released in (table, through(table))
    ]


of_round_trips = pytest.mark.parametrize(
    ("through", "column"), ROUND_TRIPS, ids=lambda each: getattr(each, "__name__", each)
)


@pytest.mark.slow
@of_round_trips
def test_secrets_of_a_round_trip_are_as_open_as_those_of_the_table_itself(
    through: Callable[[pl.DataFrame], pl.DataFrame], column: str
):
    raw, text = targets(column, through, quasi_identifiers=("id",), secrets=(column,))
    both = Intersection(candidates=(1,))
    attacks: list[Attack] = [Homogeneity(), Skewness(), Minimality(), both]
    if column != "truth":  # one of two values can't be ruled out
        attacks.append(BackgroundKnowledge())

    for attack in attacks:
        (of_raw,), (of_text,) = attack.run(raw, random_state=0), attack.run(text, random_state=0)
        assert of_raw.success.value == of_text.success.value > 0.4, attack.name


@pytest.mark.slow
@of_round_trips
def test_people_of_a_round_trip_are_linked_as_well_as_those_of_the_table_itself(
    through: Callable[[pl.DataFrame], pl.DataFrame], column: str
):
    raw, text = targets(column, through, quasi_identifiers=(column,))
    expected = 1.0 if column != "truth" else 2 / N

    for attack in (DistanceLinkage(), ProbabilisticLinkage(), AssignmentLinkage()):
        of_raw, of_text = (attack.run(target, random_state=0)[0] for target in (raw, text))
        assert of_raw.measure == "share of right links by quasi-identifiers"
        assert of_raw.success.value == pytest.approx(expected), attack.name
        assert of_text.success.value == pytest.approx(expected), attack.name
    if column != "truth":
        assert [
            Downcoding().run(each, random_state=0)[0].success.value for each in (raw, text)
        ] == [1, 1]


def test_other_cells_keep_their_own_text():
    moments = pl.Series(["[2000-01-01, 2001-01-01]", "*", None, "2000", "2000-01-01T05:00"])

    assert spelt(moments, pl.Datetime("us")).to_list() == [
        *moments[:4].to_list(),
        "2000-01-01 05:00:00.000000",
    ]
    assert spelt(pl.Series(["39.0", "39.5", "007", "1e3", "x"]), pl.Int64()).to_list() == [
        *("39", "39.5", "7", "1000", "x")
    ]


def test_what_a_cast_would_round_is_not_the_same():
    """Noise of less than a cent, and moments that were cut to days."""
    cents = pl.Decimal(12, 2)

    assert spelt(pl.Series([500.0, 500.004]), cents).to_list() == ["500.00", "500.004"]
    assert spelt(pl.Series(["500", "500.004"]), cents).to_list() == ["500.00", "500.004"]
    assert spelt(pl.Series([39.0, 39.5]), pl.Int64()).to_list() == ["39", "39.5"]
    moments = pl.Series([datetime(2000, 1, 1), datetime(2000, 1, 1, 5)])  # noqa: DTZ001
    assert spelt(moments, pl.Date())[0] == "2000-01-01"
    assert spelt(moments, pl.Date())[1] != "2000-01-01"


def test_types_meet_where_both_sides_can_be_read():
    assert common_type(pl.String(), pl.Date()) == pl.Date
    assert common_type(pl.Int64(), pl.String()) == pl.Int64
    assert common_type(pl.Float32(), pl.Float64()) == pl.Float32
    assert common_type(pl.Float64(), pl.Float32()) == pl.Float32
    assert common_type(pl.Float32(), pl.Date()) == pl.Date


def test_postcodes_whose_zeros_a_reader_dropped_are_the_same_postcodes():
    original = pl.DataFrame({"id": [1, 2, 3], "code": ["00123", "04567", "89000"]})
    released = original.with_columns(code=pl.col("code").cast(pl.Int64))
    secret = TableTarget(
        released=released, original=original, quasi_identifiers=("id",), secrets=("code",)
    )
    known = TableTarget(
        released=released.select("code"),
        original=original.select("code"),
        quasi_identifiers=("code",),
    )

    assert Homogeneity().run(secret, random_state=0)[0].success.value == 1.0
    assert DistanceLinkage().run(known, random_state=0)[0].success.value == 1.0


def test_zones_and_spellings_of_moments():
    texts = pl.Series(["2000-01-01T02:00:00+02:00", "2000-01-01 00:00:00+00:00", "2000-01-01"])
    berlin = read_times(texts, pl.Datetime("us", "Europe/Berlin"))

    assert berlin.dtype == pl.Datetime("us", "Europe/Berlin")
    # A text without a zone is on the clock of the column, as everywhere.
    moment = datetime(2000, 1, 1, tzinfo=UTC)
    moments = [moment, moment, moment - timedelta(hours=1)]
    assert berlin.dt.convert_time_zone("UTC").to_list() == moments


def test_a_time_of_day_is_no_moment():
    """Released hours beside original moments can't be cast, and must not break an attack."""
    original = pl.DataFrame({"at": COLUMNS["moment"]})
    released = original.select(pl.col("at").dt.time())
    target = TableTarget(released=released, original=original, quasi_identifiers=("at",))

    assert DistanceLinkage().run(target, random_state=0)[0].success.value == pytest.approx(1 / N)
    assert spelt(released["at"], pl.Datetime("us")).to_list() == [
        str(at) for at in released["at"].to_list()
    ]


@pytest.mark.slow
@given(st.timedeltas(timedelta(days=-9999), timedelta(days=9999)))
def test_spans_are_read_in_every_spelling(span: timedelta):
    """As Python and pandas write them; and those that aren't negative as polars does."""
    texts = [str(span), str(pl.Series([span]).to_pandas()[0])]
    texts += pl.Series([span]).dt.to_string("iso").to_list() if span >= timedelta(0) else []

    found = read_times(pl.Series([*texts, "3 days", "P", "x"]), pl.Duration("us"))

    assert found.to_list()[: len(texts)] == [span] * len(texts)
    assert found.to_list()[len(texts) :: 2] == [None, None]


@pytest.mark.slow
@given(st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)))  # noqa: DTZ001
def test_moments_are_read_in_every_spelling(moment: datetime):
    """Python's own ISO 8601, with a blank or a T, is the oracle."""
    since = (moment - datetime(1970, 1, 1)) / timedelta(microseconds=1)  # noqa: DTZ001
    texts = [moment.isoformat(sep) for sep in "T "] + [moment.replace(tzinfo=UTC).isoformat()]

    found = read_numbers(pl.Series(texts), pl.Datetime("us"))

    assert found.to_list() == [since] * 3


@pytest.mark.parametrize(
    "written",
    [
        ["true", "false"],
        ["True", "False"],
        ["1", "0"],
        [1, 0],
        [1.0, 0.0],  # as pandas writes truths of which some are missing
        ["1.0", "0.0"],
    ],
)
def test_truths_are_read_however_they_are_written(written):
    assert spelt(pl.Series([*written, None]), pl.Boolean()).to_list() == ["true", "false", None]


def test_a_moment_without_a_zone_is_one_of_the_columns_clock():
    texts = pl.Series(["2021-01-01", "2021-07-01 00:30", "2021-01-01T00:30:00+00:00"])

    found = read_times(texts, pl.Datetime("us", "Europe/Berlin"))

    assert [str(it) for it in found] == [
        "2021-01-01 00:00:00+01:00",
        "2021-07-01 00:30:00+02:00",
        "2021-01-01 01:30:00+01:00",
    ]
