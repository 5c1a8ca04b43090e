"""Anonymizer: equivalence classes as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from halfmask._errors import ColumnNotFoundError, ParameterError, SchemaError
from halfmask._validation import fraction, list_of, mapping_of, one_of
from halfmask.anonymize._mondrian import Mondrian
from halfmask.anonymize._protection import Protection
from halfmask.anonymize.given_rows import as_array, collected, is_frame, named, read
from halfmask.anonymize.method import as_guides
from halfmask.anonymize.recodings import Centroid, Ranges, Recoding
from halfmask.anonymize.settings import (
    guarantees_given,
    hierarchies_given,
    levels_given,
    method_given,
    several_names,
    weights_given,
)
from halfmask.data import Column, Schema, like, orders_of
from halfmask.data.text_forms import TextWatch
from halfmask.guarantees import size_asked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from halfmask.anonymize.method import Method
    from halfmask.data import Hierarchy, HierarchyRule, Kind, Role
    from halfmask.guarantees import Guarantee


class Anonymizer(
    OneToOneFeatureMixin,  # type: ignore[misc] # scikit-learn ships no types
    TransformerMixin,  # type: ignore[misc] # the same
    BaseEstimator,  # type: ignore[misc] # the same
):
    """Group rows into classes that keep guarantees, and recode each class.

    Parameters
    ----------
    guarantees
        The guarantees that each class of the fitted rows must keep, such as
        ``[KAnonymity(k=10)]``.
    method
        How classes are found; ``None``: :class:`Mondrian`. :class:`Guided` uses ``y``.
    quasi_identifiers
        The columns that are recoded, by name or position (a name that is a number comes first);
        ``None``: all except those that a guarantee names as sensitive. Others stay unchanged.
    recoding
        What is written for a class; ``None``: :class:`Centroid`, which a learner can read.
    hierarchies
        For a column's name its hierarchy or a rule that builds one.
    kinds
        For a column's name its kind, if its type isn't enough. Numbers and dates are cut by order,
        all others as categories.
    weights
        For a column's name how much its detail matters, above 0; 1 for all others.
    levels
        For a column's name the lowest and the highest level of its hierarchy that
        :class:`FullDomain` may choose, such as ``{"age": (1, 3)}``; ``None`` for its own end.
    max_suppression_fraction
        The share of fitted rows, in [0, 1), that may be suppressed if this keeps other rows finer.
        A suppressed row keeps its place and other columns. Its quasi-identifiers and the columns
        that a guarantee names are missing.
    unseen
        What :meth:`transform` does with a category that the fit never saw: ``"error"`` or
        ``"suppress"``.
    person
        The column that says whose row it is, by name or position, where a person may have several
        rows: guarantees then count persons. It isn't returned. ``None``: each row is a person.

    Attributes
    ----------
    plan_ : Plan
        The fitted cells and what is written for them. It holds values of the fitted rows.
    judgements_ : list of Judgement
        What each guarantee achieves on the fitted rows.
    cells_ : ndarray of shape (n_samples,)
        The index of the class of each fitted row; -1 for a suppressed row.
    n_features_in_ : int
        How many columns were fitted.

    Raises
    ------
    GuaranteeNotMetError
        If the rows, all in one class, miss a guarantee: fewer rows than k, for instance.

    See Also
    --------
    halfmask.protect : For a table that is released: it also drops identifiers, shuffles rows,
        verifies what was written and reports.

    Notes
    -----
    **Guarantees.** The quasi-identifiers of the rows that ``fit_transform`` returns form classes
    that keep every guarantee. Suppressed rows have no quasi-identifiers left. Other columns are
    unchanged and may single people out. Rows given to ``transform`` later are written as the fitted
    class that they fall into, like at least k fitted rows. Nothing is guaranteed about these rows
    as a table of their own.

    With ``person`` the same holds of persons: k rows of one person are one person, and a person who
    is in two classes counts in both. Rows that ``fit_transform`` returns lack that column.

    **Edge cases.** NaN and null are a value of their own, except in the column of persons, where
    they are an error. Infinite numbers are refused. A number
    outside of the fitted range goes to the nearest class. With relaxed Mondrian,
    ``fit_transform`` and ``transform`` may write rows that equal the median differently.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmask.guarantees import KAnonymity
    >>> ages = np.array([[21.0], [23.0], [58.0], [60.0]])
    >>> Anonymizer(guarantees=[KAnonymity(k=2)]).fit_transform(ages).ravel().tolist()
    [22.0, 22.0, 59.0, 59.0]

    Two rows of one person don't make a class of two:

    >>> visits = np.array([[1, 21.0], [1, 23.0], [2, 58.0], [3, 60.0]])
    >>> by_person = Anonymizer(guarantees=[KAnonymity(k=2)], person=0)
    >>> by_person.fit_transform(visits).tolist()
    [[40.5], [40.5], [40.5], [40.5]]
    """

    def __init__(  # noqa: PLR0913 # scikit-learn's way: each setting is a parameter
        self,
        *,
        guarantees: Sequence[Guarantee],
        method: Method | None = None,
        quasi_identifiers: Sequence[str | int] | None = None,
        recoding: Recoding | None = None,
        hierarchies: Mapping[str, Hierarchy | HierarchyRule] | None = None,
        kinds: Mapping[str, Kind] | None = None,
        weights: Mapping[str, float] | None = None,
        levels: Mapping[str, tuple[int | None, int | None]] | None = None,
        max_suppression_fraction: float = 0.0,
        unseen: Literal["error", "suppress"] = "error",
        person: str | int | None = None,
    ) -> None:
        self.guarantees = guarantees
        self.method = method
        self.quasi_identifiers = quasi_identifiers
        self.recoding = recoding
        self.hierarchies = hierarchies
        self.kinds = kinds
        self.weights = weights
        self.levels = levels
        self.max_suppression_fraction = max_suppression_fraction
        self.unseen = unseen
        self.person = person

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:  # noqa: ANN401 # any table
        """Find the classes of the rows.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,) or (n_samples, n_outputs), optional
            For a guided method labels, numbers, or predictions such as of ``predict_proba``.
        """
        fraction(owner="Anonymizer", max_suppression_fraction=self.max_suppression_fraction)
        one_of(("error", "suppress"), owner="Anonymizer", unseen=self.unseen)
        guarantees_given(self.guarantees, owner="Anonymizer")
        method_given(self.method, owner="Anonymizer")
        hierarchies_given(self.hierarchies, owner="Anonymizer")
        weights_given(self.weights, owner="Anonymizer")
        levels_given(self.levels, owner="Anonymizer")
        if isinstance(self.recoding, Ranges) and self.recoding.form == "bounds":
            raise ParameterError(
                "Anonymizer returns the columns that it is given, and can't write a range as two.",
                hint='Use protect with a policy, or Ranges(form="text").',
            )
        several_names(owner="Anonymizer", quasi_identifiers=self.quasi_identifiers)
        table = self._table(X, reset=True)
        protection = self._protection(table, orders_of(X))
        watch = TextWatch(
            owner="Anonymizer", known={*(self.kinds or {}), *(self.hierarchies or {})}
        )
        watch.see(table.select(protection.schema.quasi_identifiers))
        watch.warn()
        guides = None
        if protection.method.needs_guide:
            if y is None:
                raise ParameterError(
                    f"{protection.method!r} requires y to be passed, but the target y is None.",
                    hint="Pass labels or predictions as y.",
                )
            guides = as_guides(as_array(y))
            if len(guides) != table.height:
                raise ParameterError(
                    f"X and y must have as many rows. Got {table.height} and {len(guides)}."
                )
        self.plan_, fitted = protection.plan(protection.fit(protection.summarize(table), guides))
        self.cells_ = fitted.cell_of_row
        self.judgements_ = fitted.judge()
        return self

    def fit_transform(self, X: Any, y: ArrayLike | None = None, **_: object) -> Any:  # noqa: ANN401
        """Find the classes of the rows and return the rows as their classes' values.

        Parameters
        ----------
        X, y
            As of `fit`.
        """
        rows = collected(X)  # once: read again they may come in another order
        self.fit(rows, y)
        return self._written(X, self._table(rows, reset=False), self.cells_)

    def transform(self, X: Any) -> Any:  # noqa: ANN401 # any table
        """Return rows as the values of the fitted classes that they fall into.

        Parameters
        ----------
        X
            The rows: a frame or an array, with the columns of the fit.

        Raises
        ------
        SchemaError
            If a column has a category that the fit never saw, and ``unseen`` is ``"error"``.
        """
        check_is_fitted(self)
        table = self._table(X, reset=False)
        codes = self.plan_.codes(table)
        if self.unseen == "error":
            for name, column in zip(self.plan_.quasi_identifiers, codes, strict=True):
                if (column < 0).any():
                    raise SchemaError(
                        f"Column {name!r} has {int((column < 0).sum())} cells with a category, or "
                        "missing, that the fit never saw.",
                        hint='Fit again, or set unseen="suppress".',
                    )
        return self._written(X, table, self.plan_.partition.cells_of(codes))

    def _written(
        self,
        X: Any,  # noqa: ANN401
        table: pl.DataFrame,
        cells: NDArray[np.int32],
    ) -> Any:  # noqa: ANN401
        """Return the table with its quasi-identifiers rewritten, in the kind of X."""
        places = pl.Series(cells)
        if (cells < 0).any():
            places = places.replace(-1, None)
        table = table.with_columns(self.plan_.written_for(places))
        judged = {guarantee.column for guarantee in self.plan_.guarantees if guarantee.column}
        if judged and (cells < 0).any():
            # Rows without a class must not show their sensitive values.
            placed = pl.lit(pl.Series(cells >= 0))
            table = table.with_columns(pl.when(placed).then(pl.col(*judged)))
        kept = list(range(table.width))
        if self.person is not None:
            kept.remove(table.columns.index(named(self.person, table.columns)))
            table = table.select(table.columns[place] for place in kept)
        if not is_frame(X):
            numeric = all(dtype.is_numeric() for dtype in table.dtypes)
            return table.cast(pl.Float64).to_numpy() if numeric else table.to_numpy()
        result = like(table, X)
        if hasattr(X, "index") and hasattr(result, "index"):
            result.index = X.index
            result.columns = X.columns[kept]  # names that are numbers came back as texts
        return result

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the names of the columns that `transform` returns: all but the person.

        Parameters
        ----------
        input_features
            The names of the fitted columns; ``None``: those of the fit, or x0, x1, ... of an array.
        """
        names: NDArray[np.object_] = super().get_feature_names_out(input_features)
        if self.person is None:
            return names
        known = [str(name) for name in getattr(self, "feature_names_in_", ())]
        known = known or [f"x{place}" for place in range(self.n_features_in_)]
        return np.delete(names, known.index(named(self.person, known)))

    def _table(self, X: Any, *, reset: bool) -> pl.DataFrame:  # noqa: ANN401
        least = size_asked(self.guarantees)
        return read(self, X, reset=reset, least=least if reset else 1)[1]

    def _check_shapes(self) -> None:
        mapping_of(
            "what is stated of each",
            lambda _: True,
            owner="Anonymizer",
            hierarchies=self.hierarchies or {},
            kinds=self.kinds or {},
            weights=self.weights or {},
            levels=self.levels or {},
        )
        if self.quasi_identifiers is not None:
            list_of(
                "names of columns, or of their places",
                lambda it: isinstance(it, str) or hasattr(it, "__index__"),
                owner="Anonymizer",
                quasi_identifiers=self.quasi_identifiers,
            )
        if self.recoding is not None and not isinstance(self.recoding, Recoding):
            raise ParameterError(
                "The 'recoding' parameter of Anonymizer must be a recoding. "
                f"Got a value of type {type(self.recoding).__name__}.",
                hint="Write Ranges(), Level(), Centroid() or Representative().",
            )

    def _protection(self, table: pl.DataFrame, orders: Mapping[str, tuple[str, ...]]) -> Protection:
        self._check_shapes()
        names = table.columns
        sensitive = [guarantee.column for guarantee in self.guarantees if guarantee.column]
        person = None if self.person is None else named(self.person, names)
        if self.quasi_identifiers is None:
            chosen = [name for name in names if name not in (*sensitive, person)]
        else:
            chosen = [named(name, names) for name in self.quasi_identifiers]
        if person in (*chosen, *sensitive):
            raise ParameterError(
                f"Column {person!r} says whose row it is. It can't be a quasi-identifier or a "
                "sensitive column, too.",
                hint="Leave it out of quasi_identifiers and of the guarantees.",
            )
        asked = [
            *chosen,
            *sensitive,
            *([] if person is None else [person]),
            *(
                each
                for given in (self.hierarchies, self.kinds, self.weights, self.levels)
                for each in given or ()
            ),
        ]
        unknown = [name for name in dict.fromkeys(asked) if name not in names]
        if unknown:
            raise ColumnNotFoundError.of(unknown, names, where="the table")
        roles: dict[str, Role] = dict.fromkeys(names, "insensitive")
        roles.update(dict.fromkeys(chosen, "quasi_identifier"))
        if person is not None:
            roles[person] = "identifier"
        columns = [self._column(table[name], roles[name], orders) for name in names]
        return Protection(
            schema=Schema(tuple(columns)),
            guarantees=tuple(self.guarantees),
            method=self.method if self.method is not None else Mondrian(),
            recoding=self.recoding if self.recoding is not None else Centroid(),
            max_suppression_fraction=self.max_suppression_fraction,
            person=person,
        )

    def _column(
        self,
        series: pl.Series,
        role: Role,
        orders: Mapping[str, tuple[str, ...]],
    ) -> Column:
        by_type: Kind = "categorical"
        if series.dtype.is_numeric():
            by_type = "numeric"
        elif series.dtype.is_temporal():
            by_type = "datetime"
        least, greatest = (self.levels or {}).get(series.name, (None, None))
        return Column(
            name=series.name,
            role=role,
            kind=(self.kinds or {}).get(series.name, by_type),
            hierarchy=(self.hierarchies or {}).get(series.name),
            weight=(self.weights or {}).get(series.name, 1.0),
            least_level=least,
            greatest_level=greatest,
            order=orders.get(series.name, ()),
        )

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 # scikit-learn ships no types
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = self.method is not None and self.method.needs_guide
        return tags
