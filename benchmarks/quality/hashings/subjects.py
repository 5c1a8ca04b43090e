"""The tables that are hashed and learnt from: rows, what is to be predicted, how to hash them."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import workloads
from quality.hashings.tables import CRITEO, SHARED

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["BINARY", "CLASSES", "NUMBERS", "Subject", "present"]

#: What is known of a loan when it is given; the rest is how it went.
_AT_ISSUE = (
    "loan_amnt", "term", "int_rate", "installment", "grade", "sub_grade", "emp_title",
    "emp_length", "home_ownership", "annual_inc", "verification_status", "issue_d", "purpose",
    "title", "zip_code", "addr_state", "dti", "delinq_2yrs", "earliest_cr_line", "fico_range_low",
    "inq_last_6mths", "mths_since_last_delinq", "mths_since_last_record", "open_acc", "pub_rec",
    "revol_bal", "revol_util", "total_acc", "pub_rec_bankruptcies",
)  # fmt: skip
#: Who isn't logged in has an IP address for a name and a place by it, and can't mark what he does
#: as minor or be a registered robot: those columns would say the answer.
_OF_AN_EDIT = (
    "channel", "namespace", "page", "comment", "delta", "added", "deleted", "isNew",
    "isUnpatrolled",
)  # fmt: skip
_LOANS = SHARED / "lending_club_2007_2011.csv.gz"
_EDITS = SHARED / "wikiticker-2015-09-12-sampled.json.gz"
_NURSERY = SHARED / "nursery.csv"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subject:
    """A table to learn from.

    Parameters
    ----------
    name
        What it is called in tables.
    table
        What is hashed, in the order of the file.
    labels
        ``int32`` codes, or ``float32`` numbers.
    said
        What `KeyedHasher` is told of the columns.
    """

    name: str
    table: pl.DataFrame
    labels: NDArray[Any]
    said: dict[str, Any] = field(default_factory=dict)

    @property
    def classes(self) -> int:
        return max(2, int(self.labels.max()) + 1) if self.labels.dtype == np.int32 else 2

    def shuffled(self, order: int) -> Subject:
        """Return the rows in the order of a number; 0 is the file's."""
        if not order:
            return self
        places = np.random.default_rng(order).permutation(len(self.labels))
        return replace(self, table=self.table[places], labels=self.labels[places])

    def head(self, rows: int) -> Subject:
        return replace(self, table=self.table.head(rows), labels=self.labels[:rows])


def criteo() -> Subject:
    table = pl.read_csv(CRITEO)
    labels = table["label"].to_numpy().astype(np.int32)
    return Subject(name="Criteo", table=table.drop("label", "split"), labels=labels)


def adult() -> Subject:
    table = _adult()
    labels = (table["income"] == ">50K").to_numpy().astype(np.int32)
    return Subject(name="Adult", table=table.drop("income"), labels=labels)


def loans() -> Subject:
    table = _loans()
    labels = (table["loan_status"] == "Charged Off").to_numpy().astype(np.int32)
    return Subject(name="Lending Club", table=table.select(_AT_ISSUE), labels=labels)


def edits() -> Subject:
    table = _edits()
    labels = table["isAnonymous"].to_numpy().astype(np.int32)
    said = {"text": ("comment",)}
    return Subject(name="Wikipedia", table=table.select(_OF_AN_EDIT), labels=labels, said=said)


def hours() -> Subject:
    """Hours a week, in units of their standard deviation."""
    table = _adult()
    labels = _in_deviations(table["hours-per-week"])
    return Subject(name="Adult: hours", table=table.drop("hours-per-week"), labels=labels)


def interest() -> Subject:
    """The interest of loans, in units of its standard deviation; grades would say it."""
    table = _loans()
    hidden = {"int_rate", "grade", "sub_grade", "installment"}
    known = [name for name in _AT_ISSUE if name not in hidden]
    labels = _in_deviations(table["int_rate"])
    return Subject(name="Lending Club: interest", table=table.select(known), labels=labels)


def places() -> Subject:
    """Recommendations of a nursery school, five classes."""
    table = pl.read_csv(_NURSERY, infer_schema=False)
    # The file is in the order of its columns: nothing can be learnt from it row by row.
    table = table.sample(fraction=1.0, shuffle=True, seed=0)
    return Subject(name="Nursery", table=table.drop("class"), labels=_codes(table["class"]))


def grades() -> Subject:
    """The grades of loans, seven classes, without what follows from them."""
    table = _loans()
    hidden = {"int_rate", "grade", "sub_grade", "installment"}
    known = [name for name in _AT_ISSUE if name not in hidden]
    labels = _codes(table["grade"])
    return Subject(name="Lending Club: grade", table=table.select(known), labels=labels)


def channels() -> Subject:
    """Which Wikipedia was edited, the 20 with most edits, from the rest of an edit."""
    table = _edits()
    often = table["channel"].value_counts(sort=True)["channel"].head(20)
    table = table.filter(pl.col("channel").is_in(often.to_list()))
    known = [name for name in _OF_AN_EDIT if name != "channel"]
    labels = _codes(table["channel"])
    said = {"text": ("comment",)}
    return Subject(name="Wikipedia: channel", table=table.select(known), labels=labels, said=said)


BINARY: tuple[Callable[[], Subject], ...] = (criteo, adult, loans, edits)
NUMBERS: tuple[Callable[[], Subject], ...] = (hours, interest)
CLASSES: tuple[Callable[[], Subject], ...] = (places, grades, channels)


def present(makers: tuple[Callable[[], Subject], ...]) -> tuple[list[Subject], list[str]]:
    """Return the subjects whose files are there, and the names of the functions of the others."""
    found, gone = [], []
    for make in makers:
        try:
            found.append(make())
        except FileNotFoundError:
            gone.append(make.__name__)
    return found, gone


def _adult() -> pl.DataFrame:
    table = pl.read_csv(workloads.ADULT_CSV)
    return table.drop([name for name in ("split", "education-num") if name in table.columns])


def _loans() -> pl.DataFrame:
    table = pl.read_csv(_LOANS, infer_schema_length=None)
    return table.filter(pl.col("loan_status").is_in(["Fully Paid", "Charged Off"]))


def _edits() -> pl.DataFrame:
    return pl.read_ndjson(gzip.decompress(_EDITS.read_bytes()))


def _codes(column: pl.Series) -> NDArray[np.int32]:
    return column.cast(pl.String).rank("dense").to_numpy().astype(np.int32) - 1


def _in_deviations(column: pl.Series) -> NDArray[np.float32]:
    numbers = column.cast(pl.Float64).to_numpy()
    scaled: NDArray[np.float32] = (numbers / numbers.std()).astype(np.float32)
    return scaled
