"""Models of the whole table in persons: a person is as easy to find as in their smallest class."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import polars as pl
import pytest
from tests.microdata.test_persons import KEY, ROLES, K, policy_of, visits

from halfmask._errors import GuaranteeNotMetError, PolicyError
from halfmask.guarantees import GUARANTEES
from halfmask.microdata import Policy, protect
from halfmask.verifier import tables

#: Its claims say more than `CheckedClaim`.
verify: Any = tables.verify

MODELS: dict[str, dict[str, Any]] = {
    "average": {"model": "average-risk", "risk": 0.15},
    "uniques": {"model": "sample-uniqueness", "share": 0.05},
    "at risk": {"model": "records-at-risk", "share": 0.1, "risk": 0.2},
    "no attack": {
        "model": "profitability-prosecutor-no-attack",
        "adversary_gain": 20,
        "adversary_cost": 5,
    },
}
METHODS = ("mondrian", "full-domain")


def asked(guarantee, method, person="pid"):
    if method != "full-domain":
        return policy_of(guarantee, method=method, suppressed=0.1, person=person)
    columns: dict[str, Any] = {
        name: {"role": role, **({} if kind is None else {"kind": kind})}
        for name, (role, kind) in ROLES.items()
    }
    columns["age"]["hierarchy"] = {"intervals": [5, 10, 20, 40]}
    return Policy(
        halfmask=1,
        person=person,
        columns=columns,
        guarantees=[guarantee],
        method={"name": method},
        recoding={"name": "level"},
        suppression={"max_fraction": 0.1},
    )


def smallest_classes(released, raw):
    """Return for each person how many are in the smallest of their classes, slowly."""
    whose = dict(raw.select("ticket", "pid").rows())
    classes = defaultdict(set)
    for ticket, *key in released.select("ticket", "age", "town").rows():
        classes[tuple(key)].add(whose[ticket])
    found: dict[Any, int] = {}
    for people in classes.values():
        for person in people:
            found[person] = min(len(people), found.get(person, len(people)))
    return list(found.values())


def level(guarantee, sizes):
    n = len(sizes)
    return {
        "average-risk": lambda: sum(1 / size for size in sizes) / n,
        "sample-uniqueness": lambda: sum(size == 1 for size in sizes) / n,
        "records-at-risk": lambda: sum(1 / size > guarantee["risk"] for size in sizes) / n,
        "profitability-prosecutor-no-attack": lambda: 20 / min(sizes),
    }[guarantee["model"]]()


def bound(guarantee):
    return guarantee.get("share", guarantee.get("adversary_cost", guarantee.get("risk")))


@pytest.mark.mostly_slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", MODELS)
def test_the_table_keeps_it_in_persons_and_the_verifier_counts_the_same(model, method, tmp_path):
    guarantee = MODELS[model]
    raw = visits(n=400, persons=80, seed=len(model))

    release = protect(raw, asked(guarantee, method), key=KEY)
    release.write(tmp_path / "out", persons=tmp_path / "whose")

    expected = level(guarantee, smallest_classes(release.data, raw))
    assert expected <= bound(guarantee) + 1e-12
    assert release.claims[0].unit == "person"
    assert release.claims[0].evidence.achieved == pytest.approx(expected)
    again = verify(tmp_path / "out", persons=tmp_path / "whose")
    assert again.holds
    assert again.claims[0].counted == pytest.approx(expected)
    assert not verify(tmp_path / "out").claims[0].checked


@pytest.mark.filterwarnings("ignore::halfmask._errors.ColumnWarning")
@pytest.mark.parametrize("model", MODELS)
def test_the_same_table_by_rows_misses_it_in_persons(model):
    guarantee = MODELS[model]
    raw = visits(n=400, persons=25, seed=len(model))

    release = protect(raw, asked(guarantee, "mondrian", person=None), key=KEY)

    assert level(guarantee, smallest_classes(release.data, raw)) > bound(guarantee)


def test_missing_cells_are_wildcards_of_persons_too(tmp_path):
    raw = visits(gaps=True)

    release = protect(raw, asked(MODELS["average"], "mondrian"), key=KEY)
    release.write(tmp_path / "out", persons=tmp_path / "whose")

    found = verify(tmp_path / "out", persons=tmp_path / "whose")
    assert found.holds
    data, whose = release.data, dict(raw.select("ticket", "pid").rows())
    keys: dict[tuple[Any, ...], set[Any]] = defaultdict(set)
    for ticket, *key in data.select("ticket", "age", "town").rows():
        keys[tuple(key)].add(whose[ticket])

    def agree(mine, other):
        return all(a is None or b is None or a == b for a, b in zip(mine, other, strict=True))

    smallest: dict[Any, int] = {}
    for key, people in keys.items():
        around = set().union(*(them for other, them in keys.items() if agree(key, other)))
        for person in people:
            smallest[person] = min(len(around), smallest.get(person, len(around)))
    expected = sum(1 / size for size in smallest.values()) / len(smallest)
    assert found.claims[0].counted_wildcard == pytest.approx(expected)


def test_all_models_without_persons_are_refused_by_name():
    left = {name for name, kind in GUARANTEES.items() if not kind.counts_persons}
    assert left == {
        "delta-presence",
        "estimated-k-map",
        "average-journalist-risk",
        "journalist-records-at-risk",
        "largest-journalist-risk",
        "k-map",
        "lkc-privacy",
        "marketer-risk",
        "population-uniqueness",
        "profitability-journalist",
        "profitability-journalist-no-attack",
        "profitability-prosecutor",
        "subset-k-anonymity",
    }
    parameters: dict[str, dict[str, Any]] = {
        "population-uniqueness": {"share": 0.1, "population": 9000},
        "profitability-prosecutor": {
            "publisher_benefit": 100,
            "publisher_loss": 300,
            "adversary_gain": 300,
            "adversary_cost": 4,
        },
        "subset-k-anonymity": {"k": 3, "m": 1},
        "k-map": {"k": 3},
    }
    for name, given in parameters.items():
        with pytest.raises(PolicyError, match=f"{name}.* isn't defined where a person is the unit"):
            policy_of({"model": name, **given})


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ("population-uniqueness", {"share": 0.9, "population": 9000, "estimator": "zayatz"}),
        ("k-map", {"k": 2}),
    ],
)
def test_a_claim_in_persons_of_a_model_without_them_is_broken(model, parameters, tmp_path):
    protect(visits(), policy_of(K), key=KEY).write(tmp_path / "out", persons=tmp_path / "whose")
    path = tmp_path / "out" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["claims"][0].update(model=model, parameters=parameters)
    path.write_text(json.dumps(manifest))

    found = verify(tmp_path / "out", persons=tmp_path / "whose")

    assert found.is_broken
    assert "its model isn't defined for persons" in found.claims[0].sentence


def test_shares_that_merging_cannot_mend_are_named_with_the_closest():
    """Each person is in both classes with another value of ill: merged, the shares only grow."""
    rows = [
        (i, f"P{i % 6}", 20 + 30 * (i // 6), "a", "0", "flu" if i % 6 < 4 else f"x{i}")
        for i in range(12)
    ]
    raw = pl.DataFrame(rows, schema=["ticket", "pid", "age", "town", "blood", "ill"], orient="row")
    guarantee = {"model": "alpha-k-anonymity", "alpha": 0.5, "k": 2, "column": "ill"}

    with pytest.raises(GuaranteeNotMetError) as caught:
        protect(raw, policy_of(guarantee), key=KEY)

    text = str(caught.value)
    assert "AlphaKAnonymity(alpha=0.5, k=2, column='ill') reaches 0.666" in text
    assert "The closest partition has" in text
    assert "who is in several classes counts once" in text
    assert "flu" not in text
