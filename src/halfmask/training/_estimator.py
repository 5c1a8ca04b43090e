"""AnonymizedEstimator: a model that learns from anonymized people, as one estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, is_classifier
from sklearn.utils import TransformerTags, get_tags
from sklearn.utils.validation import check_is_fitted

from halfmask._errors import SchemaError
from halfmask.anonymize._given_rows import collected, is_frame
from halfmask.training._anonymizing import (
    Anonymizing,
    judged,
    labels_column,
    numbers_are_there,
)
from halfmask.training._answering import Answering
from halfmask.training._checked import flat, unweighted
from halfmask.training._classes import Classes, Whole
from halfmask.training._discreet import Discreet
from halfmask.training._encoding import as_table, columns_match
from halfmask.training._fitting import tell, telling
from halfmask.training._guides import of_labels
from halfmask.training._in_steps import retrain_in_steps
from halfmask.training._partitions import partitions
from halfmask.training._points import each_point, repeated
from halfmask.training._prepared import prepared
from halfmask.training._recount import judge_again
from halfmask.training._representatives import CHOSEN, representative_named
from halfmask.training._retraining import Retrained, retrain
from halfmask.training._stepwise import answers_in_steps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import ArrayLike, NDArray

    from halfmask.anonymize._method import Method
    from halfmask.data import Hierarchy, HierarchyRule, Kind
    from halfmask.guarantees import Guarantee

__all__ = ["AnonymizedEstimator"]


class AnonymizedEstimator(
    Discreet,
    Answering,
    MetaEstimatorMixin,  # type: ignore[misc] # scikit-learn ships no types
    TransformerMixin,  # type: ignore[misc] # the same
    BaseEstimator,  # type: ignore[misc] # the same
):
    """Train a model on anonymized people: guide, anonymize, retrain.

    Classes of the training rows are grown so that a model of the same kind can still tell them
    apart, every row's quasi-identifiers are replaced by its class's point in the space that the
    model sees, and the model is trained on those. It predicts rows as they are.

    Parameters
    ----------
    estimator
        The model to be trained: a scikit-learn classifier or regressor, not fitted. It is given
        the encoded rows, numbers without names: preprocessing by name belongs into ``encoder``.
    guarantees
        What every class must keep, such as ``[KAnonymity(k=100)]``; on ``label`` it judges ``y``.
    quasi_identifiers
        The columns of which an intruder may know values, by name, or by position where no other
        column has that number for a name; ``None``: all. Other columns reach the model untouched.
    guide
        What leads the classes: ``"cross-fitted"`` (models of the same kind, each asked about rows
        that it didn't see), ``"fitted"`` (one model of all rows: the paper), ``"labels"``, a fitted
        model or callable on encoded rows, predictions (rows,) or (rows, outputs), labels, a
        :class:`Guidance`, or a list of any of these, which then lead together. Where the estimator
        is cloned (searches, accuracy by k) a fitted model must be in a
        ``sklearn.frozen.FrozenEstimator``.
    method
        How classes are found; ``None``: :class:`Guided`, with ``"chosen"`` in several ways.
    representative
        What a class is written as: ``"centroid"``, ``"typical"``, ``"box"``, ``"median"``,
        ``"spread"``, ``"unconfounded"``, ``"record"`` (the paper's), ``"nearest-prediction"``, or
        ``"chosen"``: those that suit are tried, on several partitions, ``"unconfounded"`` and
        ``"centroid"`` are refined by what retrained models lack, and those win whose model agrees
        best with the labels of the rows as they were; of equals, those whose model knows least by
        heart (docs/explanation/training-on-protected-people.md).
    by_heart
        With tree-based models and ``"chosen"``: the penalty on membership leakage when candidates
        are ranked, 0 to 1: score - penalty * attack advantage. With 0 only accuracy counts.
    encoder
        Makes numbers of rows, as the model sees them; ``None``: numbers to mean 0 and deviation 1,
        a column for each category. It learns from the rows as they are; a ``FrozenEstimator`` that
        was fitted to other rows avoids that.
    refinements
        How often points are moved after a retraining, shared among what they start from.
    folds
        Into how many parts the rows are cut for a cross-fitted guide.
    hierarchies, kinds, max_suppression_fraction
        As in :class:`Anonymizer`. A suppressed row isn't given to ``model_``; guide and encoder
        have learned from it.
    verbose
        1 prints stages and, every five seconds at most, which model is trained; 2 every model.
    label, seed
        The name under which guarantees judge ``y``, numbers by their size; what folds, halves and
        scattered values are drawn from, though not what the estimator draws.

    Attributes
    ----------
    model_
        The retrained model. In place of quasi-identifiers it was given its class's point, which
        with ``"record"`` is a person's; other columns are the rows', and so are labels, unless
        ``representative_`` says that they were exchanged within classes. A model that keeps rows
        (neighbours, support vectors) holds these.
    anonymizer_, encoder_ : Anonymizer, Encoding
        The fitted classes and encoder. They hold values: they belong at home.
    by_encoding_ : bool
        Whether the classes are of the columns that the model sees, rather than of the table's: then
        ``anonymizer_`` places encoded rows.
    points_ : ndarray of shape (n_classes, n_columns_of_quasi_identifiers)
        What each class is written as.
    more_points_ : ndarray of shape (n_more, n_classes, n_columns_of_quasi_identifiers)
        Further points, where ``representative_`` says so: the model was given each row with each.
    representative_ : str
        Which representative was used.
    led_by_ : str
        What led the classes: ``"led by rows"``, ``"led by labels"`` or ``"led by quasi-identifiers
        alone"``: what a guide says on average over other columns, or ``"case by case"`` beside
        those of some rows; ``"wider"`` stands for a larger ``least_gain``, ``"to the end"`` for
        none, ``"by other columns too"`` and ``"by the model's columns"`` for what was cut.
    trials_ : dict of str to float
        The accuracy or R² of the best that were tried, on rows as they were. Where other columns
        let a model know them by heart: with models of splits on those that it didn't learn, else
        less what one of half the rows gains by having learned them, on the partition that won.
    judgements_ : list of Judgement
        What each guarantee achieves.
    classes_ : ndarray
        The labels, for classifiers.

    Raises
    ------
    GuaranteeNotMetError
        If the rows, all in one class, miss a guarantee, or classes counted again in what the model
        is given do.

    See Also
    --------
    Anonymizer : Tables rather than models.
    halfmask.attack : What an intruder still learns of the model.

    Notes
    -----
    **Guarantees.** In the matrix that the model is trained on all columns that depend on a
    quasi-identifier form classes that keep every guarantee, counted again there with the labels
    that the model is given. It is a promise about those columns: whoever knows other columns of
    somebody may still find the row (linking by what isn't recoded), and no promise bounds what the
    model says of its training rows: attack it.

    **Edge cases.** Points are synthetic, except ``"record"`` and ``"nearest-prediction"``, which
    are somebody's; of a single quasi-identifier, or where an encoder mixes them, values that occur
    are, too. Of several points a model counts people several times.

    After Goldsteen et al., "Anonymizing machine learning models" (2020), with what stands in
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
    """

    def __init__(  # noqa: PLR0913 # a meta-estimator takes what its parts take
        self,
        estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
        *,
        guarantees: Sequence[Guarantee],
        quasi_identifiers: Sequence[str | int] | None = None,
        guide: Any = "cross-fitted",  # noqa: ANN401 # many kinds
        method: Method | None = None,
        representative: str = CHOSEN,
        by_heart: float = 0.5,
        encoder: Any = None,  # noqa: ANN401 # scikit-learn ships no types
        refinements: int = 8,
        folds: int = 3,
        hierarchies: Mapping[str, Hierarchy | HierarchyRule] | None = None,
        kinds: Mapping[str, Kind] | None = None,
        max_suppression_fraction: float = 0.0,
        label: str = "label",
        seed: int = 0,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.guarantees = guarantees
        self.quasi_identifiers = quasi_identifiers
        self.guide = guide
        self.method = method
        self.representative = representative
        self.by_heart = by_heart
        self.encoder = encoder
        self.refinements = refinements
        self.folds = folds
        self.hierarchies = hierarchies
        self.kinds = kinds
        self.max_suppression_fraction = max_suppression_fraction
        self.label = label
        self.seed = seed
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike, **others: object) -> Self:  # noqa: ANN401 # any table
        """Anonymize the rows and train the model on them.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_features)
            The rows as they are.
        y : array of shape (n_samples,)
            Their labels or numbers. Weights (``**others``) are refused: guarantees count rows.
        """
        unweighted(others)
        self.__dict__.pop("model_", None)  # a fit that fails must not leave half of an older one
        self._retrained(collected(X), flat(y))
        return self

    def _retrained(self, X: Any, labels: NDArray[Any]) -> Retrained:  # noqa: ANN401 # any table
        with telling(type(self).__name__, self.verbose):
            return self._led(X, labels)

    def _led(self, X: Any, labels: NDArray[Any]) -> Retrained:  # noqa: ANN401 # the same
        tell("encoding rows and training the guide")
        ready = prepared(self, X, labels, guide=self.guide)
        table, names, encoded, led_by = ready.table, ready.names, ready.encoded, ready.guidance
        self.n_features_in_, self.encoder_ = table.width, ready.encoding
        self.__dict__.pop("feature_names_in_", None)
        if all(isinstance(name, str) for name in getattr(X, "columns", [0])):
            self.feature_names_in_ = np.array(table.columns, dtype=object)
        several = representative_named(self.representative) == CHOSEN
        in_steps = several and answers_in_steps(self.estimator, encoded, labels, seed=self.seed)
        beside = judged(table, labels, self.label, self.guarantees)
        by_others = in_steps and not self.max_suppression_fraction  # none is left out for those
        others = self.encoder_.reaching(X) if by_others else []
        made = Anonymizing.of(self, beside, names, encoded, others=others, in_steps=in_steps)
        whole = Whole.of(ready, made, labels, estimator=self.estimator, seed=self.seed)
        tell("finding classes")
        tried = [
            Classes.of(whole, led)
            for led in partitions(
                self.method,
                led_by,
                several=several,
                labels=of_labels(self.estimator, labels) if in_steps else None,
                others=len(made.parted) > len(names),
                encoding=made.seen is not None,
            )
        ]
        tell(f"retraining on {len(tried)} partitions")
        best = (
            retrain_in_steps(tried, by_heart=self.by_heart, exchange=led_by.crossed, seed=self.seed)
            if in_steps
            else retrain(tried, self.representative, steps=self.refinements)
        )
        self._keep(best, beside)
        if is_classifier(self.estimator):
            # As the model says them: a label that only suppressed rows have is none of them.
            self.classes_ = np.asarray(
                getattr(self.model_, "classes_", np.unique(labels[self.anonymizer_.cells_ >= 0]))
            )
        return best

    def _keep(self, best: Retrained, beside: pl.DataFrame) -> None:
        columns = dict(zip(beside.columns, beside.filter(best.classes.kept), strict=True))
        columns[self.label] = labels_column(self.label, best.labels)
        points = each_point(best.points)
        written = np.hstack(list(points[:, best.classes.rows.classes]))
        judgements = best.classes.anonymizer.judgements_
        judge_again(written, columns, guarantees=[each.guarantee for each in judgements])
        self.anonymizer_, self.judgements_ = best.classes.anonymizer, judgements
        self.led_by_, self.by_encoding_ = best.classes.name, best.classes.led.by_encoding
        self.representative_, self.points_, self.more_points_ = best.name, points[0], points[1:]
        self.trials_ = best.trials
        self.model_ = best.model

    def fit_transform(self, X: Any, y: ArrayLike) -> NDArray[np.float64]:  # noqa: ANN401
        """Fit, and return rows as the model was given them, missing where they took no part.

        The labels that it was given needn't be ``y``, and of several points it was given the others
        too: :meth:`fit_protect` returns all.
        """
        X = collected(X)
        self.fit(X, y)
        written = self.encoder_.encode(X)
        cells = self.anonymizer_.cells_
        written[:, self.encoder_.depends_] = self.points_[cells]
        written[cells < 0] = np.nan
        return written

    def fit_protect(self, X: Any, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[Any]]:  # noqa: ANN401
        """Fit, and return the rows and the labels that the model was given, for another to learn.

        Where labels were exchanged within classes (``representative_`` says so) they aren't ``y``:
        of the rows with ``y`` a model may know more by heart. The estimator, which people save and
        notebooks print, doesn't keep them.

        Returns
        -------
        The rows, (rows, columns that the model sees), in the order of ``X``, without those that
        took no part; and the label or number of each. Where classes have several points all rows
        are there once with the first points, then all with the second, and so on: folds for
        cross-validation must keep the rows of a person together.

        Notes
        -----
        **Guarantees.** Those of the fit: they were counted in these rows, with these labels; of
        several points in what the rows of one person have in common with others' in all of them.
        Columns that depend on no quasi-identifier, and the order, are those of the people.

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
        self.__dict__.pop("model_", None)  # as in a fit
        best = self._retrained(collected(X), flat(y))
        written = best.classes.judge.written(best.points, best.classes.rows.classes)
        return written, repeated(best.labels, best.points)

    def transform(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any table
        """Return rows as the model would see them, written by the class that they fall into.

        It is for rows that are to leave like the training rows did. It writes the first points.

        Raises
        ------
        SchemaError
            If a row has a category that the fit never saw, or lacks a number that classes were
            parted by; neither where classes are of the encoder's columns (``by_encoding_``).
        """
        check_is_fitted(self)
        X = collected(X)
        table = as_table(X)
        encoded = self.encode(X)
        plan = self.anonymizer_.plan_
        if self.by_encoding_:
            table = self.encoder_.seen(encoded)
        else:
            numbers_are_there(table, plan.quasi_identifiers, self.encoder_.quasi_identifiers)
        cells = plan.cells(table)
        if (cells < 0).any():
            raise SchemaError(
                f"{int((cells < 0).sum())} rows have a category that the fit never saw.",
                hint="Leave them out, or predict them as they are.",
            )
        encoded[:, self.encoder_.depends_] = self.points_[cells]
        return encoded

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:  # noqa: ARG002 # scikit-learn's
        """Return what the columns of :meth:`transform` are called, as the encoder calls them."""
        check_is_fitted(self)
        return np.array(self.encoder_.names(), dtype=object)

    def encode(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any table
        """Return rows as the model sees them, as they are.

        Raises
        ------
        SchemaError
            If a column holds another kind of cells than at the fit: texts rather than numbers.
            Numbers that spell the fitted categories are these.
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
