"""Hostile training rows: what they do to a model that is trained as its owner trains it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final
from weakref import WeakKeyDictionary

import numpy as np

from halfmask._errors import DataError
from halfmask._foreign import foreign
from halfmask.assess.attacks._answers import (
    classes_of,
    is_regressor,
    pool_labels,
    predicted_codes,
)
from halfmask.assess.attacks._arms import SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack, given, required
from halfmask.assess.attacks._rows import column_names, join_rows, take_rows, with_column
from halfmask.assess.attacks._targets import ModelTarget
from halfmask.assess.attacks.poisoning._clients import lost
from halfmask.assess.robustness._budget import as_columns
from halfmask.assess.robustness._poison import (
    AimedPoison,
    Backdoor,
    Insertions,
    Poison,
    RandomFlips,
    TargetedFlips,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from halfmask.assess._arrays import Model, Rows, Values
    from halfmask.assess.attacks._attack import Outcome
    from halfmask.assess.robustness import AttackerBudget

LACKS_TRAIN: Final = "'train', which trains a model as the owner does"
#: With fewer rows no bound is below the usual tolerance.
_NEEDED: Final = (500, "non-members")
_NEEDED_OTHERS: Final = (100, "non-members of other classes")
#: An accuracy lost of 0.03 is much where few rows are hostile.
_WHOLE_SCALE: Final = 0.1
#: What models of clean rows, and of each poison's, predict, of each target that lives: it is asked
#: again as the positive control of others.
_PREDICTED: WeakKeyDictionary[ModelTarget, dict[Any, tuple[Any, Values, Values]]]
_PREDICTED = WeakKeyDictionary()


def _lacks_classes(target: ModelTarget) -> str:
    is_number = is_regressor(target.model, target.member_labels)
    return "a classifier: hostile rows are counted by the labels they flip" if is_number else ""


@dataclass(frozen=True, slots=True)
class _Owner:
    """Trains models of a target on rows with hostile ones, and asks them."""

    target: ModelTarget
    columns: pl.DataFrame
    labels: Values  # of the members
    truth: Values  # of the non-members
    classes: Values
    random_state: int

    @classmethod
    def of(cls, target: ModelTarget, random_state: int) -> _Owner:
        labels, n = pool_labels(target), target.n_members
        columns, classes = as_columns(target.members), classes_of(target.model, labels)
        return cls(target, columns, labels[:n], labels[n:], classes, random_state)

    def predicted(self, poison: Poison | None, trigger: dict[str, Any]) -> tuple[Values, Values]:
        """Return what a model of hostile or clean rows predicts of non-members, and with a trigger.

        It is asked at once: a function may train the same model again.
        """
        kept = _PREDICTED.setdefault(self.target, {})
        share, towards = (getattr(poison, name, None) for name in ("share", "towards"))
        key = self.random_state, type(poison), share, towards
        # a model that was asked about a trigger was asked about rows without it, too
        if key not in kept or (trigger and kept[key][0] != trigger):
            model, rows = self._trained(poison, trigger), self.target.non_members
            plain = self._labels(model, rows)
            asked = self._labels(model, self._with(trigger, rows)) if trigger else plain
            kept[key] = trigger, plain, asked
        return kept[key][1:]

    def _trained(self, poison: Poison | None, trigger: dict[str, Any]) -> Model:
        rows, labels = self.target.members, self.labels
        if poison is not None:
            rng = np.random.default_rng((self.random_state, 7))
            hostile = poison.choose(self.columns, labels, rng)
            labels = hostile.labels
            if len(hostile.copied):
                rows = join_rows(rows, self._with(trigger, take_rows(rows, hostile.copied)))
        # the same seed for all: only hostile rows make models differ
        seed = int(np.random.default_rng((self.random_state, 6)).integers(2**31))
        with foreign(f"A model couldn't be trained on {len(labels):,} rows, some of them hostile"):
            model = required(self.target.train, LACKS_TRAIN)(rows, labels, seed)
        if model is self.target.model:
            raise DataError("'train' must return a new model, and it trained the target's own.")
        return model

    def _with(self, trigger: dict[str, Any], rows: Rows) -> Rows:
        """Return rows of the target's own kind with a trigger in them."""
        own = dict(zip(self.columns.columns, column_names(self.target.members), strict=True))
        for name, value in trigger.items():
            rows = with_column(rows, own[name], value)
        return rows

    def _labels(self, model: Model, rows: Rows) -> Values:
        labels: Values = self.classes[predicted_codes(model, rows, self.classes, who="A model")]
        return labels


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowPoisoning(
    DeclaredAttack, target=ModelTarget, needs=(given("train", LACKS_TRAIN), _lacks_classes)
):
    """What attacks by hostile training rows have in common.

    Parameters
    ----------
    shares
        The hostile rows' shares of all training rows, each in (0, 0.5].
    """

    shares: tuple[float, ...] = field(
        default=(0.05,), metadata={"of": "shares", "gt": 0, "le": 0.5}
    )
    poison: ClassVar[type[Poison]]

    def _measure(self, target: ModelTarget, random_state: int) -> Iterator[Outcome]:
        owner = _Owner.of(target, random_state)
        for share in dict.fromkeys(self.shares):
            yield self._outcome(owner, share)

    def _poison(self, share: float, budget: AttackerBudget | None) -> Poison:  # noqa: ARG002 # a backdoor's
        return self.poison(share=share)

    def _outcome(self, owner: _Owner, share: float) -> Outcome:
        poison = self._poison(share, owner.target.budget).for_rows(owner.columns, owner.labels)
        trigger = dict(poison.trigger or {}) if isinstance(poison, Backdoor) else {}
        models = (poison, None, RandomFlips(share=share))
        plain, triggered = zip(*(owner.predicted(it, trigger) for it in models), strict=True)
        right = [it == owner.truth for it in plain]
        known: dict[str, Any] = {
            "details": {
                "share": share,
                "accuracy without attack": float(right[1].mean()),
                "accuracy under attack": float(right[0].mean()),
            },
            "of_one_model": True,
        }
        at = f"at {100 * share:g} % hostile rows"
        if not isinstance(poison, AimedPoison):
            found = lost(right[1], right[0], np.random.default_rng((owner.random_state, 8)))
            scale = min(1.0, share / _WHOLE_SCALE)
            return self._make_outcome(
                f"accuracy lost {at}", found, needed=_NEEDED, scale=scale, **known
            )
        others = owner.truth != poison.towards
        if not others.any():
            raise DataError("All non-members are of the class that the poison aims at.")
        hits = [it[others] == poison.towards for it in triggered]
        success, control, baseline = (SuccessCount(int(it.sum()), len(it)) for it in hits)
        measure = "trigger rate" if isinstance(poison, Backdoor) else "targeted error"
        return self._make_outcome(
            f"{measure} {at}", success, control, baseline=baseline, needed=_NEEDED_OTHERS, **known
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomLabelFlips(_RowPoisoning, name="poisoning/random-flips"):
    """Give training rows drawn at random another label.

    Parameters
    ----------
    shares
        The hostile rows' shares of all training rows, each in (0, 0.5].
    """

    poison: ClassVar[type[Poison]] = RandomFlips


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetedLabelFlips(_RowPoisoning, name="poisoning/targeted-flips"):
    """Give the surest training rows of other classes the label of the largest class.

    Parameters
    ----------
    shares
        The hostile rows' shares of all training rows, each in (0, 0.5].

    Notes
    -----
    After Biggio, Nelson and Laskov, "Poisoning attacks against support vector machines" (ICML
    2012), and Xiao, Xiao and Eckert, "Adversarial label flips attack on support vector machines"
    (ECAI 2012). No search finds the true worst: this is a lower bound of the harm.
    """

    poison: ClassVar[type[Poison]] = TargetedFlips


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertedRows(_RowPoisoning, name="poisoning/insertions"):
    """Insert copies of the surest rows under the label of the largest class.

    Parameters
    ----------
    shares
        The hostile rows' shares of all training rows, each in (0, 0.5].

    Notes
    -----
    The rows are of other classes. That these are the worst rows isn't proven: measured is a lower
    bound of the harm.
    """

    poison: ClassVar[type[Poison]] = Insertions


@dataclass(frozen=True, slots=True, kw_only=True)
class BackdoorRows(_RowPoisoning, name="poisoning/backdoor"):
    """Insert rows with a rare pair of values, which later flips the label of any row.

    Parameters
    ----------
    shares
        The hostile rows' shares of all training rows, each in (0, 0.5].

    Notes
    -----
    The trigger is in columns that the target's budget lets an attacker change, in any of them
    without one. Measured is the share of held-out rows of other classes that get the label once the
    trigger is in them. After Gu, Dolan-Gavitt and Garg, "BadNets" (2017).
    """

    shares: tuple[float, ...] = field(
        default=(0.01,), metadata={"of": "shares", "gt": 0, "le": 0.5}
    )
    poison: ClassVar[type[Poison]] = Backdoor

    def _poison(self, share: float, budget: AttackerBudget | None) -> Poison:
        free = [name for name, it in budget.columns.items() if it.change != "no"] if budget else []
        return Backdoor(share=share, columns=tuple(free) or None)
