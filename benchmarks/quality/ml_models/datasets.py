"""The tables, their attributes, their labels and their quasi-identifiers (the paper's table 4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

REPOSITORY = Path(__file__).resolve().parents[3]
SHARED = REPOSITORY.parent / "shared" / "data"
OWN_ADULT = REPOSITORY / "examples" / "adult" / "adult.csv"
SPLIT = (0.4, 0.4, 0.2)  # to train the model and be anonymized; held back; to test

Labels: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A table without missing cells, its label as 0, 1, ..., and its sets of quasi-identifiers.

    Parameters
    ----------
    name
        How it is called in results.
    frame
        The attributes used; numbers are floats, categories texts.
    labels
        The label of each row.
    numeric, categorical
        The attributes by kind.
    qi_sets
        Quasi-identifiers by the name of their set, which is how many the paper has.
    notes
        Where it isn't the paper's data.
    """

    name: str
    frame: pl.DataFrame
    labels: Labels
    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    qi_sets: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The three parts of one draw of the rows."""

    train: pl.DataFrame
    y_train: Labels
    held_back: pl.DataFrame
    y_held_back: Labels
    test: pl.DataFrame
    y_test: Labels


def split(dataset: Dataset, seed: int, most_rows: int | None = None) -> Split:
    """Part the rows 40/40/20 at random; of `most_rows` drawn if given."""
    order = np.random.default_rng([seed, 2020]).permutation(dataset.frame.height)[:most_rows]
    first = round(SPLIT[0] * len(order))
    second = first + round(SPLIT[1] * len(order))
    parts = np.split(order, [first, second])
    frames = [dataset.frame[part] for part in parts]
    labels = [dataset.labels[part] for part in parts]
    return Split(
        train=frames[0],
        y_train=labels[0],
        held_back=frames[1],
        y_held_back=labels[1],
        test=frames[2],
        y_test=labels[2],
    )


def adult() -> Dataset:
    """Adult: 12 of its 14 attributes, as in the paper (`fnlwgt` and `education` are left out)."""
    path = SHARED / "adult.csv"
    table = pl.read_csv(path if path.exists() else OWN_ADULT)
    numeric = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
    categorical = (
        "workclass",
        "marital-status",
        "occupation",
        "relationship",
        "race",
        "sex",
        "native-country",
    )
    ten = ("age", *categorical[:1], "education-num", *categorical[1:6], "hours-per-week")
    return Dataset(
        name="adult",
        frame=_typed(table, numeric, categorical),
        labels=_codes(table["income"]),
        numeric=numeric,
        categorical=categorical,
        qi_sets={
            "8": (*categorical, "education-num"),
            "10": (*ten, "native-country"),
            "12": (*numeric, *categorical),
        },
        notes=("48,842 rows as in the paper; `?` stays a category.",),
    )


LOAN_NUMERIC = (
    "loan_amnt",
    "funded_amnt",
    "funded_amnt_inv",
    "term",
    "int_rate",
    "installment",
    "annual_inc",
    "dti",
    "delinq_2yrs",
    "fico_range_low",
    "fico_range_high",
    "inq_last_6mths",
    "mths_since_last_delinq",
    "mths_since_last_record",
    "open_acc",
    "pub_rec",
    "revol_bal",
    "revol_util",
    "total_acc",
    "total_rec_int",
    "total_rec_late_fee",
    "last_fico_range_low",
    "last_fico_range_high",
    "last_pymnt_amnt",
    "collections_12_mths_ex_med",
    "acc_now_delinq",
    "chargeoff_within_12_mths",
    "delinq_amnt",
    "pub_rec_bankruptcies",
    "tax_liens",
    "issue_year",
)
LOAN_CATEGORICAL = (
    "grade",
    "sub_grade",
    "emp_length",
    "home_ownership",
    "verification_status",
    "purpose",
    "zip_code",
    "addr_state",
)
LOAN_NOTES = (
    "The vintage of 2007-2011 (42,535 loans), not the 421,095 of 2015 that the paper has.",
    "Rows: Fully Paid and Charged Off only (39,786); the label is which of the two.",
    "hardship_flag is constant here, so it is no attribute: 17 of 18 quasi-identifiers.",
    "annual_income is called annual_inc here; the other 16 have the paper's names.",
    "39 attributes; the paper's 43 aren't named.",
    "last_pymnt_amnt, one of the paper's quasi-identifiers, is known only after the loan has run.",
    "last_fico_range_*, total_rec_int and total_rec_late_fee, known as late, are attributes too.",
    "Without them NN is right in .86, where .857 are fully paid; the paper has .93 to .95.",
    "Left out as the label itself: total_pymnt* (with it NN is right in .98), total_rec_prncp,",
    "recoveries, collection_recovery_fee, debt_settlement_*.",
    "A missing number is -1 (no such event), a missing category `missing`.",
)


def loan() -> Dataset:
    """Lending Club, 2007 to 2011."""
    path = SHARED / "lending_club_2007_2011.csv.gz"
    table = pl.read_csv(path, infer_schema_length=None)
    table = table.filter(pl.col("loan_status").is_in(["Fully Paid", "Charged Off"]))
    return Dataset(
        name="loan",
        frame=_typed(table, LOAN_NUMERIC, LOAN_CATEGORICAL),
        labels=_codes(table["loan_status"]),
        numeric=LOAN_NUMERIC,
        categorical=LOAN_CATEGORICAL,
        qi_sets={
            "18": (
                "emp_length",
                "home_ownership",
                "annual_inc",
                "zip_code",
                "purpose",
                "dti",
                "delinq_2yrs",
                "inq_last_6mths",
                "mths_since_last_delinq",
                "open_acc",
                "total_acc",
                "mths_since_last_record",
                "pub_rec",
                "revol_bal",
                "revol_util",
                "last_pymnt_amnt",
                "installment",
            )
        },
        notes=LOAN_NOTES,
    )


def nursery() -> Dataset:
    """Nursery: all of its 8 attributes are quasi-identifiers."""
    table = pl.read_csv(SHARED / "nursery.csv", infer_schema=False)
    problematic = pl.col("social") == "problematic"
    table = table.filter(pl.col("class") != "recommend").with_columns(
        social=pl.when(problematic).then(pl.col("social")).otherwise(pl.lit("other"))
    )
    names = tuple(name for name in table.columns if name != "class")
    return Dataset(
        name="nursery",
        frame=_typed(table, (), names),
        labels=_codes(table["class"]),
        numeric=(),
        categorical=names,
        qi_sets={"8": names},
        notes=(
            "12,958 of the 12,960 rows: the class `recommend` has two, too few to learn from.",
            "`social` is `problematic` or not, as in the toolkit's notebook.",
            "A raw tree is right in .99 of test rows, in the paper's table 2 in .68. In the files",
            "that its authors published with ART's notebook `spec_prior` is numbered otherwise in",
            "test rows than in training, so that 31 % of them count as wrong: .99 - .31 = .68. The",
            "table's .74 at k = 100 can't be of such files.",
        ),
    )


DATASETS: dict[str, Callable[[], Dataset]] = {"adult": adult, "loan": loan, "nursery": nursery}


def missing_files() -> dict[str, str]:
    """Name the data sets whose file isn't here, with the file."""
    wanted = {"loan": "lending_club_2007_2011.csv.gz", "nursery": "nursery.csv"}
    return {name: file for name, file in wanted.items() if not (SHARED / file).exists()}


def _typed(
    table: pl.DataFrame, numeric: tuple[str, ...], categorical: tuple[str, ...]
) -> pl.DataFrame:
    return table.select(
        *(pl.col(name).cast(pl.Float64).fill_null(-1.0) for name in numeric),
        *(pl.col(name).cast(pl.String).fill_null("missing") for name in categorical),
    )


def _codes(label: pl.Series) -> Labels:
    """Number the labels in the order of their names."""
    codes: Labels = np.unique(label.to_numpy(), return_inverse=True)[1].astype(np.int64)
    return codes
