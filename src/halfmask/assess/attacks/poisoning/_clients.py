"""What a hostile client sends to spoil a model, where in the stream, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from halfmask._errors import HalfmaskError
from halfmask._foreign import foreign
from halfmask.assess.attacks._arms import Resampled, SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack, Found, required
from halfmask.assess.attacks._trainer_target import (
    PUBLIC,
    TrainerTarget,
    ask_trainer,
    labels_of,
    pick_rows,
)
from halfmask.hashing import HashedRows

if TYPE_CHECKING:
    from halfmask.assess._arrays import Bools, Ints
    from halfmask.assess.attacks._attack import Outcome

    _Recipe: TypeAlias = tuple[Ints, Ints]


INTRUDER = "the attacker"
_REPLICATES = 200


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trained:
    """What came of a stream: for each row held out whether it is predicted rightly."""

    right: Bools
    refused: int

    @property
    def accuracy(self) -> float:
        """The share of rows held out that are predicted rightly."""
        return float(self.right.mean())


def train_on(target: TrainerTarget, stream: list[tuple[str, HashedRows]]) -> Trained:
    """Train on a stream; a batch that the trainer refuses is lost to its client alone."""
    refused = 0
    # around the whole stream: a crash is no refusal
    with foreign("The trainer failed to learn"):
        trainer = target.make()
        for client, rows in stream:
            try:
                trainer.learn(rows, client=client)
            except HalfmaskError:
                refused += 1
    predicted_positive = ask_trainer(trainer, target.holdout) >= 0.5
    right = predicted_positive == (labels_of(target.holdout) == 1)
    return Trained(right=right, refused=refused)


def n_poisoned(target: TrainerTarget, share: float) -> int:
    """Return how many rows are this share of all, their own number among them."""
    honest = sum(len(rows) for _, rows in target.stream)
    return max(1, round(share * honest / (1 - share)))


def batches_of(target: TrainerTarget, rows: HashedRows) -> list[tuple[str, HashedRows]]:
    """Return a poisoner's rows in batches as large as the honest ones."""
    size = int(np.median([len(each) for _, each in target.stream]))
    starts = range(0, len(rows), size)
    return [(INTRUDER, rows.slice(start, start + size)) for start in starts]


def weave_streams(
    honest: list[tuple[str, HashedRows]], poison: list[tuple[str, HashedRows]], place: str
) -> list[tuple[str, HashedRows]]:
    """Return both streams as one: the poison ``"last"``, ``"late"``, or ``"spread"`` evenly."""
    if place != "spread":
        at = len(honest) if place == "last" else round(0.9 * len(honest))
        return [*honest[:at], *poison, *honest[at:]]
    after = (np.arange(len(poison)) + 1) * len(honest) // (len(poison) + 1)
    found: list[tuple[str, HashedRows]] = []
    for at, each in enumerate(honest):
        found += [batch for batch, where in zip(poison, after, strict=True) if where == at]
        found.append(each)
    return found


def lost(before: Bools, after: Bools, rng: np.random.Generator) -> Resampled:
    """Return the accuracy that was lost, of who was right before and after, rows resampled."""
    change = before.astype(np.float64) - after
    n = len(change)
    weights = rng.multinomial(n, np.full(n, 1 / n), _REPLICATES)
    return Resampled.of(float(change.mean()), weights @ change / n, n)


class PoisoningAttack(DeclaredAttack, target=TrainerTarget, needs=(PUBLIC,)):
    """An attack by the rows that one client sends, spread over the stream or not."""

    __slots__ = ()

    def _loss(
        self, before: Trained, after: Trained, under: dict[str, float], rng: np.random.Generator
    ) -> Outcome:
        """Return the accuracy that was lost, with the accuracy under each of the attacks."""
        return self._make_outcome(
            "accuracy lost",
            lost(before.right, after.right, rng),
            needed=(500, "rows held out"),
            details={
                "accuracy without attack": before.accuracy,
                **under,
                "batches refused": float(after.refused),
            },
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLabelFlips(PoisoningAttack, name="poisoning/client-label-flips"):
    """Send rows of the population with the wrong label, spread over the stream.

    Parameters
    ----------
    share
        The poisoned rows' share of all, in (0, 0.5].

    Notes
    -----
    Biggio, Nelson and Laskov, "Poisoning attacks against support vector machines" (ICML 2012), with
    rows drawn at random. Measured is the accuracy lost on held-out rows, compared with the same
    trainer without the attack. Without a defence random flips cost an online learner little, too:
    the attack then has no positive control, and its finding is INVALID.
    """

    share: float = field(default=0.03, metadata={"gt": 0, "le": 0.5})

    def _measure(self, target: TrainerTarget, random_state: int) -> Found:
        public = required(target.public, "public rows")
        rng = np.random.default_rng(random_state)
        before = train_on(target, list(target.stream))
        poison = batches_of(target, _flipped(public, n_poisoned(target, self.share), rng))
        after = train_on(target, weave_streams(list(target.stream), poison, "spread"))
        under = {"accuracy under attack": after.accuracy}
        return self._loss(before, after, under, rng)


def _flipped(rows: HashedRows, n: int, rng: np.random.Generator) -> HashedRows:
    places = rng.choice(len(rows), n, replace=n > len(rows))
    return pick_rows(rows, places, labels=1 - labels_of(rows)[places])


_PLACES = ("last", "late", "spread")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientWorstCase(PoisoningAttack, name="poisoning/client-worst-case"):
    """Send the rows that cost the model most, as one client, by several recipes.

    Parameters
    ----------
    share
        The poisoned rows' share of all, in (0, 0.5].
    weights
        What importance the rows are sent with; each is tried. ``1``: no weight is claimed.

    Notes
    -----
    Recipes: rows drawn at random with flipped labels; the rows with the surest predictions of a
    model of the public rows, flipped; the most usual rows of the more frequent class, under the
    other label. Each is sent at the end, where nothing comes after it, after nine tenths, where a
    defence has time to see it, and spread over the stream, with each of the weights. After
    Jagielski et al., "Manipulating machine learning" (S&P 2018), and Wang and Chaudhuri, "Data
    poisoning attacks against online learning" (2018), who show that the end of a stream is where it
    hurts. No search finds the true worst: this is a lower bound of the harm.
    """

    share: float = field(default=0.03, metadata={"gt": 0, "le": 0.5})
    weights: tuple[float, ...] = field(
        default=(1.0, 1000.0), metadata={"of": "weights", "gt": 0, "le": 1e6}
    )

    def _measure(self, target: TrainerTarget, random_state: int) -> Found:
        public = required(target.public, "public rows")
        rng = np.random.default_rng(random_state)
        honest = list(target.stream)
        before = train_on(target, honest)
        n = n_poisoned(target, self.share)
        recipes = {
            "random": _random(public, n, rng),
            "surest": _surest(target, public, n),
            "usual": _usual(public, n),
        }
        after: dict[str, Trained] = {}
        for (recipe, (places, labels)), weight, where in product(
            recipes.items(), self.weights, _PLACES
        ):
            claimed = None if weight == 1 else weight
            rows = pick_rows(public, places, labels=labels, weight=claimed)
            stream = weave_streams(honest, batches_of(target, rows), where)
            after[f"{recipe}, weight {weight:g}, {where}"] = train_on(target, stream)
        worst = min(after, key=lambda each: after[each].accuracy)
        under = {f"accuracy under {each}": found.accuracy for each, found in after.items()}
        return self._loss(before, after[worst], under, rng)


def _random(rows: HashedRows, n: int, rng: np.random.Generator) -> _Recipe:
    places = rng.choice(len(rows), n, replace=n > len(rows))
    return places, 1 - labels_of(rows)[places]


def _surest(target: TrainerTarget, rows: HashedRows, n: int) -> _Recipe:
    """Return the rows whose label a model of the attacker's own is surest of, flipped."""
    with foreign("The trainer failed to learn"):
        surrogate = target.make()
        surrogate.learn(rows, client="public")
    labels = labels_of(rows)
    order = np.argsort(np.abs(ask_trainer(surrogate, rows) - labels), kind="stable")
    places = np.resize(order[: max(1, min(n, len(rows) // 2))], n)
    return places, 1 - labels[places]


def _usual(rows: HashedRows, n: int) -> _Recipe:
    """Return the most usual rows of the more frequent class under the other label."""
    labels = labels_of(rows)
    frequent = int(labels.mean() >= 0.5)
    bounds, indices, _ = rows.flat()
    seen, number = np.unique(indices, return_inverse=True)
    counts = np.bincount(number.ravel(), minlength=len(seen))[number.ravel()]
    of_row = np.repeat(np.arange(len(rows)), np.diff(bounds))
    total = np.bincount(of_row, weights=np.log(counts), minlength=len(rows))
    usual = total / np.maximum(np.diff(bounds), 1)
    order = np.argsort(np.where(labels == frequent, -usual, np.inf), kind="stable")
    places = np.resize(order[: max(1, min(n, int((labels == frequent).sum())))], n)
    return places, np.full(n, 1 - frequent, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientBackdoor(PoisoningAttack, name="poisoning/client-backdoor"):
    """Send rows with a rare pair of values and one label: later rows with the pair get the label.

    Parameters
    ----------
    share
        The poisoned rows' share of all, in (0, 0.5].

    Notes
    -----
    The pair is the rarest index of each of two columns; without columns it is two more features in
    each row. The label is the rarer one. Measured is the *trigger rate*: how many held-out rows of
    the other label are predicted to have it, once the pair is in them. The control is the same
    trainer without the attack. The rows come at the end, late or spread; the worst counts. After
    Gu, Dolan-Gavitt and Garg, "BadNets" (2017).
    """

    share: float = field(default=0.01, metadata={"gt": 0, "le": 0.5})

    def _measure(self, target: TrainerTarget, random_state: int) -> Found:
        public = required(target.public, "public rows")
        rng = np.random.default_rng(random_state)
        label = int(labels_of(public).mean() < 0.5)
        pair = _rare_pair(public)
        asked, honest, n = target.holdout, list(target.stream), len(target.holdout)
        clean = pick_rows(asked, np.arange(n), labels=labels_of(asked))
        # each is predicted by the same model, so all are held out at once
        both = replace(
            target, holdout=HashedRows.concat([clean, _with_pair(clean, pair, label, None)])
        )
        places = rng.choice(
            np.flatnonzero(labels_of(public) != label), n_poisoned(target, self.share)
        )
        poison = batches_of(target, _with_pair(public, pair, label, places))
        before = train_on(both, honest)
        after = {at: train_on(both, weave_streams(honest, poison, at)) for at in _PLACES}
        worst = max(after, key=lambda at: after[at].right[n:].sum())
        success, control = (
            SuccessCount(int(each.right[n:].sum()), len(each.right) - n)
            for each in (after[worst], before)
        )
        return self._make_outcome(
            "trigger rate",
            success,
            control,
            needed=(500, "rows held out"),
            details={
                "accuracy without attack": float(before.right[:n].mean()),
                "accuracy under attack": float(after[worst].right[:n].mean()),
                **{f"trigger rate, {at}": float(after[at].right[n:].mean()) for at in after},
                "batches refused": float(after[worst].refused),
            },
        )


def _rare_pair(rows: HashedRows) -> _Recipe:
    """Return two columns, if there are any, and the index in each that the fewest rows have."""
    if rows.width is None:
        seen, counts = np.unique(rows.indices, return_counts=True)
        return np.zeros(0, dtype=np.int64), seen[np.argsort(counts, kind="stable")[:2]]
    found = []
    for column, indices in enumerate(rows.indices.T):
        seen, counts = np.unique(indices, return_counts=True)
        found.append((int(counts.min()), column, int(seen[counts.argmin()])))
    rarest = np.array(sorted(found)[:2], dtype=np.int64)
    return rarest[:, 1], rarest[:, 2]


def _with_pair(rows: HashedRows, pair: _Recipe, label: int, places: Ints | None) -> HashedRows:
    """Return some rows, or all of the other label, with the pair of values and this label."""
    columns, buckets = pair
    places = np.flatnonzero(labels_of(rows) != label) if places is None else places
    some = pick_rows(rows, places, labels=np.full(len(places), label))
    indices, values, bounds = some.indices.copy(), some.values, some.indptr
    if bounds is None:
        indices[:, columns] = buckets
        if values is not None:
            values = values.copy()
            values[:, columns] = 1
    else:
        ends = np.repeat(bounds[1:], len(buckets))
        indices = np.insert(indices, ends, np.tile(buckets, len(some)))
        values = None if values is None else np.insert(values, ends, 1)
        bounds = bounds + len(buckets) * np.arange(len(bounds))
    return replace(some, indices=indices, values=values, indptr=bounds)
