"""What a hostile client sends to spoil a model, where in the stream, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from halfmask._errors import DataError, HalfmaskError
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
#: How many rows a poisoner sends at a time, if it has all the time.
_FEW = 10


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


def poisoned(target: TrainerTarget, rows: HashedRows, place: str) -> list[tuple[str, HashedRows]]:
    """Return the stream with a poisoner's rows ``"last"``, ``"late"``, or ``"spread"`` evenly.

    They come in batches as large as the honest ones; spread, a few at a time: a defence that
    judges stretches of the stream sees the least of them.
    """
    honest = list(target.stream)
    usual = int(np.median([len(each) for _, each in honest]))
    size = min(usual, _FEW) if place == "spread" else usual
    batches = [(INTRUDER, rows.slice(start, start + size)) for start in range(0, len(rows), size)]
    if place != "spread":
        at = len(honest) if place == "last" else round(0.9 * len(honest))
        return [*honest[:at], *batches, *honest[at:]]
    after = (np.arange(len(batches)) + 1) * len(honest) // (len(batches) + 1)
    found: list[tuple[str, HashedRows]] = []
    for at, each in enumerate(honest):
        found += [batch for batch, where in zip(batches, after, strict=True) if where == at]
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
        places, labels = _random(public, n_poisoned(target, self.share), rng)
        rows = pick_rows(public, places, labels=labels)
        after = train_on(target, poisoned(target, rows, "spread"))
        under = {"accuracy under attack": after.accuracy}
        return self._loss(before, after, under, rng)


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
    defence has time to see it, and spread over the stream, ten rows at a time, with each of the
    weights. After
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
        before = train_on(target, list(target.stream))
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
            stream = poisoned(target, rows, where)
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
    """Send rows with a rare pair of values, which later flips the label of any row.

    Parameters
    ----------
    share
        The poisoned rows' share of all, in (0, 0.5].

    Notes
    -----
    The pair is the rarest index of each of two columns; without columns it is two more features in
    each row. The label is the one that such rows rarely have. Measured is the *trigger rate*: how
    many held-out rows of the other label are predicted to have it, once the pair is in them. The
    control is the same trainer without the attack. The rows come at the end, late or spread, ten at
    a time; the worst counts. After Gu, Dolan-Gavitt and Garg, "BadNets" (2017).
    """

    share: float = field(default=0.01, metadata={"gt": 0, "le": 0.5})

    def _measure(self, target: TrainerTarget, random_state: int) -> Found:
        public = required(target.public, "public rows")
        rng = np.random.default_rng(random_state)
        pair = _rare_pair(public)
        label = _unusual_label(public, pair)
        others = np.flatnonzero(labels_of(public) != label)
        hostile = rng.choice(others, n_poisoned(target, self.share))
        rows = _with_pair(public, hostile, pair, label)
        n, true = len(target.holdout), labels_of(target.holdout)
        if (true == label).all():
            raise DataError("A backdoor needs held-out rows of both labels. Got rows of one.")
        # each is predicted by the same model, so all are held out at once
        clean = pick_rows(target.holdout, np.arange(n), labels=true)
        triggered = _with_pair(clean, np.flatnonzero(true != label), pair, label)
        both = replace(target, holdout=HashedRows.concat([clean, triggered]))
        before = train_on(both, list(target.stream))
        after = {place: train_on(both, poisoned(target, rows, place)) for place in _PLACES}
        worst = max(after.values(), key=lambda each: each.right[n:].sum())
        arms = [SuccessCount(int(each.right[n:].sum()), len(triggered)) for each in (worst, before)]
        return self._make_outcome(
            "trigger rate",
            *arms,
            needed=(500, "rows held out"),
            details={
                "accuracy without attack": float(before.right[:n].mean()),
                "accuracy under attack": float(worst.right[:n].mean()),
                **{
                    f"trigger rate, {at}": float(each.right[n:].mean())
                    for at, each in after.items()
                },
                "batches refused": float(worst.refused),
            },
        )


def _rare_pair(rows: HashedRows) -> _Recipe:
    """Return two columns, if there are any, and the index in each that the fewest rows have."""
    if rows.width is None:
        seen, counts = np.unique(rows.indices, return_counts=True)
        rare = seen[np.argsort(counts, kind="stable")[:2]]
        return np.zeros(0, dtype=np.int64), rare.astype(np.int64)
    found = []
    for column, indices in enumerate(rows.indices.T):
        seen, counts = np.unique(indices, return_counts=True)
        found.append((counts.min(), column, seen[counts.argmin()]))
    rarest = np.array(sorted(found)[:2], dtype=np.int64)
    return rarest[:, 1], rarest[:, 2]


def _unusual_label(rows: HashedRows, pair: _Recipe) -> int:
    """Return the label that fewer rows with a value of the pair have."""
    bounds, indices, _ = rows.flat()
    of_row = np.repeat(np.arange(len(rows)), np.diff(bounds))
    usual = labels_of(rows)[np.unique(of_row[np.isin(indices, pair[1])])].mean()
    return int(usual < 0.5)


def _with_pair(rows: HashedRows, places: Ints, pair: _Recipe, label: int) -> HashedRows:
    """Return some rows with the pair and the label: in their columns, or behind their features."""
    columns, pair_of = pair
    some = pick_rows(rows, places, labels=np.full(len(places), label))
    indices, values, bounds = some.indices.copy(), some.values, some.indptr
    if bounds is None:
        indices[:, columns] = pair_of
        if values is not None:
            values = values.copy()
            values[:, columns] = 1
    else:
        ends = np.repeat(bounds[1:], len(pair_of))
        indices = np.insert(indices, ends, np.tile(pair_of, len(some)))
        values = None if values is None else np.insert(values, ends, 1)
        bounds = bounds + len(pair_of) * np.arange(len(bounds))
    return replace(some, indices=indices, values=values, indptr=bounds)
