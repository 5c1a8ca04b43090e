"""``protect`` with differential privacy: what a release states, and what it doesn't depend on."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import halfmask
from halfmask import Policy, PolicyError, ReleaseError
from halfmask._errors import (
    BudgetError,
    DataError,
    GuaranteeNotMetError,
    ParameterError,
    VerificationError,
)
from halfmask.cli import main
from halfmask.dp.ledger import PrivacyLedger, PrivacyUnit
from halfmask.dp.safepub import SafePub
from halfmask.microdata import explore

COLUMNS = """
halfmask = 1
[columns.name]
role = "identifier"
[columns.age]
role = "quasi_identifier"
kind = "numeric"
hierarchy = { intervals = [10, 20] }
least_level = 1
greatest_level = 1
[columns.town]
role = "quasi_identifier"
kind = "categorical"
least_level = 0
greatest_level = 0
"""
GUARANTEE = """
[[guarantees]]
model = "differential-privacy"
epsilon = 1.0
delta = 1e-3
sampling_fraction = 0.5
"""
TEXT = COLUMNS + GUARANTEE
#: Of the table, not of any released row.
ROWS, OLDEST = 6007, 10_770_701


def people(n: int = ROWS, seed: int = 1) -> pl.DataFrame:
    draw = random.Random(seed)
    rows = [(f"canary-{i}", draw.randrange(60), draw.choice("abcd")) for i in range(n - 7)]
    rows += [(f"canary-{i}", OLDEST, "canary-town") for i in range(7)]
    return pl.DataFrame(rows, schema=["name", "age", "town"], orient="row")


@pytest.fixture
def _same_draws(monkeypatch):
    """The bytes of the operating system follow from how many are asked for."""
    whole = random.Random(3).randbytes(1 << 20)
    monkeypatch.setattr(os, "urandom", lambda n: whole[:n])


def written(table: Any, out: Path, text: str = TEXT) -> dict[str, Any]:
    halfmask.protect(table, Policy.from_toml(text)).write(out)
    return manifest_of(out)


def manifest_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "manifest.json").read_text())
    del found["created"]
    return found


def texts_of(out: Path) -> list[str]:
    return [(out / name).read_text() for name in ("manifest.json", "report.html")]


def test_the_release_is_differentially_private_and_says_what_it_leaves_out(tmp_path):
    release = halfmask.protect(people(), Policy.from_toml(TEXT)).write(tmp_path / "out")

    assert release.kind.name == release.policy.kind == "private-microdata"
    found = halfmask.verify(tmp_path / "out")
    assert found.holds
    assert [(it["model"], it["basis"]) for it in manifest_of(tmp_path / "out")["claims"]] == [
        ("differential-privacy", "accounted"),
        ("k-anonymity", "counted"),
    ]
    assert (
        release.data.group_by("age", "town").len()["len"].to_numpy().min()
        >= release.facts.terms["k"]
    )
    assert set(release.data["age"]) <= {f"[{low}, {low + 10})" for low in range(0, 60, 10)}
    page = texts_of(tmp_path / "out")[1]
    assert "how many rows the table has" in page
    assert "rows-not-persons" in page
    assert '<svg class="chart"' not in page


def test_neither_exact_counts_nor_original_values_are_told(tmp_path, monkeypatch, capfd, caplog):
    monkeypatch.chdir(tmp_path)
    people().write_csv("people.csv")
    Path("policy.toml").write_text(TEXT)

    assert main(["protect", "people.csv", "policy.toml", "out", "--verbose"]) == 0
    assert main(["protect", "people.csv", "policy.toml", "json", "--json"]) == 0

    said = capfd.readouterr()
    assert "Not stated: the rows of the table" in said.out
    release = halfmask.protect("people.csv", Policy.from_toml(TEXT))
    told = [said.out, said.err, caplog.text, repr(release), release._repr_html_()]
    told += [*texts_of(tmp_path / "out"), *texts_of(tmp_path / "json")]
    for text in told:
        assert "canary" not in text
        numbers = re.sub(r"[0-9a-f]{64}", "", text).replace(",", "")
        assert str(OLDEST) not in numbers
        assert str(ROWS) not in numbers
    for name in ("risk", "utility", "assessment"):
        with pytest.raises(ReleaseError, match=name):
            getattr(release, name)


@pytest.mark.slow
@pytest.mark.usefixtures("_same_draws")
def test_python_and_the_command_line_give_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().write_csv("people.csv")
    people().write_parquet("people.parquet")
    Path("policy.toml").write_text(TEXT)

    assert main(["protect", "people.csv", "policy.toml", "cli"]) == 0
    assert main(["protect", "people.csv", "policy.toml", "head", "--header"]) == 0

    policy = Policy.load("policy.toml")
    halfmask.protect("people.csv", policy).write("path")
    halfmask.protect(people(), policy).write("frame")
    halfmask.microdata.protect_to("people.parquet", policy, "parquet")
    made = [manifest_of(tmp_path / it) for it in ("cli", "head", "path", "frame", "parquet")]
    assert all(each == made[0] for each in made)
    read = {(tmp_path / it / "data/part-00000.parquet").read_bytes() for it in ("cli", "frame")}
    assert len(read) == 1


@pytest.mark.usefixtures("_same_draws")
def test_neighbours_differ_in_nothing_but_the_rows(tmp_path):
    """One row more: in a class that isn't released, or in one that is, and is drawn."""
    table = people()
    alone = pl.DataFrame({"name": ["x"], "age": [85], "town": ["elsewhere"]})
    other = pl.DataFrame({"name": ["x"], "age": [15], "town": ["a"]})
    one = written(table, tmp_path / "one")
    two = written(pl.concat([table, alone]), tmp_path / "two")
    draws = pl.concat([table, *[other] * 3])  # one of them at least is drawn
    three = written(draws, tmp_path / "three")

    assert one == two
    assert (tmp_path / "one/report.html").read_text() == (tmp_path / "two/report.html").read_text()
    assert one != three
    without_rows(one)
    without_rows(three)
    assert one == three


def without_rows(manifest: dict[str, Any]) -> None:
    """Take out what the released rows are, and show."""
    for name in ("rows", "bytes", "sha256"):
        del manifest["files"][0][name]
    manifest["claims"][1].pop("evidence")
    manifest.pop("report")  # its page shows the claims


@pytest.mark.usefixtures("_same_draws")
def test_the_text_of_a_cell_depends_on_no_other_row(tmp_path):
    """With one cell that is no number, a reader would keep the zeros of all others."""
    table = pl.DataFrame({"name": "x", "age": ["05"] * 400, "town": ["0.50"] * 400})
    other = pl.DataFrame({"name": "x", "age": ["7"], "town": ["x"]})
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    table.write_csv(one)
    pl.concat([table, other]).write_csv(two)
    policy = Policy.from_toml(TEXT.replace("_level = 1", "_level = 0"))

    released = [halfmask.protect(str(path), policy).data for path in (one, two)]

    assert released[0].equals(released[1])
    assert set(released[0].rows()) == {("05", "0.50")}


@pytest.mark.usefixtures("_same_draws")
def test_whose_row_it_is_depends_on_no_other_row(tmp_path):
    """As numbers, "1" and "1.0" would be one person; a row of "x" would part them."""
    names = [f"{i}{zero}" for i in range(400) for zero in ("", ".0")]
    table = pl.DataFrame({"name": names, "age": [15] * 800, "town": ["a"] * 800})
    other = pl.DataFrame({"name": ["x"], "age": [85], "town": ["x"]})
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    table.write_csv(one)
    pl.concat([table, other]).write_csv(two)
    policy = Policy.from_toml('person = "name"\n' + TEXT)

    released = [halfmask.protect(str(path), policy).data for path in (one, two)]

    assert released[0].equals(released[1])
    assert released[0].height > 300


@pytest.mark.usefixtures("_same_draws")
def test_a_fraction_in_json_lines_changes_no_other_text(tmp_path):
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    row = {"name": "x", "age": 5, "town": "a"}
    one.write_text(f"{json.dumps(row)}\n" * 400)
    two.write_text(f"{json.dumps(row)}\n" * 400 + json.dumps(row | {"age": 5.5}) + "\n")
    policy = Policy.from_toml(TEXT.replace("_level = 1", "_level = 0"))

    released = [halfmask.protect(str(path), policy).data for path in (one, two)]

    assert set(released[0].rows()) == {("5", "a")}
    assert released[0].equals(released[1])


@pytest.mark.usefixtures("_same_draws")
def test_a_time_of_day_in_a_workbook_changes_no_other_text(tmp_path):
    pytest.importorskip("xlsxwriter")
    days = pl.Series([0] * 400, dtype=pl.Datetime)
    table = pl.DataFrame({"name": "x", "age": days, "town": "a"})
    one, two = tmp_path / "one.xlsx", tmp_path / "two.xlsx"
    table.write_excel(one)
    later = table[:1].with_columns(pl.col("age").dt.offset_by("3h"))
    pl.concat([table, later]).write_excel(two)
    text = TEXT.replace("_level = 1", "_level = 0").replace('"numeric"', '"datetime"')
    policy = Policy.from_toml(text.replace("hierarchy = { intervals = [10, 20] }", ""))

    released = [halfmask.protect(str(path), policy).data for path in (one, two)]

    assert released[0].height > 0
    assert released[0].equals(released[1])


def test_no_warning_counts_cells_of_the_table(tmp_path):
    """Warnings are errors here."""
    table = pl.DataFrame({"name": "x", "age": ["5"] * 400 + ["?"] * 13, "town": "a"})
    table.write_csv(tmp_path / "people.csv")
    text = '[input]\ncoerce = ["age"]\ndtypes = { age = "integer" }\n'
    halfmask.protect(tmp_path / "people.csv", Policy.from_toml(TEXT + text))


@pytest.mark.parametrize("form", ["csv", "jsonl", "arrow"])
def test_every_format_is_verified(tmp_path, form):
    gaps = people().with_columns(town=pl.when(pl.col("town") == "a").then(None).otherwise("town"))
    text = f'{TEXT}[output]\nformat = "{form}"\n'
    made = written(gaps, tmp_path / "out", text)
    assert made["files"][0]["format"] == form
    assert halfmask.verify(tmp_path / "out").holds


def changed(out: Path, part: str, name: str, value: object) -> bool:
    path = out / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["claims"][0][part][name] = value
    path.write_text(json.dumps(manifest))
    return bool(halfmask.verify(out).holds)


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("parameters", "epsilon", 0.9),
        ("parameters", "delta", 1e-4),
        ("evidence", "sampling_fraction", 0.55),
        ("evidence", "k", 10),
    ],
)
def test_a_claim_of_less_fails_the_verifier(tmp_path, part, name, value):
    written(people(), tmp_path / "out")
    assert halfmask.verify(tmp_path / "out").holds
    assert not changed(tmp_path / "out", part, name, value)


def test_classes_under_k_leave_no_release(tmp_path, monkeypatch):
    monkeypatch.setattr(SafePub, "k", property(lambda _: 3))
    with pytest.raises(VerificationError, match="doesn't bear it out"):
        written(people(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_class_that_suppression_left_fails_in_csv(tmp_path):
    out = tmp_path / "out"
    written(people(), out, f'{TEXT}[output]\nformat = "csv"\n')
    path = out / "data/part-00000.csv"
    path.write_text(path.read_text() + '"[50, 60)",e\n' * 3)
    manifest = json.loads((out / "manifest.json").read_text())
    raw = path.read_bytes()
    rows = manifest["files"][0]["rows"] + 3
    manifest["files"][0] |= {
        "sha256": hashlib.sha256(raw).hexdigest(), "bytes": len(raw), "rows": rows
    }  # fmt: skip
    evidence = manifest["claims"][1]["evidence"]
    evidence |= {"rows": rows, "classes": evidence["classes"] + 1, "smallest_class": 3}
    (out / "manifest.json").write_text(json.dumps(manifest))
    found: Any = halfmask.verify(out)
    assert [each.holds for each in found.claims] == [False, False]


def test_too_few_rows_are_no_release():
    with pytest.raises(GuaranteeNotMetError, match="nothing to release"):
        halfmask.protect(people(40), Policy.from_toml(TEXT))


def test_levels_may_be_paid_for_within_bounds():
    pytest.importorskip("opendp")
    opened = TEXT.replace("greatest_level = 1", "greatest_level = 2")
    text = opened.replace("fraction = 0.5", "fraction = 0.4\nsearch_epsilon = 0.2")
    release: Any = halfmask.protect(people(), Policy.from_toml(text))
    assert release.source.levels["age"] in {1, 2}
    assert release.source.levels["town"] == 0
    claim = release.claims[0]
    assert claim.about["levels"] == "chosen"
    assert claim.evidence["search_epsilon"] == 0.2


AGE = "hierarchy = { intervals = [10, 20] }"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (TEXT + '[[guarantees]]\nmodel = "k-anonymity"\nk = 5\n', "the guarantee 'k-anonymity'"),
        (TEXT + GUARANTEE, "the guarantee 'differential-privacy'"),
        (TEXT + '[method]\nname = "mdav"\n', r"\[method\]"),
        (TEXT + '[recoding]\nname = "level"\n', r"\[recoding\]"),
        (TEXT + "[suppression]\nmax_fraction = 0.1\n", r"\[suppression\]"),
        (TEXT.replace(AGE, 'mask = { name = "round", base = 5 }'), r"mask of \[columns.age\]"),
        (TEXT + '[[masks]]\nname = "sampling"\nfraction = 0.5\n', "mask 'sampling'"),
        (TEXT + '[columns.pay]\nrole = "sensitive"\nkind = "numeric"\n', r"pay\] role = 'sensi"),
        (TEXT + '[columns.x]\nrole = "insensitive"\nkind = "text"\n', r"x\] role = 'insensitive'"),
        (TEXT.replace(AGE, AGE + '\nmissing = "suppress"'), r"age\] missing = 'suppress'"),
        (TEXT.replace(AGE, AGE + "\nweight = 2.0"), r"age\] weight"),
        (TEXT.replace(AGE, AGE + '\nrecoding = { name = "level" }'), r"age\] recoding"),
        (TEXT.replace("intervals = [10, 20]", "prefix = [1]"), "lacks the key 'length'"),
        (TEXT.replace("greatest_level = 0", "greatest_level = 1"), r"town\] leaves its level open"),
        (TEXT + "search_epsilon = 0.1\n", "no level is open"),
        (TEXT.replace("epsilon = 1.0", "epsilon = 0"), "epsilon"),
        (TEXT.replace("delta = 1e-3\n", ""), "lacks the key 'delta'"),
        (TEXT.replace("fraction = 0.5", "fraction = 1.0"), "sampling_fraction"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(text, fault):
    with pytest.raises(PolicyError, match=fault):
        Policy.from_toml(text)


def test_other_ways_to_use_the_policy_are_refused(tmp_path):
    policy = Policy.from_toml(TEXT)
    with pytest.raises(PolicyError, match="judges no classes"):
        policy.guarantees()
    with pytest.raises(PolicyError, match="would cost more epsilon"):
        explore(people(), policy)
    given: dict[str, Any] = {"key": bytes(32), "population": people(), "strict": True}
    for name, value in given.items():
        with pytest.raises(ParameterError, match=f"'{name}' parameter"):
            halfmask.protect(people(), policy, **{name: value})
    with pytest.raises(ParameterError, match="'persons' parameter of write"):
        halfmask.protect(people(), policy).write(tmp_path / "out", persons=tmp_path / "x")
    with pytest.raises(ParameterError, match=r"1 - exp\(-epsilon\)"):
        halfmask.protect(people(), Policy.from_toml(TEXT.replace("n = 0.5", "n = 0.9")))


def vault_of(folder: Path, table: pl.DataFrame, **given: Any) -> PrivacyLedger:
    settled: dict[str, Any] = {"dataset": "people", "epsilon": 1.5, "delta": 2e-3} | given
    return PrivacyLedger.create(folder / "vault", table, **settled)


def test_a_release_is_booked_before_a_row_is_drawn(tmp_path, monkeypatch):
    ledger, policy = vault_of(tmp_path, people()), Policy.from_toml(TEXT)

    halfmask.protect(people(), policy, ledger=ledger)

    assert ledger.spent == pytest.approx(1.0)
    assert ledger.charges[0].purpose == "SafePub: rows of 2 columns"
    monkeypatch.setattr(os, "urandom", None)  # nothing is drawn any more
    with pytest.raises(BudgetError):
        halfmask.protect(people(), policy, ledger=ledger)
    with pytest.raises(DataError, match="isn't the one"):
        halfmask.protect(people(seed=2), policy, ledger=ledger)
    with pytest.raises(ReleaseError, match="nothing was charged"):
        halfmask.microdata.protect_to(people(), policy, tmp_path, ledger=ledger)
    with pytest.raises(ParameterError, match="standard input only once"):
        halfmask.protect("-", policy, ledger=ledger)
    assert len(ledger.charges) == 1


def test_the_command_charges_the_ledger(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people().write_csv("people.csv")
    Path("policy.toml").write_text(TEXT)
    budget = ["--epsilon", "1.5", "--delta", "2e-3", "--vault", "vault"]
    assert main(["budget", "set", "people.csv", *budget]) == 0
    command = ["protect", "people.csv", "policy.toml"]

    assert main([*command, "out", "--ledger", "vault"]) == 0
    assert main([*command, "more", "--ledger", "vault"]) == 1

    assert "is left for what selects keys or draws rows" in capsys.readouterr().err
    assert not Path("more").exists()
    assert len(PrivacyLedger.open("vault", dataset="people").charges) == 1
    assert main([*command, "more", "--dataset", "people"]) == 2
    assert main([*command, "more", "--ledger", "vault", "--header"]) == 2
    Path("other.toml").write_text(COLUMNS + '[[guarantees]]\nmodel = "k-anonymity"\nk = 5\n')
    assert main(["protect", "people.csv", "other.toml", "x", "--ledger", "vault"]) == 1
    assert "'ledger' parameter" in capsys.readouterr().err


def test_a_person_counts_once_and_the_ledger_must_agree(tmp_path):
    """One patient has more than half of the rows, in a class of their own."""
    one = pl.DataFrame({"name": ["canary"] * 3000, "age": [55] * 3000, "town": ["z"] * 3000})
    table = pl.concat([people(2500), one])
    rows, persons = Policy.from_toml(TEXT), Policy.from_toml('person = "name"\n' + TEXT)
    unit = PrivacyUnit(person="name", max_rows=5)
    ledger = vault_of(tmp_path, table, unit=unit, dataset="visits")

    assert "z" in set(halfmask.protect(table, rows).data["town"])
    with pytest.raises(ParameterError, match="of one 'name', and the release single rows"):
        halfmask.protect(table, rows, ledger=ledger)
    assert not ledger.charges
    release: Any = halfmask.protect(table, persons, ledger=ledger)

    assert len(ledger.charges) == 1
    assert "z" not in set(release.data["town"])
    assert release.claims[0].about["unit"] == "person"
    release.write(tmp_path / "out")
    assert halfmask.verify(tmp_path / "out").holds
    page = texts_of(tmp_path / "out")[1]
    assert "One row of each person took part" in page
    assert "rows-not-persons" not in page
    with pytest.raises(ParameterError, match="single rows, and the release all rows of one 'name'"):
        halfmask.protect(people(), persons, ledger=vault_of(tmp_path, people()))
