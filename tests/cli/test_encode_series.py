"""``halfmask encode series`` and ``halfmask decode``: series out, rows and forecasts home."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from halfmask.encode import SeriesCodec
from halfmask.vault import KeyFile, Vault

N_FIT = 200


def sales(n=240):
    """Return two shops, whose names are canaries, by day."""
    rng = np.random.default_rng(3)
    days = pl.date_range(dt.date(2023, 1, 1), dt.date(2023, 1, 1) + dt.timedelta(n - 1), eager=True)
    frames = [
        pl.DataFrame(
            {
                "shop": [f"CANARY-{shop}"] * n,
                "day": days,
                "sold": rng.poisson(level, n),
                "price": np.round(rng.normal(level, 2, n), 2),
            }
        )
        for shop, level in (("Bree", 90), ("Dale", 40))
    ]
    return pl.concat(frames)


class Desk:
    """A folder with a vault, the rows of a fit, and those that follow."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.vault = Vault.create(folder / "vault", lock=KeyFile.create(folder / "key"))
        rows = sales()
        first = dt.date(2023, 1, 1) + dt.timedelta(N_FIT)
        self.known, self.later = (
            rows.filter(pl.col("day") < first),
            rows.filter(pl.col("day") >= first),
        )
        self.known.write_parquet(self / "known.parquet")
        self.later.write_parquet(self / "later.parquet")

    def __truediv__(self, name):
        return self.folder / name

    def sealed(self, codec="sales"):
        return ["--vault", self / "vault", "--codec", codec, "--key-file", self / "key"]

    def fit(self, *more, codec="sales"):
        words = ["encode", "series", "fit", self / "known.parquet", "--time", "day"]
        return [*words, "--entity", "shop", *self.sealed(codec), *more]

    def apply(self, table, out, *more, codec="sales"):
        return ["encode", "series", "apply", self / table, self / out, *self.sealed(codec), *more]

    def decode(self, encoded, out, *more, codec="sales"):
        return ["decode", self / encoded, self / out, *self.sealed(codec), *more]

    def codec(self):
        return SeriesCodec.from_bytes(self.vault.unseal("series/sales", context="series/sales"))


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


@pytest.fixture
def fitted(desk, run):
    """A desk whose vault holds the codec `sales`."""
    made = run(*desk.fit("--period", "week", "--event", "fire,2023-03-01,2023-03-04"))
    assert made.status == 0, made.err
    assert "CANARY" not in made.out + made.err
    assert "order-leaking" in made.err
    return desk


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_there_and_back_is_what_python_does(fitted, run, ending):
    codec = fitted.codec()
    assert codec.plan_.settings.periods == ("week",)
    assert codec.plan_.settings.events[0].name == "fire"
    for name, rows, state, more in (
        ("known", fitted.known, codec.start_, []),
        ("later", fitted.later, codec.state_, ["--later"]),
    ):
        sent = run(*fitted.apply(f"{name}.parquet", f"sent.{ending}", "--overwrite", *more))
        back = run(*fitted.decode(f"sent.{ending}", "back.parquet", "--overwrite", *more))

        assert [sent.status, back.status] == [0, 0], sent.err + back.err
        assert pl.read_parquet(fitted / "back.parquet").equals(rows)
        if ending == "parquet":
            assert pl.read_parquet(fitted / "sent.parquet").equals(codec.encode(rows, state=state))
        assert b"CANARY" not in (fitted / f"sent.{ending}").read_bytes()
        assert "CANARY" not in sent.err + back.err
        for token in codec.column_names_.values():
            assert token in sent.err


@pytest.mark.slow
def test_forecasts_come_home_with_their_times(fitted, run):
    codec = fitted.codec()
    rng = np.random.default_rng(1)
    names = codec.column_names_
    numbers = {token: rng.normal(size=10) for token in names.values()}
    code = codec.plan_.codes[1]
    steps = list(range(N_FIT, N_FIT + 10))
    asked = pl.DataFrame(
        {codec.time_name_: steps, codec.entity_name_: [code] * 10, **numbers}
    ).reverse()
    asked.write_csv(fitted / "answer.csv")

    done = run(*fitted.decode("answer.csv", "home.parquet", "--predictions", "--json"))

    assert done.json == {"ok": True, "rows": 10, "predictions": True}
    home = pl.read_parquet(fitted / "home.parquet")
    assert home.columns == ["shop", "day", "sold", "price"]
    assert home["shop"].unique().to_list() == ["CANARY-Dale"]
    assert home["day"].equals(codec.horizon(10, entity="CANARY-Dale").alias("day"))
    for column, token in names.items():
        wanted = codec.decode_forecasts(numbers[token], column=column, entity="CANARY-Dale")
        np.testing.assert_allclose(home[column].to_numpy(), wanted, rtol=1e-12)

    asked.with_columns(pl.col(codec.time_name_) + 1).write_csv(fitted / "late.csv")
    late = run(*fitted.decode("late.csv", "none.csv", "--predictions"))
    asked.with_columns(pl.lit(-5).alias(codec.entity_name_)).write_csv(fitted / "whose.csv")
    whose = run(*fitted.decode("whose.csv", "none.csv", "--predictions"))
    asked.drop(names["sold"]).write_csv(fitted / "less.csv")
    less = run(*fitted.decode("less.csv", "none.csv", "--predictions"))
    assert [late.status, whose.status, less.status] == [1, 1, 1]
    assert f"first step of this series is {N_FIT}" in late.err
    assert "a series that this codec doesn't have" in whose.err
    assert "not in the forecasts" in less.err
    assert not (fitted / "none.csv").exists()


@pytest.mark.slow
def test_a_codec_of_the_other_kind_is_said(fitted, run):
    rows = ["encode", "fit", fitted / "known.parquet", "--learner", "trees"]
    assert run(*rows, *fitted.sealed("rows")).status == 0

    table = run("encode", "apply", fitted / "known.parquet", fitted / "x.csv", *fitted.sealed())
    series = run(*fitted.apply("known.parquet", "x.csv", codec="rows"))
    absent = run(*fitted.apply("known.parquet", "x.csv", codec="none"))
    taken = run(*rows, *fitted.sealed())
    taken_by_rows = run(*fitted.fit(codec="rows"))

    answers = (table, series, absent, taken, taken_by_rows)
    assert [it.status for it in answers] == [1] * 5
    assert "halfmask encode series apply" in table.err
    assert "isn't one of time series" in series.err
    assert "holds no codec of that name" in absent.err
    assert "already" in taken.err
    assert "already" in taken_by_rows.err
    assert not (fitted / "x.csv").exists()


@pytest.mark.parametrize(
    "more",
    [
        ["--number", 1],
        ["--unordered"],
        ["--predictions", "--column", "a"],
        ["--predictions", "--later"],
    ],
)
def test_options_of_other_codecs_are_refused(fitted, run, more):
    assert run(*fitted.decode("known.parquet", "x.csv", *more)).status == 2


@pytest.mark.parametrize(
    "more",
    [
        ["--event", "fire,2023-08-01"],
        ["--event", "fire,2023-08-02,2023-08-01"],
        ["--period", "century"],
        ["--blinding", 1],
    ],
)
def test_settings_that_cannot_be_are_wrong_usage(desk, run, more):
    assert run(*desk.fit(*more)).status == 2
    assert desk.vault.names() == ()


@pytest.mark.parametrize("word", ["visible", "hidden"])
def test_the_old_words_of_missing_are_refused(desk, run, word):
    """As markers of missing cells they did nothing."""
    answer = run(*desk.fit("--missing", word, "--json"))

    assert (answer.status, answer.json["code"]) == (2, "usage")
    assert f"--missing-cells {word}" in answer.json["hint"]
    assert desk.vault.names() == ()


def test_rows_that_are_not_whole_are_an_error(fitted, run):
    assert run(*fitted.apply("known.parquet", "sent.parquet")).status == 0
    pl.read_parquet(fitted / "sent.parquet").slice(5).write_parquet(fitted / "part.parquet")

    part = run(*fitted.decode("part.parquet", "x.csv"))
    few = run(*fitted.decode("sent.parquet", "x.csv", "--expect-rows", 9))

    assert [part.status, few.status] == [1, 1]
    assert "400 rows where 9" in few.err
    assert not (fitted / "x.csv").exists()
