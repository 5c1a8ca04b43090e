"""The attack model: a classifier of membership, trained on known people."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError
from halfmask._validation import integer_at_least
from halfmask.assess.attacks._several import several
from halfmask.assess.attacks.membership._area import Area

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: More rows don't make a model of a handful of inputs better, only slower.
MAX_ROWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LearnedAttack:
    """An attack model that was chosen on rows that it didn't learn from."""

    model: Any
    held: NDArray[np.int64]
    areas: dict[str, float]

    def scores(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability that each row is of a member, in [0, 1]."""
        return np.asarray(self.model.predict_proba(inputs), dtype=np.float64)[:, 1]


def checked_widths(hidden: object, trees: int, *, owner: str) -> tuple[int, ...]:
    """Return the widths of hidden layers as a tuple, if these settings can be learned with."""
    widths = several(hidden, parameter="hidden", owner=owner, of="widths", or_none=True)
    for width in widths:
        integer_at_least(1, owner=owner, hidden=width)
    integer_at_least(1, owner=owner, trees=trees)
    return widths


def learn(
    inputs: NDArray[np.float64],
    member: NDArray[np.bool_],
    *,
    hidden: tuple[int, ...],
    trees: int,
    random_state: int,
) -> LearnedAttack:
    """Train a network and a forest on two thirds of the rows, and keep the better on the last.

    Learns from as many members as non-members, of whichever there are fewer.
    """
    rng = np.random.default_rng((random_state, 3))
    held = np.zeros(len(member), dtype=bool)
    training_rows: list[NDArray[np.int64]] = []
    sides = [rng.permutation(np.flatnonzero(member == side)) for side in (True, False)]
    if min(len(side) for side in sides) < 3:
        raise DataError("An attack model needs at least 3 known members and 3 known non-members.")
    most = min(*(len(side) - len(side) // 3 for side in sides), MAX_ROWS // 2)
    for side in sides:
        held[side[: len(side) // 3]] = True
        training_rows.append(side[len(side) // 3 :][:most])
    places = rng.permutation(np.concatenate(training_rows))
    areas: dict[str, float] = {}
    models: dict[str, Any] = {}
    for name, model in _candidates(hidden, trees, len(places), int(rng.integers(2**31))):
        with warnings.catch_warnings():
            # A network that could learn longer is judged by what it has learnt.
            warnings.filterwarnings("ignore", message="Stochastic Optimizer")
            model.fit(inputs[places], member[places])
        models[name] = model
        of_member = model.predict_proba(inputs[held])[:, 1]
        areas[name] = Area.of(of_member, member[held]).value
    best = max(areas, key=lambda name: areas[name])
    return LearnedAttack(model=models[best], held=np.flatnonzero(held), areas=areas)


def _candidates(
    hidden: tuple[int, ...], trees: int, n_rows: int, random_state: int
) -> list[tuple[str, Any]]:
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415 # loads late
    from sklearn.neural_network import MLPClassifier  # noqa: PLC0415 # the same
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415 # the same
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415 # the same

    network = MLPClassifier(
        hidden,
        early_stopping=n_rows >= 200,  # of fewer a tenth doesn't show when to stop
        n_iter_no_change=5,
        max_iter=60,
        random_state=random_state,
    )
    # Ten rows to a leaf: it must rank confidences, not memorize people.
    forest = RandomForestClassifier(trees, min_samples_leaf=10, random_state=random_state, n_jobs=1)
    return [("network", make_pipeline(StandardScaler(), network)), ("forest", forest)]
