"""AnonymizedEstimator: a model that is trained on classes of people, as one estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, is_classifier
from sklearn.utils import TransformerTags, get_tags
from sklearn.utils.validation import check_is_fitted

from halfmask._errors import SchemaError
from halfmask.anonymize.given_rows import collected, is_frame
from halfmask.training._candidates import RAW, TRANSFORMED, Partitioned, partitioned, placed
from halfmask.training._checked import flat, unweighted
from halfmask.training._encoding import as_table, columns_match
from halfmask.training._fitting import fitted, progress_printed, tell
from halfmask.training._predicting import PredictMixin
from halfmask.training._preparing import prepared
from halfmask.training._recount import RedactedReprMixin, recounted
from halfmask.training._representatives import CENTROID, CHOSEN
from halfmask.training._selection import best_of, scored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from halfmask.data import Hierarchy, HierarchyRule
    from halfmask.guarantees import Guarantee
    from halfmask.training._candidates import TrainingData, Written


class AnonymizedEstimator(
    RedactedReprMixin,
    PredictMixin,
    MetaEstimatorMixin,  # type: ignore[misc] # scikit-learn ships no types
    TransformerMixin,  # type: ignore[misc] # the same
    BaseEstimator,  # type: ignore[misc] # the same
):
    """Train a model on classes of at least k people: partition, represent, retrain.

    A tree that is guided by out-of-fold predictions groups the training rows into classes.
    Representatives of its class replace the quasi-identifiers of each row. The model is trained on
    these rows.

    Parameters
    ----------
    estimator
        The scikit-learn classifier or regressor to train, not fitted. It gets encoded rows: numbers
        without column names. Put preprocessing by name into ``encoder``.
    guarantees
        What each class must keep, such as ``[KAnonymity(k=100)]``. A guarantee on the column
        ``"label"`` is about ``y``.
    quasi_identifiers
        Columns that an attacker may know, by name or position; ``None``: all. Other columns reach
        the model unchanged.
    split_targets
        What guides the partition: ``"cross-fitted"`` (out-of-fold predictions), ``"fitted"`` (one
        model of all rows), ``"labels"``, ``None`` (Mondrian), a fitted model, a callable,
        predictions, or a list of these.
    representative
        What a class is written as: ``"centroid"`` (the mean), ``"quantile-spread"`` (four values
        at quantiles; each row is learned four times), or ``"chosen"`` by cross-validation.
    predict_on
        ``"raw"`` rows, ``"transformed"`` rows (the first representative of their class), or
        ``"chosen"`` by cross-validation. Rows with a category that the fit never saw stay raw.
    encoder
        A transformer that turns rows into numbers; ``None``: standard scores, and one column for
        each category. It is fitted to raw rows, unless it is a ``FrozenEstimator``.
    hierarchies
        For a column's name its hierarchy, or a rule that builds one. A class then holds values of
        one branch of it, or whole branches.
    cv
        The number of folds for cross-fitting, each model with 10,000 rows at most. Candidates are
        compared on the first of them that together learn 4,000 people. So a fit of a large table
        trains cv + 3 models, one of them on all rows.
    membership_penalty
        Weight of membership leakage when ``"chosen"`` ranks: score - penalty * advantage. With 0
        only the score counts.
    random_state
        The seed of the folds and of the order of quantiles. The estimator has its own seed.
    verbose
        1 prints stages and, at most every five seconds, the model in training. 2 prints each model.

    Attributes
    ----------
    model_
        The trained model. It learned representatives instead of quasi-identifiers, but the raw
        labels and other columns. A model that stores rows (neighbours) stores these.
    anonymizer_, encoder_ : Anonymizer, Encoding
        The fitted classes and encoder. They hold values of the rows: keep them at home.
    representatives_ : ndarray of shape (n_representatives, n_classes, n_recoded_columns)
        What each class is written as.
    representative_, predict_on_ : str
        The kind of representative, and whether raw or transformed rows are predicted.
    cv_results_ : list of CandidateScore
        Cross-validated score and membership advantage of each candidate, if any were compared.
    judgements_ : list of Judgement
        What each guarantee achieves.
    classes_ : ndarray
        The labels, for classifiers.

    Raises
    ------
    GuaranteeNotMetError
        If even one class of all rows misses a guarantee, or the recount finds a class that does.

    See Also
    --------
    Anonymizer : Classes of a table, rather than a model.
    halfmask.attack : What an attacker still learns from the model.

    Notes
    -----
    **Guarantees.** The rows that the model gets form classes that keep every guarantee, in the
    encoded columns that depend on a quasi-identifier. They are recounted there. Where a learner
    takes ``sample_weight``, equal rows are given once for up to four people. Nothing is guaranteed
    about other columns, or about what the model reveals of its training rows: attack it.

    **Edge cases.** If the rows of a fold can't keep the guarantees, ``"chosen"`` is the centroid,
    or raw rows. Each value at a quantile is a person's value. With a single quasi-identifier, each
    representative is a person's whole quasi-identifier.

    After Goldsteen et al., "Anonymizing machine learning models" (2020); the differences are in
    docs/explanation/training-on-protected-people.md.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from halfmask.guarantees import KAnonymity
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = rows[:, 0] + rows[:, 1] > 0
    >>> model = AnonymizedEstimator(LogisticRegression(), guarantees=[KAnonymity(k=10)])
    >>> model.fit(rows, y).score(rows, y) > 0.9
    True

    Only the first column is a quasi-identifier; labels guide the cuts; a class is its mean:

    >>> model = AnonymizedEstimator(
    ...     LogisticRegression(),
    ...     guarantees=[KAnonymity(k=10)],
    ...     quasi_identifiers=[0],
    ...     split_targets="labels",
    ...     representative="centroid",
    ...     predict_on="transformed",
    ... ).fit(rows, y)
    >>> model.representative_, model.judgements_[0].holds
    ('centroid', True)
    """

    def __init__(  # noqa: PLR0913 # a meta-estimator takes what its parts take
        self,
        estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
        *,
        guarantees: Sequence[Guarantee],
        quasi_identifiers: Sequence[str | int] | None = None,
        split_targets: Any = "cross-fitted",  # noqa: ANN401 # many kinds
        representative: str = CHOSEN,
        predict_on: str = "raw",
        encoder: Any = None,  # noqa: ANN401 # scikit-learn ships no types
        hierarchies: Mapping[str, Hierarchy | HierarchyRule] | None = None,
        cv: int = 3,
        membership_penalty: float = 0.5,
        random_state: int | np.random.RandomState | None = 0,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.guarantees = guarantees
        self.quasi_identifiers = quasi_identifiers
        self.split_targets = split_targets
        self.representative = representative
        self.predict_on = predict_on
        self.encoder = encoder
        self.hierarchies = hierarchies
        self.cv = cv
        self.membership_penalty = membership_penalty
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike, **others: object) -> Self:  # noqa: ANN401 # any table
        """Anonymize the rows and train the model on them.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_features)
            The raw rows.
        y : array of shape (n_samples,)
            Their labels or numbers.
        **others
            Refused, such as ``sample_weight``: guarantees count rows.
        """
        unweighted(others)
        self._trained(collected(X), flat(y))
        return self

    def fit_transform(self, X: Any, y: ArrayLike) -> NDArray[np.float64]:  # noqa: ANN401 # any table
        """Fit, and return the rows with the first representative of their class.

        With several representatives the model also learned the others. :meth:`fit_protect` returns
        all of them.

        Parameters
        ----------
        X, y
            As of `fit`.
        """
        rows, _ = self.fit_protect(X, y)
        return rows[: len(self.anonymizer_.cells_)]

    def fit_protect(self, X: Any, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[Any]]:  # noqa: ANN401
        """Fit, and return the rows and labels that the model was trained on.

        Parameters
        ----------
        X, y
            As of `fit`.

        Returns
        -------
        The rows, (rows, encoded columns), in the order of ``X``, and their labels. The model got
        them, or equal ones once with their number as weight. With several representatives all rows
        come once with the first, then all with the second, and so on. In cross-validation, keep all
        rows of a person in one fold.

        Notes
        -----
        **Guarantees.** Those of the fit, recounted in these rows and labels. Columns that depend on
        no quasi-identifier are raw. The rows keep their order.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from halfmask.guarantees import KAnonymity
        >>> rows = np.random.default_rng(0).normal(size=(200, 2))
        >>> model = AnonymizedEstimator(LogisticRegression(), guarantees=[KAnonymity(k=10)])
        >>> written, labels = model.fit_protect(rows, rows[:, 0] > 0)
        >>> bool(np.unique(written, axis=0, return_counts=True)[1].min() >= 10)
        True
        >>> another = LogisticRegression().fit(written, labels)
        """
        return self._trained(collected(X), flat(y)).of_people()

    def _trained(
        self,
        X: Any,  # noqa: ANN401 # any table
        labels: NDArray[Any],
    ) -> Written:
        self.__dict__.pop("model_", None)  # a fit that fails must not leave half of an older one
        with progress_printed(type(self).__name__, self.verbose):
            tell("encoding rows and predicting split targets")
            data = prepared(self, X, labels)
            self.n_features_in_, self.encoder_ = as_table(X).width, data.encoding
            self.__dict__.pop("feature_names_in_", None)
            names = getattr(X, "columns", [0])
            if all(isinstance(name, str) for name in names):
                self.feature_names_in_ = np.array(as_table(X).columns, dtype=object)
            tell("partitioning")
            found = partitioned(data)
            tell("choosing representatives")
            self.representative_, self.predict_on_ = self._chosen(data)
            tell("retraining")
            return self._retrained(found)

    def _chosen(self, data: TrainingData) -> tuple[str, str]:
        """Return the representative, and what is predicted."""
        self.cv_results_ = []
        if CHOSEN in (self.representative, self.predict_on) and self.predict_on != TRANSFORMED:
            self.cv_results_ = scored(
                data,
                cv=self.cv,
                representative=self.representative,
                predict_on=self.predict_on,
            )
        if self.cv_results_:
            best = best_of(self.cv_results_, penalty=self.membership_penalty)
            return best.name, best.predict_on
        representative = CENTROID if self.representative == CHOSEN else self.representative
        return representative, RAW if self.predict_on == CHOSEN else self.predict_on

    def _retrained(self, found: Partitioned) -> Written:
        """Train the model on rows that were counted again."""
        representatives = found.represented(self.representative_)
        written = found.written(representatives)
        recounted(written, found)
        self.anonymizer_, self.representatives_ = found.anonymizer, representatives
        self.judgements_ = found.anonymizer.judgements_
        self.model_ = fitted(self.estimator, written.rows, written.labels, written.weights)
        if is_classifier(self.estimator):
            labels = np.unique(written.labels)
            self.classes_ = np.asarray(getattr(self.model_, "classes_", labels))
        return written

    def transform(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any table
        """Return encoded rows, written by the first representative of their class.

        Parameters
        ----------
        X
            The rows: a frame or an array, with the columns of the fit.

        Raises
        ------
        SchemaError
            If a quasi-identifier has a category that the fit never saw, or a missing number where
            there was none in the fit.
        """
        check_is_fitted(self)
        rows, cells = self._placed(X)
        if (cells < 0).any():
            raise SchemaError(
                f"{int((cells < 0).sum())} rows have a category, or a missing cell, that the fit "
                "never saw in a quasi-identifier.",
                hint="Leave them out, or predict them raw.",
            )
        return rows

    def rows_for_model(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any table
        """Return rows as the model predicts them: raw or transformed.

        Parameters
        ----------
        X
            The rows: a frame or an array, with the columns of the fit.
        """
        check_is_fitted(self)
        return self.encode(X) if self.predict_on_ == RAW else self._placed(X)[0]

    def _placed(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:  # noqa: ANN401
        """Return rows written by their classes, and these; -1 for rows that stay raw."""
        X = collected(X)
        return placed(
            self.anonymizer_,
            as_table(X),
            self.encode(X),
            columns=self.encoder_.depends_,
            points=self.representatives_[0],
        )

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:  # noqa: ARG002 # scikit-learn's
        """Return the names of the encoded columns.

        Parameters
        ----------
        input_features
            Ignored; for scikit-learn.
        """
        check_is_fitted(self)
        return np.array(self.encoder_.names(), dtype=object)

    def encode(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any table
        """Return raw rows as the encoder writes them.

        Parameters
        ----------
        X
            The rows: a frame or an array, with the columns of the fit.

        Raises
        ------
        SchemaError
            If a column holds another kind of cells than at the fit: texts rather than numbers.
            Numbers are read as categories if their text is a fitted category.
        """
        check_is_fitted(self)
        X = collected(X)
        if not is_frame(X):
            columns_match(X, self.n_features_in_)
        self.encoder_.types_match(X)
        return self.encoder_.encode(X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 # scikit-learn ships no types
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        if tags.classifier_tags is not None:  # labels are one column
            tags.classifier_tags = replace(tags.classifier_tags, multi_label=False)
        tags.transformer_tags, tags.target_tags.required = TransformerTags(), True
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags
