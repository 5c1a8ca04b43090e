"""What describe proposes, protect accepts; both say how many cells aren't read."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import tomllib
import warnings

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halfmask import ColumnWarning, GuaranteeNotMetError, Policy, protect
from halfmask.data import open_table
from halfmask.description import describe

ROWS = 60
NUMBERS = ("{}", "+{}", " {}", "{}.5", "{},5", "{}.000", "{},000.5", "{}%", "{} EUR", "${}", "00{}",
           "1844674407370955{}", "{}e3", "-{}")  # fmt: skip
DATES = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d-%m-%y", "%d %B %Y", "%b %d, %Y", "%d%m%Y",
         "%Y%m%d", "%m/%d/%Y %I:%M %p", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M:%S",
         "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S+02:00", "%d/%b/%Y:%H:%M:%S +0200",
         "%H:%M", "%Y-%m", "%Y")  # fmt: skip
TEXTS = ("town {}", "{}-{}", "V{}", "[{}, {})", "{}th", "#{}")
MARKS = ("NA", "?", "", "-", "unknown")
BAD = ("x", "CANARY", "31.02.1999", "12:99", "1,2,3", "2020-01-01T10:00:00", "V27", "é", "1e400")
NAMES = ("birth_date", "age", "pay", "seen", "value", "zip", "disease")


@st.composite
def columns(draw):
    """Return the cells of a column of one shape, some of them markers or written otherwise."""
    few = draw(st.sampled_from([2, 7, ROWS]))
    number = st.integers(1, 99)
    kind = draw(st.sampled_from(["number", "date", "text"]))
    if kind == "number":
        form = draw(st.sampled_from(NUMBERS))
        values = [form.format(draw(number)) for _ in range(few)]
    elif kind == "date":
        form = draw(st.sampled_from(DATES))
        moments = st.datetimes(dt.datetime(1931, 1, 1), dt.datetime(2019, 1, 1))  # noqa: DTZ001
        values = [draw(moments).strftime(form) for _ in range(few)]
    else:
        form = draw(st.sampled_from(TEXTS))
        values = [form.format(draw(number), draw(number)) for _ in range(few)]
    cells = [values[i * 7 % few] for i in range(ROWS)]
    for odd in (MARKS, BAD, (None,)):
        for _ in range(draw(st.sampled_from([0, 0, 1, 3]))):
            cells[draw(st.integers(0, ROWS - 1))] = draw(st.sampled_from(odd))
    return cells


def counted(text):
    found = re.search(r"([\d,]+) of ([\d,]+) cells", text)
    return found and found.groups()


@pytest.mark.slow
@pytest.mark.parametrize("stored", ["csv", "frame"])
@settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.lists(columns(), min_size=1, max_size=4), st.permutations(NAMES))
def test_what_is_proposed_is_accepted(stored, tmp_path, cells, names):
    frame = pl.DataFrame(dict(zip(names, cells, strict=False)))
    frame = frame.cast(pl.String).with_columns(town=pl.Series([f"t{i % 3}" for i in range(ROWS)]))
    file = tmp_path / "t.csv"
    frame.write_csv(file)
    table = file if stored == "csv" else frame
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        found = describe(open_table(table))
    text = found.policy_toml().replace("k = 10", "k = 2").replace("= 0.02", "= 0.9")
    text = re.sub(r'\[\[guarantees\]\]\nmodel = "distinct.*?\n\n', "", text, flags=re.DOTALL)
    policy = Policy.from_toml(text)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with contextlib.suppress(GuaranteeNotMetError):  # whether 60 people keep it isn't asked
            protect(table, policy)

    said = {
        name: counted(message)
        for message in (str(each.message) for each in caught if each.category is ColumnWarning)
        for name in re.findall(r"^Column '(\w+)': .* because coerce", message)
    }
    proposed = {it.name: counted(it.reasons[1]) for it in found.proposals if it.coerced}
    assert said == proposed
    assert set(proposed) == set(tomllib.loads(text).get("input", {}).get("coerce", ()))
    assert "CANARY" not in text + "".join(str(each.message) for each in caught)


@pytest.mark.parametrize(
    ("column", "role", "missing"),
    [
        (pl.Series([dt.timedelta(hours=i % 24) for i in range(ROWS)]), "identifier", None),
        (pl.Series([dt.time(i % 24) for i in range(ROWS)]), "quasi_identifier", None),
        (pl.Series([*map(float, range(ROWS - 1)), float("inf")]), "quasi_identifier", 1),
        (pl.Series([*map(str, range(ROWS - 1)), "inf"]), "quasi_identifier", 1),
        (pl.Series([f"{i % 7}-{i % 5}, {i}" for i in range(ROWS)]), None, None),
    ],
)
def test_what_no_release_can_hold_is_not_proposed(column, role, missing):
    """Spans of time, infinite numbers, and labels without an order."""
    table = pl.DataFrame({"age": column, "town": [f"t{i % 3}" for i in range(ROWS)]})
    found = describe(table)
    text = found.policy_toml().replace("k = 10", "k = 2").replace("= 0.02", "= 0.9")

    assert role in {None, found["age"].role}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        protect(table, Policy.from_toml(text))
    assert [int(str(it.message).split(" of ")[0].split()[-1]) for it in caught] == (
        [missing] if missing else []
    )
