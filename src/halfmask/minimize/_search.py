"""The search for coarser features: greedy, the least loss of score by information first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from halfmask.minimize._feature import Feature, Move
    from halfmask.minimize._score import PredictionScore


AT_ONCE = 16  # how many doubtful moves are tried in one call of the model
PROFILE_ROWS = 200  # on how many rows it is seen how the model takes a category
MAX_LABELS = 64  # answers with more different ones are numbers
STAGES = (0.5, 0.8, 1.0)  # shares of what may be lost
DOUBT = 0.3  # of a row; see `_Tried.rank`
MIN_GAIN = 1e-9  # a join of values that no row has gains nothing, and costs nothing


@dataclass(frozen=True, slots=True, eq=False)
class SearchStep:
    """A state of the search: the score on its rows, and for each feature its map."""

    score: float
    targets: dict[int, NDArray[np.int64]]


@dataclass(slots=True, eq=False)
class _Tried:
    """A move with what it was measured to lose, and when."""

    move: Move
    loss: float
    doubt: float
    turn: int

    @property
    def rank(self) -> tuple[float, float]:
        """What decides: loss by gain, then the larger gain.

        Other rows may lose more than the few that were measured. The doubt keeps joins that gain
        next to nothing from going before those that lose a row and gain much.
        """
        return (
            (max(self.loss, 0.0) + self.doubt) / max(self.move.gain, MIN_GAIN),
            -self.move.gain,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Change:
    """Which rows a move changes: one column's new codes, and the keys of the rows with them."""

    feature: int
    at: NDArray[np.int64]
    new: NDArray[np.int64]
    keys: NDArray[np.uint64]


class Search:
    """The current rows of the search, and the steps so far."""

    def __init__(  # each once, by one caller
        self,
        ask: AnswerCache,
        codes: NDArray[np.int64],
        truth: NDArray[np.float64],
        features: Sequence[Feature],
        score: PredictionScore,
    ) -> None:
        self._ask, self._truth, self._score = ask, truth, score
        self._features = {feature.index: feature for feature in features}
        self._raw = codes
        self._now = codes.copy()
        self._key_of_row = ask.keys.of(codes)
        self._answers = ask(codes)
        self._profiles = {f.index: self._profile(f) for f in features if f.places is None}
        self.targets: dict[int, NDArray[np.int64]] = {f.index: f.identity for f in features}
        self.level = score.of(truth, self._answers)
        self.path = [SearchStep(self.level, dict(self.targets))]

    def run(self, target: float) -> None:
        """Coarsen until no step keeps the score at the target.

        In stages, each with a lower floor: where a step of the last stage turns out to lose too
        much on other rows, those before it are still there.
        """
        start = self.level
        slack = max(start - target, 0.0)
        for share in STAGES:
            self._run(start - share * slack)

    def _run(self, floor: float) -> None:
        turn = 0
        tried: dict[tuple[object, ...], _Tried] = {}
        for index in self._features:
            self._renew(tried, index)
        while True:
            best = self._best(tried, floor, turn)
            if best is None:
                return
            self._take(best.move)
            turn += 1
            self._renew(tried, best.move.feature)

    def _renew(self, tried: dict[tuple[object, ...], _Tried], index: int) -> None:
        """Put a feature's moves from its present map in the place of those from its last."""
        moves = self._features[index].moves(self.targets[index], self._profiles.get(index))
        fresh = {(index, *move.key): move for move in moves}
        for key in [key for key in tried if key[0] == index and key not in fresh]:
            del tried[key]
        for key, move in fresh.items():
            if key in tried:
                tried[key].move = move  # the same rows change; its loss is still a good guess
            else:
                tried[key] = _Tried(move, 0.0, 0.0, -1)

    def _best(
        self, tried: dict[tuple[object, ...], _Tried], floor: float, turn: int
    ) -> _Tried | None:
        """Return the best move that keeps the floor, measured on the current rows.

        Only moves that look better than the best measured one are measured again: a move's loss
        changes little when other features become coarser (Minoux, "Accelerated greedy algorithms",
        1978).
        """
        while True:
            order = sorted(
                (t for t in tried.values() if self.level - t.loss >= floor or t.turn < turn),
                key=lambda t: t.rank,
            )
            # A loss beyond the floor when last measured is not asked again until all else is tried.
            order.sort(key=lambda t: self.level - t.loss < floor)
            if not order:
                return None
            if order[0].turn == turn:
                return order[0]
            doubtful = [t for t in order if t.turn < turn][:AT_ONCE]
            for one, (loss, rows) in zip(
                doubtful, self._losses([t.move for t in doubtful]), strict=True
            ):
                one.loss, one.doubt, one.turn = loss, self._doubt(rows), turn

    def _doubt(self, rows: int) -> float:
        """Return what a change of so many rows may lose beyond what was seen."""
        return DOUBT * rows / (rows + 1) / len(self._answers)

    def _losses(self, moves: Sequence[Move]) -> list[tuple[float, int]]:
        """Return what each move would cost in score, and of how many rows.

        The model is asked once for all of them.
        """
        changes = [self._change(move) for move in moves]
        return [
            (-self._score.change(self._truth, self._answers, change.at, after), len(change.at))
            for change, after in zip(changes, self._answered(changes), strict=True)
        ]

    def _change(self, move: Move) -> _Change:
        """Return what a move does to the rows."""
        old = self._now[move.feature]
        if move.whole is None:
            at = np.flatnonzero(old == move.gone)
            new = np.full(len(at), move.stays)
        else:
            whole = move.whole[self._raw[move.feature]]
            at = np.flatnonzero(whole != old)
            new = whole[at]
        keys = self._key_of_row[at] + self._ask.keys.moved(move.feature, old[at], new)
        return _Change(move.feature, at, new, keys)

    def _answered(self, changes: Sequence[_Change]) -> list[NDArray[np.float64]]:
        """Return the model's answers to the changed rows of each change."""
        sizes = [len(change.at) for change in changes]
        column = np.repeat([change.feature for change in changes], sizes)
        rows = np.concatenate([change.at for change in changes])
        new = np.concatenate([change.new for change in changes])

        def codes_of(asked: NDArray[np.int64]) -> NDArray[np.int64]:
            codes = self._now[:, rows[asked]]
            codes[column[asked], np.arange(len(asked))] = new[asked]
            return codes

        answers = self._ask.by_key(np.concatenate([c.keys for c in changes]), codes_of)
        return list(np.split(answers, np.cumsum(sizes)[:-1]))

    def _take(self, move: Move) -> None:
        change = self._change(move)
        (answers,) = self._answered([change])
        self._now[move.feature, change.at] = change.new
        self._key_of_row[change.at] = change.keys
        self._answers[change.at] = answers
        self.targets[move.feature] = move.applied(self.targets[move.feature])
        self.level = self._score.of(self._truth, self._answers)
        self.path.append(SearchStep(self.level, dict(self.targets)))

    def _profile(self, feature: Feature) -> NDArray[np.float64]:
        """Return how the model answers with each value of a feature put into the same rows."""
        n_codes = feature.coding.n_codes
        # The rows are in random order.
        some = self._raw[:, :PROFILE_ROWS]
        rows = np.tile(some, (1, n_codes))
        rows[feature.index] = np.repeat(np.arange(n_codes), some.shape[1])
        answers = self._ask(rows)
        labels = np.unique(answers)
        if len(labels) > MAX_LABELS:
            return answers.reshape(n_codes, -1)
        one_hot: NDArray[np.float64] = (answers[:, None] == labels).astype(np.float64)
        return one_hot.reshape(n_codes, -1)


class CachedKeys:
    """A 64-bit number for each row's values, by which the model is asked of each row once.

    Sums of random numbers, one for each value of each column (Zobrist, "A new hashing method with
    application for game playing", 1970): changing one column changes the key by a difference.
    """

    def __init__(self, sizes: Sequence[int], random_state: int) -> None:
        rng = np.random.default_rng(random_state)
        self._words = [rng.integers(0, 2**64, size, dtype=np.uint64) for size in sizes]

    def of(self, codes: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the keys of rows, (n_columns, n_rows)."""
        keys = np.zeros(codes.shape[1], dtype=np.uint64)
        for words, column in zip(self._words, codes, strict=True):
            keys += words[column]
        return keys

    def moved(
        self, column: int, old: NDArray[np.int64], new: NDArray[np.int64]
    ) -> NDArray[np.uint64]:
        """Return what one column's change adds to the keys."""
        words = self._words[column]
        return words[new] - words[old]


class AnswerCache:
    """A model with the answers that it gave."""

    def __init__(
        self, ask: Callable[[NDArray[np.int64]], NDArray[np.float64]], keys: CachedKeys
    ) -> None:
        self._ask, self.keys, self._cache = ask, keys, _AnswersByKey()

    def __call__(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the answers to rows."""
        return self.by_key(self.keys.of(codes), lambda rows: codes[:, rows])

    def by_key(
        self,
        keys: NDArray[np.uint64],
        codes_of: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    ) -> NDArray[np.float64]:
        """Return the answers to rows whose keys are known."""
        distinct, first, place = np.unique(keys, return_index=True, return_inverse=True)
        known, answers = self._cache.find(distinct)
        if not known.all():
            new = self._ask(codes_of(first[~known]))
            self._cache.add(distinct[~known], new)
            answers[~known] = new
        return answers[place]


class _AnswersByKey:
    """The model's answers by key; emptied when it grows too large.

    Two sorted shelves: new answers go to a small one, which is put into the large one when it is
    full, because inserting into an array copies it.
    """

    SMALL = 1 << 15
    MOST = 1 << 22

    def __init__(self) -> None:
        self._large, self._small = _SortedAnswers(), _SortedAnswers()

    def find(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return which keys are known, and their answers."""
        known, answers = self._large.find(keys)
        also, others = self._small.find(keys)
        answers[also] = others[also]
        return known | also, answers

    def add(self, keys: NDArray[np.uint64], answers: NDArray[np.float64]) -> None:
        """Remember the answers to keys in order, none of them known."""
        self._small.add(keys, answers)
        if len(self._small.keys) <= self.SMALL:
            return
        if len(self._large.keys) > self.MOST:
            self._large = _SortedAnswers()
        self._large.add(self._small.keys, self._small.answers)
        self._small = _SortedAnswers()


class _SortedAnswers:
    """Sorted keys and their answers."""

    def __init__(self) -> None:
        self.keys = np.zeros(0, dtype=np.uint64)
        self.answers = np.zeros(0)

    def find(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return which keys are here, and their answers."""
        if not len(self.keys):
            return np.zeros(len(keys), dtype=bool), np.zeros(len(keys))
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return self.keys[place] == keys, self.answers[place]

    def add(self, keys: NDArray[np.uint64], answers: NDArray[np.float64]) -> None:
        """Put keys in their places."""
        at = np.searchsorted(self.keys, keys)
        self.keys = np.insert(self.keys, at, keys)
        self.answers = np.insert(self.answers, at, answers)
