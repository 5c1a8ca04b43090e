"""assess_robustness: train an estimator plainly and with defences, and attack each model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl
from sklearn.base import is_regressor
from sklearn.metrics import accuracy_score, r2_score

from halfmask._errors import DataError, ParameterError
from halfmask._progress import Progress, silent
from halfmask._validation import integer_at_least, number_between
from halfmask.anonymize.given_rows import as_array, columns_of_array, is_frame
from halfmask.assess._risk import row_text
from halfmask.assess.attacks._inputs import check_columns
from halfmask.assess.hardening._assessed import AssessedModel
from halfmask.assess.hardening._assessment import RobustnessAssessment
from halfmask.assess.hardening._learners import learners_of
from halfmask.assess.robustness import cost_to_flip, suspect_blocks, suspect_labels
from halfmask.assess.robustness._black_box import predictions
from halfmask.data import to_polars
from halfmask.data.arrays import table_like
from halfmask.training import PartitionedClassifier

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halfmask.assess._arrays import Bools, Ints, Model, Rows, Values
    from halfmask.assess.attacks._targets import Train
    from halfmask.assess.robustness import AttackerBudget
    from halfmask.assess.robustness._defences import Labelled

OWNER = "assess_robustness"
#: A column of groups has at most so many; every table has so many blocks of rows.
MOST_GROUPS, BLOCKS = 20, 10
#: So many suspicious rows are named.
NAMED = 10


def assess_robustness(  # noqa: PLR0913 # keyword-only, each with a default
    estimator: Model,
    rows: Rows,
    labels: Rows,
    *,
    budget: AttackerBudget,
    difference: float | None = None,
    shares: Sequence[float] = (0.01, 0.05, 0.1, 0.2),
    partitions: int | None = 101,
    hardened: bool = True,
    k: int | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    held_out: float = 0.25,
    groups: str | None = None,
    attacked_rows: int = 1_000,
    random_state: int = 0,
    progress: Progress = silent,
) -> RobustnessAssessment:
    """Train an estimator plainly and with defences, and attack each model.

    Parameters
    ----------
    estimator
        A scikit-learn estimator with all preprocessing in its pipeline; it is cloned. It gets
        frames of polars.
    rows, labels
        A frame of any library, or an array, whose columns are called x0, x1, ...; and its labels.
    budget
        What an attacker may change of a row that is predicted.
    difference
        By how much a predicted number must change; regressors need it.
    shares
        The shares of hostile training rows that poisoning is tried with.
    partitions
        How many models vote in the partitioned defence; ``None``: without it, as for regressors.
    hardened
        Whether a model is trained on changed rows, too.
    k, quasi_identifiers
        Also train on classes of so many people by these columns; ``None``: without it, and all.
    held_out
        The share of rows that no model is trained on.
    groups
        A column of groups, such as a sex, whose costs are compared.
    attacked_rows
        Costs are found of so many held-out rows at most.
    random_state
        The seed of everything.
    progress
        Called with the name of each step and the fraction that is done.

    Returns
    -------
    RobustnessAssessment

    Raises
    ------
    ParameterError
        If an argument isn't as described above.
    DataError
        If rows or labels are missing, or a model can't be trained.
    """
    regresses = is_regressor(estimator)
    if regresses and difference is None:
        raise ParameterError(
            f"A regressor needs the 'difference' parameter of {OWNER}.",
            hint="Give by how much a predicted number must change to count as flipped.",
        )
    integer_at_least(0, owner=OWNER, random_state=random_state)
    integer_at_least(1, owner=OWNER, attacked_rows=attacked_rows)
    number_between(0, 1, owner=OWNER, low_open=True, high_open=True, held_out=held_out)
    for share in shares:
        number_between(0, 0.5, owner=OWNER, low_open=True, shares=share)
    case = _Case.of(rows, labels, held_out, random_state)
    names = () if groups is None else (groups,)
    check_columns(names, case.table.columns, where="the rows")
    budget = budget.for_rows(case.training[0])
    learners = learners_of(
        estimator,
        budget,
        partitions=None if regresses else partitions,
        hardened=hardened,
        k=k,
        quasi_identifiers=quasi_identifiers,
    )
    models = []
    for place, (name, learn) in enumerate(learners.items()):
        progress(name, place / (len(learners) + 1))
        models.append(case.assess(name, learn, budget, attacked_rows, difference, groups))
    progress("suspicious rows", len(learners) / (len(learners) + 1))
    found = RobustnessAssessment(
        rows=len(case.train),
        held_out_rows=len(case.test),
        scored_by="R²" if regresses else "accuracy",
        budget=budget,
        models=tuple(models),
        suspicious_rows=() if regresses else case.suspicious_rows(),
        suspicious_blocks=case.suspicious_blocks(learners["plain"]),
    )
    progress("done", 1.0)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """A table, its labels, the numbers of rows for training and of those held out, and the seed."""

    table: pl.DataFrame
    labels: Values
    train: Ints
    test: Ints
    seed: int

    @classmethod
    def of(cls, rows: Rows, labels: Rows, held_out: float, seed: int) -> Self:
        """Check rows and labels, and hold some of them out."""
        table = to_polars(rows) if is_frame(rows) else columns_of_array(table_like(rows))
        known = as_array(labels)
        if known.shape != (table.height,):
            raise ParameterError(
                f"labels must be one for each of {row_text(table.height)}. Got shape {known.shape}."
            )
        gaps = pl.Series(known, strict=False)
        if n := (gaps.fill_nan(None) if gaps.dtype.is_float() else gaps).null_count():
            raise DataError(f"Labels are missing in {row_text(n)}.")
        order = np.random.default_rng(seed).permutation(table.height)
        test, train = np.split(order, [round(held_out * table.height)])
        if not len(test) or len(train) < BLOCKS:
            raise DataError(f"{row_text(table.height)} are too few to hold some of them out.")
        return cls(table, known, np.sort(train), np.sort(test), seed)

    @property
    def training(self) -> Labelled:
        """The rows that models are trained on, with their labels."""
        return self.table[self.train], self.labels[self.train]

    @property
    def held_out(self) -> Labelled:
        """The rows that models are scored on, with their labels."""
        return self.table[self.test], self.labels[self.test]

    def assess(
        self,
        name: str,
        learn: Train,
        budget: AttackerBudget,
        attacked_rows: int,
        difference: float | None,
        groups: str | None,
    ) -> AssessedModel:
        """Train a model, score it, and find what it costs to flip what it predicts right."""
        (rows, labels), (others, true) = self.training, self.held_out
        model = learn(rows, labels, self.seed)
        predicted = predictions(model, others)
        is_right = np.ones(len(true), dtype=bool) if difference else predicted == true
        draw = np.random.default_rng(self.seed).permutation(np.flatnonzero(is_right))
        asked = np.sort(draw[:attacked_rows])
        costs = cost_to_flip(
            model,
            others[asked],
            budget,
            seen=rows,
            difference=difference,
            random_state=self.seed,
        )
        certified: tuple[float, ...] = ()
        if isinstance(model, PartitionedClassifier):
            survived = np.where(is_right, model.certified_rows(others), -1)
            certified = tuple(float((survived >= n).mean()) for n in range(survived.max() + 1))
        return AssessedModel(
            name=name,
            score=float((r2_score if difference else accuracy_score)(true, predicted)),
            costs=costs,
            parts={each: costs.of(it) for each, it in self._parts(asked, difference, groups)},
            certified=certified,
            attacks=None,
        )

    def _parts(
        self, asked: Ints, difference: float | None, groups: str | None
    ) -> Iterator[tuple[str, Bools]]:
        """Yield which of some held-out rows are of each class, and of each group."""
        columns = {} if difference else {"class": pl.Series(self.labels)}
        columns |= {} if groups is None else {f"{groups}: group": self.table[groups]}
        for word, cells in columns.items():
            values = cells.unique().sort()
            if len(values) > MOST_GROUPS:
                raise ParameterError(
                    f"A column of groups may have {MOST_GROUPS} values. Got {len(values):,} in "
                    f"{groups if groups in word else 'the labels'!r}."
                )
            own = cells.gather(self.test[asked])
            for place, value in enumerate(values):
                is_own = own.eq_missing(value).to_numpy()
                if is_own.any():
                    yield f"{word} {place + 1} of {len(values)}", is_own

    def suspicious_rows(self) -> tuple[int, ...]:
        """Return the numbers of the training rows whose neighbours have other labels."""
        return tuple(self.train[suspect_labels(*self.training).rows(NAMED)].tolist())

    def suspicious_blocks(self, learn: Train) -> tuple[tuple[int, int, float], ...]:
        """Return blocks of rows, and by how much the loss on held-out rows falls without each."""
        blocks = self.train * BLOCKS // self.table.height
        found = suspect_blocks(
            lambda rows, labels: learn(rows, labels, self.seed),
            self.training,
            self.held_out,
            blocks=blocks,
        )
        each, first = np.unique(blocks, return_index=True)
        edges = -(-np.arange(BLOCKS + 1) * self.table.height // BLOCKS)
        ends = zip(edges[each].tolist(), (edges[each + 1] - 1).tolist(), strict=True)
        lost = [(*of, float(score)) for of, score in zip(ends, found.scores[first], strict=True)]
        return tuple(sorted(lost, key=lambda it: -it[2]))
