"""Releases by guarantees over sets of quasi-identifiers: every method, and the count on disk."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from itertools import combinations
from typing import Any

import polars as pl
import pytest

from halfmask._errors import GuaranteeNotMetError, ParameterError
from halfmask.microdata import Policy, protect
from halfmask.verifier import tables

#: Its claims say more than `CheckedClaim`.
verify: Any = tables.verify

KEY = bytes(range(32))
KNOWN = ("age", "town", "job", "sex")
METHODS = ("mondrian", "mdav", "full-domain")
MODELS = (
    {"model": "subset-k-anonymity", "k": 4, "m": 1},
    {"model": "subset-k-anonymity", "k": 4, "m": 2},
    {"model": "subset-k-anonymity", "k": 3, "m": 4},
    {"model": "lkc-privacy", "l": 2, "k": 3, "c": 0.7, "column": "ill"},
)


def people(n=240, seed=1, *, gaps=False):
    rng = random.Random(seed)

    def cell(values):
        return None if gaps and rng.random() < 0.08 else rng.choice(values)

    rows = [
        (cell(range(20, 40)), cell("abcde"), cell("pqrs"), cell("fm"), rng.choice("uvwxyz"))
        for _ in range(n)
    ]
    return pl.DataFrame(rows, schema=[*KNOWN, "ill"], orient="row")


def policy_of(*guarantees, method="mondrian", suppressed=0.0, **more):
    columns: dict[str, Any] = {
        "age": {
            "role": "quasi_identifier",
            "kind": "numeric",
            "hierarchy": {"intervals": [5, 10]},
        },
        **{name: {"role": "quasi_identifier", "kind": "categorical"} for name in KNOWN[1:]},
        "ill": {"role": "sensitive", "kind": "categorical"},
    }
    if method == "full-domain":
        for name, values in (("town", "abcde"), ("job", "pqrs"), ("sex", "fm")):
            columns[name]["hierarchy"] = {"groups": {"all": list(values)}}
        more.setdefault("recoding", {"name": "level"})
    return Policy(
        halfmask=1,
        columns=columns,
        guarantees=list(guarantees),
        method={"name": method},
        suppression={"max_fraction": suppressed},
        **more,
    )


def keeps(guarantee, released):
    """Count every combination of a release in a dictionary."""
    size = guarantee.get("m", guarantee.get("l"))
    found = defaultdict(list)
    for row in released.iter_rows(named=True):
        for n in range(1, size + 1):
            for names in combinations(KNOWN, n):
                found[names, tuple(row[name] for name in names)].append(row["ill"])
    most = guarantee.get("c", 1)
    return all(
        len(ills) >= guarantee["k"] and max(Counter(ills).values()) <= most * len(ills) + 1e-9
        for ills in found.values()
    )


@pytest.mark.mostly_slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", MODELS, ids=lambda it: "-".join(map(str, list(it.values())[:3])))
@pytest.mark.parametrize("gaps", [False, True])
def test_every_combination_of_a_release_is_frequent(model, method, gaps, tmp_path):
    raw = people(gaps=gaps, seed=METHODS.index(method))
    assert not keeps(model, raw) or model.get("m") == 1

    policy = policy_of(model, method=method, suppressed=0.1)
    release = protect(raw, policy, key=KEY).write(tmp_path / "out")

    assert release.data.height >= 0.9 * raw.height
    assert keeps(model, release.data)
    assert verify(tmp_path / "out").holds


def test_it_keeps_more_detail_than_k_anonymity():
    weak = {"model": "subset-k-anonymity", "k": 5, "m": 2}

    def losses(n):
        policies = [policy_of(it) for it in (weak, {"model": "k-anonymity", "k": 5})]
        return [protect(people(n), it, key=KEY).utility.loss.loss for it in policies]

    many, few = losses(3000), losses(300)
    assert many[0] < 0.5 * many[1]
    assert few[0] <= few[1]


def test_it_goes_together_with_other_guarantees(tmp_path):
    raw = people(n=400)
    asked = (MODELS[1], MODELS[3], {"model": "distinct-l-diversity", "l": 2, "column": "ill"})

    release = protect(raw, policy_of(*asked, suppressed=0.05), key=KEY).write(tmp_path / "out")

    assert [claim.model for claim in release.claims] == [it["model"] for it in asked]
    assert keeps(MODELS[1], release.data)
    assert keeps(MODELS[3], release.data)


def test_what_nothing_can_satisfy_is_said():
    rare = people(n=40).with_columns(ill=pl.lit("u"))

    with pytest.raises(GuaranteeNotMetError, match=r"LKCPrivacy\(.*one class of 40 rows reaches 1"):
        protect(rare, policy_of(MODELS[3]), key=KEY)
    with pytest.raises(GuaranteeNotMetError, match=r"SubsetKAnonymity\(k=50.* 40 rows reaches 40"):
        protect(rare, policy_of({"model": "subset-k-anonymity", "k": 50, "m": 1}), key=KEY)


def test_more_columns_than_there_are_are_refused():
    with pytest.raises(ParameterError, match="about 5 quasi-identifiers, and there are 4"):
        protect(people(), policy_of({"model": "subset-k-anonymity", "k": 2, "m": 5}), key=KEY)


def test_other_recodings_are_refused():
    policy = policy_of(MODELS[0], recoding={"name": "centroid"})

    with pytest.raises(ParameterError, match="counts what is written for a class, and Centroid"):
        protect(people(), policy, key=KEY)


def test_a_table_of_one_value_is_released_unchanged():
    raw = people(n=30).with_columns(*(pl.lit(1 if n == "age" else "a").alias(n) for n in KNOWN))

    release = protect(raw, policy_of(MODELS[1]), key=KEY)

    assert release.data["town"].unique().to_list() == ["a"]


@pytest.fixture
def written(tmp_path):
    release = protect(people(), policy_of(MODELS[1], output={"format": "csv"}), key=KEY)
    release.write(tmp_path / "out")
    return tmp_path / "out"


def test_the_release_says_what_it_does_not_cover(written):
    weaknesses = json.loads((written / "manifest.json").read_text())["weaknesses"]

    assert any("knows more may find a single row" in each for each in weaknesses)


@pytest.mark.parametrize("seed", range(6))
def test_a_changed_cell_that_makes_a_rare_combination_is_found(written, seed):
    """The level falls to that of one row, whatever the hash of the file says."""
    rng = random.Random(seed)
    path = next((written / "data").iterdir())
    rows = pl.read_csv(path, infer_schema=False)
    place, name = rng.randrange(rows.height), rng.choice(KNOWN)
    cells = rows[name].to_list()
    cells[place] = "nobody's"
    rows.with_columns(pl.Series(name, cells)).write_csv(path)

    claim = verify(written).claims[0]

    assert claim.counted == 1
    assert not claim.holds
    assert "the guarantee isn't kept" in claim.sentence


@pytest.mark.parametrize(("key", "value"), [("m", 5), ("m", 0), ("k", 1)])
def test_a_claim_that_says_nothing_does_not_hold(written, key, value):
    path = written / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["claims"][0]["parameters"][key] = value
    path.write_text(json.dumps(manifest))

    assert not verify(written).claims[0].holds


def test_evidence_of_another_level_is_found(written):
    path = written / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["claims"][0]["evidence"]["achieved"] += 1
    path.write_text(json.dumps(manifest))

    assert "states a better level" in verify(written).claims[0].sentence
