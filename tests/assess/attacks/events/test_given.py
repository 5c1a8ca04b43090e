"""What a target of events is given: of any library, and cells of any type."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, time, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError, SchemaError
from halfmask.assess.attacks import EventsTarget, attack
from halfmask.assess.attacks.events import (
    ATTACKS,
    Averaging,
    IntervalFingerprint,
    JoinedReleases,
    KnownEvents,
    TrajectoryUniqueness,
)
from halfmask.assess.attacks.events._traces import floats, merged_codes, seconds

CANARY = "xqcanary"
N = 120


def stream(seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "user": rng.integers(0, 20, N) + 100 * seed,
            "at": np.sort(rng.integers(0, 10**6, N)).astype(float),
            "page": rng.integers(0, 40, N),
            "size": rng.integers(0, 50, N).astype(float),
        }
    )


def target(**more: Any) -> EventsTarget:
    rows = stream()
    left = rows.select(nr="user", at="at", page="page", size="size")
    settings: dict[str, Any] = {
        "released": left,
        "original": rows,
        "entity": "user",
        "time": "at",
        "items": ("page",),
        "numbers": ("size",),
        "pseudonym": "nr",
        "control": stream(1),
        "later": (left, None),
    }
    return EventsTarget(**{**settings, **more})


def findings(made: EventsTarget) -> tuple[Any, ...]:
    return attack(made, attacks=[each for each in QUICK if not each.missing_inputs(made)]).findings


@pytest.mark.parametrize("turned", [pl.DataFrame.to_pandas, pl.DataFrame.lazy])
def test_tables_of_other_libraries_are_attacked_as_polars_are(turned):
    own = target()
    others = target(
        **{name: turned(getattr(own, name)) for name in ("released", "original", "control")},
        later=[turned(own.released), list(range(N))],
        owners=pl.Series(range(N)),
        items=["page"],
        numbers=["size"],
    )
    assert findings(others) == findings(own)


@pytest.mark.parametrize(
    ("others", "given"),
    [
        ({"items": "page"}, "'items' parameter of EventsTarget must be a list .* type str"),
        ({"numbers": 3}, "'numbers' parameter of EventsTarget must be a list .* type int"),
        ({"owners": np.arange(N) + 0.5}, "'owners' .* whole numbers, none missing"),
        ({"owners": np.full(N, np.nan)}, "'owners' .* none missing"),
        ({"owners": [CANARY] * N}, "'owners' .* whole numbers"),
        ({"later": 3}, "'later' parameter of EventsTarget must be a list"),
        ({"later": (stream(),)}, "later must be a second release and its owners"),
        ({"later": (target().released, [0.5] * N)}, "'owners' .* whole numbers"),
        ({"time_bounds": 5}, "time_bounds must be"),
        ({"time_bounds": (CANARY, CANARY)}, "time_bounds must be"),
        ({"time_bounds": (np.nan, 0.0)}, "time_bounds must be"),
    ],
)
def test_settings_are_refused_in_our_own_words(others, given):
    with pytest.raises(ParameterError, match=given) as caught:
        target(**others)
    assert CANARY not in str(caught.value)


def test_columns_with_a_role_hold_plain_cells_and_others_what_they_like():
    lists = pl.lit([1])
    for which in ("released", "original", "control"):
        with pytest.raises(SchemaError, match=r"Column 'page' of the .* of type List"):
            target(**{which: getattr(target(), which).with_columns(page=lists)})
    beside = target(original=stream().with_columns(tags=lists))
    assert KnownEvents(known=(2,)).run(beside, random_state=0)


def test_a_later_release_has_the_columns_of_the_first():
    with pytest.raises(ColumnNotFoundError, match="'page'"):
        target(later=(target().released.drop("page"), None))


@pytest.mark.parametrize("which", ["released", "original"])
def test_there_must_be_a_table(which):
    with pytest.raises(DataError):
        target(**{which: None})


QUICK: tuple[Any, ...] = (
    KnownEvents(known=(2,), n_attacks=20),
    IntervalFingerprint(intervals=(2,)),
    TrajectoryUniqueness(points=(1,)),
    JoinedReleases(),
    Averaging(repeats=2),
)
CELLS: dict[str, pl.Expr] = {
    "nothing": pl.lit(None),
    "nan": pl.lit(np.nan),
    "infinite": pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.lit(np.inf)).otherwise(1.0),
    "texts": pl.lit(CANARY),
    "categories": pl.lit(CANARY).cast(pl.Categorical),
    "truths": pl.int_range(pl.len()) % 2 == 0,
    "days": pl.lit(date(2020, 1, 1)),
    "times": pl.lit(time(1)),
    "spans": pl.lit(timedelta(days=1)),
    "decimals": pl.int_range(pl.len()).cast(pl.Decimal(20, 3)),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("column", ["at", "page", "size"])
@pytest.mark.parametrize("which", ["released", "original", "all"])
def test_cells_of_any_type_end_no_battery_and_stay_in_no_report(kind, column, which):
    parts = ("released", "original", "control") if which == "all" else (which,)
    changed = {
        part: getattr(target(), part).with_columns(CELLS[kind].alias(column)) for part in parts
    }
    later = changed.get("released", target().released)
    made = target(**changed, later=(later, None))
    report = attack(made, attacks=[each for each in QUICK if not each.missing_inputs(made)])
    assert report.findings
    assert CANARY not in repr(report.to_dict())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [0, 1, 3])
def test_streams_of_few_rows_end_no_battery(n):
    rows = target()
    few = target(
        released=rows.released[:n], original=rows.original[:n], later=(rows.released[:n], None)
    )
    controls = target(control=rows.control[:n] if rows.control is not None else None)
    for made in (few, controls, few.unprotected()):
        report = attack(made)
        assert len(report.findings) + len(report.skipped) >= len(ATTACKS)
        assert not any(finding.failure for finding in report.findings)


def test_the_same_number_of_another_type_is_the_same_item():
    rows = target()
    as_floats = target(released=rows.released.with_columns(pl.col("page").cast(pl.Float64)))
    each = KnownEvents(known=(2,), n_attacks=20)
    found = [[it.success for it in each.run(made, random_state=0)] for made in (rows, as_floats)]
    assert found[0] == found[1]
    codes = merged_codes(
        [(pl.DataFrame({"a": [7, 8]}), ["a"]), (pl.DataFrame({"a": [7.0, 8.5]}), ["a"])]
    )
    assert codes[0][0] == codes[1][0]
    assert codes[0][1] != codes[1][1]


def test_without_any_role_there_is_still_a_positive_control():
    bare = target(items=(), numbers=(), time="", pseudonym="")
    assert bare.unprotected().released.height == N


def test_people_who_fit_nothing_are_no_share_of_nobody():
    alone = target(released=target().released.with_columns(nr=pl.int_range(N)))
    (outcome, *_) = IntervalFingerprint(intervals=(2,)).run(alone, random_state=0)
    assert outcome.success.trials == 0
    assert not any(np.isnan(value) for value in outcome.details.values())


def test_an_infinite_number_is_none():
    infinite, text = floats(
        [pl.Series([np.inf, None, np.nan]), pl.Series(["1.5", CANARY], dtype=pl.Categorical)]
    )
    assert np.isnan(infinite).all()
    assert text.tolist()[0] == 1.5
    assert np.isnan(seconds(pl.Series([np.inf, -np.inf]))).all()
    with pytest.raises(DataError, match="neither times nor numbers"):
        seconds(pl.Series([True]))
    assert seconds(pl.Series(["1970-01-01T00:01:00Z"], dtype=pl.Categorical)).tolist() == [60.0]


def test_empty_releases_are_joined_without_a_link():
    rows = target()
    empty = replace(rows, released=rows.released[:0], owners=[], later=(rows.released[:0], []))  # type: ignore[arg-type] # any list
    assert JoinedReleases().run(empty, random_state=0)[0].success.trials == 0
    assert "numbers" in Averaging().missing_inputs(empty)
