"""Rounding from token to token, against decimal arithmetic."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from halfmask.kernels.text.json_numbers import LONGEST
from halfmask.kernels.text.rounding import DOWN, MEMORY, NEAREST, UP, round_tokens

POWERS = 10 ** np.arange(19, dtype=np.int64)
MODES = {NEAREST: ROUND_HALF_EVEN, DOWN: ROUND_FLOOR, UP: ROUND_CEILING}
WHOLE = st.integers(-(10**10), 10**10).map(str) | st.sampled_from(["-0", "0", "9" * 18, "9" * 19])
BROKEN = st.builds("{}.{}".format, WHOLE, st.text("0123456789", min_size=1, max_size=9))
OTHERS = st.sampled_from(["1e3", "-2.5E-1", "0.1e0", "1.0e400", "0." + "3" * 18])
NUMBERS = st.lists(WHOLE | BROKEN | OTHERS, max_size=20)


def rounded(tokens, units, places, to, kinds=None):
    """Return what becomes of tokens; ... where it is left to others."""
    data = np.frombuffer(bytearray("".join(tokens), "ascii"), np.uint8)
    stops = np.cumsum([len(token) for token in tokens], dtype=np.int64)
    starts = stops - np.array([len(token) for token in tokens], np.int64)
    count = len(tokens)
    if kinds is None:
        kinds = np.array([5 if set(token) & set(".eE") else 4 for token in tokens], np.uint8)
    steps = np.where(units <= (1 << 62) // POWERS, units * POWERS, 0)
    out, became = np.empty(LONGEST * count, np.uint8), np.empty(count, np.uint8)
    begins, ends = np.empty(count, np.int64), np.empty(count, np.int64)
    left = np.empty(count, np.bool_)
    others = round_tokens(
        data, kinds, starts, stops, steps, POWERS, places, to, np.zeros(MEMORY, np.uint64),
        out, became, begins, ends, left,
    )  # fmt: skip
    assert others == np.count_nonzero(left)
    text = out.tobytes().decode("latin-1")
    found = [text[begin:end] for begin, end in zip(begins, ends, strict=True)]
    return [... if other else token for token, other in zip(found, left, strict=True)], became


@pytest.mark.slow
@given(
    NUMBERS,
    st.integers(1, 10**6) | st.sampled_from([1, 5, 25, 10**17]),
    st.integers(0, 18),
    st.sampled_from([*MODES]),
)
@example(["2.5", "3.5", "-2.5", "-0.3", "0.05"], 1, 0, NEAREST)
@example(["12345678", "-1234567.8", "0.0000001", "99.5"], 5, 1, NEAREST)
def test_what_is_rounded_is_what_decimals_say(tokens, units, places, to):
    step = Decimal(units).scaleb(-places)

    tokens = tokens * 2  # what was met before is remembered
    found, kinds = rounded(tokens, units, places, to)

    for token, text, kind in zip(tokens, found, kinds.tolist(), strict=True):
        if text is ...:
            # Nothing that is short and plain is left to others.
            digits = sum(c.isdigit() for c in token)
            assert "e" in token.lower() or digits + places > 18 or units > 10**9
            continue
        steps = (Decimal(token) / step).to_integral_value(MODES[to])
        assert text == f"{abs(steps * step) if steps == 0 else steps * step:.{places}f}"
        assert kind == (5 if places else 4)


def test_of_more_numbers_than_are_remembered_none_is_taken_for_another():
    """Thousands share places; some are alike but for a sign."""
    tokens = [f"{number}.{number % 7}" for number in range(3000)]
    tokens += [f"-{token}" for token in tokens[1:]]

    found, _ = rounded(tokens * 2, 25, 1, DOWN)

    steps = [(Decimal(token) / Decimal("2.5")).to_integral_value(ROUND_FLOOR) for token in tokens]
    assert found == [f"{step * Decimal('2.5'):.1f}" for step in steps] * 2


def test_numbers_that_are_too_long_to_be_remembered_arent_taken_for_shorter_ones():
    tokens = [f"0.000000{digit}" for digit in range(10)]  # alike in what is remembered of a number

    found, _ = rounded(tokens * 2, 1, 6, NEAREST)

    assert found == (["0.000000"] * 6 + ["0.000001"] * 4) * 2


@pytest.mark.parametrize("kind", [0, 1, 2, 3, 6, 7, 8])
def test_what_is_no_number_is_left_to_others(kind):
    found, became = rounded(["12", "7"], 5, 0, DOWN, kinds=np.array([kind, 4], np.uint8))

    assert found == ["" if kind < 2 else ..., "5"]
    assert became.tolist() == [kind if kind < 2 else 0, 4]
