"""Changed rows: the share of rows that changes within a budget flip, and random ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask._foreign import foreign
from halfmask.assess.attacks._answers import (
    classes_of,
    is_regressor,
    pool_labels,
    predicted_codes,
    predicted_numbers,
)
from halfmask.assess.attacks._arms import SuccessCount
from halfmask.assess.attacks._attack import (
    EVERYONE,
    NOTHING,
    DeclaredAttack,
    given,
    required,
)
from halfmask.assess.attacks._rows import ARRAY, kind_of, some_rows, take_rows
from halfmask.assess.attacks._targets import ModelTarget
from halfmask.assess.robustness import change_randomly, cost_to_flip
from halfmask.assess.robustness._budget import are_within, as_columns
from halfmask.assess.robustness._features import map_features
from halfmask.data.frames import like

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.assess._arrays import Bools, Rows, Values
    from halfmask.assess.attacks._attack import Outcome
    from halfmask.assess.robustness import CostToFlip

LACKS_BUDGET: Final = "what may be changed of a row (budget)"
#: With fewer rows no bound is below the usual tolerance.
_NEEDED: Final = (100, "rows")
#: What the last attack on each target that lives found.
LAST_COSTS: WeakKeyDictionary[ModelTarget, CostToFlip] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class _Asked:
    """A target's model as a function from columns to numbers of classes, or to numbers."""

    target: ModelTarget
    labels: Values  # of members and non-members
    classes: Values | None  # None: it predicts numbers

    @classmethod
    def of(cls, target: ModelTarget) -> _Asked:
        labels = pool_labels(target)
        if is_regressor(target.model, labels):
            return cls(target, labels, None)
        classes = classes_of(target.model, labels)
        return cls(target, np.searchsorted(classes, labels), classes)

    def of_rows(self, rows: Rows) -> Values:
        """Return what is predicted of rows as the model takes them."""
        model = self.target.model
        if self.classes is None:
            return predicted_numbers(model, rows, who="The model")
        return predicted_codes(model, rows, self.classes, who="The model")

    def __call__(self, columns: pl.DataFrame) -> Values:
        """Return what is predicted of columns."""
        return self.of_rows(_as_own(columns, self.target.members))


def _as_own(columns: pl.DataFrame, members: Rows) -> Rows:
    """Return columns as rows of the members' kind, with their categories."""
    if kind_of(members) == ARRAY:
        return columns.to_numpy()
    with foreign("The changed rows can't be turned into the kind of the members"):
        if isinstance(members, pl.DataFrame):
            coded = {n: it for n, it in members.schema.items() if it in (pl.Categorical, pl.Enum)}
            return columns.cast(coded)  # type: ignore[arg-type] # names and types
        rows: Any = like(columns, members)
        rows.columns = members.columns
        return rows.astype({n: it for n, it in members.dtypes.items() if str(it) == "category"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evasion(DeclaredAttack, target=ModelTarget, needs=(given("budget", LACKS_BUDGET),)):
    """What attacks by changed rows have in common."""

    knows: ClassVar[Literal["model", "labels"]] = "model"
    rows: int = field(default=1000, metadata={"ge": 1})
    difference: float | None = field(default=None, metadata={"gt": 0})
    effort: int = field(default=10, metadata={"ge": 0})

    def missing_inputs(self, target: ModelTarget) -> str:
        """Return what is missing."""
        lack = DeclaredAttack.missing_inputs(self, target)
        if not lack and (self.knows, required(target.budget, "").knows) == ("model", "labels"):
            return "an attacker who knows the model (budget.knows)"
        of_numbers = is_regressor(target.model, target.member_labels)
        if lack or of_numbers == (self.difference is not None):
            return lack
        if of_numbers:
            return "classes. Of predicted numbers say by how much one must change (difference)"
        return "predicted numbers: classes have no difference"

    def _measure(self, target: ModelTarget, random_state: int) -> Iterator[Outcome]:
        rng = np.random.default_rng((random_state, 49))
        asked = _Asked.of(target)
        truth = asked.labels[target.n_members :]
        predicted = asked.of_rows(target.non_members)
        right = np.ones(len(truth), dtype=bool) if asked.classes is None else predicted == truth
        there = np.flatnonzero(right)
        if not len(there):
            raise DataError(f"The model predicts none of {len(truth):,} non-members right.")
        chosen = there[some_rows(len(there), self.rows, rng)]
        rows, seen = as_columns(take_rows(target.non_members, chosen)), as_columns(target.members)
        budget = replace(required(target.budget, LACKS_BUDGET), knows=self.knows).for_attack(seen)
        is_known = self.knows == "model" and hasattr(target.model, "n_features_in_")
        costs = cost_to_flip(
            # asked, a model gets rows of its own kind
            target.model if is_known and map_features(target.model, rows, budget) else asked,
            rows,
            budget,
            seen=seen,
            difference=self.difference,
            effort=self.effort,
            random_state=random_state,
        )
        LAST_COSTS[target] = costs
        after = asked(change_randomly(rows, budget, rng))
        flips = after != predicted[chosen]
        if self.difference is not None:
            flips = np.abs(after - predicted[chosen]) >= self.difference
        for name, members in _parts(asked, chosen):
            yield from self._outcomes(name, costs.of(members), flips[members])

    def _outcomes(self, group: str, costs: CostToFlip, by_chance: Bools) -> Iterator[Outcome]:
        """Yield what changes flip, compared with random ones, and what those flip."""
        flips = are_within(costs.found, costs.most)
        n, chance = len(flips), SuccessCount(int(by_chance.sum()), len(by_chance))
        median, certified = costs.median, costs.certified_median
        yield self._make_outcome(
            "rows that flip",
            SuccessCount(int(flips.sum()), n),
            chance,
            needed=_NEEDED,
            group=group,
            census=bool((flips | costs.are_proven).all()),
            details={
                "median cost to flip": math.inf if median is None else median,
                "certified median": math.inf if certified is None else certified,
                "share proven": costs.share_proven,
                **{f"changed: {name}": share for name, share in costs.shares_changed.items()},
            },
        )
        if 0 < flips.sum() <= 2 * by_chance.sum():
            # Else a model that any change flips would resist: no attacker is better than chance.
            yield self._make_outcome(
                "rows that flip by a random change",
                chance,
                NOTHING,
                needed=_NEEDED,
                group=group,
                census=True,
            )


def _parts(asked: _Asked, chosen: Values) -> Iterator[tuple[str, Bools]]:
    """Yield everyone, each class, and each group of the target: name, and who of the chosen."""
    yield EVERYONE, np.ones(len(chosen), dtype=bool)
    first, classes = asked.target.n_members, asked.classes
    if classes is not None:
        own = asked.labels[first + chosen]
        for n in range(len(classes)):
            yield f"class {n + 1} of {len(classes)}", own == n
    if asked.target.groups is not None:
        names, numbers = asked.target.groups
        for n, name in enumerate(names):
            yield name, numbers[first + chosen] == n


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel(_Evasion, name="evasion/known-model"):
    """Change rows until the prediction flips, with the model itself at hand.

    Parameters
    ----------
    rows
        How many of the non-members' rows are changed at most: of a classifier, those that it
        predicts right.
    difference
        By how much a predicted number must change, in its unit; only regressors need it.
    effort
        How long each row is searched; more never costs more.

    Notes
    -----
    **Guarantees.** Where each row is found to flip, or proven not to, the count is a census and
    needs no positive control: of linear models and single trees nearly always.

    **Edge cases.** Models that aren't linear and have no trees are asked for labels. A budget whose
    attacker doesn't know the model is left to `LabelsOnly`.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsOnly(_Evasion, name="evasion/labels-only"):
    """Change rows until the prediction flips, by asking the model for labels alone.

    Only values that occur in the members' rows are written.

    Parameters
    ----------
    rows
        How many of the non-members' rows are changed at most: of a classifier, those that it
        predicts right.
    difference
        By how much a predicted number must change, in its unit; only regressors need it.
    effort
        How long each row is searched; more never costs more.
    """

    knows: ClassVar[Literal["model", "labels"]] = "labels"
