"""Claims: judged on the classes as they leave, with the weaknesses that stay."""

from __future__ import annotations

import json

import polars as pl
import pytest

from halfmask.claims.claim import weakness_sentence
from halfmask.microdata import Policy, protect, protect_to
from halfmask.microdata._claims import list_supports, released_guarantees
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    GROUPS,
    ILLNESSES,
    KEY,
    QUASI,
    K,
    classes,
    people,
    policy,
    promise,
    released,
)


@pytest.fixture(autouse=True)
def no_page(monkeypatch):
    monkeypatch.setattr("halfmask.microdata._classes.render_report", lambda _facts: "")


def test_cells_that_are_written_alike_are_one_class(tmp_path):
    """Two cells with the same values are one class to who reads the file, and are counted so."""
    wanted = policy(
        columns={"age": {"hierarchy": {"intervals": [10, 20]}}}, recoding={"name": "level"}
    )
    table = people().with_columns(born=pl.lit(None, pl.Date), town=pl.lit("A"))
    release = protect_to(table, wanted, tmp_path / "out", key=KEY)

    n_cells = release.source.plan.partition.n_cells
    n_classes = len(classes(released(tmp_path / "out"), QUASI))
    assert n_classes < n_cells, "some cells are written alike, or nothing was tested"
    assert release.claims[0].evidence.classes == n_classes


def test_claims_name_every_quasi_identifier():
    """No claim is about fewer columns than others may know."""
    release = protect(people(), policy(K, promise("distinct-l-diversity", "illness", l=2)))

    assert [claim.quasi_identifiers for claim in release.claims] == [QUASI, QUASI]
    assert [claim.column for claim in release.claims] == [None, "illness"]


def test_support_files_hold_values_that_occur(tmp_path):
    """A tree is cut down to the leaves that rows have, and two claims on a column share it."""
    tree = {"groups": {**GROUPS, "UNUSED-node": ["UNUSED-leaf"]}}
    wanted = policy(
        promise("t-closeness", "illness", t=0.6, distance="hierarchical"),
        promise("t-closeness", "illness", t=0.7, distance="ordered"),
        columns={"illness": {"hierarchy": tree}},
    )

    release = protect_to(people(), wanted, tmp_path / "out", key=KEY)

    text = (tmp_path / "out" / "support" / "0.csv").read_text()
    assert {line.split(";")[0] for line in text.split()} == set(ILLNESSES)
    assert "UNUSED" not in text
    assert [claim.support for claim in release.claims] == ["support/0.csv"] * 2
    assert len(list_supports(release.source.guarantees)) == 1


def test_guarantees_of_the_values_that_leave():
    """A leaf that no row that leaves has is cut off; what has no hierarchy stays as it is."""
    wanted = policy(
        K,
        promise("t-closeness", "illness", t=0.9, distance="ordered"),
        columns={"illness": {"hierarchy": {"order": [*ILLNESSES]}}},
    )
    prepared = protect(people(), wanted).source
    classes_ = prepared.plan.guarantees  # a k and an ordered t

    from halfmask.guarantees import Classes  # noqa: PLC0415 # only here

    left = Classes.from_codes([0, 0, 1], 2, {"illness": ([0, 2, 4], 5)})
    k, t = released_guarantees(classes_, left)
    assert k is classes_[0]
    assert t.order == ("flu", "ache", "none")


WEAK = {
    "ranges": ({}, {"range-ends-are-values", "other-columns", "no-diversity"}),
    # The column has no hierarchy: ranges are written for it.
    "level": (
        {"recoding": {"name": "level"}},
        {"range-ends-are-values", "other-columns", "no-diversity"},
    ),
    "representative": (
        {"recoding": {"name": "representative"}},
        {"representative-is-a-record", "other-columns", "no-diversity"},
    ),
    "centroid": ({"recoding": {"name": "centroid"}}, {"other-columns", "no-diversity"}),
}


@pytest.mark.parametrize(("sections", "own"), WEAK.values(), ids=WEAK)
def test_weaknesses_are_named(tmp_path, sections, own):
    """Each recoding's weaknesses are in the manifest, and those that every release has."""
    protect_to(people(), policy(**sections), tmp_path / "out")

    said = json.loads((tmp_path / "out" / "manifest.json").read_text())["weaknesses"]
    always = {"background-knowledge", "minimality", "one-release"}
    assert {sentence.partition(":")[0] for sentence in said} == own | always
    assert all(weakness_sentence(sentence.partition(":")[0]) == sentence for sentence in said)


@pytest.mark.parametrize("town", ["categorical", "identifier"])
def test_ends_of_a_hierarchy_and_members_of_sets_are_no_ends_of_ranges(town):
    """Only what is written as a range of values has ends that are values."""
    from halfmask.microdata._claims import class_weaknesses  # noqa: PLC0415 # only here

    table = pl.DataFrame({"age": [it % 97 for it in range(300)], "town": ["a", "b", "c"] * 100})
    tree = {"hierarchy": {"intervals": [5, 10, 20]}}
    age = {"role": "quasi_identifier", "kind": "numeric"}
    place = {"role": "quasi_identifier", "kind": town} if town == "categorical" else {"role": town}
    said = {"halfmask": 1, "guarantees": [K], "recoding": {"name": "level"}}

    named = {
        bool(more): class_weaknesses(
            protect(
                table,
                Policy.model_validate({**said, "columns": {"age": age | more, "town": place}}),
            ).source
        )
        for more in (tree, {})
    }

    sentence = weakness_sentence("range-ends-are-values")
    assert sentence in named[False]
    assert sentence not in named[True]


def test_ends_of_a_step_are_no_values():
    """Ranges that end at multiples of ten end at nobody's age."""
    from halfmask.microdata._claims import class_weaknesses  # noqa: PLC0415 # only here

    table = pl.DataFrame({"age": [it % 97 for it in range(300)]})
    said = {"halfmask": 1, "guarantees": [K], "recoding": {"name": "ranges", "step": 10}}
    age = {"role": "quasi_identifier", "kind": "numeric"}
    policy = Policy.model_validate({**said, "columns": {"age": age}})

    named = class_weaknesses(protect(table, policy).source)

    assert weakness_sentence("range-ends-are-values") not in named


def test_sensitive_columns_leave_as_they_are_and_that_is_named():
    """A salary to the cent is one person's own, whatever diversity its class has."""
    from halfmask.microdata._claims import class_weaknesses  # noqa: PLC0415 # only here

    table = people().select("age", "pay")
    pay = {"role": "sensitive", "kind": "numeric"}
    age = {"role": "quasi_identifier", "kind": "numeric"}
    promises = [K, promise("distinct-l-diversity", "pay", l=2)]
    said = {"halfmask": 1, "columns": {"age": age, "pay": pay}, "guarantees": promises}

    assert weakness_sentence("other-columns") in class_weaknesses(
        protect(table, Policy.model_validate(said)).source
    )


def test_diversity_of_every_sensitive_column_is_no_weakness():
    """The weakness is named until each sensitive column is in a claim."""
    names = ["illness", "pay", "visit", "insured", "note"]
    promises = [K, *(promise("distinct-l-diversity", name, l=2) for name in names)]
    from halfmask.microdata._claims import class_weaknesses  # noqa: PLC0415 # only here

    whole = class_weaknesses(protect(people(), policy(*promises)).source)
    lacking = class_weaknesses(protect(people(), policy(*promises[:-1])).source)

    assert weakness_sentence("no-diversity") not in whole
    assert weakness_sentence("no-diversity") in lacking
