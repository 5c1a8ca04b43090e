"""Releases as files of SPSS, Stata and Excel: every cell, codes and labels, and nothing else."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import polars as pl
import pyreadstat
import pytest

import halfmask as hm
from halfmask._errors import DataError, ParameterError, ReleaseError, SchemaError
from halfmask.data.io.workbook_file import write_workbook
from halfmask.microdata import Policy
from halfmask.verifier._workbook import read_workbook

TEXT = """
halfmask = 1
[output]
format = "FORMAT"
[columns]
age = { role = "quasi_identifier", kind = "numeric" }
sex = { role = "quasi_identifier", kind = "categorical" }
job-type = { role = "sensitive", kind = "categorical" }
answer = { role = "insensitive", kind = "categorical" }
born = { role = "insensitive", kind = "datetime" }
paid = { role = "insensitive", kind = "numeric" }
[[guarantees]]
model = "k-anonymity"
k = 4
"""
LABELS: dict[str, dict[int | float, str]] = {
    "sex": {1: "man", 2: "woman"},
    "job-type": {10: "nurse", 20: "smith", 30: "CANARY"},
    "answer": {1: "never", 2: "always", 9: "refused", 99: "CANARY"},
}


def people() -> pl.DataFrame:
    n = 40
    return pl.DataFrame(
        {
            "age": [20 + i % 19 for i in range(n)],
            "sex": [1 + i % 2 for i in range(n)],
            "job_type": [(10, 20)[i % 3 == 0] for i in range(n)],
            "answer": [None if i == 3 else (1, 2, 9, 5)[i % 4] for i in range(n)],
            "born": [dt.date(1950 + i, 1 + i % 12, 1 + i % 28) for i in range(n)],
            "paid": [None if i == 7 else i / 4 for i in range(n)],
        },
        schema_overrides={"answer": pl.Int32, "sex": pl.Int32, "job_type": pl.Int32},
    )


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Path:
    """A survey with labels, as an office has it."""
    path: Path = tmp_path_factory.mktemp("office") / "survey.sav"
    pyreadstat.write_sav(
        people(),
        path,
        column_labels={"sex": "Sex of the person", "age": "Age in years"},
        variable_value_labels={name.replace("-", "_"): each for name, each in LABELS.items()},
    )
    return path


@pytest.fixture(scope="module", params=["csv", "parquet"])
def folder(request, survey, tmp_path_factory) -> Path:
    text = TEXT.replace("FORMAT", request.param).replace("job-type", "job_type")
    out: Path = tmp_path_factory.mktemp(request.param) / "out"
    hm.protect(survey, Policy.from_toml(text), key=bytes(32)).write(out)
    return out


def cells(frame: pl.DataFrame) -> dict[str, list[Any]]:
    """The cells of a release, its suppressed ones missing."""
    return {
        name: [None if it == "*" else it for it in frame[name].to_list()] for name in frame.columns
    }


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_codes_and_labels_come_back_and_every_cell_is_that_of_the_release(
    folder, survey, tmp_path, ending
):
    file = tmp_path / f"out{ending}"
    hm.export_release(folder, file, labels=survey)

    read: Any = pyreadstat.read_sav if ending == ".sav" else pyreadstat.read_dta
    found, about = read(str(file), output_format="dict")
    released = cells(hm.read_release(folder, ranges="text", sets="text"))
    assert list(found) == list(released)
    assert about.column_names_to_labels["sex"] == "Sex of the person"
    for name in ("born", "paid"):
        assert list(found[name]) == released[name]
    jobs = about.variable_value_labels["job_type"]
    assert jobs == {10: "nurse", 20: "smith"}  # none for a code that nobody has
    assert [jobs.get(it) for it in found["job_type"]] == released["job_type"]
    assert list(found["answer"]) == released["answer"]
    assert about.variable_value_labels["answer"] == {1: "never", 2: "always", 9: "refused"}
    assert [it or None for it in found["age"]] == released["age"]  # ranges are texts
    assert hm.verify(folder, also=file).holds


def test_excel_has_codes_and_labels_side_by_side(folder, survey, tmp_path):
    file = tmp_path / "out.xlsx"
    hm.export_release(folder, file, labels=survey)

    head, *rows = read_workbook(file)
    released = cells(hm.read_release(folder, ranges="text", sets="text"))
    at = head.index("job_type")
    assert head[at + 1] == "job_type_label"
    assert [row[at + 1] for row in rows] == released["job_type"]
    assert {(row[at], row[at + 1]) for row in rows} == {(10.0, "nurse"), (20.0, "smith")}
    assert hm.verify(folder, also=file).holds


def changed(file: Path, where: Path, change: Any) -> Path:
    """A copy of an exported file in which something is another."""
    found, about = pyreadstat.read_sav(str(file), output_format="polars")
    labels = about.variable_value_labels
    options: dict[str, Any] = {"variable_value_labels": labels, "note": None}
    found = change(found, options)
    pyreadstat.write_sav(found, where, **options)
    return where


CHANGES: dict[str, tuple[Any, str]] = {
    "a cell": (
        lambda it, _: it.with_columns(
            paid=pl.when(pl.int_range(40) == 5).then(-1.0).otherwise("paid")
        ),
        "other cells in column 'paid'",
    ),
    "a cell by little": (
        lambda it, _: it.with_columns(
            paid=pl.when(pl.int_range(40) == 5).then(pl.col("paid") + 1e-6).otherwise("paid")
        ),
        "other cells in column 'paid'",
    ),
    "a missing cell": (
        lambda it, _: it.with_columns(
            paid=pl.when(pl.int_range(40) == 5).then(None).otherwise("paid")
        ),
        "other cells in column 'paid'",
    ),
    "a row": (lambda it, _: it.head(39), "other rows"),
    "a column": (lambda it, _: it.with_columns(ssn=pl.lit(1.0)), "other columns"),
    "a name": (lambda it, _: it.rename({"paid": "owed"}), "other columns"),
    "a label": (
        lambda it, more: [it, more["variable_value_labels"]["job_type"].update({30: "CANARY"})][0],
        "labels in column 'job_type' that no cell has",
    ),
    "another label": (
        lambda it, more: [it, more["variable_value_labels"]["job_type"].update({10: "smith"})][0],
        "other cells in column 'job_type'",
    ),
    "a note": (lambda it, more: [it, more.update(note="CANARY")][0], "notes, a title"),
    "a declared missing value in the place of a missing one": (
        lambda it, more: [
            it.with_columns(pl.col("paid").fill_null(-7.0)),
            more.update(missing_ranges={"paid": [-7]}),
        ][0],
        "declared missing values",
    ),
}


@pytest.mark.parametrize("what", list(CHANGES))
def test_a_file_that_differs_from_the_release_is_found(folder, survey, tmp_path, what):
    file = tmp_path / "out.sav"
    hm.export_release(folder, file, labels=survey)
    change, said = CHANGES[what]

    found = hm.verify(folder, also=changed(file, tmp_path / "changed.sav", change))

    assert not found.holds
    assert any(said in problem for problem in found.problems), found.problems
    assert "CANARY" not in " ".join(found.problems)


def test_letters_in_the_place_of_missing_cells_of_stata_are_found(folder, survey, tmp_path):
    file, changed_file = tmp_path / "out.dta", tmp_path / "changed.dta"
    hm.export_release(folder, file, labels=survey)
    found, about = pyreadstat.read_dta(str(file))
    found["paid"] = found["paid"].astype(object).where(found["paid"].notna(), "b")  # .b in Stata
    pyreadstat.write_dta(
        found,
        str(changed_file),
        variable_value_labels=about.variable_value_labels,
        missing_user_values={"paid": ["b"]},
    )

    assert not hm.verify(folder, also=changed_file).holds


@pytest.mark.parametrize("code", [1, None])
def test_a_label_next_to_some_rows_of_a_code_is_found(tmp_path, code):
    people_ = pl.DataFrame({"age": [30] * 8, "sex": [1, 2, None, 1, 2, None, 1, 2]})
    hm.protect(people_, quasi_identifiers=["age"], sensitive=["sex"], k=2).write(tmp_path / "out")
    rows = hm.read_release(tmp_path / "out")
    some = (pl.col("sex").eq_missing(code)).cum_sum().eq(1) & pl.col("sex").eq_missing(code)
    texts = pl.when(some).then(pl.lit("CANARY")).alias("sex_label")
    write_workbook(rows.with_columns(texts), tmp_path / "out.xlsx")

    assert "other labels" in hm.verify(tmp_path / "out", also=tmp_path / "out.xlsx").problems[0]


def test_without_labels_texts_stay_texts_and_names_are_made_valid(tmp_path):
    people_ = people().rename({"job_type": "job-type"})
    texts = people_.with_columns(pl.col("job-type").replace_strict({10: "=nurse", 20: "smith"}))
    hm.protect(
        texts,
        quasi_identifiers=["age"],
        sensitive=["job-type", "sex", "answer", "born", "paid"],
        k=3,
    ).write(tmp_path / "out")

    for ending in (".sav", ".dta", ".xlsx"):
        hm.export_release(tmp_path / "out", tmp_path / f"out{ending}")
        assert hm.verify(tmp_path / "out", also=tmp_path / f"out{ending}").holds
    found, about = pyreadstat.read_sav(str(tmp_path / "out.sav"), output_format="dict")
    assert set(found["job_type"]) == {"=nurse", "smith"}
    assert about.column_names_to_labels["job_type"] == "job-type"


@pytest.mark.parametrize(
    ("column", "error", "said"),
    [
        (pl.Series([f"blank {i % 2} " for i in range(8)]), ReleaseError, "other cells"),
        (pl.Series([2**53 + 1 + i % 2 for i in range(8)]), DataError, r"above 2\*\*53"),
        (pl.Series("x" * 40, [i % 2 for i in range(8)]), SchemaError, "too long"),
        (pl.Series("if", [i % 2 for i in range(8)]), ReleaseError, "can't be written as .dta"),
        (pl.Series("ag_e", [i % 2 for i in range(8)]), SchemaError, "one name"),
    ],
    ids=["blanks", "large", "long", "taken", "names"],
)
def test_what_a_file_can_not_hold_is_refused(tmp_path, column, error, said):
    name = column.name or "extra"
    table = pl.DataFrame({"ag-e": list(range(8)), name: column})
    hm.protect(table, quasi_identifiers=["ag-e"], sensitive=[name], k=2).write(tmp_path / "out")
    ending = ".sav" if "other cells" in said else ".dta"

    with pytest.raises(error, match=said):
        hm.export_release(tmp_path / "out", tmp_path / f"out{ending}")

    assert not (tmp_path / f"out{ending}").exists()


@pytest.mark.slow
@pytest.mark.real_data
def test_a_survey_of_households_comes_back_in_each_format(shared_data, tmp_path):
    table = pl.read_csv(shared_data / "sdc" / "testdata.csv")
    policy = Policy(
        halfmask=1,
        columns={
            "age": {"role": "quasi_identifier", "kind": "numeric"},
            "sex": {"role": "quasi_identifier", "kind": "categorical"},
            "urbrur": {"role": "quasi_identifier", "kind": "categorical"},
            "income": {"role": "insensitive", "kind": "numeric"},
        },
        guarantees=[{"model": "k-anonymity", "k": 5}],
    )
    table = table.select(list(policy.columns))
    hm.protect(table, policy).write(tmp_path / "out")
    for ending in (".sav", ".dta", ".xlsx"):
        hm.export_release(tmp_path / "out", tmp_path / f"out{ending}")
        assert hm.verify(tmp_path / "out", also=tmp_path / f"out{ending}").holds
    incomes = pyreadstat.read_sav(str(tmp_path / "out.sav"), output_format="polars")[0]["income"]
    assert sorted(incomes.drop_nulls()) == sorted(table["income"].drop_nulls())


def test_other_names_and_files_that_are_there_are_refused(folder, tmp_path):
    with pytest.raises(ParameterError, match="another format"):
        hm.export_release(folder, tmp_path / "out.rds")
    with pytest.raises(ParameterError, match="another format"):
        hm.verify(folder, also=tmp_path / "out.rds")
    (tmp_path / "out.sav").write_text("mine")
    with pytest.raises(ReleaseError, match="exists already"):
        hm.export_release(folder, tmp_path / "out.sav")
    hm.export_release(folder, tmp_path / "out.sav", overwrite=True)


def test_a_workbook_has_dates_as_days_and_the_same_bytes(tmp_path):
    frame = pl.DataFrame(
        {"day": [dt.date(2020, 2, 29), None], "at": [dt.datetime(2020, 2, 29, 12), None]}  # noqa: DTZ001
    )
    for name in ("a.xlsx", "b.xlsx"):
        write_workbook(frame, tmp_path / name)
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
    assert read_workbook(tmp_path / "a.xlsx")[1] == [43890.0, 43890.5]
