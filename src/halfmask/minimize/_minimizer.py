"""Minimizer: how coarse the features of a model may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from halfmask._errors import (
    ColumnNotFoundError,
    DataError,
    ParameterError,
    SchemaError,
)
from halfmask._validation import integer_at_least, number_between, one_of, rows_of_share
from halfmask.anonymize.coding import Coding, code_column
from halfmask.anonymize.given_rows import as_array, collected, is_frame, named, read
from halfmask.anonymize.rewritten import rewritten
from halfmask.anonymize.settings import hierarchies_given, several_names
from halfmask.data import Column, to_polars
from halfmask.minimize._feature import Feature
from halfmask.minimize._generalizations import Generalizations
from halfmask.minimize._model import LabelledModel, ValuePool
from halfmask.minimize._score import Right, score_of
from halfmask.minimize._search import AnswerCache, CachedKeys, Search
from halfmask.minimize._validated import (
    ValidatedStep,
    ValidationRows,
    explain,
    last_valid_step,
    sentence,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from halfmask.data import Hierarchy, HierarchyRule, Kind

SEARCH_ROWS = 10_000  # more rows make the search slower, and the validation checks the result


class Minimizer(
    OneToOneFeatureMixin,  # type: ignore[misc] # scikit-learn ships no types
    TransformerMixin,  # type: ignore[misc] # the same
    BaseEstimator,  # type: ignore[misc] # the same
):
    """Find how coarse each feature may be while a model stays as good.

    Use it before you collect data for a model that you already have. The model may need one of
    three age ranges instead of an exact age, and no country at all. The method follows Goldsteen,
    Ezov, Shmelkin, Moffie and Farkash, "Data minimization for GDPR compliance in machine learning
    models" (AI and Ethics, 2021). Unlike there, each feature has one partition of its own, so that
    a form can ask for it.

    Parameters
    ----------
    estimator
        The fitted model: anything with ``predict``, or a function of rows. It isn't fitted, changed
        or cloned. It gets rows of the library and types that ``fit`` got.
    target_accuracy
        The score that the model must keep on coarser rows, at most 1: see ``scoring``.
    features
        The columns that may become coarser, by name, or by position in an array; ``None``: all.
    categorical
        Columns of numbers that are categories, by name or position; texts are without that.
    hierarchies
        For a column's name its hierarchy or a rule that builds one; its groups are then nodes.
    kinds
        For a column's name its kind, where the type isn't enough.
    validation_fraction
        The share of the rows, in (0, 1), that is held out from the search and tests its result.
    scoring
        ``"agreement"``: the share of predictions that stay the same (regression: R2 relative to
        them). ``"accuracy"``: the share that equals ``y`` (regression: R2). Or a function
        ``score(truth, predictions)`` where larger is better.
    confidence
        The confidence of the claim, in [0.5, 1).
    unseen
        What :meth:`transform` does with a category, or a missing cell, that the fit never saw:
        ``"error"``, or ``"commonest"`` (the group with the most rows, or the commonest value).
    random_state
        Draws the validation rows. The same state, rows and model give the same result.

    Attributes
    ----------
    generalizations_ : Generalizations
        For each feature its ranges or groups of categories, "not needed" or "unchanged".
    accuracy_ : float
        The score on the validation rows.
    accuracy_bound_ : float
        Its lower confidence bound, at least ``target_accuracy``.
    ncp_ : float
        The information lost, in [0, 1], mean over the features: 0 before, this after.
    bits_ : tuple of float
        The bits that a person reveals, before and after: sums of the features' entropies.
    sentence : str
        All of this in one sentence, without a value of a row.
    n_features_in_ : int
        How many columns were fitted.

    Raises
    ------
    GuaranteeNotMetError
        If even unchanged rows miss the target.

    See Also
    --------
    halfmask.AnonymizedEstimator : Protects the people of the training rows.

    Notes
    -----
    **Guarantees.** With the stated confidence, the score on new rows of the same population is at
    least ``target_accuracy``. The search returns a sequence of steps, each coarser than the last. A
    few of them are tested on the validation rows in this order, until a lower bound misses the
    target. They are chosen without the validation rows. The last step that passed is used. A fixed
    sequence of tests needs no correction (Angelopoulos et al., "Learn then test", 2021). The bound
    is exact for classification (Clopper-Pearson), and approximate for R2 and for your own scores.
    Nothing is guaranteed for other populations, nor about privacy: coarser rows reveal less, but
    they aren't anonymous.

    **Edge cases.** With too few rows nothing can be guaranteed. With ``"agreement"`` all features
    then stay unchanged, and ``sentence`` states how many rows are needed. Other scores miss the
    target. A feature with one value stays unchanged. Missing cells are a group of their own. A
    number outside of the fitted range gets the nearest range. ``unseen`` applies to features that
    stay unchanged, too, but not to those that aren't needed or aren't in ``features``. Frames given
    to ``transform`` may lack the columns that aren't needed. ``clone`` keeps the fitted model. A
    function that returns numbers which aren't whole is treated as a regression.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> people = rng.integers(0, 90, (600, 2))
    >>> adults = Minimizer(lambda rows: rows[:, 0] >= 18, target_accuracy=0.98, random_state=0)
    >>> coarser = adults.fit_transform(people)
    >>> print(adults.generalizations_.text)
    x0: below 18 / 18 or more
    x1: not needed
    """

    def __init__(  # noqa: PLR0913 # each is one thing that a caller may want to say
        self,
        estimator: Any,  # noqa: ANN401 # anything that predicts
        *,
        target_accuracy: float,
        features: Sequence[str | int] | None = None,
        categorical: Sequence[str | int] | None = None,
        hierarchies: Mapping[str, Hierarchy | HierarchyRule] | None = None,
        kinds: Mapping[str, Kind] | None = None,
        validation_fraction: float = 0.4,
        scoring: Literal["agreement", "accuracy"] | Callable[..., float] = "agreement",
        confidence: float = 0.95,
        unseen: Literal["error", "commonest"] = "error",
        random_state: int,
    ) -> None:
        self.estimator = estimator
        self.target_accuracy = target_accuracy
        self.features = features
        self.categorical = categorical
        self.hierarchies = hierarchies
        self.kinds = kinds
        self.validation_fraction = validation_fraction
        self.scoring = scoring
        self.confidence = confidence
        self.unseen = unseen
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:  # noqa: ANN401 # any table
        """Find how coarse the features may be.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_features)
            Rows as the model knows them, best rows that it wasn't trained on.
        y : array of shape (n_samples,), optional
            The truth, where ``scoring`` needs it.

        Raises
        ------
        ParameterError, SchemaError, ColumnNotFoundError
            If an argument or a column can't be what it is declared to be.
        DataError
            If the model fails, gives NaN, or the same prediction for all rows.
        GuaranteeNotMetError
            If even unchanged rows miss the target.
        """
        self._check()
        X, table = read(self, X, reset=True, least=2)
        chosen = self._chosen(table.columns)
        codings = [self._coding(table[name]) for name in table.columns]
        codes = np.stack([coding.codes(table[coding.column.name]) for coding in codings])
        firsts = [np.unique(column, return_index=True)[1] for column in codes]
        pool = ValuePool.of(X, table.columns, firsts)
        model = LabelledModel(self.estimator, pool)
        own = model.ask(X)
        truth = self._truth(own, y, model)
        rng = np.random.default_rng(self.random_state)
        order = rng.permutation(table.height)
        n_validation = max(
            1,
            min(
                table.height - 1,
                rows_of_share(self.validation_fraction, table.height, nearest=True),
            ),
        )
        validation, searched = order[:n_validation], order[n_validation:][:SEARCH_ROWS]
        features = [Feature.of(j, codings[j], codes[j, searched]) for j in chosen]
        score = score_of(self.scoring, truth, model, int(rng.integers(2**32)))
        keys = CachedKeys([coding.n_codes for coding in codings], int(rng.integers(2**32)))
        cache = AnswerCache(model, keys)
        search = Search(
            cache,
            codes[:, searched],
            truth[searched],
            features,
            score,
        )
        search.run(self.target_accuracy)
        rows = ValidationRows(
            ask=cache,
            codes=codes[:, validation],
            truth=truth[validation],
            own=own[validation],
            score=score,
        )
        validated = last_valid_step(
            search.path,
            rows,
            target=self.target_accuracy,
            error=1 - self.confidence,
            certain=self.scoring == "agreement",
        )
        self._keep(validated, features, pool, share=isinstance(score, Right))
        return self

    @property
    def sentence(self) -> str:
        """The result and its confidence in one sentence, without a value of a row."""
        check_is_fitted(self)
        return self._sentence

    def transform(self, X: Any) -> Any:  # noqa: ANN401 # any table
        """Return rows with each feature as its group's representative.

        Parameters
        ----------
        X
            The rows: a frame or an array, with the columns of the fit.

        Raises
        ------
        SchemaError
            If a feature that is needed has a category, or a missing cell, that the fit never saw,
            and ``unseen`` is ``"error"``.
        """
        check_is_fitted(self)
        X, table = read(self, self._completed(collected(X)), reset=False)
        written: dict[int, Any] = {}
        for j, coding in self._codings.items():
            target = self._targets.get(j)
            if target is not None and len(np.unique(target)) == 1:
                written[j] = self._pool.column(j, np.full(table.height, target[0]))
                continue
            codes = coding.codes(table[coding.column.name])
            unseen = codes < 0
            if unseen.any() and self.unseen == "error":
                raise SchemaError(
                    f"Column {coding.column.name!r} has {int(unseen.sum())} cells with a category, "
                    "or missing, that the fit never saw.",
                    hint='Fit again with rows that have them, set unseen="commonest", or leave the '
                    "column out of features.",
                )
            codes[unseen] = self._commonest[j]
            if target is not None:
                written[j] = self._pool.column(j, target[codes])
            elif unseen.any():
                written[j] = self._filled(X, j, codes, unseen)
        return rewritten(X, written)

    def _filled(
        self,
        X: Any,  # noqa: ANN401 # any table
        j: int,
        codes: NDArray[np.int64],
        unseen: NDArray[np.bool_],
    ) -> Any:  # noqa: ANN401 # a column of it
        """Return a column that stays unchanged, except in cells that the fit never saw."""
        known = self._pool.column(j, codes)
        if not self._codings[j].ordered:
            return known
        # Of numbers only missing cells are unseen; the code of another is that of a number near it.
        if isinstance(X, np.ndarray):
            return np.where(unseen, known, X[:, j])
        if hasattr(X, "iloc"):
            return X.iloc[:, j].reset_index(drop=True).where(~unseen, known)
        column = to_polars(X).to_series(j)
        return column.zip_with(pl.Series(~unseen), known.cast(column.dtype))

    def _check(self) -> None:
        number_between(float("-inf"), 1.0, owner="Minimizer", target_accuracy=self.target_accuracy)
        number_between(
            0.0,
            1.0,
            owner="Minimizer",
            low_open=True,
            high_open=True,
            validation_fraction=self.validation_fraction,
        )
        one_of(("error", "commonest"), owner="Minimizer", unseen=self.unseen)
        number_between(0.5, 1.0, owner="Minimizer", high_open=True, confidence=self.confidence)
        integer_at_least(0, owner="Minimizer", random_state=self.random_state)
        hierarchies_given(self.hierarchies, owner="Minimizer")
        several_names(owner="Minimizer", features=self.features, categorical=self.categorical)
        if not callable(self.scoring):
            one_of(("agreement", "accuracy"), owner="Minimizer", scoring=self.scoring)
        if not callable(getattr(self.estimator, "predict", self.estimator)):
            raise ParameterError(
                "The 'estimator' parameter of Minimizer must have a predict method, or be a "
                f"function of rows. Got a {type(self.estimator).__name__}."
            )

    def _chosen(self, names: list[str]) -> list[int]:
        """Return the positions of the features that may become coarser."""
        asked = names if self.features is None else [named(f, names) for f in self.features]
        declared = [named(column, names) for column in self.categorical or ()]
        declared += [*(self.hierarchies or {}), *(self.kinds or {})]
        unknown = [name for name in dict.fromkeys([*asked, *declared]) if name not in names]
        if unknown:
            raise ColumnNotFoundError.of(unknown, names, where="the table")
        if not asked:
            raise ParameterError("The 'features' parameter of Minimizer names no column.")
        self._categories = {named(column, names) for column in self.categorical or ()}
        return [j for j, name in enumerate(names) if name in asked]

    def _coding(self, series: pl.Series) -> Coding:
        kind: Kind = "categorical"
        if series.dtype.is_numeric():
            kind = "numeric"
        elif series.dtype.is_temporal():
            kind = "datetime"
        kind = (self.kinds or {}).get(series.name, kind)
        column = Column(
            name=series.name,
            role="quasi_identifier",
            kind="categorical" if series.name in self._categories else kind,
            hierarchy=(self.hierarchies or {}).get(series.name),
        )
        known = series.drop_nulls().unique()
        return code_column(column, known, missing=len(known) < series.n_unique())

    def _truth(
        self, own: NDArray[np.float64], y: ArrayLike | None, model: LabelledModel
    ) -> NDArray[np.float64]:
        """Return the true answers in the codes of the model's answers."""
        if self.scoring == "agreement" or (y is None and callable(self.scoring)):
            truth = own
        elif y is None:
            raise ParameterError(
                'Minimizer(scoring="accuracy") requires y to be passed, but the target y is None.',
                hint='Pass the true labels as y, or take scoring="agreement".',
            )
        else:
            labels = as_array(y).reshape(-1)
            if len(labels) != len(own):
                raise ParameterError(
                    f"X and y must have as many rows. Got {len(own)} and {len(labels)}."
                )
            truth = model.encoded_truth(labels)
        if (own == own[0]).all():
            raise DataError(
                f"The model gives all {len(own)} rows the same prediction; there is nothing to "
                "keep.",
                hint="Give rows for which it predicts different things.",
            )
        return truth

    def _keep(
        self, validated: ValidatedStep, features: Sequence[Feature], pool: ValuePool, *, share: bool
    ) -> None:
        """Set what was learned."""
        targets = validated.step.targets
        moved = {f.index: f for f in features if (targets[f.index] != f.identity).any()}
        self._pool = pool
        self._targets = {j: targets[j] for j in moved}
        self._codings = {feature.index: feature.coding for feature in features}
        self._commonest = {f.index: f.commonest(targets[f.index]) for f in features}
        answers = tuple(explain(feature, targets[feature.index]) for feature in features)
        self.generalizations_ = Generalizations(answers)
        self.accuracy_, self.accuracy_bound_ = validated.value, validated.bound
        self.ncp_ = self.generalizations_.ncp
        before, after = (answer.bits_before for answer in answers), (a.bits_after for a in answers)
        self.bits_ = (sum(before), sum(after))
        self._sentence = sentence(
            self.generalizations_,
            validated,
            target=self.target_accuracy,
            confidence=self.confidence,
            share=share,
        )

    def _completed(self, X: Any) -> Any:  # noqa: ANN401
        """Return a frame with the columns that aren't needed, where it lacks them."""
        names = getattr(self, "feature_names_in_", None)
        if names is None or not is_frame(X):
            return X
        idle = {j: t for j, t in self._targets.items() if len(np.unique(t)) == 1}
        return self._pool.completed(X, {j: int(t[0]) for j, t in idle.items()})

    def __sklearn_clone__(self) -> Self:
        # A clone of the model would be unfitted.
        return type(self)(**self.get_params(deep=False))

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 # scikit-learn ships no types
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = self.scoring == "accuracy"
        return tags
