"""TrainerTarget: who learns online from hashed rows of clients and answers them, and such rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from halfmask._errors import ParameterError
from halfmask._foreign import foreign
from halfmask._validation import integer_at_least
from halfmask.assess.attacks._answers import as_numbers, probabilities_of
from halfmask.assess.attacks._attack import given
from halfmask.hashing import HashedRows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from halfmask.assess._arrays import Floats, Ints


#: What attacks by what a client knows need.
PUBLIC = given("public", "public rows")
#: What a client gets of the model's probabilities of 1: fewer digits, or labels alone.
Answer: TypeAlias = "Callable[[Floats], Floats]"


class Trainer(Protocol):
    """Learns from clients' rows in their order, with whatever defends it, and predicts."""

    def learn(self, rows: HashedRows, *, client: str) -> object:
        """Learn from rows of a client."""

    def predict(self, rows: HashedRows) -> NDArray[np.floating]:
        """Return the probability of 1 for each row."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainerTarget:
    """A binary trainer, the honest rows it learns from, and the attacker's means.

    Parameters
    ----------
    make
        Makes a trainer that has learned nothing, with all that defends it.
    stream
        The honest clients' batches in the order in which they come, labelled 0 and 1.
    holdout
        Labelled rows that no model learns from, and that no defence sees: the test set.
    public
        Labelled rows of the same population that an attacker holds, hashed as the clients' are.
    answer
        The answer that a client gets for predictions; ``None``: all digits.
    quota
        How many predictions a client may ask for; ``None``: any number.

    Raises
    ------
    ParameterError
        If there are no rows, some have no label of 0 or 1 or are of other bits, or the quota is
        below 1.
    """

    make: Callable[[], Trainer]
    stream: Sequence[tuple[str, HashedRows]]
    holdout: HashedRows
    public: HashedRows | None = None
    answer: Answer | None = None
    quota: int | None = None

    def __post_init__(self) -> None:
        # Read once here: each training reads it again, and an iterator would be empty then.
        object.__setattr__(self, "stream", self._batches())
        if not self.stream:
            raise ParameterError("A trainer needs batches to learn from.")
        if self.quota is not None:
            integer_at_least(1, owner="TrainerTarget", quota=self.quota)
        public = [] if self.public is None else [("public", self.public)]
        every = (*self.stream, ("holdout", self.holdout), *public)
        for which, rows in every:
            _check_rows(rows, which)
        bits = {rows.bits for _, rows in every}
        if len(bits) > 1:
            raise ParameterError(
                f"All rows of a TrainerTarget must be of as many bits. Got {sorted(bits)}."
            )

    def _batches(self) -> tuple[tuple[str, HashedRows], ...]:
        try:
            return tuple((client, rows) for client, rows in self.stream)
        except (TypeError, ValueError):
            raise ParameterError(
                "The 'stream' parameter of TrainerTarget must be a list of pairs, "
                "a client's name and its hashed rows."
            ) from None

    def __repr__(self) -> str:
        n = sum(len(rows) for _, rows in self.stream)
        return (
            f"TrainerTarget({n} rows in {len(self.stream)} batches, {len(self.holdout)} held out)"
        )


def _check_rows(rows: object, which: str) -> None:
    if not isinstance(rows, HashedRows):
        raise ParameterError(
            f"What a TrainerTarget has from {which!r} must be hashed rows. "
            f"Got a value of type {type(rows).__name__}."
        )
    if not len(rows) or rows.labels is None or not np.isin(rows.labels, (0, 1)).all():
        raise ParameterError(
            "All rows of a TrainerTarget must have labels of 0 or 1. "
            f"Got others, or no rows, from {which!r}."
        )


def labels_of(rows: HashedRows) -> Ints:
    """Return labels of 0 and 1."""
    return np.asarray(rows.labels, dtype=np.int64)


def pick_rows(
    rows: HashedRows, places: Ints, *, labels: Ints, weight: float | None = None
) -> HashedRows:
    """Return some rows under other labels, each with one weight if one is given."""
    bounds, indices, values = rows.flat()
    lengths = np.diff(bounds)[places]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    within = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
    taken = np.repeat(bounds[places], lengths) + within
    width = rows.width
    shape = (-1,) if width is None else (len(places), width)
    numbers = rows.labels is not None and rows.labels.dtype == np.float32
    return HashedRows(
        indices=indices[taken].reshape(shape),
        bits=rows.bits,
        indptr=ends if width is None else None,
        values=None if values is None else values[taken].reshape(shape),
        labels=labels.astype(np.float32) if numbers else labels.astype(np.int32),
        weights=None if weight is None else np.full(len(places), weight, dtype=np.float32),
        classes=rows.classes,
    )


def matrix_of(rows: HashedRows, buckets: Ints) -> Floats:
    """Return the values of some buckets as a dense matrix with a column of ones behind."""
    dense = rows.to_csr()[:, buckets].toarray().astype(np.float64)
    return np.column_stack([dense, np.ones(len(dense))])


def ask_trainer(trainer: Trainer, rows: HashedRows) -> Floats:
    """Return what a trainer holds for the probability of 1 of each row."""
    with foreign("The trainer failed to predict"):
        predictions = as_numbers(trainer.predict(rows))
    return probabilities_of(predictions, (len(rows),), who="The trainer")
