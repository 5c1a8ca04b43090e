"""A table that is only asked questions: conditions, groups and aggregates, lazily."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from halfmask._errors import ParameterError
from halfmask._foreign import need
from halfmask._validation import list_of, mapping_of
from halfmask.dp.queries._aggregates import Aggregate
from halfmask.dp.queries._answer import PrivateAnswer, released
from halfmask.dp.queries._grouping import Bins, Grouping, GroupKeys
from halfmask.dp.queries._plan import Noise, QueryPlan
from halfmask.dp.queries._question import PublicTable, Question, with_public_keys
from halfmask.dp.queries._tallying import tally

if TYPE_CHECKING:
    from halfmask.data import Source
    from halfmask.dp.ledger import PrivacyLedger
    from halfmask.dp.queries._row_condition import RowCondition


@dataclass(frozen=True)
class PrivateTable:
    """A table with a budget: it answers questions, and shows no row.

    Make one by `PrivateTable.open`. `where`, `join` and `group_by` return a narrower one and read
    nothing; `select` returns a question, which is answered by its `PrivateQuery.answer`.

    Parameters
    ----------
    source
        The table, which the ledger's budget was set for.
    ledger
        The ledger of the table.
    conditions
        Which rows are looked at.
    joins
        Public tables whose columns there are.
    grouping
        By what rows are grouped.

    Notes
    -----
    **Guarantees.** All answers together cost at most the ledger's budget; see `PrivacyLedger`. An
    answer is a sum of whole numbers with discrete noise, so that no bit of a float reveals more.

    **Edge cases.** The names and types of columns are public. Missing values and NaN are left
    out; infinities are clamped to the bounds. Counts with noise may be negative. How long an answer
    takes isn't protected.

    See Also
    --------
    PrivacyLedger : The budget.

    Examples
    --------
    >>> import tempfile, polars as pl
    >>> from halfmask.dp.ledger import PrivacyLedger
    >>> from halfmask.dp.queries import Count, Mean
    >>> folder = tempfile.TemporaryDirectory()
    >>> people = pl.DataFrame({"age": [41, 17, 33] * 1000, "sex": ["f", "m", "f"] * 1000})
    >>> ledger = PrivacyLedger.create(
    ...     f"{folder.name}/vault", people, dataset="people", epsilon=3.0, delta=1e-6
    ... )
    >>> table = PrivateTable.open(people, ledger=ledger)
    >>> adults = table.where("age >= 18").group_by({"sex": ["f", "m"]})
    >>> question = adults.select(Count(), Mean(of="age", bounds=(0, 120)))
    >>> print(question.plan(epsilon=1.5).explain())
    Costs epsilon 1.5, for one row. In 95 % of the draws:
      count: ± 3.994
      mean_age: ± 590.2 / rows of the group, such as ± 0.5902 for 1,000 rows
    Intervals cover the noise alone:
      mean_age: values below 0 count as 0, and values above 120 as 120.
      Rows whose 'sex' is none of the keys are in no group.
    >>> answer = question.answer(epsilon=1.5)
    >>> answer.frame.columns[:4]
    ['sex', 'count', 'count_low', 'count_high']
    >>> question.answer(epsilon=1.5).from_book
    True
    >>> folder.cleanup()
    """

    source: Source
    ledger: PrivacyLedger
    conditions: tuple[RowCondition, ...] = ()
    joins: tuple[PublicTable, ...] = ()
    grouping: Grouping = field(default_factory=Grouping)

    def __repr__(self) -> str:
        return f"PrivateTable({self.ledger.terms!r})"

    @property
    def tables(self) -> dict[str, list[str]]:
        """The columns of the data set and of public tables, by the name of the table."""
        public = {each.name: each.frame.columns for each in self.joins}
        return {**public, self.ledger.terms.dataset: list(self.source.dtypes)}

    @classmethod
    def open(cls, table: object, *, ledger: PrivacyLedger) -> Self:
        """Open the table of a ledger; one that has changed is refused.

        Parameters
        ----------
        table
            What `halfmask.data.open_table` opens: a file, a folder, a database, a frame.
        ledger
            The ledger of the table.

        Raises
        ------
        DataError
            If it is another table, or it has changed since the budget was set.
        """
        return cls(ledger.check_table(table), ledger)

    def where(self, condition: str) -> Self:
        """Return the table with the rows that meet a condition.

        Parameters
        ----------
        condition
            As after ``WHERE`` in SQL: comparisons, ``IN``, ``BETWEEN``, ``IS NULL``, ``AND``,
            ``OR``, ``NOT``.

        Raises
        ------
        PolicyError
            If it is anything else.
        """
        need("sqlglot")
        from halfmask.dp.queries._row_condition import RowCondition  # noqa: PLC0415 # 0.2 s

        return replace(self, conditions=(*self.conditions, RowCondition.of(condition)))

    def join(self, table: object, *, on: str, name: str = "public") -> Self:
        """Return the table with the columns of a public one.

        Rows without a match are dropped.

        Parameters
        ----------
        table
            A table that everybody may know, with one row for each key.
        on
            The column of both tables by which rows match.
        name
            Its name in SQL and in errors.
        """
        return replace(self, joins=(*self.joins, PublicTable.of(table, name=name, on=on)))

    def group_by(self, keys: GroupKeys) -> Self:
        """Return the table with its rows in groups.

        Parameters
        ----------
        keys
            By column: a list of keys, `Bins`, or ``None`` for those of the ledger, or if it has
            none, of a public table that is joined before; else keys are selected privately, which
            costs epsilon and delta.
        """
        if self.grouping.keys:
            raise ParameterError("The table is grouped already.")
        mapping_of(
            "lists of keys, Bins or None",
            lambda it: it is None or isinstance(it, Bins) or not isinstance(it, str | int | float),
            owner="group_by",
            hint='Write {"town": ["Berlin", "Rome"]}, or {"town": None} for keys that are selected '
            "privately.",
            keys=keys,
        )
        declared = self.ledger.terms.keys
        given = {
            column: declared.get(column) if listed is None else listed
            for column, listed in keys.items()
        }
        return replace(self, grouping=Grouping.of(with_public_keys(given, self.joins)))

    def select(self, *aggregates: Aggregate) -> PrivateQuery:
        """Return a question: aggregates of each group, or of all rows.

        Parameters
        ----------
        aggregates
            At least one, such as `Count`.

        Raises
        ------
        PolicyError
            If a condition names a table that isn't there.
        ColumnNotFoundError
            If a column isn't there.
        """
        list_of(
            "aggregates",
            lambda it: isinstance(it, Aggregate),
            owner="select",
            hint='Write select(Count(), Mean(of="age", bounds=(0, 120))).',
            aggregates=aggregates,
        )
        for each in self.conditions:
            each.check_tables(self.tables)
        question = Question.of(
            self.source.dtypes,
            aggregates,
            grouping=self.grouping,
            conditions=self.conditions,
            joins=self.joins,
            terms=self.ledger.terms,
        )
        return PrivateQuery(self, question)


@dataclass(frozen=True)
class PrivateQuery:
    """A question, before and after it is paid for.

    Parameters
    ----------
    table
        Whom it is asked of.
    question
        What is asked.
    """

    table: PrivateTable
    question: Question

    def __repr__(self) -> str:
        # Without conditions: their literals may be values of cells.
        asked = ", ".join(each.label for each in self.question.aggregates)
        groups = ", ".join(self.question.grouping.columns)
        shown = f"{asked} by {groups}" if groups else asked
        return f"PrivateQuery({shown!r})"

    def plan(self, *, epsilon: float, delta: float = 0.0, noise: Noise = "laplace") -> QueryPlan:
        """Return what the question costs and how exact its answer is; nothing is charged.

        Parameters
        ----------
        epsilon
            What the answer may cost, from 1e-6 to 100.
        delta
            What Gaussian noise or the selection of keys may cost; 0 if there is neither.
        noise
            ``"laplace"``, or ``"gaussian"``, which adds less where a person is in many groups.
        """
        made = QueryPlan(self.question, self.table.ledger.terms.unit, epsilon, delta, noise)
        made.events()
        return made

    def answer(
        self,
        *,
        epsilon: float,
        delta: float = 0.0,
        noise: Noise = "laplace",
        analyst: str | None = None,
    ) -> PrivateAnswer:
        """Pay for the question and answer it; one that was asked before costs nothing.

        Parameters
        ----------
        epsilon, delta, noise
            As of `plan`.
        analyst
            Who pays of a share of their own; by default the owner.

        Raises
        ------
        BudgetError
            If it costs more than is left. Nothing is charged then.
        DataError
            If the table has changed.
        """
        plan = self.plan(epsilon=epsilon, delta=delta, noise=noise)
        ledger = self.table.ledger
        charge, kept = ledger.book(
            plan.events(),
            purpose=self.question.purpose(),
            question=plan.key(),
            epsilon=epsilon,
            analyst=analyst,
        )
        from_book = kept is not None
        if kept is None:
            exact = tally(self.table.source, self.question, plan.measures, ledger.terms)
            made = PrivateAnswer.to_text(released(plan, exact), plan)
            kept = ledger.answer(charge, made)
        return PrivateAnswer.from_text(
            kept,
            self.plan,
            noise=noise,
            guarantee=ledger.terms.sentence(),
            charge=charge.number,
            from_book=from_book,
        )
