"""The tables of `synthetic.py`: which columns, in which form, and how rows are parted.

A part of the script; not run by itself. Every synthesizer gets the same file: numbers, and
categories as text; missing cells are empty. Dates are numbers of months, so that no peer has to
guess a format.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY.parent / "shared" / "data"
#: Known when a loan is made. Free texts and what is known later are left out.
LOANS = (
    *("loan_amnt", "funded_amnt", "funded_amnt_inv", "term", "int_rate", "installment", "grade"),
    *("sub_grade", "emp_length", "home_ownership", "annual_inc", "verification_status"),
    *("issue_d", "purpose", "zip_code", "addr_state", "dti", "delinq_2yrs", "earliest_cr_line"),
    *("fico_range_low", "fico_range_high", "inq_last_6mths", "mths_since_last_delinq"),
    *("mths_since_last_record", "open_acc", "pub_rec", "revol_bal", "revol_util", "total_acc"),
    *("pub_rec_bankruptcies",),
)
#: python-synthpop takes hours for all diabetes rows, with 700 diagnoses in each of three columns.
MOST_ROWS = {"diabetes": 20_000}
CODES = ("admission_type_id", "discharge_disposition_id", "admission_source_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Halves:
    """A table in two parts: rows to learn from, and rows that are held back.

    Parameters
    ----------
    name
        The table's name.
    label
        The column that models predict.
    learnt, held_back
        The rows.
    """

    name: str
    label: str
    learnt: pl.DataFrame
    held_back: pl.DataFrame


def adult() -> tuple[pl.DataFrame, str, str | None]:
    return pl.read_csv(DATA / "adult.csv", null_values="?").drop("split"), "income", None


def diabetes() -> tuple[pl.DataFrame, str, str | None]:
    table = pl.read_csv(
        DATA / "diabetes_130_hospitals.csv.gz", null_values="?", infer_schema_length=None
    )
    varying = [each.name for each in table if each.n_unique() > 1]
    table = table.select(varying).drop("encounter_id")
    return table.with_columns(pl.col(CODES).cast(pl.String)), "readmitted", "patient_nbr"


def loans() -> tuple[pl.DataFrame, str, str | None]:
    table = pl.read_csv(DATA / "lending_club_2007_2011.csv.gz", infer_schema_length=None)
    months = [
        (pl.col(name).str.to_date().dt.year().cast(pl.Int64) * 12 - 1)
        + pl.col(name).str.to_date().dt.month()
        for name in ("issue_d", "earliest_cr_line")
    ]
    bad = pl.col("loan_status").str.contains("Charged Off")
    label = pl.when(bad).then(pl.lit("yes")).otherwise(pl.lit("no")).alias("charged_off")
    return table.with_columns(months).select(*LOANS, label), "charged_off", None


TABLES = {"adult": adult, "diabetes": diabetes, "loans": loans}


def halves(name: str, seed: int, *, rows: int | None = None) -> Halves:
    """Return a table parted at random, a person's rows in one part.

    Parameters
    ----------
    name
        The table.
    seed
        What it is parted by.
    rows
        How many rows are parted; ``None``: all, or `MOST_ROWS`.
    """
    table, label, person = TABLES[name]()
    rng = np.random.default_rng(seed)
    rows = MOST_ROWS.get(name) if rows is None else rows
    if rows is not None:
        table = table[rng.permutation(table.height)[:rows]]
    owners = np.arange(table.height) if person is None else table[person].to_numpy()
    people = np.unique(owners)
    chosen = np.isin(owners, rng.choice(people, len(people) // 2, replace=False))
    table = table if person is None else table.drop(person)
    return Halves(
        name=name,
        label=label,
        learnt=table.filter(pl.Series(chosen)),
        held_back=table.filter(pl.Series(~chosen)),
    )
