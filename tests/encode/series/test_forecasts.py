"""Forecasts of what is sent, decoded, are forecasts of the series."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask import DataError, HalfmaskError, ParameterError, SchemaError
from halfmask.encode import SeriesCodec
from halfmask.vault import Secret

SECRET = Secret.from_bytes(bytes(range(32)))


@pytest.fixture(scope="module")
def table():
    """A wave with an autoregressive rest, in two columns."""
    rng = np.random.default_rng(5)
    rest = np.zeros(500)
    for t in range(1, 500):
        rest[t] = 0.6 * rest[t - 1] + rng.normal()
    wave = 10 * np.sin(2 * np.pi * np.arange(500) / 12)
    return pl.DataFrame({"t": np.arange(500), "y": 50 + wave + rest, "z": rng.normal(size=500)})


@pytest.fixture(scope="module", params=[0, 1, 2], ids="name{}".format)
def codec(request, table):
    """A codec of the first 400 rows, of either sign."""
    name = f"s{request.param}"
    return SeriesCodec(time="t", periods=[12], secret=SECRET, name=name).fit(table[:400])


def sent_later(codec, table):
    """Return what is sent of the last hundred rows' y."""
    encoded = codec.encode(table[400:], state=codec.state_).sort(codec.time_name_)
    return encoded[codec.column_names_["y"]].to_numpy()


def test_a_path_that_happens_decodes_to_what_happened(codec, table):
    """Paths are decoded exactly, as rows are."""
    sent = sent_later(codec, table)
    true = table["y"][400:].to_numpy()

    paths = codec.decode_forecasts(np.column_stack([sent, sent]), column="y")
    points = codec.decode_forecasts(sent, column="y")

    assert np.allclose(paths, true[:, None], rtol=1e-9)
    assert np.allclose(points, true, rtol=1e-9)
    assert codec.horizon(100).to_list() == list(range(400, 500))


def test_one_step_ahead_what_happens_decodes_to_what_happened(codec, table):
    """Given the true past, the value that was sent decodes to the value that was there."""
    sent = sent_later(codec, table)

    points = codec.decode_one_step(sent, table[400:], column="y", state=codec.state_)

    assert np.allclose(points, table["y"][400:], rtol=1e-9)


def test_quantiles_keep_their_order_and_their_share(codec, table):
    """Normal quantiles, decoded, are ascending and hold about their share of the true values."""
    answer = np.tile([-1.2816, 0.0, 1.2816], (100, 1))

    low, middle, high = codec.decode_one_step(
        answer, table[400:], column="y", state=codec.state_, levels=[0.1, 0.5, 0.9]
    ).T
    true = table["y"][400:].to_numpy()

    assert (low < middle).all()
    assert (middle < high).all()
    assert 0.65 < ((low < true) & (true < high)).mean() < 0.93


def test_zero_is_a_forecast_that_knows_wave_and_past(codec, table):
    """Home's own forecast misses by about the noise, and a shuffled one by more."""
    true = table["y"][400:].to_numpy()

    missed = codec.decode_one_step(np.zeros(100), table[400:], column="y", state=codec.state_)
    ahead = codec.decode_forecasts(np.zeros(24), column="y")

    assert np.abs(missed - true).mean() < 1.0
    assert np.abs(ahead - true[:24]).mean() < 2.0
    assert np.abs(true - true.mean()).mean() > 5.0


def test_blinded_points_come_home_and_quantiles_do_not(table):
    """Blinding leaves points, and refuses what it would make wrong."""
    codec = SeriesCodec(time="t", periods=[12], secret=SECRET, blinding=0.5).fit(table[:400])

    ahead = codec.decode_forecasts(np.zeros(5), column="y")

    assert np.isfinite(ahead).all()
    with pytest.raises(ParameterError, match="blinding"):
        codec.decode_forecasts(np.zeros((5, 2)), column="y")
    assert "exact" not in {claim.scope for claim in codec.claims}


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda c, _: c.decode_forecasts(np.zeros(3)), ParameterError),
        (lambda c, _: c.decode_forecasts(np.zeros(3), column="x"), SchemaError),
        (lambda c, _: c.decode_forecasts(np.zeros(3), column="y", entity="x"), SchemaError),
        (lambda c, _: c.decode_forecasts([np.nan], column="y"), DataError),
        (lambda c, _: c.decode_forecasts(["a"], column="y"), DataError),
        (lambda c, _: c.decode_forecasts(np.zeros((1, 1, 1)), column="y"), DataError),
        (lambda c, t: c.decode_one_step(np.zeros(3), t[:4], column="y"), DataError),
        (lambda c, t: c.decode_one_step(np.zeros((4, 2)), t[:4], column="y"), ParameterError),
        (
            lambda c, t: c.decode_one_step(np.zeros((4, 2)), t[:4], column="y", levels=[0.1, 0.5]),
            ParameterError,
        ),
        (lambda c, t: c.decode_one_step(np.zeros(0), t[:0], column="y"), DataError),
    ],
)
def test_bad_forecasts_are_refused(codec, table, call, error):
    """What is no forecast of one series is an error."""
    with pytest.raises(error) as caught:
        call(codec, table)

    assert isinstance(caught.value, HalfmaskError)


def test_claims_are_exact_where_tests_say_so(codec):
    """Quantiles one step ahead and paths are claimed exact, and nothing else is."""
    exact = {claim.learner for claim in codec.claims if claim.scope == "exact"}

    assert exact == {"quantiles one step ahead", "sample paths"}
