"""PartitionedClassifier: models of disjoint parts vote, so that few hostile rows flip nothing."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl
from polars import selectors
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from halfmask._errors import ParameterError
from halfmask._foreign import foreign
from halfmask._validation import integer_at_least, number_between
from halfmask.anonymize.given_rows import read
from halfmask.anonymize.settings import seeded
from halfmask.training._checked import are_labels, flat, learns, one_a_row, seed_of
from halfmask.training._encoding import taken
from halfmask.training._fitting import CAUSE, asking
from halfmask.training._recount import RedactedReprMixin

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

OWNER = "PartitionedClassifier"
#: More would only fill memory: most have no row.
MAX_PARTITIONS = 10**6


class PartitionedClassifier(
    RedactedReprMixin,
    ClassifierMixin,  # type: ignore[misc] # scikit-learn ships no types
    MetaEstimatorMixin,  # type: ignore[misc] # the same
    BaseEstimator,  # type: ignore[misc] # the same
):
    """Train one model on each partition of the rows, and let all of them vote.

    A hostile row is in one partition and changes one vote. :meth:`certified_rows` counts how many
    hostile rows each prediction survives, whatever they hold.

    Parameters
    ----------
    estimator
        The scikit-learn classifier to train, not fitted, with all preprocessing in its pipeline:
        what is fitted to all rows isn't covered. It must accept unseen categories.
    n_partitions
        How many models vote. More of them survive more hostile rows, and each learns from fewer.
    random_state
        The seed of the hash, and of models whose ``random_state`` isn't an integer.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    partition_sizes_ : ndarray of shape (n_partitions,)
        How many rows each model learned from. One without rows doesn't vote.

    Notes
    -----
    **Guarantees.** A prediction stays the same after any `certified_rows` rows were added, removed
    or given another label. A row with changed cells counts twice: as removed, and as added. The
    attacker may know everything, the seed too.

    A keyed hash of its cells, without the label, assigns each row; the order of rows doesn't
    matter. Ties go to the lower class.

    **Edge cases.** The model must learn the same from the same rows. The types of columns, their
    lists of categories and the type of labels are the owner's, as by a schema. A label that no row
    has is a possible rival, too. The fit fails where a model can't learn a row, such as one with an
    infinite number, and where all labels are the same.

    There are no weights of rows. A ``class_weight`` by label is that of each model.

    Levine and Feizi, "Deep partition aggregation: provable defense against general poisoning
    attacks" (ICLR 2021), theorem 1.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rows = np.random.default_rng(0).normal(size=(600, 2))
    >>> y = rows[:, 0] + rows[:, 1] > 0
    >>> model = PartitionedClassifier(LogisticRegression(), n_partitions=21).fit(rows, y)
    >>> model.certified_rows([[3.0, 3.0], [-3.0, -3.0]]).tolist()
    [10, 10]
    """

    def __init__(
        self,
        estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
        *,
        n_partitions: int = 101,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.estimator = estimator
        self.n_partitions = n_partitions
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> Self:  # noqa: ANN401 # any table
        """Train a model on each partition of the rows.

        Parameters
        ----------
        X, y
            The rows, a frame or an array, and their labels.
        """
        self.__dict__.pop("voters_", None)  # a fit that fails must not leave an older one
        integer_at_least(1, owner=OWNER, n_partitions=self.n_partitions)
        number_between(1, MAX_PARTITIONS, owner=OWNER, n_partitions=int(self.n_partitions))
        seed = seed_of(self.random_state, owner=OWNER)
        learns(self.estimator)
        if isinstance(self.estimator, FrozenEstimator):
            raise ParameterError(f"{OWNER} trains its estimator. Got one that is frozen.")
        if not is_classifier(self.estimator):
            kind = type(self.estimator).__name__
            raise ParameterError(f"{OWNER} takes classifiers. Got the regressor {kind}.")
        labels = flat(y, owner=OWNER)
        X, table = read(self, X, reset=True)
        one_a_row(labels, table.height)
        are_labels(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        hashes = _hashes(table, seed)
        partitions = (hashes % np.uint64(self.n_partitions)).astype(np.int64)
        self.partition_sizes_ = np.bincount(partitions, minlength=self.n_partitions)
        # By hash and label: what a model learns doesn't depend on the order in which rows came.
        order = np.lexsort((codes, hashes, partitions))
        parts = np.split(order, np.cumsum(self.partition_sizes_)[:-1])
        model = seeded(self.estimator, seed)
        self.voters_ = [
            _voter(model, taken(X, part), codes[part], self.classes_) for part in parts if len(part)
        ]
        return self

    def votes(self, X: Any) -> NDArray[np.int64]:  # noqa: ANN401 # any table
        """Return how many models vote for each of ``classes_``, a row a row.

        Parameters
        ----------
        X
            The rows, with the columns of the fit.
        """
        check_is_fitted(self)
        X, table = read(self, X, reset=False)
        counts = np.zeros((table.height, len(self.classes_)), dtype=np.int64)
        for model, own in self.voters_:
            with asking(model, "predict", table):
                voted = np.asarray(model.predict(X)).astype(np.int64)
            counts[np.arange(table.height), own[voted]] += 1
        return counts

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: ANN401 # any table
        """Return the label that most models vote for; of those that tie, the lowest.

        Parameters
        ----------
        X
            The rows, with the columns of the fit.
        """
        winners = self.votes(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[winners]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any table
        """Return the share of votes of each of ``classes_``.

        Parameters
        ----------
        X
            The rows, with the columns of the fit.
        """
        votes = self.votes(X)
        return votes / len(self.voters_)

    def certified_rows(self, X: Any) -> NDArray[np.int64]:  # noqa: ANN401 # any table
        """Return how many hostile training rows each prediction survives, proven.

        Parameters
        ----------
        X
            The rows, with the columns of the fit.
        """
        votes = self.votes(X)
        places, winner = np.arange(len(votes)), votes.argmax(axis=1)
        rivals = votes + (np.arange(votes.shape[1]) < winner[:, None])  # the lower one wins a tie
        rivals[places, winner] = 0
        # A hostile row may bring a label that sorts before all others.
        most = np.maximum(rivals.max(axis=1), 1)
        return np.asarray((votes[places, winner] - most) // 2)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "voters_")

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 # scikit-learn ships no types
        tags = super().__sklearn_tags__()  # what the models can't read, they refuse themselves
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def _hashes(table: pl.DataFrame, seed: int) -> NDArray[np.uint64]:
    """Return the keyed hash of each row's cells: 1, 1.0 and True are the same, as -0.0 and 0 are.

    Rows of one hash that aren't the same are in one partition, and harm no other.
    """
    key = blake2b(str(seed).encode(), person=b"halfmask/parts", digest_size=32).digest()
    numbers = selectors.numeric() | selectors.boolean() | selectors.duration()
    cells = table.with_columns(
        numbers.cast(pl.Float64).replace(0.0, 0.0),
        (selectors.date() | selectors.datetime()).dt.timestamp("us"),  # of any unit
    )
    texts = cells.select(pl.concat_str(pl.all().cast(pl.String).fill_null("\1"), separator="\0"))
    digests = (blake2b(row.encode(), key=key, digest_size=8) for row in texts.to_series())
    return np.frombuffer(b"".join(each.digest() for each in digests), dtype="<u8")


def _voter(
    model: Any,  # noqa: ANN401 # scikit-learn's
    rows: Any,  # noqa: ANN401 # any table
    codes: NDArray[np.int64],
    classes: NDArray[Any],
) -> tuple[Any, NDArray[np.int64]]:
    """Return a model of a part, and the labels that it calls 0, 1, 2, ...: those that are there."""
    own, labels = np.unique(codes, return_inverse=True)
    voter = clone(model) if len(own) > 1 else DummyClassifier()
    weights = {
        name: {number: given[each] for number, each in enumerate(classes[own]) if each in given}
        for name, given in voter.get_params().items()
        if name.split("__")[-1] == "class_weight" and isinstance(given, Mapping)
    }
    failed = f"{type(model).__name__} couldn't be fitted to a partition of {len(codes)} rows"
    with foreign(failed, hint=f"{CAUSE}Take fewer partitions.", keep_cause=True):
        fitted = voter.set_params(**weights).fit(rows, labels)
    return fitted, own
