"""Synthesizer: synthetic rows as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError
from halfmask._validation import integer_at_least, is_text, list_of, mapping_of, one_of
from halfmask.anonymize.given_rows import collected, is_frame, read
from halfmask.data import like, orders_of
from halfmask.data.hierarchy.orders import with_orders
from halfmask.synth._column_sequence import MODELS, ColumnSequence
from halfmask.synth._new_identifiers import IdentifierForm
from halfmask.synth._rules import RowRule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from halfmask.data import Kind

#: A condition that so many times the asked rows don't meet counts as one that never occurs.
MAX_TRIES = 2_000


class Synthesizer(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """Draw rows that look like those of a table, column by column.

    Parameters
    ----------
    model
        How a column is drawn given those before it: ``"trees"``, a ``"forest"`` of ten,
        ``"boosting"``, or ``"parametric"`` (logistic and linear regression).
    min_leaf
        The least number of rows that a cell is drawn from. A category that fewer rows have isn't
        written; a number that fewer rows have is drawn between its neighbours, and isn't itself.
    columns
        The columns that are synthesized; ``None``: all. The others keep their cells, and
        :meth:`redraw` draws these columns given them.
    order
        The columns in the order in which they are drawn; ``None``: by entropy, that
        with the fewest different cells first.
    kinds
        For a column's name its kind, if its type isn't enough: ``"categorical"`` for numbers that
        are codes.
    rules
        What all rows of the table keep, and every synthetic row will: see :class:`AtMost`.
    identifiers
        Columns of new identifiers in the form of the original values, each different.
    random_state
        Where draws come from; ``None``: from the operating system.
    leaf
        The least number of rows that a cell is drawn from, if more than `min_leaf`. Then fewer
        drawn rows equal rows of the table.

    Attributes
    ----------
    order_ : list of str
        The columns in the order in which they are drawn.
    n_features_in_ : int
        How many columns were fitted.

    Raises
    ------
    SchemaError
        If most rows have a category that fewer than `min_leaf` rows have, as identifiers are.
    DataError
        If rows break a rule, or there are fewer than `min_leaf`.

    See Also
    --------
    halfmask.synthesize : The same by a policy, with measured attacks, and verified on disk.

    Notes
    -----
    **Guarantees.** None of privacy: rows are drawn from models of all rows. How much they reveal
    about these is measured, not bounded. No category of fewer than `min_leaf` rows is written, and
    no least or greatest number that fewer have. Every row keeps every rule.

    **Edge cases.** Missing is drawn like any other value. A column of one value is that value.
    Numbers keep the digits that the table's have, and stay within its least and greatest number. A
    fitted object holds values of the table: keep it with the table.

    Sequential synthesis: Reiter (2005); Nowok, Raab and Dibben, "synthpop: Bespoke creation of
    synthetic data in R" (2016).

    Examples
    --------
    >>> ages, ill = [20, 30, 40, 50] * 50, [False, False, True, True] * 50
    >>> people = pl.DataFrame({"age": ages, "ill": ill})
    >>> drawn = Synthesizer(random_state=1).fit(people).sample(100)
    >>> drawn.schema == people.schema, drawn.filter(pl.col("ill"))["age"].min()
    (True, 40)
    """

    def __init__(  # noqa: PLR0913 # scikit-learn's way: each setting is a parameter
        self,
        *,
        model: Literal["trees", "forest", "boosting", "parametric"] = "trees",
        min_leaf: int = 5,
        columns: Sequence[str] | None = None,
        order: Sequence[str] | None = None,
        kinds: Mapping[str, Kind] | None = None,
        rules: Sequence[RowRule] = (),
        identifiers: Sequence[str] = (),
        random_state: int | None = None,
        leaf: int | None = None,
    ) -> None:
        self.model = model
        self.min_leaf = min_leaf
        self.columns = columns
        self.order = order
        self.kinds = kinds
        self.rules = rules
        self.identifiers = identifiers
        self.random_state = random_state
        self.leaf = leaf

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:  # noqa: ANN401, ARG002 # any table
        """Learn how each column depends on those before it.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_features)
            The rows.
        y
            Not used.
        """
        one_of(MODELS, owner="Synthesizer", model=self.model)
        integer_at_least(1, owner="Synthesizer", min_leaf=self.min_leaf)
        leaf = self.min_leaf if self.leaf is None else self.leaf
        integer_at_least(1, owner="Synthesizer", leaf=leaf)
        self._check_shapes()
        rows = collected(X)
        table = read(self, rows, reset=True)[1]
        self._check_names(table.columns)
        self._schema = table.schema
        self._none = rows[:0] if is_frame(rows) else None
        self._orders = orders_of(rows)
        self._forms = [IdentifierForm.of(table[name]) for name in self.identifiers]
        reduced = self._reduced(table)
        kinds = self.kinds or {}
        numbers = [
            each.name
            for each in reduced
            if (each.dtype.is_numeric() or each.dtype.is_temporal())
            and kinds.get(each.name) not in ("categorical", "text")
        ]
        asked = set(table.columns if self.columns is None else self.columns)
        self._sequence = ColumnSequence.fit(
            reduced,
            numbers=numbers,
            drawn=[name for name in reduced.columns if name in asked],
            order=self._given_order(reduced.columns),
            model=self.model,
            min_leaf=self.min_leaf,
            leaf=max(leaf, self.min_leaf),
            seed=0 if self.random_state is None else self.random_state,
        )
        self.order_ = list(self._sequence.order)
        return self

    def sample(
        self,
        n: int,
        *,
        given: Mapping[str, object] | None = None,
        random_state: int | None = None,
    ) -> Any:  # noqa: ANN401 # the library of the fitted rows
        """Return synthetic rows, in the kind of the fitted rows.

        Parameters
        ----------
        n
            How many, 1 at least.
        given
            For some columns the value that every row must have, such as ``{"region": "north"}``.
        random_state
            Where draws come from, instead of the estimator's.

        Raises
        ------
        ParameterError
            If some columns are kept: call :meth:`redraw`.
        DataError
            If a given value never occurs, or too few rows can have it.
        """
        check_is_fitted(self)
        integer_at_least(1, owner="sample", n=n)
        if self._sequence.kept:
            raise ParameterError(
                f"The columns {list(self._sequence.kept)} are kept and must be given for each row.",
                hint="Call redraw(table), or fit with columns=None.",
            )
        rng = self._generator(random_state)
        only = self._codes_asked(given or {})
        parts: list[pl.DataFrame] = []
        found, tries, size = 0, 0, n
        while found < n:
            part = self._sequence.draw(size, known={}, only=only, rng=rng)
            parts.append(part)
            found, tries = found + part.height, tries + size
            if found < n and tries >= MAX_TRIES * max(n, 100):
                raise DataError(
                    f"Only {found} of {tries} drawn rows have what was given for "
                    f"{sorted(only)}; {n} are asked for.",
                    hint="Give less, or ask for fewer rows.",
                )
            size = min(max(1000, 2 * (n - found) * tries // max(1, found)), 1_000_000)
        drawn = pl.concat(parts).head(n)
        asked = [
            pl.lit(value, dtype=self._schema[name]).alias(name)
            for name, value in (given or {}).items()
        ]
        return self._as_given(self._restored(drawn.with_columns(asked), rng))

    def redraw(
        self,
        X: Any,  # noqa: ANN401 # any table
        *,
        rows: ArrayLike | None = None,
        random_state: int | None = None,
    ) -> Any:  # noqa: ANN401 # the library of X
        """Return rows with the synthesized columns drawn again, given the others.

        Parameters
        ----------
        X
            Rows with the columns of the fit.
        rows
            Which rows are changed, (n_samples,) of truth; ``None``: all.
        random_state
            Where draws come from, instead of the estimator's.

        Raises
        ------
        ParameterError
            If a rule is about changed and kept columns, so that rows could break it.
        """
        check_is_fitted(self)
        given = collected(X)
        table = read(self, given, reset=False)[1]
        changed = np.ones(table.height, dtype=np.bool_) if rows is None else np.asarray(rows)
        if changed.dtype != np.bool_ or changed.shape != (table.height,):
            raise ParameterError(
                "The 'rows' parameter of redraw must be one truth value for each row. "
                f"Got shape {changed.shape} of {changed.dtype}."
            )
        rng = self._generator(random_state)
        some = table.filter(pl.Series(changed))
        if some.height:
            reduced = self._reduced(some)
            known = self._sequence.codes_of(reduced)
            drawn = self._sequence.draw(some.height, known=known, only={}, rng=rng)
            some = self._restored(reduced.with_columns(drawn), rng)
        places = np.empty(table.height, dtype=np.int64)
        places[~changed] = np.arange(int((~changed).sum()))
        places[changed] = np.arange(some.height) + int((~changed).sum())
        mixed = pl.concat([table.filter(pl.Series(~changed)), some])[places]
        return self._as_given(mixed)

    @property
    def identifier_forms(self) -> tuple[IdentifierForm, ...]:
        """The forms of the new identifiers."""
        return tuple(self._forms)

    def _check_shapes(self) -> None:
        list_of(
            "names of columns",
            is_text,
            owner="Synthesizer",
            columns=() if self.columns is None else self.columns,
            order=() if self.order is None else self.order,
            identifiers=self.identifiers,
        )
        mapping_of("kinds", is_text, owner="Synthesizer", kinds=self.kinds or {})
        list_of(
            "rules",
            lambda it: isinstance(it, RowRule),
            owner="Synthesizer",
            hint="Write AtMost, SumOf or FixedCombinations of halfmask.synth.",
            rules=self.rules,
        )

    def _check_names(self, names: Sequence[str]) -> None:
        asked = [
            *(() if self.columns is None else self.columns),
            *(() if self.order is None else self.order),
            *(self.kinds or {}),
            *self.identifiers,
            *(name for rule in self.rules for name in rule.about),
        ]
        absent = [name for name in dict.fromkeys(asked) if name not in names]
        if absent:
            raise ColumnNotFoundError.of(absent, names, where="the table")
        seen: set[str] = set(self.identifiers)
        changed = set(names if self.columns is None else self.columns)
        for rule in self.rules:
            again = sorted(seen & set(rule.about))
            if again:
                raise ParameterError(
                    f"Column {again[0]!r} is in two rules, or in a rule and an identifier.",
                    hint="Leave one of them out.",
                )
            if 0 < len(changed & set(rule.about)) < len(set(rule.about)):
                raise ParameterError(
                    f"The rule {rule!r} is about columns that are synthesized and others that "
                    "are kept.",
                    hint="Synthesize all of its columns, or none.",
                )
            seen |= set(rule.about)

    def _given_order(self, names: Sequence[str]) -> list[str] | None:
        if self.order is None:
            return None
        wanted = [name for name in self.order if name in names]
        drawn = names if self.columns is None else [it for it in names if it in self.columns]
        if sorted(wanted) != sorted(drawn):
            raise ParameterError(
                "The 'order' parameter of Synthesizer must name each synthesized column once. "
                f"Got {len(self.order)} names for {len(drawn)} columns.",
                hint="Leave out identifiers, and columns that a rule determines.",
            )
        return wanted

    def _reduced(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the table without identifiers and without what rules determine."""
        for rule in self.rules:
            rule.check(table)
        reduced = table.drop(list(self.identifiers))
        for rule in self.rules:
            reduced = rule.reduced(reduced)
        return reduced

    def _restored(self, drawn: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
        for rule in reversed(self.rules):
            drawn = rule.restored(drawn, self._schema)
        made = [form.made(drawn.height, rng) for form in self._forms]
        return drawn.with_columns(made).select(self._schema.names())

    def _codes_asked(self, given: Mapping[str, object]) -> dict[str, int]:
        asked = {}
        determined = {name for rule in self.rules for name in rule.about}
        for name, value in given.items():
            if name not in self._sequence.columns or name in determined:
                raise ParameterError(
                    f"Column {name!r} can't be given: it isn't drawn by itself.",
                    hint="Give a column that no rule is about, and that is no identifier.",
                )
            column = self._sequence.columns[name]
            code = column.code_of(value)
            if code is None or (not column.is_number and column.counts[code] < self.min_leaf):
                raise DataError(
                    f"The value given for column {name!r} never occurs in {self.min_leaf} rows.",
                    hint="Give a value that the table has.",
                )
            asked[name] = code
        return asked

    def _generator(self, random_state: int | None) -> np.random.Generator:
        return np.random.default_rng(self.random_state if random_state is None else random_state)

    def _as_given(self, table: pl.DataFrame) -> Any:  # noqa: ANN401 # the library of the rows
        if self._none is not None:
            return like(with_orders(table, self._orders), self._none)
        numeric = all(dtype.is_numeric() for dtype in table.dtypes)
        return table.cast(pl.Float64).to_numpy() if numeric else table.to_numpy()

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 # scikit-learn ships no types
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
