"""The kernel along a series is what its formulas say, and taking undoes sending."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask.kernels.encoding.series import ASK, FLOOR, SEND, TAKE, walk


def arguments(power, n=60, seed=0):
    """Return random arguments of every array."""
    rng = np.random.default_rng(seed)
    around = np.stack([
        rng.normal(0, 0.3, n), rng.uniform(0.5, 2, n), rng.normal(0, 0.2, n),
        rng.normal(0, 0.1, n), rng.uniform(-0.5, 0.5, n),
    ])  # fmt: skip
    knots = np.array([-2.0, -0.5, 0.1, 1.5])
    return {
        "kinds": (rng.random(n) < 0.2).astype(np.int8),
        "around": around,
        "shape": np.array([power, 7.0, 3.0, 0.1, 0.4, 0.9]),
        "level_lags": np.array([1, 3]), "level_weights": np.array([0.5, 0.2]),
        "spread_lags": np.array([2]), "spread_weights": np.array([0.3]),
        "score_lags": np.array([1, 2]), "score_weights": np.array([0.1, -0.2]),
        "knots": knots, "scores": np.array([-1.8, -0.6, 0.0, 2.0]),
    }  # fmt: skip


def run(doing, values, sent, given):
    """Run the kernel on copies, and return what it wrote."""
    values, sent = values.copy(), sent.copy()
    histories = np.zeros((3, 3 + len(values)))
    histories[:, :3] = [[0.4, -0.2, 0.1]] * 3
    expected = np.zeros((3, len(values)))
    walk(doing, values, sent, **given, histories=histories, expected=expected)
    return values, sent, histories


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_taking_undoes_sending(power):
    """Whole values come back, and numbers between them where forecasts are asked."""
    given = arguments(power)
    kept = given["kinds"] == 0
    values = np.rint(np.random.default_rng(1).normal(0, 40, 60))

    _, sent, _ = run(SEND, values, np.zeros(60), given)
    back, _, _ = run(TAKE, np.zeros(60), sent, given)
    asked, _, _ = run(ASK, np.zeros(60), sent, given)

    assert (back[kept] == values[kept]).all()
    assert np.abs(asked - back - given["around"][4])[kept].max() < 1e-9


def test_the_first_steps_are_what_the_formulas_say():
    """One step is computed by hand from the docstring."""
    given = arguments(1.0)
    given["kinds"][:] = 0
    values = np.array([12.0])
    given["around"] = given["around"][:, :1].copy()
    given["kinds"] = given["kinds"][:1]
    season, width, rho, tilt, dither = given["around"][:, 0]

    _, sent, histories = run(SEND, values, np.zeros(1), given)
    v = ((12 + dither - 3) / 7 - season) / width
    level = 0.1 + 0.5 * 0.1 + 0.2 * 0.4
    spread = np.exp(rho + 0.3 * -0.2)
    g = np.interp((v - level) / spread, given["knots"], given["scores"]) - tilt
    score = 0.1 * 0.1 - 0.2 * -0.2

    assert sent[0] == pytest.approx((g - score) / 0.9, rel=1e-12)
    assert histories[0, 3] == pytest.approx(v, rel=1e-12)
    assert histories[1, 3] == pytest.approx(0.4 + np.log(abs(v - level) / np.exp(rho) + FLOOR))
