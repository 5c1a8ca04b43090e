"""Guarantees about a population with full-domain generalization, against a count of everyone."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

from halfmask._errors import (
    GuaranteeNotMetError,
    HierarchyError,
    ParameterError,
    VerificationError,
)
from halfmask.anonymize import _level_people
from halfmask.microdata import protect, protect_to
from halfmask.verifier.tables import verify
from halfmask.verifier.tables._labels import value_fits
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    KEY,
    QUASI,
    lies_in,
    people,
    policy,
    promise,
    released,
    with_gaps,
)
from microdata.test_population import PROMISES, TOWNS, level  # type: ignore[import-not-found]

SETTINGS: dict[str, Any] = {
    "method": {"name": "full-domain"},
    "recoding": {"name": "level"},
    "columns": {"town": {"hierarchy": TOWNS}, "age": {"hierarchy": {"intervals": [10, 30]}}},
    "suppression": {"max_fraction": 0.1},
}
ABOVE = {
    "town": {town: {town, group, "*"} for group, it in TOWNS["groups"].items() for town in it},
    "age": {
        age: {str(age), *(f"[{age // w * w}, {age // w * w + w})" for w in (10, 30)), "*"}
        for age in range(120)
    },
}


def everybody(gaps=0.0):
    """People of few years of birth, so that a column without a hierarchy can keep its values."""
    found = people(400).with_columns(born=pl.col("born").dt.truncate("20y"))
    return with_gaps(found, ["age", "smoker"], share=gaps) if gaps else found


def fits(found, persons):
    """Return for each class its rows, and which people fit it, the slow way."""

    def one(name, person, label):
        if person is None or label is None:
            return person is None and label is None
        if name in ABOVE:
            return label in ABOVE[name][person]
        return label == "*" or lies_in(person, label)

    return [
        (
            group.height,
            [
                i
                for i, person in enumerate(persons)
                if all(
                    one(name, person[name], each) for name, each in zip(QUASI, label, strict=True)
                )
            ],
        )
        for label, group in found.group_by(QUASI)
    ]


def trees_of(persons):
    """Return the hierarchies as the verifier takes them: a row for each value."""
    ages = sorted(persons["age"].drop_nulls().unique())
    towns = [(town, group, "*") for group, it in TOWNS["groups"].items() for town in it]
    rows = [
        (str(age), *(f"[{age // w * w}, {age // w * w + w})" for w in (10, 30)), "*")
        for age in ages
    ]
    return {
        "town": pl.DataFrame(towns, orient="row"),
        "age": pl.DataFrame(rows, orient="row"),
    }


def bound(said):
    names = ("k", "share", "risk", "delta_max", "publisher_benefit", "adversary_cost")
    return next(said[name] for name in names if name in said)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("gaps", [0.0, 0.06])
@pytest.mark.parametrize("asked", PROMISES)
def test_every_person_is_counted(asked, gaps, tmp_path):
    """Each class keeps each guarantee, and the claim states what a slow count finds."""
    persons = everybody(gaps)
    wanted = policy(*PROMISES[asked], **SETTINGS)

    release = protect_to(persons.head(160), wanted, tmp_path / "out", key=KEY, population=persons)

    held = fits(released(tmp_path / "out"), persons.to_dicts())
    for claim, said in zip(release.claims, PROMISES[asked], strict=True):
        if said["model"] in {"k-anonymity", "distinct-l-diversity", "t-closeness"}:
            continue
        expected = level(said["model"], held)
        assert claim.evidence.achieved == pytest.approx(expected, rel=1e-12)
        kept = expected >= bound(said) if said["model"] == "k-map" else expected <= bound(said)
        assert kept
    assert release.verification is not None
    assert release.verification.holds
    assert verify(tmp_path / "out", population=persons, hierarchies=trees_of(persons)).holds
    assert len(held) > 1


def at_levels(persons, levels):
    """Return the label of each person in each column, the slow way."""

    def label(name, value, step):
        if name == "age":
            width = (1, 10, 30, 1000)[step]
            return str(value // width)
        if name == "town":
            group = next(group for group, it in TOWNS["groups"].items() if value in it)
            return (value, group, "*")[step]
        return (str(value), "*")[step]

    return [tuple(label(name, row[name], levels[name]) for name in QUASI) for row in persons]


def fewest_people(table, persons, levels):
    counts = Counter(at_levels(persons, levels))
    return min(counts[labels] for labels in set(at_levels(table, levels)))


def test_levels_are_as_low_as_the_population_allows(tmp_path):
    """One level lower in any column misses k-map: no guess is left on the table."""
    persons = everybody()
    settings = SETTINGS | {"suppression": {"max_fraction": 0.0}}
    out = tmp_path / "out"

    protect_to(
        persons.head(160), policy(promise("k-map", k=9), **settings), out, population=persons
    )

    levels = json.loads((out / "manifest.json").read_text())["details"]["method"]["levels"]
    table, everyone = persons.head(160).to_dicts(), persons.to_dicts()
    assert fewest_people(table, everyone, levels) >= 9
    lower = [levels | {name: step - 1} for name, step in levels.items() if step]
    assert lower
    assert all(fewest_people(table, everyone, each) < 9 for each in lower)


def test_the_count_has_power(tmp_path, monkeypatch):
    """Where everyone counts twice, the verifier finds fewer, and there is no release."""
    persons = everybody()
    wanted = policy(promise("k-map", k=9), **SETTINGS)
    honest = _level_people.LevelPeople.count

    def twice(self, levels, nodes):
        fitting, outside = honest(self, levels, nodes)
        return 2 * fitting, outside

    monkeypatch.setattr(_level_people.LevelPeople, "count", twice)
    with pytest.raises(VerificationError, match="the guarantee isn't kept"):
        protect_to(persons.head(160), wanted, tmp_path / "out", key=KEY, population=persons)
    assert not (tmp_path / "out").exists()


def test_people_with_values_that_the_table_lacks_fit_the_root_alone(tmp_path):
    persons = everybody()
    table = persons.filter(pl.col("smoker") == persons["smoker"][0]).head(60)
    columns = SETTINGS["columns"] | {"smoker": {"least_level": 1}}
    wanted = policy(promise("k-map", k=20), **(SETTINGS | {"columns": columns}))

    release = protect_to(table, wanted, tmp_path / "out", key=KEY, population=persons)

    found = released(tmp_path / "out")
    assert set(found["smoker"]) == {"*"}
    held = fits(found, persons.to_dicts())
    assert release.claims[0].evidence.achieved == level("k-map", held)
    fitting = {i for _, them in held for i in them}
    assert len({persons["smoker"][i] for i in fitting}) > 1


def test_a_root_covers_everyone_who_has_a_value_and_a_quoted_star_itself():
    labels = ["*", '"*"', "a", "a or missing"]
    values = ["*", "a", "b"]

    fits_of = value_fits(labels, values, is_number=False, is_scale=False)

    assert fits_of.astype(int).tolist() == [
        [1, 0, 0, 0],
        [0, 1, 1, 1],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [1, 0, 1, 0],
    ]
    numbers = value_fits(["*", "[1, 2]"], ["1", "3"], is_number=True, is_scale=True)
    assert numbers.astype(int).tolist() == [[1, 0, 0], [0, 1, 1], [0, 1, 0]]
    only = value_fits(["*"], ["1", "x"], is_number=False, is_scale=True)
    assert only.astype(int).tolist() == [[1, 0, 0], [0, 1, 1]]


def test_a_star_among_the_values_is_no_root(tmp_path):
    """Written bare, it would let everyone fit."""
    rows = [(f"{i % 3}", star) for i in range(60) for star in ("*", "x", "y")]
    persons = pl.DataFrame(rows, schema=["a", "b"], orient="row")
    columns = {
        name: {"role": "quasi_identifier", "kind": "categorical"} for name in persons.columns
    }
    wanted = type(policy())(
        halfmask=1,
        columns=columns,
        guarantees=[promise("k-map", k=15)],
        method={"name": "full-domain"},
    )

    release = protect_to(persons.head(90), wanted, tmp_path / "out", population=persons)

    assert set(released(tmp_path / "out")["b"]) == {'"*"', "x", "y"}
    assert release.claims[0].evidence.achieved == 20


def test_a_label_of_different_nodes_is_refused():
    persons = everybody()
    twofold = persons.with_columns(town=pl.lit("a"))
    rows = pl.DataFrame({"0": ["a", "b"], "1": ["x", "b"], "2": ["x", "x"]})
    names = ["b" if i % 2 else "a" for i in range(persons.height)]
    twofold = persons.with_columns(town=pl.Series(names))
    from halfmask.anonymize.coding import code_column  # noqa: PLC0415 # one of its parts
    from halfmask.data import Column, Hierarchy  # noqa: PLC0415

    tree = Hierarchy.from_rows(rows.rows(), column="town")
    column = Column(name="town", role="quasi_identifier", kind="categorical", hierarchy=tree)
    coding = code_column(column, twofold["town"].unique(), missing=False)

    with pytest.raises(HierarchyError, match="one label for different nodes"):
        _level_people.LevelPeople.of(twofold, [coding])


def test_what_cannot_be_met_and_rounds_are_errors_that_name_it():
    persons = everybody()
    with pytest.raises(GuaranteeNotMetError, match=r"KMap\(k=500\) reaches 400"):
        protect(persons.head(160), policy(promise("k-map", k=500), **SETTINGS), population=persons)
    settings = SETTINGS | {"method": {"name": "full-domain", "rounds": 2}}
    with pytest.raises(ParameterError, match="fit classes of two rounds"):
        protect(persons.head(160), policy(promise("k-map", k=5), **settings), population=persons)


def test_with_a_least_presence_nobody_may_be_left_out():
    persons = everybody()
    wanted = policy(
        promise("delta-presence", delta_min=0.2, delta_max=0.6),
        **(SETTINGS | {"suppression": {"max_fraction": 0.3}}),
    )

    release = protect(persons.head(160), wanted, population=persons)

    held = fits(release.data, persons.to_dicts())
    assert len({i for _, them in held for i in them}) == persons.height
    assert all(0.2 <= rows / len(them) <= 0.6 for rows, them in held)
    assert np.isclose(release.claims[0].evidence.achieved, level("delta-presence", held))
