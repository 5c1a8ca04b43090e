"""Encoded series come back, from any state, with gaps, zones and entities."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

from halfmask import DataError, HalfmaskError, KeyMismatchError, ParameterError, SchemaError
from halfmask.encode import Event, SeriesCodec, SeriesState
from halfmask.vault import Secret

SECRET = Secret.from_bytes(bytes(range(32)))


def daily(n=200, seed=0):
    """Return a weekly series of integers."""
    rng = np.random.default_rng(seed)
    days = pl.date_range(dt.date(2021, 1, 1), dt.date(2021, 1, 1) + dt.timedelta(n - 1), eager=True)
    level = 200 + 80 * (np.arange(n) % 7 > 4) + rng.normal(0, 9, n).cumsum() / 5
    return pl.DataFrame({"day": days, "sold": rng.poisson(level)})


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["integers", "floats"])
def test_no_error_adds_up_over_a_million_steps(kind):
    """The last of a million steps of a random walk comes back as the first does."""
    rng = np.random.default_rng(3)
    walk = rng.normal(0, 1000, 1_000_000).cumsum()
    values = np.rint(walk).astype(np.int64) if kind == "integers" else walk * np.pi
    table = pl.DataFrame({"t": np.arange(len(values)), "y": values})
    codec = SeriesCodec(time="t", periods=(), secret=SECRET).fit(table.head(20_000))

    encoded = codec.encode(table)
    back = codec.decode(encoded)["y"].to_numpy()

    assert np.array_equal(back, values)


def test_rows_go_on_where_the_state_is():
    """Batches that begin at the state of those before are what one batch is."""
    table = daily(300)
    codec = SeriesCodec(time="day", secret=SECRET).fit(table[:200])
    whole = codec.encode(table).sort(codec.time_name_)
    first, second = table[200:230], table[230:]

    one = codec.encode(first, state=codec.state_)
    then = SeriesState.from_bytes(codec.after(first, state=codec.state_).to_bytes())
    two = codec.encode(second, state=then)

    assert pl.concat([codec.encode(table[:200]), one, two]).sort(codec.time_name_).equals(whole)
    assert codec.decode(two, state=then).equals(second)
    assert codec.decode(two.sample(fraction=1.0, shuffle=True, seed=1), state=then).equals(second)


def test_a_codec_comes_back_from_bytes():
    """The bytes encode and decode as the codec does, and hold no secret."""
    table = daily()
    codec = SeriesCodec(
        time="day", secret=SECRET, events=[Event(name="x", first="2021-02-01", last="2021-02-02")]
    ).fit(table)

    again = SeriesCodec.from_bytes(codec.to_bytes())

    assert again.encode(table).equals(codec.encode(table))
    assert again.decode(codec.encode(table)).equals(table)
    assert again.events == tuple(codec.events)
    assert codec.to_bytes() == again.to_bytes()
    with pytest.raises(DataError, match="codec of series"):
        SeriesCodec.from_bytes(b"PK nothing")
    with pytest.raises(DataError):
        SeriesCodec.from_bytes(codec.state_.to_bytes())


def test_entities_have_models_and_keys_of_their_own():
    """Two entities of equal values leave differently, and come back under their names."""
    one = daily(120)
    table = pl.concat(
        [one.with_columns(pl.lit(shop).alias("shop")) for shop in ("north", "south", "east")]
    )
    codec = SeriesCodec(time="day", entity="shop", secret=SECRET).fit(table)

    encoded = codec.encode(table)
    parts = encoded.partition_by(codec.entity_name_)
    sold = codec.column_names_["sold"]

    assert codec.decode(encoded).equals(table.select("shop", "day", "sold"))
    assert all(part[codec.time_name_].to_list() == list(range(120)) for part in parts)
    assert len({tuple(part[sold]) for part in parts}) == 3
    assert sorted(encoded[codec.entity_name_].unique()) == [0, 1, 2]
    assert codec.decode(codec.encode(table.filter(shop="east"))).equals(
        table.filter(shop="east").select("shop", "day", "sold")
    )
    with pytest.raises(SchemaError, match="1 entities"):
        codec.encode(table.with_columns(pl.lit("west").alias("shop")))


@pytest.mark.slow
@pytest.mark.parametrize("every", ["1h", "1d"])
def test_clock_changes_leave_no_trace(every):
    """Berlin's two changes of 2022 come back, and steps are numbered through."""
    zone = "Europe/Berlin"
    first, last = (pl.lit(day).str.to_datetime() for day in ("2022-03-01", "2022-11-15"))
    times = pl.select(pl.datetime_range(first, last, every, time_zone=zone)).to_series()
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"at": times, "load": rng.normal(50, 5, len(times)).round(1)})
    codec = SeriesCodec(time="at", every=every, secret=SECRET).fit(table)

    encoded = codec.encode(table)

    assert encoded.height == len(times)
    assert codec.decode(encoded).equals(table)
    assert codec.horizon(2)[0] > times[-1]


@pytest.mark.parametrize("order", ["error", "sort"])
def test_a_time_that_a_clock_skips_is_refused_and_not_lost(order):
    """A row a day at 02:30: on 2023-03-26 there was none in Warsaw, and 03:30 stood for it."""
    first, last = (pl.lit(at).str.to_datetime() for at in ("2023-03-20 02:30", "2023-04-02 02:30"))
    days = pl.select(pl.datetime_range(first, last, "1d")).to_series()
    zone = "Europe/Warsaw"
    moved = pl.Series(["2023-03-26 03:30"]).str.to_datetime().dt.replace_time_zone(zone)
    times = days.dt.replace_time_zone(zone, non_existent="null")
    table = pl.DataFrame({"at": times.fill_null(moved[0]), "load": range(14)})

    with pytest.raises(SchemaError, match="1 times between the steps"):
        SeriesCodec(time="at", every="1d", order=order, secret=SECRET).fit(table)
    fewer = table.filter(times.is_not_null())
    codec = SeriesCodec(time="at", every="1d", order=order, secret=SECRET).fit(fewer)
    assert codec.decode(codec.encode(fewer)).equals(fewer)


@pytest.mark.parametrize(
    ("every", "times"),
    [
        ("1mo", pl.date_range(dt.date(1949, 1, 31), dt.date(1949, 1, 31), eager=True)),
        (None, pl.date_range(dt.date(1949, 1, 1), dt.date(1960, 12, 1), "1mo", eager=True)),
        ("1q", pl.date_range(dt.date(1949, 1, 1), dt.date(1960, 10, 1), "3mo", eager=True)),
        ("1y", pl.date_range(dt.date(1900, 1, 1), dt.date(1990, 1, 1), "1y", eager=True)),
        ("250ms", pl.Series(1_577_836_800_000 + 250 * np.arange(240)).cast(pl.Datetime("ms"))),
        (3, pl.Series(np.arange(-60, 60, 3))),
    ],
)  # fmt: skip
def test_every_kind_of_step_comes_back(every, times):
    """Months, quarters, years, parts of seconds and integers are steps."""
    table = pl.DataFrame({"t": times, "y": np.arange(len(times)) % 12})
    codec = SeriesCodec(time="t", every=every, secret=SECRET).fit(table)

    assert codec.decode(codec.encode(table)).equals(table)
    assert codec.encode(table).height == len(times)


@pytest.mark.parametrize("far", [2_000, 2**40, 2**62])
def test_a_step_far_away_is_refused_and_no_memory_is_made_for_it(far):
    """One altered cell asked for a row for each step before it."""
    table = daily(100)
    codec = SeriesCodec(time="day", secret=SECRET, missing="visible").fit(table)
    encoded = codec.encode(table)
    name = codec.time_name_

    with pytest.raises(SchemaError, match="whole"):
        codec.decode(encoded.with_columns(pl.Series(name, [*encoded[name][:-1], far])))


def test_gaps_and_holes_are_hidden_or_visible():
    """Hidden, nothing is missing where rows leave; visible, it is as it was."""
    table = daily(200)
    table = table.with_columns(table["sold"].set(pl.Series(np.arange(200) % 17 == 3), None))
    table = table.filter(pl.Series(np.arange(200) % 23 != 5))
    hidden = SeriesCodec(time="day", secret=SECRET).fit(table)
    visible = SeriesCodec(time="day", secret=SECRET, missing="visible").fit(table)

    sent, seen = hidden.encode(table), visible.encode(table)

    assert sent.height == 200
    assert sent.null_count().sum_horizontal()[0] == 0
    assert hidden.decode(sent).equals(table)
    assert seen.height == table.height
    assert seen[visible.column_names_["sold"]].null_count() == table["sold"].null_count()
    assert visible.decode(seen).equals(table)
    assert "nulls-visible" in {weakness.name for weakness in visible.weaknesses}
    assert "nulls-visible" not in {weakness.name for weakness in hidden.weaknesses}


def test_events_leave_as_noise_and_come_back():
    """What happened in an event changes nothing that leaves but its own, padded, cells."""
    table = daily(200)
    event = Event(name="strike", first=dt.date(2021, 4, 1), last=dt.date(2021, 4, 3))
    struck = table.with_columns(
        pl.when(pl.col("day").is_between(dt.date(2021, 4, 1), dt.date(2021, 4, 3)))
        .then(0)
        .otherwise("sold")
        .alias("sold")
    )
    codec = SeriesCodec(time="day", secret=SECRET, events=[event]).fit(struck)
    loud = SeriesCodec(time="day", secret=SECRET, seal_beyond=0).fit(struck)

    quiet = codec.encode(struck)[codec.column_names_["sold"]].to_numpy()
    other = codec.encode(table)[codec.column_names_["sold"]].to_numpy()
    heard = loud.encode(struck)[loud.column_names_["sold"]].to_numpy()

    assert codec.decode(codec.encode(struck)).equals(struck)
    assert np.flatnonzero(quiet != other).tolist() == [90, 91, 92]
    assert np.abs(quiet[90:93]).max() < 4
    assert np.abs(heard[90:93]).max() > 2.5


def test_a_constant_series_leaves_as_noise():
    """Nothing that leaves tells that nothing happened."""
    table = pl.DataFrame({"t": np.arange(400), "y": np.full(400, 7)})
    codec = SeriesCodec(time="t", secret=SECRET).fit(table)

    sent = codec.encode(table)[codec.column_names_["y"]].to_numpy()

    assert 0.8 < sent.std() < 1.2
    assert len(np.unique(sent)) == 400
    assert codec.decode(codec.encode(table)).equals(table)


@pytest.mark.slow
def test_level_scale_and_sign_tell_nothing():
    """A series and its affine image leave as equally spread numbers."""
    table = daily(400)
    other = table.with_columns(pl.col("sold") * 1000 - 10**6)

    for rows in (table, other):
        codec = SeriesCodec(time="day", secret=SECRET).fit(rows)
        sent = codec.encode(rows)[codec.column_names_["sold"]].to_numpy()
        assert abs(sent.mean()) < 0.1
        assert 0.9 < sent.std() < 1.1
    signs = {
        SeriesCodec(time="day", name=f"n{k}").fit(table).plan_.channels[0].sign for k in range(12)
    }
    assert signs == {-1.0, 1.0}


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda t: pl.concat([t, t[-1:]]), "twice"),
        (lambda t: t.reverse(), "goes back"),
        (lambda t: t.with_columns(pl.col("day").cast(pl.Datetime("us"))), "held Date"),
        (lambda t: t.with_columns(pl.lit(1).alias("more")), "'more'"),
        (lambda t: t.drop("sold"), "not in the table"),
        (lambda t: t.with_columns(pl.col("sold").cast(pl.Float64)), "held Int64"),
        (lambda t: t.with_columns(pl.col("day").dt.offset_by("-1y")), "before their state"),
        (lambda t: t.with_columns(pl.col("day").dt.offset_by("9y")), "gap"),
        (lambda t: t.with_columns(pl.lit(None, dtype=pl.Date).alias("day")), "missing"),
    ],
)
def test_bad_rows_are_refused(change, match):
    """What can't be encoded is an error that names the column."""
    table = daily(100).with_columns(pl.col("sold").cast(pl.Int64))
    codec = SeriesCodec(time="day", secret=SECRET).fit(table)

    with pytest.raises(SchemaError, match=match):
        codec.encode(change(table))


def test_rows_may_be_put_in_order():
    """With order="sort" rows come back by time."""
    table = daily(100)
    codec = SeriesCodec(time="day", secret=SECRET, order="sort").fit(table.reverse())

    assert codec.decode(codec.encode(table.reverse())).equals(table)


@pytest.mark.parametrize(
    ("arguments", "table", "error"),
    [
        ({"time": "at"}, daily(9), SchemaError),
        ({"time": "day", "columns": ["no"]}, daily(9), SchemaError),
        ({"time": "day", "entity": "no"}, daily(9), SchemaError),
        ({"time": "day", "every": "1x"}, daily(9), ParameterError),
        ({"time": "day", "every": 3}, daily(9), ParameterError),
        ({"time": "day", "every": "2d"}, daily(9), SchemaError),
        ({"time": "day"}, daily(1), SchemaError),
        (
            {"time": "day"},
            daily(9).with_columns(
                day=pl.Series([2**64 - 9 + i for i in range(9)], dtype=pl.UInt64)
            ),
            SchemaError,
        ),
        ({"time": "day"}, daily(9).drop("sold"), SchemaError),
        ({"time": "day"}, daily(9).clear(), HalfmaskError),
        ({"time": "sold", "every": "1d"}, daily(9), ParameterError),
        ({"time": "day"}, daily(9).with_columns(pl.lit("x").alias("sold")), SchemaError),
        ({"time": "day"}, daily(9).with_columns(pl.lit(np.inf).alias("sold")), SchemaError),
        ({"time": "day"}, daily(9).with_columns(pl.lit(None, pl.Int64).alias("sold")), SchemaError),
    ],
)
def test_bad_fits_are_refused(arguments, table, error):
    """A fit that can't be is an error of the library."""
    with pytest.raises(error):
        SeriesCodec(**arguments).fit(table)


@pytest.mark.parametrize(
    "arguments",
    [
        {"missing": "no"}, {"order": "no"}, {"blinding": 1.0}, {"longest_gap": -1},
        {"seal_beyond": 2}, {"name": ""}, {"every": 0}, {"periods": ["eon"]}, {"periods": [1]},
    ],
)  # fmt: skip
def test_bad_parameters_are_refused(arguments):
    """Each parameter is checked by name."""
    with pytest.raises(ParameterError):
        SeriesCodec(time="day", **arguments)


@pytest.mark.parametrize("moments", [("x", "y"), (1, "2020-01-01"), ("2021-01-02", "2021-01-01")])
def test_bad_events_are_refused(moments):
    """An event has a first and a last moment of one kind."""
    with pytest.raises(ParameterError):
        Event(name="e", first=moments[0], last=moments[1])


def test_rows_of_another_codec_or_state_are_refused():
    """Another fit, a foreign state, or half of a batch decodes to nothing."""
    table = daily(200)
    codec = SeriesCodec(time="day", secret=SECRET).fit(table)
    other = SeriesCodec(time="day", secret=SECRET, name="other").fit(table)
    encoded = codec.encode(table)

    with pytest.raises(KeyMismatchError):
        other.decode(encoded)
    with pytest.raises(KeyMismatchError):
        codec.encode(table, state=other.start_)
    with pytest.raises(SchemaError, match="whole"):
        codec.decode(encoded[50:])
    for step in (pl.col(codec.time_name_) + 0.5, pl.lit(None, pl.Int64)):
        with pytest.raises(DataError, match=r"whole numbers|missing codes"):
            codec.decode(encoded.with_columns(step.alias(codec.time_name_)))
    with pytest.raises(SchemaError, match="missing or infinite"):
        codec.decode(encoded.with_columns(pl.lit(np.inf).alias(codec.column_names_["sold"])))
    with pytest.raises(ParameterError, match="fitted"):
        SeriesCodec(time="day").encode(table)


def test_no_error_nor_repr_shows_a_value():
    """What is said of a codec holds no cell, no entity and no key."""
    table = daily(100).with_columns(pl.lit("canary-shop").alias("shop"))
    codec = SeriesCodec(time="day", entity="shop", secret=SECRET).fit(table)
    said = [repr(it) for it in (codec, codec.plan_, codec.state_, codec.plan_.noises[0])]
    said += [repr(codec.claims), repr(codec.weaknesses)]
    with pytest.raises(SchemaError) as caught:
        codec.encode(table.with_columns(pl.lit("canary-other").alias("shop")))
    said.append(str(caught.value))

    assert not any("canary" in text for text in said)
    assert not codec.publishable
    assert not codec.state_.publishable
    assert not any("canary" in name for name in codec.encode(table).columns)


def test_frames_of_other_libraries_come_back_as_they_are():
    """A pandas frame goes in, and one comes out."""
    table = daily(60).to_pandas()
    codec = SeriesCodec(time="day", secret=SECRET).fit(table)

    encoded = codec.encode(table)

    assert type(encoded) is type(table)
    assert codec.decode(encoded)["sold"].tolist() == table["sold"].tolist()
