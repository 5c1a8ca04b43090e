"""Guarantees about a population: every model and method against a count of every person."""

from __future__ import annotations

import json
import shutil
from typing import Any

import polars as pl
import pytest

from halfmask._errors import (
    DataError,
    GuaranteeNotMetError,
    HalfmaskError,
    ParameterError,
    PolicyError,
    VerificationError,
)
from halfmask.anonymize import Population
from halfmask.guarantees import KMap
from halfmask.microdata import protect, protect_to, read_population
from halfmask.verifier import tables
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

#: Its claims say more than `CheckedClaim`.
verify: Any = tables.verify

METHODS = ["mondrian", "mdav"]
TOWNS = {"groups": {"north": ["Aa", "Bee"], "south": ["Cee, upper", "=Dee", "Ee"]}}


def everybody():
    """Return a population, in which some cells are missing, and towns that no table has."""
    return with_gaps(people(400), ["age", "born"], share=0.08)


def fits(found, persons, tree=None):
    """Return for each class its rows, and which people fit it, the slow way."""
    held = []
    for label, group in found.group_by(QUASI):
        words = dict(zip(QUASI, label, strict=True))

        def one(person, name, words=words):
            if tree and name in tree:
                bare = (words[name] or "").removesuffix(" or missing")
                if person[name] is None:
                    return words[name] is None or words[name].endswith(" or missing")
                return bare in tree[name][person[name]]
            return lies_in(person[name], words[name])

        fitting = [i for i, person in enumerate(persons) if all(one(person, n) for n in QUASI)]
        held.append((group.height, fitting))
    return held


def level(model, held):  # noqa: PLR0911 # one for each model
    """Return the level of the worst class."""
    n_rows = sum(rows for rows, _ in held)
    people = [len(fitting) for _, fitting in held]
    if model == "k-map":
        return min(people)
    if model == "largest-journalist-risk":
        return 1 / min(people)
    mean = sum(rows / len(fitting) for rows, fitting in held) / n_rows
    if model == "marketer-risk":
        return mean
    if model == "average-journalist-risk":
        everyone = {i for _, fitting in held for i in fitting}  # once, where classes overlap
        return max(mean, len(held) / len(everyone))
    if model == "delta-presence":
        fitted = [i for _, fitting in held for i in fitting]
        assert len(set(fitted)) == len(fitted)  # nobody fits two classes
        return max(rows / len(fitting) for rows, fitting in held)
    if model == "profitability-journalist":
        return max(40 / n if 60 / n > 3 else 0 for n in people)
    if model == "profitability-journalist-no-attack":
        return 60 / min(people)
    assert model == "journalist-records-at-risk"
    return sum(rows for rows, fitting in held if len(fitting) < 8) / n_rows


GAME = {"publisher_benefit": 5, "publisher_loss": 40, "adversary_gain": 60, "adversary_cost": 3}
PROMISES = {
    "k-map": [promise("k-map", k=7)],
    "largest risk": [promise("largest-journalist-risk", risk=0.15)],
    "average risk": [promise("average-journalist-risk", risk=0.12)],
    "records at risk": [promise("journalist-records-at-risk", share=0.2, risk=0.125)],
    "marketer": [promise("marketer-risk", risk=0.1)],
    "profitable": [promise("profitability-journalist", **GAME)],
    "no attack": [
        promise("profitability-journalist-no-attack", adversary_gain=60, adversary_cost=6)
    ],
    "presence": [promise("delta-presence", delta_min=0, delta_max=0.6)],
    "presence and k": [
        promise("delta-presence", delta_min=0, delta_max=0.7),
        {"model": "k-anonymity", "k": 4},
        promise("marketer-risk", risk=0.1),
    ],
    "with k": [promise("k-map", k=9), {"model": "k-anonymity", "k": 3}],
    "with l": [promise("k-map", k=6), promise("distinct-l-diversity", "illness", l=2)],
    "with t": [promise("k-map", k=6), promise("t-closeness", "illness", t=0.5, distance="equal")],
}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("asked", PROMISES)
def test_every_person_is_counted(asked, method, tmp_path):
    """Each class keeps each guarantee, and the claim states what a slow count finds."""
    persons = everybody()
    wanted = policy(*PROMISES[asked], method={"name": method}, suppression={"max_fraction": 0.05})

    release = protect_to(persons.head(160), wanted, tmp_path / "out", key=KEY, population=persons)

    held = fits(released(tmp_path / "out"), persons.to_dicts())
    for claim, said in zip(release.claims, PROMISES[asked], strict=True):
        if said["model"] in {"k-anonymity", "distinct-l-diversity", "t-closeness"}:
            continue
        assert claim.evidence.achieved == pytest.approx(level(said["model"], held), rel=1e-12)
        names = ("k", "share", "risk", "delta_max", "publisher_benefit", "adversary_cost")
        bound = next(said[name] for name in names if name in said)
        if said["model"] == "k-map":
            assert claim.evidence.achieved >= bound
        else:
            assert claim.evidence.achieved <= bound
    assert release.verification is not None
    assert release.verification.holds
    assert verify(tmp_path / "out", population=persons).holds
    overlap = method == "mdav" and asked.startswith("presence")
    assert overlap or len(held) > 3  # not all in one class


@pytest.mark.parametrize("fmt", ["parquet", "csv", "arrow", "jsonl"])
def test_labels_of_every_format_are_read_back(fmt, tmp_path):
    persons = everybody()
    wanted = policy(promise("k-map", k=5), output={"format": fmt})

    release = protect_to(persons.head(160), wanted, tmp_path / "out", population=persons)

    (check,) = verify(tmp_path / "out", population=persons).claims
    assert (check.counted, check.holds) == (release.claims[0].evidence.achieved, True)


@pytest.mark.slow
@pytest.mark.parametrize("fmt", ["parquet", "csv"])
def test_ranges_in_two_columns_are_read_back(fmt, tmp_path):
    persons = people(400)
    wanted = policy(
        promise("k-map", k=5),
        output={"format": fmt},
        recoding={"name": "ranges", "form": "bounds"},
    )
    as_text = policy(promise("k-map", k=5), output={"format": fmt})

    made = [
        protect_to(persons.head(160), it, tmp_path / name, key=KEY, population=persons)
        for it, name in ((wanted, "bounds"), (as_text, "text"))
    ]

    assert "age_from" in released(tmp_path / "bounds").columns
    assert made[0].claims[0].evidence.achieved == made[1].claims[0].evidence.achieved
    (check,) = verify(tmp_path / "bounds", population=persons).claims
    assert (check.counted, check.holds) == (made[0].claims[0].evidence.achieved, True)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mondrian", "mdav"])
def test_nodes_of_a_hierarchy_cover_people_whom_the_table_lacks(method, tmp_path):
    """A node covers all of its leaves, not those of the table alone."""
    persons = everybody()
    table = persons.filter(pl.col("town") != "Bee").head(100)
    widths = {"intervals": [10, 30]}
    wanted = policy(
        promise("k-map", k=20),
        columns={"town": {"hierarchy": TOWNS}, "age": {"hierarchy": widths}},
        recoding={"name": "level"},
        method={"name": method},
    )

    release = protect_to(table, wanted, tmp_path / "out", key=KEY, population=persons)

    above = {town: {town, group, "*"} for group, it in TOWNS["groups"].items() for town in it}
    tens = {
        age: {str(age), *(f"[{age // w * w}, {age // w * w + w})" for w in (10, 30)), "*"}
        for age in range(100)
    }
    found = released(tmp_path / "out")
    held = fits(found, persons.to_dicts(), {"town": above, "age": tens})
    assert release.claims[0].evidence.achieved == level("k-map", held) >= 20
    unchecked = verify(tmp_path / "out", population=persons)
    assert "Column 'age'" not in str(unchecked.problems)
    assert not unchecked.claims[0].checked
    assert "hierarchy isn't given" in unchecked.claims[0].sentence
    _write_trees(tmp_path / "trees", {"town": above, "age": tens})
    assert verify(tmp_path / "out", population=persons, hierarchies=tmp_path / "trees").holds
    people, trees = read_population(persons, wanted)
    assert set(trees) == {"town", "age"}
    assert verify(tmp_path / "out", population=people, hierarchies=trees).holds
    assert not verify(
        tmp_path / "out", population=persons.head(110), hierarchies=tmp_path / "trees"
    ).holds


def _write_trees(folder, trees):
    folder.mkdir()
    for name, rows in trees.items():
        order = {"north": 1, "south": 1, "*": 3}
        lines = []
        for leaf, labels in rows.items():
            above = sorted(labels - {str(leaf)}, key=lambda it: order.get(it, len(it)))
            if name == "age":
                low = [it for it in above if it != "*"]
                above = [*sorted(low, key=_width), "*"]
            lines.append(";".join([str(leaf), *above]))
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


def _width(label):
    low, high = label[1:-1].split(", ")
    return int(high) - int(low)


@pytest.mark.parametrize("fmt", ["parquet", "csv"])
def test_ranges_that_end_at_steps_leave_out_their_end(fmt, tmp_path):
    """Somebody of 40 fits [40, 50) and not [30, 40), whichever values the table has."""
    persons = people(400).with_columns(age=pl.col("age") // 5 * 5)
    wanted = policy(
        promise("k-map", k=9),
        columns={"born": {"role": "insensitive"}},
        recoding={"name": "ranges", "step": 10},
        output={"format": fmt},
    )

    release = protect_to(persons.head(90), wanted, tmp_path / "out", key=KEY, population=persons)

    names = ["age", "town", "smoker"]
    counts = []
    for label, _ in released(tmp_path / "out").group_by(names):
        low, high = map(int, label[0][1:-1].split(", "))
        assert label[0] == f"[{low}, {high})"
        within = persons.filter(pl.col("age").is_between(low, high, closed="left"))
        rest = zip(*(within[name] for name in names[1:]), strict=True)
        counts.append(sum(all(map(lies_in, each, label[1:])) for each in rest))
    assert release.claims[0].evidence.achieved == min(counts) >= 9
    assert verify(tmp_path / "out", population=persons).claims[0].counted == min(counts)
    both = {"name": "ranges", "step": 10, "form": "bounds"}
    no_dates = {"born": {"role": "insensitive"}}
    wanted = policy(promise("k-map", k=9), columns=no_dates, recoding=both)
    with pytest.raises(ParameterError, match="bounds that end at a step"):
        protect(persons, wanted, population=persons)


def test_sets_name_all_members_for_a_population(tmp_path):
    """With a set that is cut short only its first members would fit."""
    persons = people(400).with_columns(town=pl.concat_str(pl.lit("t"), pl.col("row") % 60))
    columns = {name: {"role": "insensitive"} for name in ("age", "born")}
    wanted = policy(promise("k-map", k=350), columns=columns)

    release = protect_to(persons.head(160), wanted, tmp_path / "out", population=persons)

    assert release.claims[0].evidence.achieved == 400
    assert not released(tmp_path / "out")["town"].str.contains("in all").any()
    plain = protect(persons.head(160), policy({"model": "k-anonymity", "k": 150}, columns=columns))
    assert plain.data["town"].str.contains("in all").any()


STRONGER = [
    ("k-map", {"k": 400}),
    ("largest-journalist-risk", {"risk": 0.001}),
    ("average-journalist-risk", {"risk": 0.001}),
    ("journalist-records-at-risk", {"share": 0.0, "risk": 0.0001}),
    ("marketer-risk", {"risk": 0.001}),
    ("delta-presence", {"delta_min": 0.0, "delta_max": 0.01}),
    ("delta-presence", {"delta_min": 0.5, "delta_max": 0.99}),
    ("profitability-journalist", {**GAME, "publisher_benefit": 0.01}),
    ("profitability-journalist-no-attack", {"adversary_gain": 60, "adversary_cost": 0.001}),
]


@pytest.fixture(scope="module")
def all_models(tmp_path_factory):
    """A release of every model about a population."""
    persons = people(400)
    asked = [
        *(PROMISES[name][0] for name in ("k-map", "largest risk", "average risk")),
        *(PROMISES[name][0] for name in ("records at risk", "marketer", "presence")),
        *(PROMISES[name][0] for name in ("profitable", "no attack")),
    ]
    out = tmp_path_factory.mktemp("all") / "out"
    protect_to(persons.head(160), policy(*asked), out, key=KEY, population=persons)
    return persons, out


@pytest.mark.parametrize(("model", "parameters"), STRONGER)
def test_a_stronger_claim_is_found_out(model, parameters, all_models, tmp_path):
    """A manifest that claims more than the files bear out doesn't hold, by each model's rule."""
    persons, out = all_models
    shutil.copytree(out, tmp_path / "out")
    where = tmp_path / "out" / "manifest.json"
    said = json.loads(where.read_text())
    (claim,) = (each for each in said["claims"] if each["model"] == model)
    claim["parameters"] = parameters
    where.write_text(json.dumps(said))

    found = verify(tmp_path / "out", population=persons)

    assert [each.model for each in found.claims if not each.holds] == [model]
    assert "the guarantee isn't kept" in str([each.sentence for each in found.claims])


@pytest.mark.parametrize("place", range(8))
def test_better_evidence_is_found_out(place, all_models, tmp_path):
    persons, out = all_models
    shutil.copytree(out, tmp_path / "out")
    where = tmp_path / "out" / "manifest.json"
    said = json.loads(where.read_text())
    evidence = said["claims"][place]["evidence"]
    evidence["achieved"] += 1 if said["claims"][place]["model"] == "k-map" else -0.001
    where.write_text(json.dumps(said))

    found = verify(tmp_path / "out", population=persons)

    broken = [number for number, each in enumerate(found.claims) if not each.holds]
    assert broken == [place]
    assert "better level than was counted" in found.claims[place].sentence


def test_a_narrower_label_is_found_out(all_models, tmp_path):
    """One class of the file covers fewer people than at the release."""
    persons, out = all_models
    shutil.copytree(out, tmp_path / "out")
    part = tmp_path / "out" / "data" / "part-00000.parquet"
    rows = pl.read_parquet(part)
    rows = rows.with_columns(age=pl.when(pl.col("age") == rows["age"][0]).then(pl.lit("[1, 2]"))
                             .otherwise("age"))  # fmt: skip
    rows.write_parquet(part)

    found = verify(tmp_path / "out", population=persons)

    assert not found.claims[0].holds
    assert found.claims[0].counted == 0


def test_presence_is_bounded_on_both_sides(tmp_path):
    """Above a least probability nobody of the population may fit no class."""
    persons = people(300)
    whole = {"name": "level"}
    tree = {"age": {"hierarchy": {"intervals": [20]}}, "town": {"hierarchy": TOWNS}}
    tree |= {"born": {"role": "insensitive"}, "smoker": {"role": "insensitive"}}
    both = promise("delta-presence", delta_min=0.2, delta_max=0.8)
    wanted = policy(both, columns=tree, recoding=whole)

    release = protect_to(persons.head(150), wanted, tmp_path / "out", population=persons)

    names = ["age", "town"]
    above = {town: {town, group, "*"} for group, it in TOWNS["groups"].items() for town in it}
    held = []
    for label, group in released(tmp_path / "out").group_by(names):
        ages = {
            a
            for a in range(100)
            if label[0] in (str(a), f"[{a // 20 * 20}, {a // 20 * 20 + 20})", "*")
        }
        towns = {town for town, it in above.items() if label[1] in it}
        fitting = persons.filter(pl.col("age").is_in(ages) & pl.col("town").is_in(towns)).height
        held.append((group.height / fitting, fitting))
    assert sum(fitting for _, fitting in held) == 300  # everyone fits one class
    assert 0.2 <= min(held)[0] <= max(held)[0] == release.claims[0].evidence.achieved <= 0.8
    narrow = promise("delta-presence", delta_min=0.5000001, delta_max=0.8)
    wanted = policy(narrow, columns=tree, recoding=whole)
    with pytest.raises(GuaranteeNotMetError):
        protect(persons.head(150), wanted, population=persons)


def test_a_rule_that_is_left_out_fails_the_release(tmp_path, monkeypatch):
    """The verifier counts on its own: a model that takes every class is caught, nothing is left."""
    monkeypatch.setattr(
        KMap, "_measure", lambda _, classes: (classes.people * 0.0 + 99, classes.people >= 0)
    )
    persons = everybody()

    with pytest.raises(VerificationError, match="k-map"):
        protect_to(
            persons.head(160), policy(promise("k-map", k=7)), tmp_path / "out", population=persons
        )
    assert not list(tmp_path.iterdir())


def test_people_who_were_counted_twice_fail_the_release(tmp_path, monkeypatch):
    """A population that stands in the code twice is found out by the verifier's own count."""
    whole = Population.placed

    def doubled(self, codings, recodings):
        return whole(Population(people=pl.concat([self.people] * 2)), codings, recodings)

    monkeypatch.setattr(Population, "placed", doubled)
    persons = everybody()

    with pytest.raises(VerificationError, match="better level than was counted"):
        protect_to(
            persons.head(160), policy(promise("k-map", k=7)), tmp_path / "out", population=persons
        )
    assert not list(tmp_path.iterdir())


def test_without_the_population_a_claim_is_neither_kept_nor_broken(tmp_path):
    persons = everybody()
    wanted = policy(promise("k-map", k=7), {"model": "k-anonymity", "k": 2})
    protect_to(persons.head(160), wanted, tmp_path / "out", population=persons)

    found = verify(tmp_path / "out")

    assert (found.claims[0].checked, found.claims[1].holds) == (False, True)
    assert not found.holds
    assert not found.is_broken
    assert (
        "is not checked (it needs the population, which wasn't given)" in found.claims[0].sentence
    )
    with pytest.raises(VerificationError, match="could be checked"):
        found.raise_if_broken()


def test_a_smaller_population_breaks_the_claim(tmp_path):
    """Against people who are fewer than at the release, the verifier counts fewer."""
    persons = everybody()
    protect_to(
        persons.head(160), policy(promise("k-map", k=7)), tmp_path / "out", population=persons
    )

    found = verify(tmp_path / "out", population=persons.head(160))

    assert found.claims[0].holds is False
    assert found.is_broken


def test_what_cant_be_held_against_people_is_refused():
    persons = everybody()
    table, wanted = persons.head(160), policy(promise("k-map", k=7))

    with pytest.raises(ParameterError, match="is about a population, and none was given"):
        protect(table, wanted)
    with pytest.raises(DataError, match=r"of 100 people lacks 60 of the table's 160 people"):
        protect(table, wanted, population=persons.head(100))
    with pytest.raises(DataError, match=r"lacks 1 of the table's 160 people"):
        protect(table, wanted, population=persons.tail(399))
    with pytest.raises(ParameterError, match="written as centroid"):
        protect(
            table, policy(promise("k-map", k=7), recoding={"name": "centroid"}), population=persons
        )
    masked = policy(promise("k-map", k=7), columns={"age": {"mask": {"name": "round", "base": 5}}})
    with pytest.raises(PolicyError, match="'age' has a mask"):
        protect(table, masked, population=persons)
    with pytest.raises(HalfmaskError, match="person"):
        protect(table, policy(promise("k-map", k=7), person="name"), population=persons)
    with pytest.raises(GuaranteeNotMetError):
        protect(table, policy(promise("k-map", k=401)), population=persons)


def test_no_value_of_the_population_is_told(tmp_path):
    """Neither errors nor the manifest nor the report hold a value that only the population has."""
    persons = everybody().with_columns(
        town=pl.when(pl.col("row") == 399).then(pl.lit("CANARY-town")).otherwise("town"),
        age=pl.when(pl.col("row") == 398).then(7_771_777).otherwise("age"),
    )
    release = protect_to(
        persons.head(160), policy(promise("k-map", k=5)), tmp_path / "out", population=persons
    )

    assert release.verification is not None
    told = [repr(release), repr(release.source), json.dumps(release.verification.to_dict())]
    told += [it.read_bytes().decode("latin-1") for it in (tmp_path / "out").rglob("*.*")]
    lacking = persons.tail(300).with_columns(town=pl.lit("CANARY-town"))
    for given in (lacking, lacking.with_columns(age=pl.lit("CANARY-age"))):
        with pytest.raises(HalfmaskError) as caught:
            protect(persons.head(160), policy(promise("k-map", k=5)), population=given)
        told.append(str(caught.value))
        told.append(json.dumps(verify(tmp_path / "out", population=given).to_dict()))
    assert not [text for text in told if "CANARY" in text or "7771777" in text]


def test_the_report_states_the_people_who_were_counted(tmp_path):
    """The journalist's risk in the report is one by the level of k-map."""
    persons = everybody()
    release = protect_to(
        persons.head(160),
        policy(promise("k-map", k=5), method={"name": "mdav"}),
        tmp_path / "out",
        population=persons,
    )

    journalist = release.risk.after.journalist
    assert journalist is not None
    assert journalist.highest.value == pytest.approx(1 / release.claims[0].evidence.achieved)
    assert "population" in (tmp_path / "out" / "report.html").read_text()
