"""The verifier on what lies in the folder: files, columns, formats, and what a stranger may put."""

from __future__ import annotations

import dataclasses
import gzip
import json
import subprocess
import sys
from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest

from halfmask._errors import VerificationError
from halfmask.claims import RowCounts
from halfmask.verifier import tables

#: Its claims say more than `CheckedClaim`.
verify: Any = tables.verify

ROLES = {
    "age": "quasi_identifier",
    "zip": "quasi_identifier",
    "ill": "sensitive",
    "n": "insensitive",
}
CANARY = "CANARY-5f1e"


def frame_of(ills=("flu", "cold", "flu", "cold"), **more):
    return pl.DataFrame({"age": ["[1, 5]"] * 4, "zip": ["z"] * 4, "ill": list(ills), **more})


@pytest.fixture
def release(make, naive, claim):
    """A function that makes a release of a frame that claims k = 4 and l = 2."""

    def made(frame=None, claims=None, **options):
        frame = frame_of() if frame is None else frame
        wanted = claims or [claim("k-anonymity", k=4), claim("distinct-l-diversity", "ill", l=2)]
        tree = options.get("trees", {}).get("ill")
        honest = [naive(frame, tree).honest(each) for each in wanted]
        return make(frame, honest, roles=ROLES, **options)

    return made


def problems(folder):
    """What is wrong with a folder; nothing of it may be a value or a path."""
    found = verify(folder.path)
    assert not found.holds
    shown = f"{found!r} {json.dumps(found.to_dict())}"
    with pytest.raises(VerificationError) as caught:
        found.raise_if_broken()
    for text in (shown, str(caught.value)):
        assert CANARY not in text
        assert str(folder.path) not in text
    return " ".join([*found.problems, *(each.sentence for each in found.claims if not each.holds)])


def test_a_sound_release_holds(release):
    found = verify(release().path)

    assert found.holds
    found.raise_if_broken()
    assert found.rows == 4
    assert [each.sentence for each in found.claims] == [
        (
            "k-anonymity with k = 4 over 2 quasi-identifiers holds: "
            "the worst of 1 classes reaches 4."
        ),
        (
            "distinct-l-diversity with l = 2 of column 'ill' over 2 quasi-identifiers holds: "
            "the worst of 1 classes reaches 2."
        ),
    ]
    assert json.loads(json.dumps(found.to_dict()))["holds"] is True


def test_a_folder_reached_through_a_link_of_its_owner_holds(release, tmp_path):
    (tmp_path / "latest").symlink_to(release().path)

    assert verify(tmp_path / "latest").holds
    assert verify(str(tmp_path / "latest")).holds


@pytest.mark.parametrize(
    ("place", "listed"),
    [("data/" + CANARY, 1), (CANARY, 1), (".hidden", 1), ("data/.part", 1), ("sub/x/y", 1)],
)
def test_a_file_that_the_manifest_does_not_list_is_named_by_count(release, place, listed):
    folder = release()
    (folder.path / place).parent.mkdir(parents=True, exist_ok=True)
    (folder.path / place).write_text("x", encoding="utf-8")

    assert f"holds {listed} entries that the manifest doesn't list" in problems(folder)


def test_an_empty_folder_and_a_dangling_link_are_entries_too(release):
    folder = release()
    (folder.path / CANARY).mkdir()
    (folder.path / "link").symlink_to("/nowhere")

    assert "holds 2 entries" in problems(folder)


def test_the_report_may_be_there(release):
    folder = release()
    (folder.path / "report.html").write_text("<p>", encoding="utf-8")

    assert verify(folder.path).holds


def test_a_report_that_is_a_link_is_none(release, tmp_path):
    folder = release()
    (tmp_path / "other.html").write_text("<p>", encoding="utf-8")
    (folder.path / "report.html").symlink_to(tmp_path / "other.html")

    assert "holds 1 entries that the manifest doesn't list" in problems(folder)


def test_a_missing_part_is_named_by_number(release):
    folder = release(n_parts=2)
    folder.parts[1].unlink()

    said = problems(folder)

    assert "Data file 2 isn't there as a plain file" in said
    assert "can't be read as the manifest states" in said


def test_a_part_that_is_a_link_is_not_read(release, tmp_path):
    folder = release()
    elsewhere = tmp_path / CANARY
    folder.parts[0].rename(elsewhere)
    folder.parts[0].symlink_to(elsewhere)

    assert "Data file 1 isn't there as a plain file" in problems(folder)


@pytest.mark.parametrize("fmt", ["parquet", "csv", "arrow", "jsonl"])
@pytest.mark.parametrize("damage", ["cut", "garbage", "empty", "flip"])
def test_a_damaged_file_is_a_finding_and_no_crash(release, fmt, damage):
    folder = release(fmt=fmt)
    raw = folder.parts[0].read_bytes()
    damaged = {
        "cut": raw[: len(raw) // 2],
        "garbage": CANARY.encode() * 50 + b"\xff\x00",
        "empty": b"",
        "flip": raw[: len(raw) // 2]
        + bytes([raw[len(raw) // 2] ^ 0x20])
        + raw[len(raw) // 2 + 1 :],
    }[damage]
    folder.parts[0].write_bytes(damaged)

    assert "hash" in problems(folder)


def test_random_damage_never_crashes(release):
    folder = release(fmt="parquet")
    raw, rng = folder.parts[0].read_bytes(), np.random.default_rng(3)
    for _ in range(100):
        damaged = bytearray(raw)
        for spot in rng.integers(0, len(raw), 3):
            damaged[spot] = rng.integers(256)
        if bytes(damaged) != raw:
            folder.parts[0].write_bytes(damaged)
            assert not verify(folder.path).holds


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.rename({"age": CANARY}), "doesn't have the columns"),
        (lambda f: f.select("zip", "age", "ill"), "doesn't have the columns"),
        (lambda f: f.with_columns(x=1), "doesn't have the columns"),
        (lambda f: f.with_columns(age=pl.concat_list("age", "zip")), "lists or structs"),
        (lambda f: f.head(3), "has 3 rows where the manifest states 4"),
    ],
)
def test_the_table_must_be_the_stated_one(release, change, said):
    folder = release()
    change(frame_of()).write_parquet(folder.parts[0])

    assert said in problems(folder)


def test_parts_of_different_types_are_no_table(release):
    folder = release(frame_of(n=[1, 2, 3, 4]), n_parts=2)
    frame_of(n=[1.0, 2.0, 3.0, 4.0]).tail(2).write_parquet(folder.parts[1])

    assert "columns of the same types" in problems(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rows": RowCounts(n_in=9, n_out=4, n_suppressed=0)}, "rows in are not the rows out"),
        ({"rows": RowCounts(n_in=5, n_out=5, n_suppressed=0)}, "rows of the data files together"),
        ({"files": "twice"}, "lists a file twice"),
        ({"columns": "twice"}, "lists a column twice"),
        ({"columns": "identifier"}, "Column 'age' is released and is an identifier"),
    ],
)
def test_a_manifest_that_contradicts_itself_does_not_hold(release, change, said):
    folder = release()
    manifest = folder.manifest
    if change == {"files": "twice"}:
        change = {"files": manifest.files * 2}
    elif change == {"columns": "twice"}:
        change = {"columns": manifest.columns[:1] + manifest.columns}
    elif change == {"columns": "identifier"}:
        masked = dataclasses.replace(manifest.columns[0], role="identifier")
        change = {"columns": (masked, *manifest.columns[1:])}
    folder.rewrite(**change)

    assert said in problems(folder)


def test_an_empty_release_keeps_no_promise(make, claim):
    frame = frame_of().clear()
    folder = make(frame, [claim("k-anonymity", k=4)], roles=ROLES)

    assert "no rows" in problems(folder)


@pytest.mark.parametrize(
    ("better", "said"),
    [
        ({"achieved": 5}, "states a better level"),
        ({"classes": 2}, "another number of classes or rows"),
        ({"rows": 5}, "another number of classes or rows"),
        ({"smallest_class": 5}, "larger smallest class"),
    ],
)
def test_evidence_may_not_be_better_than_what_was_counted(release, better, said):
    folder = release()
    first, second = folder.manifest.claims
    lie = dataclasses.replace(first, evidence=dataclasses.replace(first.evidence, **better))
    folder.rewrite(claims=(lie, second))

    assert said in problems(folder)


def test_evidence_may_be_worse_than_what_was_counted(release):
    folder = release()
    first, second = folder.manifest.claims
    modest = dataclasses.replace(first.evidence, achieved=4 - 1, smallest_class=3)
    folder.rewrite(claims=(dataclasses.replace(first, evidence=modest), second))

    assert verify(folder.path).holds


@pytest.mark.parametrize(
    ("model", "column", "parameters", "said"),
    [
        ("b-likeness", "ill", {"b": 1}, "none that the verifier knows"),
        ("k-anonymity", None, {"k": 1}, "guarantees nothing below 2"),
        ("k-anonymity", None, {"k": 2.5}, "isn't a whole number"),
        ("k-anonymity", None, {"k": "4"}, "guarantees nothing"),
        ("k-anonymity", None, {"l": 4}, "parameters aren't k"),
        ("k-anonymity", "ill", {"k": 4}, "names a column that its model doesn't have"),
        ("distinct-l-diversity", None, {"l": 2}, "lacks the one it has"),
        ("t-closeness", "ill", {"t": 0.5, "distance": "far"}, "distance is none of"),
        ("t-closeness", "ill", {"t": 0.5, "distance": "ordered"}, "no support file"),
        ("t-closeness", "ill", {"t": 0.5, "distance": "hierarchical"}, "no support file"),
        ("distinct-l-diversity", CANARY, {"l": 2}, "columns that aren't released"),
    ],
)
def test_a_claim_that_cannot_be_counted_does_not_hold(release, model, column, parameters, said):
    folder = release()
    first = folder.manifest.claims[0]
    odd = dataclasses.replace(first, model=model, column=column, parameters=parameters)
    folder.rewrite(claims=(first, odd))

    found = verify(folder.path)

    assert [each.holds for each in found.claims] == [True, False]
    assert said in found.claims[1].sentence


def test_a_claim_over_no_columns_does_not_hold(release):
    folder = release()
    first = folder.manifest.claims[0]
    folder.rewrite(claims=(dataclasses.replace(first, quasi_identifiers=()),))

    assert "leaves out the quasi-identifier 'age'" in problems(folder)


TREE = [["flu", "lung", "*"], ["cold", "lung", "*"]]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([*TREE, [CANARY, "gut", "*"]], "names 1 that it doesn't have"),
        (TREE[:1], "lacks 1 values that the data has"),
        ([*TREE, TREE[0]], "names a value twice"),
        ([TREE[0], ["cold", "lung"]], "rows of different length"),
        ([["flu", "lung", "a"], ["cold", "lung", "b"]], "doesn't coarsen"),
    ],
)
def test_a_support_file_must_be_the_tree_of_the_values(release, claim, rows, said):
    """An unused value stretches the order, and makes every distance look smaller."""
    ordered = claim("t-closeness", "ill", support="support/0.csv", t=0.5, distance="ordered")
    folder = release(claims=[ordered], trees={"ill": TREE})
    path = folder.path / "support" / "0.csv"
    path.write_text("".join(";".join(row) + "\n" for row in rows), encoding="utf-8")

    assert said in problems(folder)
    assert "Support file 1 doesn't have the hash" in problems(folder)


def test_a_support_file_that_no_claim_uses_is_no_part_of_the_release(release):
    folder = release(trees={"ill": TREE})

    assert "Support file 1 is used by no claim" in problems(folder)


def test_quoted_values_and_formulas_are_found_in_a_support_file(release, claim):
    """Text files are written with an apostrophe before what a spreadsheet would run."""
    ordered = claim("t-closeness", "ill", support="support/0.csv", t=0.5, distance="ordered")
    tree = [['a;"b"', "*"], ["'=1+1", "*"]]
    frame = frame_of(['a;"b"', "'=1+1"] * 2)
    folder = release(frame, claims=[ordered], trees={"ill": tree}, fmt="csv")
    assert verify(folder.path).holds

    plain = [['a;"b"', "*"], ["=1+1", "*"]]
    folder = release(frame, claims=[ordered], trees={"ill": tree}, fmt="csv")
    path = folder.path / "support" / "0.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("'=", "="), encoding="utf-8")

    assert plain[1][0] in path.read_text(encoding="utf-8")
    assert verify(folder.path).claims[0].holds


# What the file says, not what a reader makes of it.


def test_text_that_looks_like_a_number_stays_text_in_csv(release):
    frame = frame_of().with_columns(zip=pl.Series(["007", "007", "7", "7"]))

    found = verify(release(frame, fmt="csv").path)

    assert found.claims[0].counted == 2


@pytest.mark.parametrize("fmt", ["parquet", "csv", "jsonl", "arrow"])
def test_the_empty_text_is_not_a_missing_cell(release, fmt):
    frame = frame_of().with_columns(zip=pl.Series(["", "", None, None]))

    found = verify(release(frame, fmt=fmt).path)

    assert found.claims[0].counted == 2
    assert found.claims[0].counted_wildcard == 4
    assert "nulls-visible: which cells are missing shows in 'zip'." in found.weaknesses


def test_a_number_and_its_text_are_two_values_in_json_lines(release):
    folder = release(fmt="jsonl")
    lines = folder.parts[0].read_text(encoding="utf-8").replace('"zip":"z"', '"zip":1', 2)
    folder.parts[0].write_text(lines, encoding="utf-8")

    assert "mixes types in one column" in problems(folder)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"age":"a","age":"b"}', "column twice"),
        ('{"age":NaN}', "number that JSON doesn't have"),
        ('{"age":{},"zip":"z","ill":"flu"}', "isn't text, a number or a truth value"),
        ("[]", "isn't an object"),
        ('{"age":"x"', "isn't strict JSON"),
        ('{"age":"x"}', "don't all have the same columns"),
    ],
)
def test_json_lines_are_read_strictly(release, line, said):
    folder = release(fmt="jsonl")
    with folder.parts[0].open("a", encoding="utf-8") as file:
        file.write(line + "\n")

    assert said in problems(folder)


def test_zero_and_minus_zero_can_be_told_apart(release):
    frame = frame_of().with_columns(age=pl.Series([0.0, 0.0, -0.0, -0.0]))

    assert verify(release(frame).path).claims[0].counted == 2


def test_one_sensitive_number_in_two_spellings_is_one_value(release):
    frame = frame_of(["1", "1.0", "1e0", "01"])
    folder = release(frame, kinds={"ill": "numeric"}, fmt="csv")

    found = verify(folder.path)

    assert found.claims[1].counted == 1
    assert not found.claims[1].holds


def test_not_a_number_is_one_value(release):
    frame = frame_of([1.0, float("nan"), float("nan"), 0.0])

    assert verify(release(frame).path).claims[1].counted == 3


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([1, 2, 1, 2], dtype=pl.Int8),
        pl.Series([2**63, 2**64 - 1] * 2, dtype=pl.UInt64),
        pl.Series([True, False] * 2),
        pl.Series([date(2020, 1, 1), date(2021, 1, 1)] * 2),
        pl.Series([date(2020, 1, 1), date(2021, 1, 1)] * 2).cast(pl.Datetime("ns", "Europe/Rome")),
        pl.Series(["1.10", "1.2"] * 2).cast(pl.Decimal(10, 2)),
        pl.Series(["a", "b"] * 2, dtype=pl.Categorical),
        pl.Series(["a", "b"] * 2, dtype=pl.Enum(["b", "a", CANARY])),
        pl.Series([b"\xff", b"\x00"] * 2),
        pl.Series([1.5, float("inf")] * 2, dtype=pl.Float32),
        pl.Series([None, "x"] * 2),
    ],
    ids=lambda column: str(column.dtype)[:12],
)
def test_columns_of_every_flat_type_are_counted(release, column):
    as_sensitive = frame_of().with_columns(column.alias("ill"))
    as_quasi = frame_of().with_columns(column.alias("age"))

    assert verify(release(as_sensitive).path).claims[1].counted == 2
    assert verify(release(as_quasi, n_parts=2).path).claims[0].counted == 2


def test_a_column_without_any_value_is_counted(release):
    frame = frame_of().with_columns(age=pl.Series([None] * 4, dtype=pl.String))

    assert verify(release(frame).path).holds


def test_dates_are_ordered_by_time_in_every_format(release, claim):
    days = [date(2020, 1, 1), date(2020, 1, 2), date(2021, 5, 5), date(2020, 1, 2)]
    frame = frame_of(days).with_columns(age=pl.Series(["a", "a", "b", "b"]))
    ordered = claim("t-closeness", "ill", t=0.9, distance="ordered")

    for fmt in ("parquet", "csv"):
        folder = release(frame, claims=[ordered], kinds={"ill": "datetime"}, fmt=fmt)
        assert verify(folder.path).claims[0].counted == pytest.approx(0.25)


def test_ordinal_numbers_follow_their_support_file(release, claim):
    """1, 3, 2 is the order that the owner gave; by size the distance would be another."""
    frame = frame_of([1, 3, 2, 2]).with_columns(age=pl.Series(["a", "a", "b", "b"]))
    ordered = claim("t-closeness", "ill", support="support/0.csv", t=0.9, distance="ordered")
    tree = [["1", "*"], ["3", "*"], ["2", "*"]]
    folder = release(frame, claims=[ordered], kinds={"ill": "ordinal"}, trees={"ill": tree})

    found = verify(folder.path)

    assert found.holds
    # p - q = (1/4, 1/4, -1/2), cumulated 1/4 and 1/2, over two steps.
    assert found.claims[0].counted == pytest.approx(0.375)


def test_keys_wider_than_one_word_stay_exact(make, claim):
    """Twenty columns of a thousand values don't fit 64 bits; every pair of rows must stay apart."""
    rng = np.random.default_rng(8)
    names = [f"q{i}" for i in range(20)]
    base = {name: rng.permutation(2_000) for name in names}
    frame = pl.DataFrame(base | {"s": rng.integers(0, 5, 2_000)})
    frame = pl.concat([frame, frame])
    roles = dict.fromkeys(names, "quasi_identifier") | {"s": "sensitive"}
    wanted = claim("k-anonymity", by=names, k=2)
    diverse = claim("distinct-l-diversity", "s", by=names, l=2)
    evidence = dataclasses.replace(
        wanted.evidence, achieved=2, classes=2_000, rows=4_000, smallest_class=2
    )
    claims = [
        dataclasses.replace(wanted, evidence=evidence),
        dataclasses.replace(diverse, evidence=dataclasses.replace(evidence, achieved=1)),
    ]

    found = verify(make(frame, claims, roles=roles).path)

    assert [each.classes for each in found.claims] == [2_000, 2_000]
    assert [each.counted for each in found.claims] == [2, 1]
    assert [each.holds for each in found.claims] == [True, False]


def test_weaknesses_are_named(release, claim):
    frame = frame_of(["flu", None, "flu", None], n=[1, 2, 3, 4])
    folder = release(frame, claims=[claim("k-anonymity", k=4)])

    found = verify(folder.as_first_version().path)

    assert found.holds
    said = " ".join(found.weaknesses)
    assert "No claim bounds what a class reveals of the sensitive columns 'ill'" in said
    assert "'n' are released as insensitive" in said


@pytest.mark.slow
def test_the_verifier_loads_nothing_that_made_the_release(release):
    folder = release()
    code = (
        "import sys; from halfmask.verifier import verify; verify(sys.argv[1]).raise_if_broken();"
        "bad = [m for m in sys.modules if m.startswith(('halfmask.kernels', 'halfmask.guarantees',"
        "'halfmask.anonymize', 'halfmask.engines', 'halfmask.assess', 'halfmask.data', 'numba',"
        "'sklearn', 'pydantic'))]; assert not bad, bad"
    )

    subprocess.run([sys.executable, "-c", code, str(folder.path)], check=True)


def test_a_compressed_text_file_is_not_the_stated_one(release):
    folder = release(fmt="csv")
    folder.parts[0].write_bytes(gzip.compress(folder.parts[0].read_bytes()))

    assert "Data file 1 can't be read: it is compressed" in problems(folder)
