"""PrivateSynthesizer: synthetic rows with a guarantee of differential privacy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from halfmask._errors import ParameterError
from halfmask._foreign import need
from halfmask._validation import check_fields, integer_at_least
from halfmask.data import like, to_polars
from halfmask.dp.accounting import EpsilonDeltaEvent
from halfmask.dp.ledger import PrivacyUnit
from halfmask.dp.ledger._terms import rows_of_units
from halfmask.dp.synthesis._adaptive_tables import AdaptiveTables, rho_of
from halfmask.dp.synthesis.declared_domain import DeclaredDomain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike

    from halfmask.dp.ledger import PrivacyLedger
    from halfmask.dp.synthesis.declared_domain import ColumnDomain

#: Steps of mirror descent after each table.
STEPS = 50


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateSynthesizer(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """Draw rows from a model that only saw tables of counts with noise.

    Parameters
    ----------
    domain
        For each released column what it may hold: a :class:`NumberDomain` or
        :class:`CategoryDomain`. Declare it from general knowledge, never by looking at the data.
        Other columns are dropped.
    epsilon
        The budget, above 0.
    delta
        Above 0, below 1; far below one in the number of rows.
    degree
        Tables of up to so many columns matter, 1 to 4.
    max_cells
        The model's tables have so many cells at most, in all. More cells take more time.
    person
        The column that names the person of each row: all rows of a person are protected. It is
        dropped. ``None``: single rows are protected.
    max_rows
        With `person`, so many rows of each person are learnt from at most, drawn at random. Noise
        is so many times as large.
    ledger
        The ledger of the table's budget, charged before a row is counted; ``None``: none.
    random_state
        Where drawn rows come from; ``None``: from the operating system. Noise always does.

    Attributes
    ----------
    events_ : list of MechanismEvent
        What each measurement and choice cost.
    rho_ : float
        What they cost together, in zero-concentrated differential privacy.
    n_rows_ : int
        The number of rows, as the noisy tables say it.

    Raises
    ------
    BudgetError
        If the ledger has less left.
    SchemaError
        If a column holds another type than is declared; or missing cells or other values, and it
        is declared that none are missing. The error is for the owner: it tells what is there.

    See Also
    --------
    halfmask.synth.Synthesizer : Nearer to the table, without a guarantee.

    Notes
    -----
    **Guarantees.** The fitted model, and every row drawn from it, is (epsilon,
    delta)-differentially private for the neighbouring relation "one row is added or removed". With
    `person` it is "all rows of one person are added or removed". Without it, each row of a person
    who has several is protected, not the person.

    **Edge cases.** Numbers outside of the edges count as the nearest one. Values that aren't
    declared count as missing; where none may be missing, both are errors, because they would turn
    into another value.

    AIM: McKenna, Mullins, Sheldon and Miklau (2022). A table is chosen by the exponential mechanism
    and measured with discrete Gaussian noise, round by round. Rounds sum up in zero-concentrated
    differential privacy, whose epsilon is that of Canonne, Kamath and Steinke (2020), corollary 13.
    Sums may be spent adaptively (Feldman and Zrnic 2021).

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.dp.synthesis import NumberDomain, CategoryDomain
    >>> people = pl.DataFrame({"age": [31, 62] * 500, "ill": ["no", "yes"] * 500})
    >>> domain = {
    ...     "age": NumberDomain(edges=(0, 50, 100), whole=True),
    ...     "ill": CategoryDomain(values=("no", "yes")),
    ... }
    >>> model = PrivateSynthesizer(domain=domain, epsilon=1.0, delta=1e-6).fit(people)
    >>> drawn = model.sample(1_000)
    >>> drawn.filter(pl.col("age") < 50)["ill"].value_counts(sort=True)["ill"][0]
    'no'
    """

    domain: Mapping[str, ColumnDomain]
    epsilon: float = field(metadata={"gt": 0})
    delta: float = field(metadata={"gt": 0, "lt": 1})
    degree: int = field(default=3, metadata={"ge": 1})
    max_cells: int = field(default=200_000, metadata={"ge": 1})
    person: str | None = None
    max_rows: int = 1
    ledger: PrivacyLedger | None = None
    random_state: int | None = None

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:  # noqa: ANN401, ARG002 # any table
        """Measure tables of counts with noise, and fit a model to them.

        Parameters
        ----------
        X
            The rows, as a frame of any library.
        y
            Not used.
        """
        self._fit(X, lambda: self._charge(X))
        return self

    def _fit(self, X: Any, book: Callable[[], None]) -> None:  # noqa: ANN401 # any table
        need("opendp")
        check_fields(self)
        if self.degree > 4:
            raise ParameterError(
                "The 'degree' parameter of PrivateSynthesizer must be at most 4. "
                f"Got {self.degree}.",
                hint="Tables of more columns are mostly noise.",
            )
        unit = PrivacyUnit(person=self.person, max_rows=self.max_rows)
        if self.person in self.domain:
            raise ParameterError("The column that names the person is dropped, and has no domain.")
        declared = DeclaredDomain(columns=dict(self.domain))
        # Whose rows are counted is drawn at random, too, and reveals nothing that counts don't.
        codes = declared.codes(rows_of_units(to_polars(X), unit))
        book()
        rounds = AdaptiveTables(
            codes=codes,
            shape=declared.shape,
            rho=rho_of(self.epsilon, delta=self.delta),
            degree=self.degree,
            cells=self.max_cells,
            steps=STEPS,
            rng=self._generator(),
            max_rows=unit.max_rows,
        )
        self._model, self.events_ = rounds.measured()
        self.rho_ = rounds.rho
        self.n_rows_ = max(1, round(self._model.total))
        self._declared = declared
        self._none = X[:0]

    def sample(self, n: int | None = None, *, random_state: int | None = None) -> Any:  # noqa: ANN401
        """Return synthetic rows, in the library of the fitted rows.

        Parameters
        ----------
        n
            How many, 1 at least; ``None``: as many as the noisy tables say that there are.
        random_state
            Where draws come from, instead of the estimator's.
        """
        check_is_fitted(self)
        if n is None:
            n = self.n_rows_
        integer_at_least(1, owner="sample", n=n)
        rng = self._generator() if random_state is None else np.random.default_rng(random_state)
        codes = self._model.sample(n, rng)
        return like(self._declared.cells(codes[:, rng.permutation(n)], rng), self._none)

    def _charge(self, table: object) -> None:
        """Book the whole budget of the model before a row is counted."""
        if self.ledger is not None:
            self.ledger.terms.check_person(self.person)
            self.ledger.check_table(table)
            charge_rows(self, self.ledger)

    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(self.random_state)


def fit_booked(
    model: PrivateSynthesizer,
    table: Any,  # noqa: ANN401 # any table
    book: Callable[[], None],
) -> PrivateSynthesizer:
    """Fit a model to a table; see `PrivateSynthesizer.fit`."""
    model._fit(table, book)  # noqa: SLF001 # the same module
    return model


def charge_rows(model: PrivateSynthesizer, ledger: PrivacyLedger) -> None:
    """Book what a model costs."""
    event = EpsilonDeltaEvent(epsilon=model.epsilon, delta=model.delta)
    ledger.charge([event], purpose="synthetic rows")
