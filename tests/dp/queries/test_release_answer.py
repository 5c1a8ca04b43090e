"""Released answers and ledgers: the verifier derives the price again, and fails alterations."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from typing import Any

import polars as pl
import pytest

import halfmask
from halfmask import ParameterError, ReleaseError
from halfmask.dp.accounting import (
    EpsilonDeltaEvent,
    GaussianEvent,
    LaplaceEvent,
    ObjectivePerturbationEvent,
)
from halfmask.dp.ledger import PrivacyLedger, PrivacyUnit, release_ledger
from halfmask.dp.queries import (
    Bins,
    Count,
    DistinctCount,
    Mean,
    PrivateTable,
    Quantile,
    Sum,
    Variance,
    release_answer,
)
from halfmask.verifier import CheckedRelease

N = 6000
ROWS = pl.DataFrame(
    {
        "person": [f"p{i % 2000}" for i in range(N)],
        "sex": ["f", "m"] * (N // 2),
        "age": [i % 90 for i in range(N)],
        "weight": [40 + i % 70 + 0.25 for i in range(N)],
    }
)
ALL = (
    Count(),
    Count(of="age"),
    DistinctCount(of="age"),
    DistinctCount(of="person"),
    Sum(of="age", bounds=(-10, 99)),
    Mean(of="weight", bounds=(0, 150)),
    Variance(of="age", bounds=(0, 99)),
    Quantile(of="weight", at=0.35, bounds=(0, 150)),
)
PERSON = PrivacyUnit(person="person", max_rows=2, max_groups=3)
ASKED: dict[str, Any] = {
    "row": (None, None, "laplace", 0.0),
    "row, groups": (None, {"sex": ["f", "m"]}, "laplace", 0.0),
    "person": (PERSON, None, "laplace", 0.0),
    "person, gaussian": (PERSON, {"sex": ["f", "m"], "age": Bins((0, 50, 99))}, "gaussian", 1e-6),
    "person, selected": (PERSON, {"sex": None}, "laplace", 1e-6),
    "person, selected, gaussian": (PERSON, {"sex": None}, "gaussian", 1e-6),
}


def asked(tmp_path, case):
    unit, keys, noise, delta = ASKED[case]
    ledger = PrivacyLedger.create(
        tmp_path / "v", ROWS, dataset="people", epsilon=9.0, delta=1e-5, unit=unit
    )
    table = PrivateTable.open(ROWS, ledger=ledger)
    query = (table.group_by(keys) if keys else table).where("age > 3").select(*ALL)
    return query, query.answer(epsilon=4.0, delta=delta, noise=noise)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("case", ASKED)
def test_an_answer_is_released_and_verified(case, tmp_path):
    query, answer = asked(tmp_path, case)
    manifest = release_answer(query, answer, tmp_path / "out")
    found = halfmask.verify(tmp_path / "out")

    assert isinstance(found, CheckedRelease)
    assert found.holds
    (claim,) = found.claims
    assert claim.found["epsilon"] == pytest.approx(4.0, rel=1e-6)
    assert "the random draws themselves were not seen" in claim.sentence
    assert manifest.claims[0].about["unit"] == query.table.ledger.terms.unit.to_dict()
    lines = (tmp_path / "out" / "data" / "answer.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == answer.to_dict()["rows"]
    released = "".join(path.read_text() for path in (tmp_path / "out").rglob("*.*"))
    assert query.table.ledger.terms.key not in released
    assert query.table.ledger.terms.fingerprint not in released
    with pytest.raises(ReleaseError):
        release_answer(query, answer, tmp_path / "out")


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029", "\r", "\x0b"])
def test_a_key_that_ends_lines_elsewhere(end, tmp_path):
    rows = pl.DataFrame({"town": [f"Aa{end}Bee", "Cee"]})
    ledger = PrivacyLedger.create(tmp_path / "v", rows, dataset="towns", epsilon=1.0, delta=0.0)
    keys = {"town": rows["town"].to_list()}
    query = PrivateTable.open(rows, ledger=ledger).group_by(keys).select(Count())
    release_answer(query, query.answer(epsilon=0.5), tmp_path / "out")

    assert halfmask.verify(tmp_path / "out").holds


def altered(folder, change):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest["claims"][0])
    path.write_text(json.dumps(manifest))
    return halfmask.verify(folder).holds


CHANGES = {
    "less epsilon": lambda claim: claim["parameters"].update(epsilon=3.9),
    "more epsilon": lambda claim: claim["parameters"].update(epsilon=4.1),
    "less rows of a person": lambda claim: claim["about"]["unit"].update(max_rows=1),
    "less groups of a person": lambda claim: claim["about"]["unit"].update(max_groups=2),
    "rows for persons": lambda claim: claim["about"]["unit"].update(person=None),
    "narrower bounds": lambda claim: claim["about"]["question"]["aggregates"][4].update(
        bounds=[0, 50]
    ),
    "another quantile": lambda claim: claim["about"]["question"]["aggregates"][7].update(at=0.5),
    "no such aggregate": lambda claim: claim["about"]["question"]["aggregates"].pop(),
    "no groups": lambda claim: claim["about"]["question"].update(groups=[]),
    "counted": lambda claim: claim.update(basis="counted"),
    "no mechanisms": lambda claim: claim["evidence"].update(mechanisms=[]),
}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_claim_that_was_altered_does_not_hold(change, tmp_path):
    query, answer = asked(tmp_path, "person, selected, gaussian")
    release_answer(query, answer, tmp_path / "out")
    assert not altered(tmp_path / "out", change)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("unit", [None, PERSON], ids=["row", "person"])
def test_a_count_that_several_aggregates_share_is_priced_once(noise, unit, tmp_path):
    """The verifier adds up three prices, and a fourth would not be the stated epsilon."""
    ledger = PrivacyLedger.create(
        tmp_path / "v", ROWS, dataset="p", epsilon=9.0, delta=1e-3, unit=unit
    )
    query = (
        PrivateTable.open(ROWS, ledger=ledger)
        .where("age > 3 AND weight > 50")
        .group_by({"sex": ["f", "m"]})
        .select(Count(), Mean(of="age", bounds=(0, 99)), Mean(of="weight", bounds=(0, 150)))
    )
    delta = 1e-4 if noise == "gaussian" else 0.0
    answer = query.answer(epsilon=2.0, delta=delta, noise=noise)
    assert [len(each.events) for each in ledger.charges] == [3]
    release_answer(query, answer, tmp_path / "out")
    assert halfmask.verify(tmp_path / "out").holds
    (claim,) = json.loads((tmp_path / "out" / "manifest.json").read_text())["claims"]
    (count,) = (it for it in claim["evidence"]["mechanisms"] if it["measure"] == "values")
    assert count["of"] == ["count", "mean_age", "mean_weight"]

    def drawn_twice(claim):
        mechanisms = claim["evidence"]["mechanisms"]
        mechanisms.append({**count, "of": ["mean_weight"]})

    def left_out(claim):
        (shared,) = (it for it in claim["evidence"]["mechanisms"] if it["measure"] == "values")
        shared["of"].remove("mean_weight")

    def less_noise(claim):
        (shared,) = (it for it in claim["evidence"]["mechanisms"] if it["measure"] == "values")
        shared["scale"] /= 1.5

    path = tmp_path / "out" / "manifest.json"
    text = path.read_text()
    for change in (drawn_twice, left_out, less_noise):
        path.write_text(text)
        assert not altered(tmp_path / "out", change)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("unit", [None, PERSON], ids=["row", "person"])
def test_missing_cells_are_free_only_in_the_vector_of_values(noise, unit, tmp_path):
    """The verifier adds up two prices; missing cells apart, or of another column, are a third."""
    ledger = PrivacyLedger.create(
        tmp_path / "v", ROWS, dataset="p", epsilon=9.0, delta=1e-3, unit=unit
    )
    table = PrivateTable.open(ROWS, ledger=ledger).group_by({"sex": ["f", "m"]})
    query = table.select(Count(), Count(of="age"), Mean(of="age", bounds=(0, 99)))
    delta = 1e-4 if noise == "gaussian" else 0.0
    answer = query.answer(epsilon=2.0, delta=delta, noise=noise)
    assert [len(each.events) for each in ledger.charges] == [2]
    assert {each.to_json()["coordinates"] for each in ledger.charges[0].events} == {2, 4}
    release_answer(query, answer, tmp_path / "out")
    assert halfmask.verify(tmp_path / "out").holds
    path = tmp_path / "out" / "manifest.json"
    text = path.read_text()
    (claim,) = json.loads(text)["claims"]
    at = {it["measure"]: number for number, it in enumerate(claim["evidence"]["mechanisms"])}

    def of(claim, measure):
        return claim["evidence"]["mechanisms"][at[measure]]

    changes = {
        "drawn twice": lambda it: it["evidence"]["mechanisms"].append(of(it, "missing")),
        "left out": lambda it: it["evidence"]["mechanisms"].remove(of(it, "missing")),
        "less noise": lambda it: of(it, "missing").update(scale=of(it, "missing")["scale"] / 1.5),
        "of another vector": lambda it: of(it, "values").update(of=["count_age", "mean_age"]),
        "of the mean": lambda it: of(it, "missing").update(of=["count", "mean_age"]),
        "without the mean": lambda it: of(it, "missing").update(of=[]),
        "of two columns": lambda it: it["about"]["question"]["aggregates"][1].update(of="weight"),
        "of values alone": lambda it: of(it, "values").update(of=["count"]),
    }
    for name, change in changes.items():
        path.write_text(text)
        assert not altered(tmp_path / "out", change), name


@pytest.mark.slow
@pytest.mark.parametrize("case", ["person, gaussian", "person, selected"])
def test_no_mechanism_may_be_altered_or_missing(case, tmp_path):
    query, answer = asked(tmp_path, case)
    release_answer(query, answer, tmp_path / "out")
    path = tmp_path / "out" / "manifest.json"
    text = path.read_text()
    stated = json.loads(text)["claims"][0]["evidence"]["mechanisms"]
    for at, each in enumerate(stated):
        changes: list[dict[str, Any] | None] = [
            None,
            {"mechanism": "none"},
            {"scale": each["scale"] * 1.1},
            {"scale": each["scale"] / 1.1},
            {"scale": each["scale"] / 2, "sensitivity": each["sensitivity"] / 2},
        ]
        for change in changes:
            manifest = json.loads(text)
            mechanisms = manifest["claims"][0]["evidence"]["mechanisms"]
            if change is None:
                mechanisms.pop(at)
            else:
                mechanisms[at].update(change)
            path.write_text(json.dumps(manifest))
            assert not halfmask.verify(tmp_path / "out").holds
    path.write_text(text)
    assert halfmask.verify(tmp_path / "out").holds


@pytest.mark.parametrize("with_ends", [False, True])
def test_a_quantile_without_ends_holds_as_earlier_versions_released_it(with_ends, tmp_path):
    """Ends that no mechanism pays for don't."""
    ledger = PrivacyLedger.create(tmp_path / "v", ROWS, dataset="p", epsilon=9.0, delta=0.0)
    query = PrivateTable.open(ROWS, ledger=ledger).select(
        Quantile(of="age", at=0.5, bounds=(0, 99))
    )
    release_answer(query, query.answer(epsilon=1.0), tmp_path / "out")
    path, file = tmp_path / "out" / "manifest.json", tmp_path / "out" / "data" / "answer.jsonl"
    manifest = json.loads(path.read_text())
    (claim,) = manifest["claims"]
    mechanisms = claim["evidence"]["mechanisms"]
    (chosen,) = (it for it in mechanisms if it["measure"] == "quantile")
    claim["evidence"]["mechanisms"] = [chosen]
    claim["parameters"]["epsilon"] = chosen["epsilon"]
    if not with_ends:
        line = json.loads(file.read_text())
        line |= dict.fromkeys(it for it in line if it.endswith(("_low", "_high")))
        file.write_text(json.dumps(line) + "\n")
    stated = manifest["files"][0]
    stated["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    stated["bytes"] = file.stat().st_size
    path.write_text(json.dumps(manifest))

    assert halfmask.verify(tmp_path / "out").holds != with_ends


@pytest.mark.parametrize("free", [{"scale": -1.0}, {"epsilon": -1.0}, {"scale": -1e-3}])
def test_no_mechanism_pays_for_another(free, tmp_path):
    """A count without noise, paid by a negative price of the other."""
    ledger = PrivacyLedger.create(tmp_path / "v", ROWS, dataset="p", epsilon=9.0, delta=1e-2)
    query = PrivateTable.open(ROWS, ledger=ledger).select(Count(), Count(of="person"))
    release_answer(query, query.answer(epsilon=1.0), tmp_path / "out")

    def unpaid(claim):
        one, other = claim["evidence"]["mechanisms"]
        other.update(free)
        price = 1.0 - 1.0 / other["scale"]
        one["scale"] = 1.0 / price

    assert not altered(tmp_path / "out", unpaid)


def test_a_selection_states_its_threshold(tmp_path):
    query, answer = asked(tmp_path, "person, selected")
    release_answer(query, answer, tmp_path / "out")

    def as_noise(claim):
        (selection,) = (it for it in claim["evidence"]["mechanisms"] if "threshold" in it)
        selection.update(mechanism="laplace", threshold=0.0)

    assert not altered(tmp_path / "out", as_noise)


def test_a_threshold_that_is_lower_does_not_hold(tmp_path):
    query, answer = asked(tmp_path, "person, selected")
    release_answer(query, answer, tmp_path / "out")

    def lower(claim):
        (selection,) = (it for it in claim["evidence"]["mechanisms"] if "threshold" in it)
        selection["threshold"] -= 1

    assert not altered(tmp_path / "out", lower)


def test_an_answer_without_groups_is_released(tmp_path):
    """No word reaches a threshold of about 200."""
    ledger = PrivacyLedger.create(tmp_path / "v", ROWS, dataset="p", epsilon=9.0, delta=1e-2)
    query = PrivateTable.open(ROWS, ledger=ledger).group_by({"person": None}).select(Count())
    answer = query.answer(epsilon=0.4, delta=1e-18)
    assert answer.frame.height == 0
    release_answer(query, answer, tmp_path / "out")
    assert halfmask.verify(tmp_path / "out").holds


def test_another_question_is_refused(tmp_path):
    query, answer = asked(tmp_path, "row")
    other = query.table.select(Count())
    with pytest.raises(ParameterError, match="other noise"):
        release_answer(other, answer, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_answer_from_the_book_is_released_with_what_was_paid(tmp_path):
    query, _ = asked(tmp_path, "row")
    again = query.answer(epsilon=1.0)
    assert again.from_book
    manifest = release_answer(query, again, tmp_path / "out")
    assert manifest.claims[0].parameters["epsilon"] == 4.0


def ledger_with(tmp_path, charges, *, epsilon=2.0, delta=1e-6):
    ledger = PrivacyLedger.create(
        tmp_path / "v", ROWS, dataset="people", epsilon=epsilon, delta=delta
    )
    ledger.allow("CANARY", epsilon=epsilon)
    for events in charges:
        ledger.charge(events, purpose="a count", analyst="CANARY")
    return ledger


LAPLACE = [LaplaceEvent(noise_multiplier=50.0, coordinates=3)]
GAUSS = [GaussianEvent(noise_multiplier=20.0, coordinates=3)]
OBJECTIVE = [
    ObjectivePerturbationEvent(noise_multiplier=20.0, curvature=0.3, classes=n, coordinates=3)
    for n in (2, 3)
]
PAID = [EpsilonDeltaEvent(epsilon=0.3, delta=4e-7)]


@pytest.mark.parametrize(
    "charges",
    [[GAUSS * 30], [LAPLACE] * 140, [GAUSS] * 20, [[*PAID, *LAPLACE], LAPLACE], [OBJECTIVE, GAUSS]],
    ids=["first", "laplace", "gaussian", "delta", "objective"],
)
def test_a_ledger_is_released_and_verified(charges, tmp_path):
    ledger = ledger_with(tmp_path, charges)
    release_ledger(ledger, tmp_path / "out")
    found = halfmask.verify(tmp_path / "out")

    assert isinstance(found, CheckedRelease)
    assert found.holds
    assert found.claims[0].found["charges"] == len(charges)
    assert found.claims[0].found["epsilon"] == pytest.approx(ledger.spent, rel=0.02)
    released = "".join(path.read_text() for path in (tmp_path / "out").rglob("*.*"))
    assert "CANARY" not in released
    assert ledger.terms.key not in released


def rewritten(folder, change):
    """Change the charges of a statement, and its hashes with them."""
    path = folder / "data" / "charges.jsonl"
    lines = change([json.loads(line) for line in path.read_text().splitlines()])
    raw = "".join(json.dumps(line) + "\n" for line in lines).encode()
    path.write_bytes(raw)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][0].update(
        sha256=hashlib.sha256(raw).hexdigest(), bytes=len(raw), rows=len(lines)
    )
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return halfmask.verify(folder).holds


def noisier(lines, at, noise):
    lines[at]["events"][0]["noise_multiplier"] = noise
    return lines


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        (lambda lines: lines, True),
        (lambda lines: lines[:-1], False),
        (lambda lines: lines[1:], False),
        (lambda lines: noisier(lines, 3, 2.0), False),
        (lambda lines: [{**line, "events": []} for line in lines], False),
    ],
)
def test_charges_that_were_altered_do_not_hold(change, holds, tmp_path):
    release_ledger(ledger_with(tmp_path, [GAUSS] * 40), tmp_path / "out")
    assert rewritten(tmp_path / "out", change) is holds


def test_a_ledger_that_charged_as_if_nobody_chose_does_not_hold(tmp_path):
    """Power: what the exact bound of a fixed sequence allows isn't enough."""
    release_ledger(ledger_with(tmp_path, [GAUSS] * 40), tmp_path / "out")

    def more(claim):
        claim["parameters"].update(epsilon=1.5)

    assert not altered(tmp_path / "out", more)


def test_an_empty_ledger_has_nothing_to_release(tmp_path):
    with pytest.raises(ParameterError, match="Nothing was charged"):
        release_ledger(ledger_with(tmp_path, []), tmp_path / "out")


def test_the_checks_load_nothing_of_the_room_that_answers():
    code = (
        "import halfmask.verifier._answer_check, halfmask.verifier._privacy_check, sys;"
        "print([m for m in sys.modules if m.startswith('halfmask.dp') or m == 'opendp'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, encoding="utf-8"
    )
    assert done.stdout.strip() == "[]"
