"""Whatever the people: the verifier reads labels back as protect counted them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halfmask._errors import HalfmaskError, VerificationError
from halfmask.microdata import Policy, protect_to
from halfmask.verifier import tables
from microdata.people import KEY  # type: ignore[import-not-found] # beside, not in a package
from microdata.test_protect_anything import VALUES  # type: ignore[import-not-found] # the same

#: Its claims say more than `CheckedClaim`.
verify: Any = tables.verify

MODELS = [
    {"model": "k-map", "k": 2},
    {"model": "k-map", "k": 4},
    {"model": "marketer-risk", "risk": 0.4},
    {"model": "delta-presence", "delta_min": 0, "delta_max": 0.8},
    {"model": "largest-journalist-risk", "risk": 0.34},
]
RECODINGS = [
    {"name": "ranges"},
    {"name": "level"},
    {"name": "ranges", "form": "bounds"},
    {"name": "ranges", "step": 2},
]


@st.composite
def populations(draw):
    """Draw a population, how many of it the table has, and a policy."""
    n = draw(st.integers(4, 30))
    # A missing cell and an empty text are the same in a CSV file of a single column.
    people = {"row": pl.Series("row", range(n))}
    columns = {"row": {"role": "insensitive", "kind": "numeric"}}
    for number in range(draw(st.integers(1, 3))):
        name = f"c{number}"
        kind = draw(st.sampled_from(list(VALUES)))
        cell = draw(st.sampled_from(VALUES[kind]))
        if draw(st.booleans()):
            cell = st.one_of(st.none(), cell)
        people[name] = pl.Series(name, draw(st.lists(cell, min_size=n, max_size=n)))
        columns[name] = {"role": "quasi_identifier", "kind": kind}
    policy = Policy(
        halfmask=1,
        columns=columns,
        guarantees=[draw(st.sampled_from(MODELS))],
        method={"name": draw(st.sampled_from(["mondrian", "mdav"]))},
        recoding=draw(st.sampled_from(RECODINGS)),
        output={"format": draw(st.sampled_from(["parquet", "csv", "arrow", "jsonl"]))},
        suppression={"max_fraction": draw(st.sampled_from([0.0, 0.3]))},
    )
    return pl.DataFrame(people), draw(st.integers(2, n)), policy


@pytest.mark.slow
@given(populations())
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_both_count_the_same_people(drawn):
    """What protect claims is what the verifier counts from the labels, to the last person."""
    people, n_rows, wanted = drawn
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("halfmask.microdata._classes.render_report", lambda _facts: "")
        out = Path(folder) / "out"
        try:
            release = protect_to(people.head(n_rows), wanted, out, key=KEY, population=people)
        except VerificationError:
            raise  # both don't count alike
        except HalfmaskError:
            assert not list(Path(folder).iterdir())
            return
        (check,) = verify(out, population=people).claims
        assert check.holds
        assert check.counted == pytest.approx(release.claims[0].evidence.achieved, rel=1e-12)
