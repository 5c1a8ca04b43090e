"""Whatever the table and the policy: a verified release, or one of our errors and nothing."""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from halfmask._errors import HalfmaskError
from halfmask.microdata import Policy, protect_to
from halfmask.verifier.tables import verify
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    KEY,
    classes,
    released,
)

ODD = [
    "",
    " ",
    "a",
    "b",
    "=a",
    "'=a",
    "-1",
    "'-1",
    "[1, 2]",
    "{a, b}",
    "a, b",
    "a or missing",
    "null",
]
ODD += [
    "NaN",
    "true",
    "1",
    "01",
    "1.0",
    '"',
    '""',
    "a\nb",
    "a\r\nb",
    "é",
    "e\u0301",
    "\u202ea",
    "\0",
    "*",
]
VALUES: dict[str, list[st.SearchStrategy[Any]]] = {
    "categorical": [st.sampled_from(ODD), st.booleans(), st.integers(0, 3)],
    "text": [st.sampled_from(ODD)],
    "numeric": [
        st.integers(0, 5),
        st.integers(-(2**63), 2**63 - 1),
        st.sampled_from([0.0, -0.0, 1.5, 5e-324, 1e150, -1e150, 0.1, 1 / 3]),
        st.decimals(-9, 9, places=2, allow_nan=False, allow_infinity=False),
    ],
    "datetime": [
        st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)),
        st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 1, 1)),  # noqa: DTZ001 # naive, as in tables
    ],
}
ROLES = ["quasi_identifier"] * 3 + ["sensitive"] * 2 + ["insensitive", "identifier"]


@st.composite
def jobs(draw):
    """Draw a table and a policy for it."""
    n = draw(st.integers(1, 40))
    table, columns, sensitive = {}, {}, []
    for number in range(draw(st.integers(1, 5))):
        name = f"c{number}"
        role = "quasi_identifier" if not number else draw(st.sampled_from(ROLES))
        kind = draw(st.sampled_from(list(VALUES)))
        cell = draw(st.sampled_from(VALUES[kind]))
        if draw(st.booleans()):
            cell = st.one_of(st.none(), cell)
        if draw(st.booleans()):  # few values, so that classes are larger
            cell = st.sampled_from(draw(st.lists(cell, min_size=1, max_size=3)))
        table[name] = pl.Series(name, draw(st.lists(cell, min_size=n, max_size=n)))
        missing = draw(st.sampled_from(["value", "value", "suppress", "reject"]))
        columns[name] = {"role": role, "kind": kind}
        if role != "identifier":  # an identifier isn't read: a setting for its cells is refused
            columns[name]["missing"] = missing
        if role == "sensitive":
            sensitive.append(name)
    if sensitive and draw(st.booleans()):
        columns[sensitive[0]]["label"] = True
    return pl.DataFrame(table), _policy(draw, columns, sensitive)


def _policy(draw, columns, sensitive):
    promises = [{"model": "k-anonymity", "k": draw(st.integers(2, 5))}]
    if draw(st.booleans()):
        promises[draw(st.integers(0, 1)) :] = [
            draw(
                st.sampled_from(
                    [
                        {"model": "average-risk", "risk": 0.2},
                        {"model": "sample-uniqueness", "share": 0.3},
                        {"model": "records-at-risk", "share": 0.2, "risk": 0.3},
                        {"model": "profitability-prosecutor-no-attack"}
                        | {"adversary_gain": 4.5, "adversary_cost": 1.5},
                    ]
                )
            )
        ]
    for column in sensitive:
        scale = columns[column]["kind"] in ("numeric", "datetime")
        promises.append(
            draw(
                st.sampled_from(
                    [
                        {"model": "distinct-l-diversity", "l": 2},
                        {"model": "entropy-l-diversity", "l": 1.5},
                        {"model": "recursive-cl-diversity", "c": 3.0, "l": 2},
                        {"model": "t-closeness", "t": 0.4},
                        {"model": "alpha-k-anonymity", "alpha": 0.7, "k": 3},
                        {"model": "delta-disclosure-privacy", "delta": 1.0},
                        {"model": "basic-beta-likeness", "beta": 1.0},
                        {"model": "enhanced-beta-likeness", "beta": 1.0},
                        {"model": "t-closeness", "t": 0.4, "distance": "ordered"}
                        if scale
                        else {"model": "t-closeness", "t": 0.7},
                    ]
                )
            )
            | {"column": column}
        )
    kept = [name for name, said in columns.items() if said["role"] != "identifier"]
    methods: list[dict[str, object]] = [
        {"name": "mondrian"},
        {"name": "mondrian", "strict": False},
        {"name": "guided", "split_targets": [draw(st.sampled_from(kept))]},
        {"name": "mdav", "block_rows": draw(st.sampled_from([1, 100_000]))},
    ]
    recodings = ["ranges", "level", "centroid", "representative"]
    return Policy(
        halfmask=1,
        columns=columns,
        guarantees=promises,
        method=draw(st.sampled_from(methods)),
        recoding={"name": draw(st.sampled_from(recodings))},
        output={"format": draw(st.sampled_from(["parquet", "csv", "arrow", "jsonl"]))},
        suppression={"max_fraction": draw(st.sampled_from([0.0, 0.3]))},
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The identifier .* different values:halfmask.ColumnWarning")
@given(jobs())
@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_verified_release_or_nothing(job):
    """No table and no policy gets anything else out of protect."""
    table, wanted = job
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("halfmask.microdata._classes.render_report", lambda _facts: "")
        patch.setattr("halfmask.assess.utility._model_utility.RESAMPLES", 2)
        out = Path(folder) / "out"
        try:
            release = protect_to(table, wanted, out, key=KEY)
        except HalfmaskError:
            assert not list(Path(folder).iterdir())
            return
        assert verify(out).holds
        found = released(out)
        assert found.height == release.rows["out"] <= table.height
        quasi = [name for name, said in wanted.columns.items() if said.role == "quasi_identifier"]
        assume(found.height)
        least = getattr(wanted.guarantee_sections[0], "k", 1)
        assert min(map(len, classes(found, quasi))) >= least
        dropped = {name for name, said in wanted.columns.items() if said.role == "identifier"}
        assert not dropped & set(found.columns)
