"""What a codec claims, and what it says that it doesn't hide, as values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from halfmask.encode import Codec

if TYPE_CHECKING:
    from halfmask.encode._settings import Task

NUMBERS = ("age", "income", "born", "seen", "paid")


def _weaknesses(table, secret, **settings):
    return {
        (it.name, it.columns): it.known_plaintext
        for it in Codec(secret=secret, **settings).fit(table).weaknesses
    }


def test_a_matrix_says_how_many_known_rows_solve_it(table, secret):
    for learner in ("distances", "linear", "networks"):
        found = _weaknesses(table, secret, learner=learner)

        assert found[("linear", NUMBERS)] == "k50 <= m + 1 = 6 rows"
    found = _weaknesses(table, secret, learner="linear", by="town")
    assert found[("linear", NUMBERS)] == "k50 <= m + 1 = 6 rows for each value of 'town'"


def test_ranks_leak_order_and_codes_equality(table, secret):
    found = _weaknesses(table, secret, learner="trees")

    said = {"order-leaking", "equality-leaking", "nulls-visible", "duplicates-visible"}
    assert {name for name, _ in found} == said
    assert ("order-leaking", NUMBERS) in found
    assert ("equality-leaking", ("town",)) in found


def test_a_flow_promises_no_number_of_rows(table, secret):
    found = _weaknesses(table, secret, learner="networks", strength=1.0)

    assert "no k is guaranteed" in found[("nonlinear", NUMBERS)]


def test_split_categories_say_that_siblings_may_merge(table, secret):
    found = _weaknesses(table, secret, learner="trees", split=True)

    assert ("siblings-merge", ("town",)) in found


def test_missing_cells_are_visible_unless_hidden(table, secret):
    ranks = _weaknesses(table, secret, learner="trees")
    mixed = _weaknesses(table, secret, learner="linear")
    hidden = _weaknesses(table, secret, learner="linear", missing="hidden")

    assert ("nulls-visible", (*NUMBERS, "town", "member")) in ranks
    assert ("nulls-visible", ("town", "member", "age", "income")) in mixed
    assert not [name for name, _ in hidden if name == "nulls-visible"]


@pytest.mark.parametrize("learner", ["trees", "distances", "linear", "networks"])
def test_every_profile_claims_something_and_names_who_notices(table, secret, learner):
    codec = Codec(learner=learner, secret=secret).fit(table)

    scopes = {claim.scope for claim in codec.claims}

    assert "not invariant" in scopes
    assert scopes & {"exact", "paired start"}
    assert all(claim.condition for claim in codec.claims)
    assert all(it.columns for it in codec.weaknesses)
    assert any("Adam" in claim.learner for claim in codec.claims) == (learner == "networks")


def test_claims_say_what_becomes_of_categories(table, secret):
    numbers = Codec(learner="trees", secret=secret).fit(table.select("age", "income")).claims
    whole = Codec(learner="trees", secret=secret).fit(table).claims
    split = Codec(learner="trees", secret=secret, split=True).fit(table).claims

    assert set(numbers) < set(whole)
    assert {claim.scope for claim in set(whole) - set(numbers)} == {"exact", "not invariant"}
    assert {claim.scope for claim in set(split) - set(numbers)} == {"exact", "measured"}


def test_ranks_say_that_a_target_keeps_its_order(table, secret):
    """Two classes and numbers do, which boosting would notice; more classes are shuffled."""
    seen = {}
    for target, task in (("member", None), ("income", None), ("town", None)):
        codec = Codec(learner="trees", secret=secret).fit(table, target=target, task=task)
        (order,) = [it for it in codec.weaknesses if it.name == "order-leaking"]
        seen[target] = target in order.columns

    assert seen == {"member": True, "income": True, "town": False}


@pytest.mark.parametrize("learner", ["trees", "distances", "linear", "networks"])
def test_the_target_is_among_what_is_not_hidden(table, secret, learner):
    """Whoever reads the weaknesses of a codec takes a column that isn't there for hidden."""
    targets: tuple[tuple[str, Task | None, str], ...] = (
        ("town", None, "equality-leaking"),
        ("income", "regression", "linear"),
        ("paid", "regression", "linear"),
    )
    for target, task, word in targets:
        codec = Codec(learner=learner, secret=secret, missing="hidden")
        found = {
            (it.name, it.columns) for it in codec.fit(table, target=target, task=task).weaknesses
        }

        assert (word, (target,)) in found
        # A missing target stays missing, whatever becomes of other columns.
        seen = codec.encode(table)[codec.target_name_].null_count() > 0
        assert (("nulls-visible", (target,)) in found) == seen == (target != "paid")


def test_two_known_rows_tell_a_target_of_numbers(table, secret):
    codec = Codec(learner="linear", secret=secret, rows="kept").fit(table, target="paid")
    plain, sent = table["paid"].cast(float), codec.encode(table)[codec.target_name_]

    slope = (plain[1] - plain[0]) / (sent[1] - sent[0])
    assert (plain - (plain[0] + slope * (sent - sent[0]))).abs().max() < 1e-6


def test_equal_rows_are_seen_and_the_order_where_it_is_kept(table, secret):
    for learner in ("trees", "distances"):
        kept = Codec(learner=learner, secret=secret, rows="kept").fit(table)
        keyed = Codec(learner=learner, secret=secret).fit(table)
        twice = kept.encode(table[[3, 3]])

        assert twice[0].equals(twice[1])
        names = [{it.name for it in codec.weaknesses} for codec in (kept, keyed)]
        assert names[0] - names[1] == {"rows-in-order"}
        assert "duplicates-visible" in names[1]


def test_ranks_show_zero_unless_missing_cells_are_hidden(secret):
    rows = pl.DataFrame({"gain": [-5, -1, 0, 3, 3, 8]})
    for missing in ("visible", "hidden"):
        codec = Codec(learner="trees", secret=secret, missing=missing, rows="kept").fit(rows)
        sent = codec.encode(rows)[codec.plan_.tokens[0]]
        (order,) = [it for it in codec.weaknesses if it.name == "order-leaking"]

        shows = sent.sign().equals(rows["gain"].sign())
        assert ("zero and signs show" in order.known_plaintext) == shows == (missing == "visible")
