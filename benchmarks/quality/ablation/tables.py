"""The tables of the ablation: small samples, with the columns that are known beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from ml_models.datasets import SHARED, adult, nursery

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows, what is predicted of them, and the quasi-identifiers."""

    name: str
    frame: pl.DataFrame
    target: NDArray[np.int64] | NDArray[np.float64]
    quasi_identifiers: tuple[str, ...]
    regression: bool = False


#: What Lending Club knows when a loan is asked for; the first fifteen are quasi-identifiers.
LOAN_NUMBERS = (
    *("annual_inc", "dti", "delinq_2yrs", "inq_last_6mths", "open_acc", "pub_rec", "revol_bal"),
    *("revol_util", "total_acc", "fico_range_low", "installment", "loan_amnt"),
)
LOAN_TEXTS = ("emp_length", "home_ownership", "addr_state")
LOAN_OTHERS = ("term", "int_rate", "issue_year", "verification_status", "purpose")
DIABETES_NUMBERS = (
    *("time_in_hospital", "num_lab_procedures", "num_procedures", "num_medications"),
    *("number_outpatient", "number_emergency", "number_inpatient", "number_diagnoses"),
)
DIABETES_TEXTS = ("race", "gender", "age", "admission_type_id", "admission_source_id")
DIABETES_OTHERS = ("insulin", "change", "diabetesMed", "A1Cresult", "discharge_disposition_id")


def _adult(qi: str) -> Table:
    found = adult()
    return Table(
        name=f"adult {qi}",
        frame=found.frame,
        target=found.labels,
        quasi_identifiers=found.qi_sets[qi],
    )


def _nursery() -> Table:
    found = nursery()
    return Table(
        name="nursery",
        frame=found.frame,
        target=found.labels,
        quasi_identifiers=found.qi_sets["8"],
    )


def _loans() -> Table:
    table = pl.read_csv(SHARED / "lending_club_2007_2011.csv.gz", infer_schema_length=None)
    table = table.filter(pl.col("loan_status").is_in(["Fully Paid", "Charged Off"]))
    numbers = (*LOAN_NUMBERS, *LOAN_OTHERS[:3])
    return Table(
        name="loans",
        frame=_typed(table, numbers, (*LOAN_TEXTS, *LOAN_OTHERS[3:])),
        target=table["loan_status"].eq("Charged Off").cast(pl.Int64).to_numpy(),
        quasi_identifiers=(*LOAN_NUMBERS, *LOAN_TEXTS),
    )


def _diabetes() -> Table:
    table = pl.read_csv(SHARED / "diabetes_130_hospitals.csv.gz", infer_schema_length=None)
    table = table.unique("patient_nbr", keep="first", maintain_order=True)
    return Table(
        name="diabetes",
        frame=_typed(table, DIABETES_NUMBERS, (*DIABETES_TEXTS, *DIABETES_OTHERS)),
        target=table["readmitted"].ne("NO").cast(pl.Int64).to_numpy(),
        quasi_identifiers=(*DIABETES_NUMBERS, *DIABETES_TEXTS),
    )


def _bikes() -> Table:
    path = SHARED / "timeseries" / "bike_sharing_hour.csv.gz"
    table = pl.read_csv(path, infer_schema_length=None)
    numbers = ("hr", "mnth", "yr", "temp", "atemp", "hum", "windspeed", "workingday")
    texts = ("weekday", "weathersit", "season")
    return Table(
        name="bikes",
        frame=_typed(table, numbers, texts),
        target=(table["cnt"] > table["cnt"].median()).cast(pl.Int64).to_numpy(),
        quasi_identifiers=(*numbers, *texts),
    )


def _houses() -> Table:
    table = pl.read_csv(SHARED / "geo" / "california_housing.csv").drop_nulls()
    numbers = tuple(name for name in table.columns[:8])
    return Table(
        name="houses",
        frame=_typed(table, numbers, ("ocean_proximity",)),
        target=np.log(table["median_house_value"].to_numpy()),
        quasi_identifiers=(*numbers, "ocean_proximity"),
        regression=True,
    )


def _typed(table: pl.DataFrame, numbers: tuple[str, ...], texts: tuple[str, ...]) -> pl.DataFrame:
    return table.select(
        *(pl.col(name).cast(pl.Float64).fill_null(-1.0) for name in numbers),
        *(pl.col(name).cast(pl.String).fill_null("missing") for name in texts),
    )


#: Bikes and houses are the two that training was never tuned on; nor was diabetes.
TABLES: dict[str, Callable[[], Table]] = {
    "adult 12": lambda: _adult("12"),
    "loans": _loans,
    "diabetes": _diabetes,
    "nursery": _nursery,
    "adult 8": lambda: _adult("8"),
    "bikes": _bikes,
    "houses": _houses,
}
