"""Adult for models that are attacked: five numbers in [0, 1], or all columns with categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import workloads
from halfmask.assess.robustness import AttackerBudget, ColumnBudget

if TYPE_CHECKING:
    from numpy.typing import NDArray

NUMBERS = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
#: So many rows are learned from, of an order that is drawn: figures known before are of these.
TRAINED = 30_000


@dataclass(frozen=True, kw_only=True)
class Split:
    """Rows and labels to learn from, and further ones."""

    rows: pl.DataFrame
    labels: NDArray[np.int64]
    held: pl.DataFrame
    truth: NDArray[np.int64]

    def score(self, model: Any) -> float:  # noqa: ANN401 # scikit-learn's
        """Return the accuracy on the further rows."""
        return float((model.predict(self.held) == self.truth).mean())


def adult(seed: int, *, numbers_only: bool) -> Split:
    """Return Adult: its five numbers, scaled by their ranges, or all its columns."""
    table = pl.read_csv(workloads.ADULT_CSV)
    table = table[np.random.default_rng(seed).permutation(table.height)]
    labels = workloads.label_codes(table)
    rows = table.drop("income", "split", "fnlwgt")
    if numbers_only:
        rows = rows.select(pl.col(NUMBERS).cast(pl.Float64))
        rows = rows.select((pl.all() - pl.all().min()) / (pl.all().max() - pl.all().min()))
    return Split(
        rows=rows[:TRAINED], labels=labels[:TRAINED], held=rows[TRAINED:], truth=labels[TRAINED:]
    )


def unit_budget(most: float = 0.05) -> AttackerBudget:
    """Return a budget of the five numbers: each may be moved within [0, 1]."""
    columns = {name: ColumnBudget(low=0.0, high=1.0, cost=1.0) for name in NUMBERS}
    return AttackerBudget(columns=columns, most=most)


def piped(model: Any, rows: pl.DataFrame) -> Any:  # noqa: ANN401 # scikit-learn's
    """Return a pipeline of scaled numbers, one column a category, and a copy of the model."""
    numbers = [name for name, kind in rows.schema.items() if kind.is_numeric()]
    words = [name for name in rows.columns if name not in numbers]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    before = make_column_transformer((StandardScaler(), numbers), (encoder, words))
    return make_pipeline(before, clone(model))
