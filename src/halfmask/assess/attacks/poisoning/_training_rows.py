"""Hostile training rows: what they do to a model that is trained as its owner trains it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final
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
    Hostile,
    flip_randomly,
    flip_typical,
    insert_triggered,
    insert_typical,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from halfmask.assess._arrays import Ints, Model, Rows, Values
    from halfmask.assess.attacks._attack import Outcome

LACKS_TRAIN: Final = "'train', which trains a model as the owner does"
#: With fewer rows no bound is below the usual tolerance.
_NEEDED: Final = (500, "non-members")
_NEEDED_OTHERS: Final = (100, "non-members of other classes")
#: An accuracy lost of 0.03 is much where few rows are hostile.
_WHOLE_SCALE: Final = 0.1
#: What models of clean and of hostile rows predict, of each target that lives: it is asked again as
#: the positive control of others.
_PREDICTED: WeakKeyDictionary[ModelTarget, dict[Any, tuple[Any, Ints, Ints]]]
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
    truth: Ints  # the classes of the non-members, by number
    classes: Values
    random_state: int

    @classmethod
    def of(cls, target: ModelTarget, random_state: int) -> _Owner:
        labels, n = pool_labels(target), target.n_members
        columns, classes = as_columns(target.members), classes_of(target.model, labels)
        truth = np.searchsorted(classes, labels[n:])
        return cls(target, columns, labels[:n], truth, classes, random_state)

    def predicted(
        self, kind: tuple[str, float], hostile: Hostile, trigger: dict[str, Any]
    ) -> tuple[Ints, Ints]:
        """Return what a model of some kind of rows predicts of non-members, and with a trigger.

        It is asked at once: a function may train the same model again.
        """
        kept = _PREDICTED.setdefault(self.target, {})
        key = (self.random_state, *kind)
        # a model that was asked about a trigger was asked about rows without it, too
        if key not in kept or (trigger and kept[key][0] != trigger):
            model, rows = self._trained(hostile), self.target.non_members
            tried = [rows, self._with(trigger, rows)] if trigger else [rows]
            ask = partial(predicted_codes, model, classes=self.classes, who="A model")
            found = [ask(each) for each in tried]
            kept[key] = trigger, found[0], found[-1]
        return kept[key][1:]

    def _trained(self, hostile: Hostile) -> Model:
        # copies: a function that changes what it gets mustn't change the next model
        labels = hostile.labels.copy()
        rows = take_rows(self.target.members, np.arange(self.target.n_members))
        if len(hostile.copied):
            rows = join_rows(rows, self._with(hostile.trigger, take_rows(rows, hostile.copied)))
        # the same seed for all: only hostile rows make models differ
        seed = int(np.random.default_rng((self.random_state, 6)).integers(2**31))
        with foreign(f"A model couldn't be trained on {len(labels):,} rows, some of them hostile"):
            model = required(self.target.train, LACKS_TRAIN)(rows, labels, seed)
        if model is self.target.model:
            raise DataError("'train' must return a new model, and it trained the target's own.")
        return model

    def _with(self, trigger: Mapping[str, Any], rows: Rows) -> Rows:
        """Return rows of the target's own kind with a trigger in them."""
        own = dict(zip(self.columns.columns, column_names(self.target.members), strict=True))
        for name, value in trigger.items():
            rows = with_column(rows, own[name], value)
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowPoisoning(
    DeclaredAttack, target=ModelTarget, needs=(given("train", LACKS_TRAIN), _lacks_classes)
):
    """What attacks by hostile training rows have in common."""

    shares: tuple[float, ...] = field(
        default=(0.05,), metadata={"of": "shares", "gt": 0, "le": 0.5}
    )

    def _measure(self, target: ModelTarget, random_state: int) -> Iterator[Outcome]:
        owner = _Owner.of(target, random_state)
        for share in dict.fromkeys(self.shares):
            yield self._outcome(owner, share)

    def _choose(self, owner: _Owner, share: float, rng: np.random.Generator) -> Hostile:
        raise NotImplementedError

    def _outcome(self, owner: _Owner, share: float) -> Outcome:
        first, second = (np.random.default_rng((owner.random_state, 7)) for _ in range(2))
        hostile = self._choose(owner, share, first)
        flips = flip_randomly(owner.columns, owner.labels, share, second)
        models = {
            (self.name, share): hostile,
            ("clean", 0.0): Hostile(owner.labels),
            (RandomLabelFlips.name, share): flips,
        }
        trigger = dict(hostile.trigger)
        asked = [owner.predicted(kind, rows, trigger) for kind, rows in models.items()]
        plain, triggered = zip(*asked, strict=True)
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
        if hostile.towards is None:
            found = lost(right[1], right[0], np.random.default_rng((owner.random_state, 8)))
            scale = min(1.0, share / _WHOLE_SCALE)
            return self._make_outcome(
                f"accuracy lost {at}", found, needed=_NEEDED, scale=scale, **known
            )
        towards = np.searchsorted(owner.classes, hostile.towards)
        others = owner.truth != towards
        if not others.any():
            raise DataError("All non-members are of the class that the poison aims at.")
        hits = [it[others] == towards for it in triggered]
        success, control, baseline = (SuccessCount(int(it.sum()), len(it)) for it in hits)
        measure = "trigger rate" if trigger else "targeted error"
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

    def _choose(self, owner: _Owner, share: float, rng: np.random.Generator) -> Hostile:
        return flip_randomly(owner.columns, owner.labels, share, rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetedLabelFlips(_RowPoisoning, name="poisoning/targeted-flips"):
    """Relabel the most typical training rows of other classes as the largest class.

    Parameters
    ----------
    shares
        The hostile rows' shares of all training rows, each in (0, 0.5].

    Notes
    -----
    Rows are typical if a surrogate model predicts their true label with high confidence. After
    Biggio, Nelson and Laskov, "Poisoning attacks against support vector machines" (ICML
    2012), and Xiao, Xiao and Eckert, "Adversarial label flips attack on support vector machines"
    (ECAI 2012). No search finds the true worst: this is a lower bound of the harm.
    """

    def _choose(self, owner: _Owner, share: float, rng: np.random.Generator) -> Hostile:
        return flip_typical(owner.columns, owner.labels, share, rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertedRows(_RowPoisoning, name="poisoning/insertions"):
    """Insert copies of typical rows of other classes under the largest class.

    Parameters
    ----------
    shares
        The hostile rows' shares of all training rows, each in (0, 0.5].

    Notes
    -----
    Rows are chosen as by `TargetedLabelFlips`. That these are the worst isn't proven: measured is a
    lower bound of the harm.
    """

    def _choose(self, owner: _Owner, share: float, rng: np.random.Generator) -> Hostile:
        return insert_typical(owner.columns, owner.labels, share, rng)


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

    def _choose(self, owner: _Owner, share: float, rng: np.random.Generator) -> Hostile:
        names, budget = owner.columns.columns, owner.target.budget
        if budget is not None:
            names = [name for name, it in budget.columns.items() if it.change != "no"]
        return insert_triggered(owner.columns, owner.labels, share, rng, names)
