"""LinkedSynthesizer: two tables, such as people and their orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from halfmask._errors import ColumnNotFoundError, DataError, SchemaError
from halfmask.data import like, to_polars
from halfmask.synth._new_identifiers import IdentifierForm
from halfmask.synth._synthesizer import Synthesizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Names of columns that only the fit has; no column of a table may begin with it.
OWN = "\x01"


class LinkedSynthesizer(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """Draw rows of a parent table, and for each its rows of a child table.

    Parameters
    ----------
    key
        The column of both tables that says which parent a child belongs to; unique in the parents.
        New keys are made.
    order_by
        A column of the children by which those of one parent follow each other, such as a date;
        each is then drawn given the one before it. ``None``: they don't.
    parents, children
        How either table is drawn: not yet fitted; ``None``: ``Synthesizer()``. Neither names the
        key, and `columns` and `order` of the children aren't used.
    random_state
        Where draws come from; ``None``: from the operating system.

    Attributes
    ----------
    parents_, children_ : Synthesizer
        The fitted models.

    Raises
    ------
    DataError
        If the key isn't unique among the parents, or a child has none of them.

    Notes
    -----
    **Guarantees.** As of :class:`Synthesizer`; every child has a parent, and no key is an original
    one by more than chance.

    **Edge cases.** How many children a parent has is drawn with the parent's other columns.
    Children depend on their parent's columns and, with `order_by`, on the child before.

    Examples
    --------
    >>> people = pl.DataFrame({"id": range(100), "age": [20, 60] * 50})
    >>> orders = pl.DataFrame({"id": list(range(100)) * 2, "price": [5, 90] * 100})
    >>> fitted = LinkedSynthesizer(key="id", random_state=1).fit(people, orders)
    >>> drawn, bought = fitted.sample(50)
    >>> bought.height, set(bought["id"]) == set(drawn["id"])
    (100, True)
    """

    def __init__(
        self,
        *,
        key: str,
        order_by: str | None = None,
        parents: Synthesizer | None = None,
        children: Synthesizer | None = None,
        random_state: int | None = None,
    ) -> None:
        self.key = key
        self.order_by = order_by
        self.parents = parents
        self.children = children
        self.random_state = random_state

    def fit(self, parents: Any, children: Any) -> Self:  # noqa: ANN401 # any two tables
        """Learn both tables.

        Parameters
        ----------
        parents, children
            Frames of polars, pandas or pyarrow, with the key in both.
        """
        people, things = to_polars(parents), to_polars(children)
        self._check(people, things)
        self._none = parents[:0], children[:0]
        self._schemas = people.schema, things.schema
        self._form = IdentifierForm.of(people[self.key])
        counts = things.group_by(self.key).len(name=OWN + "children")
        counted = people.join(counts, on=self.key, how="left", maintain_order="left").with_columns(
            pl.col(OWN + "children").fill_null(0).cast(pl.Int64)
        )
        self.parents_ = _like(self.parents, self.random_state).fit(counted.drop(self.key))
        new = {self.key, *self.parents_.identifiers}
        self._features = [it for it in people.columns if it not in new]
        joined = self._sequenced(things, people)
        self.children_ = _like(self.children, self.random_state)
        if not joined.height:
            return self
        own = [name for name in things.columns if name != self.key]
        self.children_.set_params(columns=own, order=None).fit(joined.drop(self.key))
        return self

    def sample(self, n: int, *, random_state: int | None = None) -> tuple[Any, Any]:
        """Return n parents and their children, in the kinds of the fitted tables.

        Parameters
        ----------
        n
            How many parents, 1 at least.
        random_state
            Where draws come from, instead of the estimator's.
        """
        check_is_fitted(self)
        seed = self.random_state if random_state is None else random_state
        rng = np.random.default_rng(seed)
        people = self.parents_.sample(n, random_state=_seed(rng))
        people = people.with_columns(self._form.made(n, rng))
        counts = people[OWN + "children"].to_numpy()
        people = people.select(self._schemas[0].names())
        known = people.select(self.key, pl.col(self._features).name.prefix(OWN))[
            np.repeat(np.arange(n), counts)
        ]
        things = self._drawn_children(known, counts, rng)
        return like(people, self._none[0]), like(things, self._none[1])

    def _check(self, people: pl.DataFrame, things: pl.DataFrame) -> None:
        for table, name in ((people, "the parent table"), (things, "the child table")):
            wanted = [self.key]
            if self.order_by is not None and table is things:
                wanted.append(self.order_by)
            absent = [each for each in wanted if each not in table.columns]
            if absent:
                raise ColumnNotFoundError.of(absent, table.columns, where=name)
            if any(each.startswith(OWN) for each in table.columns):
                raise SchemaError(f"A column of {name} begins with a control character.")
        if people[self.key].dtype != things[self.key].dtype:
            raise SchemaError(f"Column {self.key!r} has different types in both tables.")
        if people[self.key].null_count() or people[self.key].n_unique() < people.height:
            raise DataError(
                f"Column {self.key!r} isn't unique in the parent table.",
                hint="Each parent needs a key of its own.",
            )
        alone = int((~things[self.key].is_in(people[self.key].implode())).sum())
        if alone or things[self.key].null_count():
            raise DataError(
                f"{max(alone, things[self.key].null_count())} rows of the child table have no "
                f"parent by column {self.key!r}.",
                hint="Leave them out, or add their parents.",
            )

    def _sequenced(self, things: pl.DataFrame, people: pl.DataFrame) -> pl.DataFrame:
        """Return the children with their parent's columns, and those of the child before."""
        known = people.select(self.key, pl.col(self._features).name.prefix(OWN))
        joined = things.join(known, on=self.key, how="left", maintain_order="left")
        if self.order_by is None:
            return joined
        new = () if self.children is None else self.children.identifiers
        own = [it for it in things.columns if it != self.key and it not in new]
        self._before = [OWN + "before " + name for name in own]
        ordered = joined.sort(self.key, self.order_by, maintain_order=True)
        return ordered.with_columns(
            *(
                pl.col(name).shift(1).over(self.key).alias(before)
                for name, before in zip(own, self._before, strict=True)
            ),
            pl.int_range(pl.len()).over(self.key).alias(OWN + "step"),
        )

    def _drawn_children(
        self, known: pl.DataFrame, counts: NDArray[np.int64], rng: np.random.Generator
    ) -> pl.DataFrame:
        """Return children for rows of their parent's key and columns, one row each."""
        schema = self._schemas[1]
        if not known.height:
            return pl.DataFrame(schema=schema)
        names = [name for name in schema.names() if name != self.key]
        empty = [pl.lit(None, dtype=schema[name]).alias(name) for name in names]
        wanted = self.children_.feature_names_in_.tolist()
        if self.order_by is None:
            given = known.with_columns(empty)
            drawn = self.children_.redraw(given.select(wanted), random_state=_seed(rng))
            return given.with_columns(drawn[names]).select(schema.names())
        starts = np.cumsum(counts) - counts
        parts, last, alive = [], None, np.flatnonzero(counts > 0)
        for step in range(int(counts.max())):
            stays = counts[alive] > step
            alive = alive[stays]
            given = (
                known[starts[alive]]
                .with_columns(empty)
                .with_columns(pl.lit(step, dtype=pl.Int64).alias(OWN + "step"))
            )
            own = [before.removeprefix(OWN + "before ") for before in self._before]
            if last is None:
                before = [pl.lit(None, dtype=schema[it]).alias(OWN + "before " + it) for it in own]
            else:
                kept = last.filter(pl.Series(stays))
                before = [kept[it].alias(OWN + "before " + it) for it in own]
            given = given.with_columns(before)
            drawn = self.children_.redraw(given.select(wanted), random_state=_seed(rng))
            last = drawn[own]
            parts.append(drawn.with_columns(given[self.key], pl.Series(OWN + "parent", alive)))
        whole = pl.concat(parts).sort(OWN + "parent", self.order_by, maintain_order=True)
        made = self._renumbered(whole, rng)
        return made.select(schema.names())

    def _renumbered(self, things: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
        """Return children whose identifiers differ over all steps."""
        forms = self.children_.identifier_forms
        return things.with_columns(form.made(things.height, rng) for form in forms)


def _like(given: Synthesizer | None, random_state: int | None) -> Synthesizer:
    made = Synthesizer() if given is None else clone(given)
    made.set_params(random_state=random_state)
    return made


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))
