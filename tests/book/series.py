"""Six months of a table in which people come and go, and how they are released by the book."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from book.independent_count import read_people  # type: ignore[import-not-found] # beside
from halfmask import GuaranteeNotMetError, protect
from halfmask.microdata import Policy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from book.independent_count import People
    from halfmask.vault import Vault

#: Months of odd numbers go to the first, the others to the second.
RECEIVERS = ("university", "registry")
DECADES = [[f"[{age}-{age + 10})"] for age in range(0, 100, 10)]


@dataclass(frozen=True, kw_only=True)
class Series:
    """The tables of all months, and what is asked of each of them.

    ``row`` names the column that is released unchanged: it says which row of the table a released
    row is, so that it can be counted whose it is.
    """

    months: Sequence[pl.DataFrame]
    columns: dict[str, dict[str, Any]]
    person: str
    row: str
    value: str
    k: int

    @property
    def quasi_identifiers(self) -> list[str]:
        return [name for name, it in self.columns.items() if it["role"] == "quasi_identifier"]

    def policy(self, month: int | None = None, **book: Any) -> Policy:
        """Return the policy of a month; without a month, one without the book."""
        sections: dict[str, Any] = {}
        if month is not None:
            receiver = RECEIVERS[month % 2]
            sections["book"] = {"dataset": "series", "receiver": receiver, "min_k": 5}
            sections["book"] |= {"person": self.person, **book}
        return Policy(
            halfmask=1,
            columns=self.columns,
            guarantees=[{"model": "k-anonymity", "k": self.k}],
            output={"format": "csv"},
            **sections,
        )

    def release(self, folder: Path, vault: Vault, *, reuse: bool, **book: Any) -> int | None:
        """Release months into folders 1, 2, ...; return the first month that is refused."""
        for month, table in enumerate(self.months):
            asked = {"reuse": "last", **book} if reuse and month else book
            try:
                release = protect(table, self.policy(month, **asked), vault=vault)
                release.write(folder / f"{month + 1}")
            except GuaranteeNotMetError:
                return month + 1
        return None

    def read(self, folder: Path) -> dict[int, People]:
        """Return the people of each release, by its month."""
        whose = {
            str(row): person
            for table in self.months
            for row, person in table.select(self.row, self.person).iter_rows()
        }
        return {
            int(each.name): read_people(
                each,
                whose,
                row=self.row,
                quasi_identifiers=self.quasi_identifiers,
                value=self.value,
            )
            for each in sorted(folder.glob("*[0-9]"), key=lambda it: int(it.name))
        }


def diabetes(shared: Path, n_months: int = 6) -> Series:
    """Return the patients of US hospitals, a sixth of the encounters in each month.

    `encounter_id` is in the order of time. A patient has one row a month: the last.
    """
    columns: dict[str, dict[str, Any]] = {
        "encounter_id": {"role": "insensitive", "kind": "numeric"},
        "patient_nbr": {"role": "identifier"},
        "age": {"role": "quasi_identifier", "kind": "ordinal", "hierarchy": {"order": DECADES}},
        "gender": {"role": "quasi_identifier", "kind": "categorical"},
        "race": {"role": "quasi_identifier", "kind": "categorical"},
        "payer_code": {"role": "quasi_identifier", "kind": "categorical"},
        "diag_1": {"role": "sensitive", "kind": "categorical"},
    }
    rows = pl.read_csv(shared / "diabetes_130_hospitals.csv.gz", infer_schema=False)
    rows = rows.select(
        pl.col("encounter_id").cast(pl.Int64), *[name for name in columns if name != "encounter_id"]
    ).sort("encounter_id")
    ends = [rows.height * month // n_months for month in range(n_months + 1)]
    months = [rows[a:b] for a, b in pairwise(ends)]
    return Series(
        months=[
            month.unique("patient_nbr", keep="last", maintain_order=True).select(*columns)
            for month in months
        ],
        columns=columns,
        person="patient_nbr",
        row="encounter_id",
        value="diag_1",
        k=20,
    )


def invented(n_people: int = 1200, n_months: int = 6, seed: int = 0) -> Series:
    """Return invented patients: each comes for three months in a row, and some move."""
    draw = np.random.default_rng(seed)
    age, town = draw.integers(20, 90, n_people), draw.integers(0, 6, n_people)
    arrives = draw.integers(-2, n_months, n_people)
    months, first = [], 0
    for month in range(n_months):
        town = np.where(draw.random(n_people) < 0.01, draw.integers(0, 6, n_people), town)
        here = np.flatnonzero((arrives <= month) & (month < arrives + 3))
        months.append(
            pl.DataFrame(
                {
                    "visit": np.arange(first, first + len(here)),
                    "patient": [f"patient {each}" for each in here],
                    "age": age[here],
                    "town": [f"town {each}" for each in town[here]],
                    "illness": [f"illness {each}" for each in draw.integers(0, 9, len(here))],
                }
            )
        )
        first += len(here)
    return Series(
        months=months,
        columns={
            "visit": {"role": "insensitive", "kind": "numeric"},
            "patient": {"role": "identifier"},
            "age": {"role": "quasi_identifier", "kind": "numeric"},
            "town": {"role": "quasi_identifier", "kind": "categorical"},
            "illness": {"role": "sensitive", "kind": "categorical"},
        },
        person="patient",
        row="visit",
        value="illness",
        k=20,
    )
