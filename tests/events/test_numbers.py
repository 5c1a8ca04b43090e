"""What is done to numbers, held against the decimal arithmetic of the standard library."""

from __future__ import annotations

import decimal
import json
import math
import statistics
from bisect import bisect_left
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from events.running import one, run, transform_of  # type: ignore[import-not-found] # beside, not in a package
from halfmask.events import SecretTable

DECIMALS = st.decimals(
    min_value=-(10**9), max_value=10**9, allow_nan=False, allow_infinity=False, places=4
)
FACTORS = st.decimals(min_value=-1000, max_value=1000, allow_nan=False, places=2)
ROUNDING = {"nearest": ROUND_HALF_EVEN, "down": ROUND_FLOOR, "up": ROUND_CEILING}


def _raw(action, texts, **more):
    """Return the JSON numbers that an action writes for JSON numbers, as texts."""
    data = b"".join(b'{"v":%b}\n' % text.encode() for text in texts)
    transform = transform_of([{"path": "v", **action}], **more)
    found = [json.loads(it, parse_float=str, parse_int=str) for it in transform.apply(data).split()]
    return [it.get("v", ...) for it in found], transform.tally.failures


@settings(max_examples=30)
@given(st.lists(DECIMALS, min_size=1, max_size=20), st.integers(0, 6), st.sampled_from([*ROUNDING]))
def test_rounding_to_decimals(numbers, places, to):
    """Halves to even, down and up: as `Decimal.quantize` does, to the letter."""
    found, _ = _raw({"do": "round", "decimals": places, "to": to}, map(str, numbers))
    expected = [it.quantize(Decimal(1).scaleb(-places), ROUNDING[to]) for it in numbers]

    assert found == [f"{it:f}".replace("-0." if not it else "", "0." if not it else "") if places
                     else str(int(it)) for it in expected]  # fmt: skip


@settings(max_examples=30)
@given(
    st.lists(DECIMALS, min_size=1, max_size=20),
    st.sampled_from(["0.05", "0.25", "5", "100", "0.3", "7"]),
    st.sampled_from([*ROUNDING]),
)
def test_rounding_to_a_step(numbers, step, to):
    """Multiples of any step, exactly."""
    found, _ = _raw({"do": "round", "step": step, "to": to}, map(str, numbers))
    expected = [(it / Decimal(step)).quantize(1, ROUNDING[to]) * Decimal(step) for it in numbers]

    assert [Decimal(it) for it in found] == expected


@settings(max_examples=30)
@given(st.lists(DECIMALS, min_size=1, max_size=20), st.integers(1, 8))
def test_rounding_to_significant_digits(numbers, digits):
    """As a context of so many digits rounds."""
    found, _ = _raw({"do": "round", "significant": digits}, map(str, numbers))
    context = decimal.Context(prec=digits, rounding=ROUND_HALF_EVEN)

    assert [Decimal(it) for it in found] == [context.plus(it) for it in numbers]


def test_money_is_rounded_on_its_digits():
    """The unit stays, a text without it is dropped, and 2.675 has no float in it."""
    action = {"do": "round", "decimals": 1, "units": [" EUR", "€"]}
    values = ["7.99 EUR", "200 EUR", "0.25€", 3.45, "7.99 USD", "EUR", "7.99 EUR ", True, None]

    found, failures = one(action, values)

    assert found == ["8.0 EUR", "200.0 EUR", "0.2€", 3.4, ..., ..., ..., ..., None]
    assert failures == {"unknown-unit": 2, "not-a-number": 1, "wrong-type": 1}
    assert _raw({"do": "round", "decimals": 2}, ["2.675", "1.005", "1e2"])[0] == [
        "2.68", "1.00", "100.00",
    ]  # fmt: skip


def test_numbers_out_of_range_are_counted():
    """19 digits, exponents beyond, and what grows beyond are dropped."""
    found, failures = _raw(
        {"do": "round", "decimals": 6}, ["1" * 19, "1e400", "-1e-400", "9" * 18, "1"]
    )

    assert found == [..., ..., ..., ..., "1.000000"]
    assert failures == {(1, "out-of-range"): 4}


@settings(max_examples=30)
@given(st.lists(DECIMALS, min_size=1, max_size=20), FACTORS)
def test_scaling_is_exact(numbers, factor):
    """The product of decimals."""
    table = SecretTable(kind="scale", values={"x": str(factor)})
    rules = [{"path": "v", "do": "scale", "table": "f", "by": "k"}]
    transform = transform_of(rules, tables={"f": table})
    data = "".join(f'{{"k":"x","v":{it}}}\n' for it in numbers).encode()
    found = [json.loads(it, parse_float=Decimal)["v"] for it in transform.apply(data).split()]

    with decimal.localcontext(prec=60):
        assert [Decimal(it) for it in found] == [it * factor for it in numbers]


def test_candies_by_two():
    """By the value of another field of the same element; others as the policy says."""
    table = SecretTable(kind="scale", values={"candies": 2, "tea": Decimal("0.5")})
    rule = {"path": "items[].kg", "do": "scale", "table": "factors", "by": "items[].what"}
    events = [
        {
            "items": [
                {"what": "candies", "kg": 1},
                {"what": "tea", "kg": 2.5},
                {"what": "x", "kg": 3},
            ]
        }
    ]

    dropped, failures = run([rule], events, tables={"factors": table})
    stayed, _ = run([{**rule, "other": 1}], events, tables={"factors": table})

    assert dropped == [{"items": [{"kg": 2}, {"kg": 1.25}, {}]}]
    assert failures == {"not-in-table": 1}
    assert stayed == [{"items": [{"kg": 2}, {"kg": 1.25}, {"kg": 3}]}]


def _laplace(u):
    return math.copysign(-math.log(1 - abs(2 * u - 1)), u - 0.5)


def _uniform(u):
    return 2 * u - 1


LAWS = {
    "laplace": _laplace,
    "gaussian": statistics.NormalDist().inv_cdf,
    "uniform": _uniform,
}


@pytest.mark.parametrize("law", LAWS)
def test_noise_follows_its_law(law):
    """The distribution of 20,000 draws is the law's (Kolmogorov's distance, 1 in 10,000 fails)."""
    action = {"do": "noise", "how": "add", "law": law, "scale": 3.0, "per": "event", "decimals": 6}
    found, failures = one(action, [100.0] * 20_000)
    drawn = sorted((it - 100.0) / 3.0 for it in found)
    points = [LAWS[law]((i + 0.5) / 20_000) for i in range(20_000)]
    # How far the ranks of the law's quantiles are from theirs.
    ranks = [_below(drawn, point) / 20_000 - (i + 0.5) / 20_000 for i, point in enumerate(points)]

    assert failures == {}
    assert max(map(abs, ranks)) < 2.23 / math.sqrt(20_000)


def _below(ordered, point):
    return bisect_left(ordered, point)


def test_noise_that_is_cut_stays_within():
    """No draw is beyond, and the law isn't heaped up at its ends."""
    for law in ("laplace", "gaussian"):
        action = {"do": "noise", "how": "add", "law": law, "scale": 3.0, "per": "event"}
        found, _ = one({**action, "decimals": 3, "most": 2.0}, [0] * 4_000)

        assert max(map(abs, found)) <= 2.0
        assert sum(abs(it) > 1.99 for it in found) < 60
        assert min(found) < -1.8 < 1.8 < max(found)


def test_bounds_and_what_is_multiplied():
    """What is written lies between the bounds; 0 stays 0, and shares are of the number."""
    action = {"do": "noise", "law": "uniform", "scale": 0.1, "per": "event", "decimals": 2}
    found, _ = one({**action, "how": "multiply"}, [0] * 50 + [1000] * 2_000)
    bounded, _ = one({**action, "how": "add", "scale": 9.0, "low": 0, "high": 5}, [2] * 500)

    assert set(found[:50]) == {0}
    assert 900 <= min(found[50:]) < 910
    assert 1_090 < max(found[50:]) <= 1_100
    assert (min(bounded), max(bounded)) == (0, 5)


def test_repeats_of_an_entity_dont_average_out():
    """Per event the mean of 2,000 readings is the number; per entity all are the same."""
    action = {"path": "v", "do": "noise", "how": "add", "law": "laplace", "scale": 10.0}
    rule = {**action, "decimals": 4}
    events = [{"who": "ann", "v": 50}] * 2_000
    stream = {"entity": "who"}

    averaged, _ = run([{**rule, "per": "event"}], events)
    kept, _ = run([{**rule, "per": "entity"}], events, stream=stream)
    others, _ = run(
        [{**rule, "per": "entity"}], [{"who": i, "v": 50} for i in range(2_000)], stream=stream
    )

    assert abs(statistics.fmean(it["v"] for it in averaged) - 50) < 1.6
    assert len({it["v"] for it in kept}) == 1
    assert len({it["v"] for it in others}) > 1_950
    assert abs(statistics.fmean(it["v"] for it in others) - 50) < 1.6


def test_noise_per_entity_needs_one():
    """Without the entity a number is dropped, and counted."""
    rule = {"path": "v", "do": "noise", "how": "add", "law": "uniform", "scale": 1.0, "decimals": 0}
    found, failures = run(
        [{**rule, "per": "entity", "by": "who"}], [{"v": 1}, {"who": None, "v": 2}, {"who": {}}]
    )

    assert found == [{}, {}, {}]
    assert failures == {"no-entity": 2}


#: Neighbours beyond 53 and 64 bits, which floats merge.
LONG = [
    "9007199254740992", "9007199254740993", "9007199254740992.5", "9223372036854775807",
    "9223372036854775808", "9223372036854775809", "-9223372036854775809", "18446744073709551616",
    "123456789012345678901234567890", "123456789012345678901234567891",
]  # fmt: skip


@pytest.mark.parametrize(
    "rule",
    [
        {"do": "keep"},
        {"do": "token"},
        {"do": "sequence", "scope": "stream"},
        {"do": "round", "step": 0.5},
        {"do": "generalize", "hierarchy": {"intervals": [1]}, "level": 1},
        {"do": "generalize", "hierarchy": {"intervals": [0.5]}, "level": 1},
        {"do": "noise", "how": "add", "law": "uniform", "scale": 0.1, "per": "event",
         "decimals": 0},
    ],
)  # fmt: skip
def test_long_numbers_stay_apart_or_are_counted(rule):
    """None becomes another one's value without being counted as out of range."""
    transform = transform_of([{"path": "v", **rule}])
    lines = transform.apply("".join(f'{{"v":{it}}}\n' for it in LONG).encode()).splitlines()
    left = [line for line in lines if line != b"{}"]

    assert len(set(left)) == len(left)
    assert len(left) + sum(transform.tally.failures.values()) == len(LONG)
    assert {why for _, why in transform.tally.failures} <= {"out-of-range"}
    if rule["do"] == "keep":
        assert left == [f'{{"v":{it}}}'.encode() for it in LONG]
