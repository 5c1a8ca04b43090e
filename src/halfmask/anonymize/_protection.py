"""What the owner wants of classes: summarize batches, fit cells, make the plan."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import GuaranteeNotMetError, ParameterError, SchemaError
from halfmask._validation import fraction
from halfmask.anonymize._cells import CellCounts, count_cells
from halfmask.anonymize._fitted import Fitted, fit_cells
from halfmask.anonymize._lattice_partition import LatticePartition
from halfmask.anonymize._level_people import LevelPeople, PeopleOfNode
from halfmask.anonymize._mending import better_start, drop_failing, mend
from halfmask.anonymize._plan import Plan, write_cells
from halfmask.anonymize._summary import Summary, compact
from halfmask.anonymize._trimming import trim
from halfmask.anonymize.recodings import Centroid, Level, Ranges
from halfmask.anonymize.recodings._ranges import check_ranges
from halfmask.data.value_patterns import names_nobody

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from halfmask.anonymize._population import PlacedPeople, Population
    from halfmask.anonymize._sealed_plan import SealedPlan
    from halfmask.anonymize.coding import Coding
    from halfmask.anonymize.lattice import Objective
    from halfmask.anonymize.method import Method
    from halfmask.anonymize.recodings import Recoding
    from halfmask.data import Schema
    from halfmask.guarantees import Classes, Guarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """Equivalence classes as a protection: ``summarize -> plan -> apply``.

    Parameters
    ----------
    schema
        What is declared about the columns; its quasi-identifiers are recoded.
    guarantees
        What every class must keep, at least one.
    method
        How classes are found.
    recoding
        What is written for them.
    column_recodings
        Recodings of single quasi-identifiers in the place of `recoding`.
    population
        The people that the table was drawn from, where a guarantee is about them.
    max_suppression_fraction
        The share of rows, in [0, 1), that may be left out where that keeps others finer.
    split_targets
        The split targets of a guided method.
    person
        The column that says whose row it is: guarantees then count persons and not rows.
    reused
        The plan of an earlier release, whose classes are taken. Those that miss a guarantee are
        merged or suppressed.
    """

    schema: Schema
    guarantees: tuple[Guarantee, ...]
    method: Method
    recoding: Recoding
    max_suppression_fraction: float
    split_targets: tuple[str, ...] = ()
    column_recodings: Mapping[str, Recoding] = field(default_factory=dict)
    person: str | None = None
    population: Population | None = None
    reused: SealedPlan | None = None

    def __post_init__(self) -> None:
        fraction(owner="Protection", max_suppression_fraction=self.max_suppression_fraction)
        if not self.guarantees:
            raise ParameterError(
                "A protection needs at least one guarantee. Got none.",
                hint="Ask for KAnonymity(k=10), or another model.",
            )
        for each in self.guarantees:
            if each.needs_population:
                self._check_population(each)
            each.check_columns(len(self.schema.quasi_identifiers))
            if not each.monotone and not self.method.judges_release:
                raise ParameterError(
                    f"{each!r} isn't monotone, and {self.method!r} can't find classes for it.",
                    hint='Use FullDomain(); in a policy [method] name = "full-domain".',
                )
        self._check_recodings()
        self._check_levels()
        self._check_weights()
        if not self.schema.quasi_identifiers:
            raise SchemaError(
                "No column is a quasi-identifier; there is nothing to make classes of.",
                hint="Give the columns that others may know the role quasi_identifier.",
            )
        if self.reused is not None:
            self.reused.check(self.method, self.schema)

    def _check_levels(self) -> None:
        """Raise if a column has a least or greatest level that the method can't keep."""
        if self.method.judges_release:
            return
        for name in self.schema.quasi_identifiers:
            column = self.schema[name]
            if column.least_level is not None or column.greatest_level is not None:
                raise ParameterError(
                    f"Column {name!r} has a least or greatest level, and {self.method!r} cuts "
                    "classes of various levels.",
                    hint='Use FullDomain(); in a policy [method] name = "full-domain".',
                )

    def _check_weights(self) -> None:
        """Raise if columns have weights that the objective of the method would ignore."""
        objective: Objective | None = getattr(self.method, "objective", None)
        weights = {self.schema[name].weight for name in self.schema.quasi_identifiers}
        if objective is not None and not objective.weighs_columns and len(weights) > 1:
            raise ParameterError(
                f"The objective {objective.name!r} doesn't weigh columns, and they have different "
                "weights.",
                hint='Leave the weights out, or choose an objective that weighs, such as "loss".',
            )

    def _check_population(self, guarantee: Guarantee) -> None:
        """Raise unless people of a population can be counted in what is written."""
        if self.population is None:
            raise ParameterError(
                f"{guarantee!r} is about a population, and none was given.",
                hint="[[Call protect(..., population=people)|Use --population]].",
            )
        if self.person is not None:
            raise ParameterError(
                f"{guarantee!r} is about a population, and a person is the unit.",
                hint="Leave person out of the policy.",
            )

    def _check_recodings(self) -> None:
        """Raise if a recoding can't write the classes that the method finds."""
        reading = next((each for each in self.guarantees if each.needs_written), None)
        for recoding in (self.recoding, *self.column_recodings.values()):
            if reading is not None and not isinstance(recoding, Level | Ranges):
                raise ParameterError(
                    f"{reading!r} counts what is written for a class, and {recoding!r} may write "
                    "other values for the same range.",
                    hint='Use Ranges() or Level(); in a policy [recoding] name = "ranges".',
                )
        if not self.method.judges_release:
            return
        keeps = all(each.monotone and not each.needs_written for each in self.guarantees)
        for name, recoding in self._recodings.items():
            if isinstance(recoding, Level) or (isinstance(recoding, Centroid) and keeps):
                continue
            why = "writes one level of a column in every row"
            if isinstance(recoding, Centroid):
                why = "keeps classes apart, because a guarantee isn't monotone"
            raise ParameterError(
                f"The method {self.method.name!r} {why}, and the recoding {recoding.name!r} of "
                f"column {name!r} doesn't.",
                hint='Use Level(); in a policy [recoding] name = "level".',
            )

    @property
    def columns(self) -> list[str]:
        """The names of the columns that a batch must have to be summarized or counted."""
        return list(dict.fromkeys([*self._kept, *self.schema.suppressing]))

    @property
    def _kept(self) -> list[str]:
        judged = [guarantee.column for guarantee in self.guarantees if guarantee.column]
        person = [] if self.person is None else [self.person]
        names = [*self.schema.quasi_identifiers, *judged, *self.split_targets, *person]
        return list(dict.fromkeys(names))

    def summarize(
        self, batch: pl.DataFrame, *, sample_key: bytes | None = None, number: int = 0
    ) -> Summary:
        """Return the summary of one batch; see :class:`Summary`.

        Parameters
        ----------
        batch
            Some rows of the table.
        sample_key
            32 secret bytes that draw a sample of the table, where not all rows can be kept. All
            rows must be counted afterwards.
        number
            The number of the batch, under that key.

        Raises
        ------
        SchemaError
            If a column that must not have missing cells has some.
        """
        for name in self.schema.names:
            column = self.schema[name]
            read = column.role != "identifier" or name in batch.columns
            if column.missing == "reject" and read and batch[name].null_count():
                raise SchemaError(
                    f"Column {name!r} has {batch[name].null_count()} missing cells in a batch, and "
                    "its policy is to reject them.",
                    hint='Mend the table, or set missing to "value" or "suppress".',
                )
        nobody = 0 if self.person is None else int(names_nobody(batch[self.person]).sum())
        if nobody:
            raise SchemaError(
                f"Column {self.person!r} says whose row it is and has "
                f"{nobody} missing or blank cells in a batch, or truth values.",
                hint="Leave these rows out, or give each a person of its own.",
            )
        return compact(batch, self.schema, self._kept, sample_key=sample_key, number=number)

    def fit(self, summary: Summary, guides: NDArray[np.float64] | None = None) -> Fitted:
        """Grow the cells from a summary's rows.

        Parameters
        ----------
        summary
            The summary of all rows, or of a sample.
        guides
            The split targets, one row each; ``None``: the columns of `split_targets`.

        Raises
        ------
        GuaranteeNotMetError
            If the rows, all in one class, miss a guarantee.
        """
        if not summary.n_rows:
            raise GuaranteeNotMetError("There are no rows to protect.")
        if self.method.judges_release and not summary.complete:
            raise ParameterError(
                f"{self.method!r} needs all rows in memory. Got a sample of {summary.n_rows:,}.",
                hint="Use another method, such as [[Mondrian()|mondrian]].",
            )
        stronger = [each.over_all for each in self.guarantees if each.over_all is not None]
        if not stronger or self.method.judges_release or self.reused is not None:
            return self._grown(summary, guides, ())
        # As fine as can be, and coarse enough for the same guarantee over all columns.
        return better_start(
            (self._grown(summary, guides, more) for more in ((), tuple(stronger))),
            max_suppression_fraction=self.max_suppression_fraction,
        )

    def _grown(
        self,
        summary: Summary,
        guides: NDArray[np.float64] | None,
        more: tuple[Guarantee, ...],
    ) -> Fitted:
        """Grow cells that keep more guarantees, too; only the protection's are judged later."""
        people, names = self._people, self.schema.quasi_identifiers
        used = {name: self.column_recodings.get(name, self.recoding) for name in names}
        values = ((self.schema[name], summary.values(name)) for name in names)
        check_ranges(self.recoding, self.column_recodings, values)
        schema = self.schema
        if self.reused is not None:
            summary, schema = self.reused.prepared(summary, schema)
        fitted = fit_cells(
            summary,
            schema,
            guarantees=(*self.guarantees, *more),
            method=self.method,
            split_targets=self.split_targets,
            guides=guides,
            max_suppression_fraction=self.max_suppression_fraction,
            person=self.person,
            people=None if people is None else partial(LevelPeople.of, people),
            grids={
                name: recoding.grid
                for name, recoding in used.items()
                if isinstance(recoding, Ranges) and recoding.grid is not None
            },
            reused=self.reused,
        )
        return replace(fitted, guarantees=fitted.guarantees[: len(self.guarantees)])

    def count(self, fitted: Fitted, batch: pl.DataFrame) -> CellCounts:
        """Count a batch in the cells; counts of batches add up.

        Rows with a missing cell that its column's policy suppresses aren't counted.

        Parameters
        ----------
        fitted
            The grown cells.
        batch
            Some rows of the table.
        """
        needed = self.schema.suppressing
        rows = batch.drop_nulls(needed) if needed else batch
        return count_cells(fitted, rows, person=self.person)

    def plan(self, fitted: Fitted, counts: CellCounts | None = None) -> tuple[Plan, Fitted]:
        """Make the plan, by counts of all rows where the summary was a sample.

        Parameters
        ----------
        fitted
            The grown cells.
        counts
            The counts of all rows; ``None``: those of the rows of the fit.

        Returns
        -------
        plan, fitted
            The plan, and the cells after merging and suppression.

        Raises
        ------
        GuaranteeNotMetError
            If more rows would have to be suppressed than may be, or a cell misses a guarantee.
        """
        plan, fitted, _ = self.plan_counted(fitted, counts)
        return plan, fitted

    def plan_counted(
        self, fitted: Fitted, counts: CellCounts | None = None
    ) -> tuple[Plan, Fitted, CellCounts]:
        """Make the plan as `plan` does, and return the counts of released rows too.

        Parameters
        ----------
        fitted
            The grown cells.
        counts
            The counts of all rows; ``None``: those of the rows of the fit.
        """
        suppressible = self.max_suppression_fraction
        if self.method.judges_release:  # nothing is left to trim, to merge or to suppress
            counts = CellCounts.of(fitted)
            people = self.placed_people(fitted)
            _check_kept(fitted, counts.classes if people is None else people.classes(counts)[0])
        elif counts is None:
            n_rows = int(np.count_nonzero(fitted.cell_of_row >= 0))
            # Cells that are reused, or that lack rows already, give up none for their width.
            is_grown = self.reused is None and n_rows == len(fitted.cell_of_row)
            if is_grown and (most := int(suppressible * n_rows)):
                fitted = trim(fitted, max_rows=most)
            counts = CellCounts.of(fitted)
            # The rows that trimming used up reduce the budget of mending.
            spent = n_rows - counts.classes.rows
            suppressible = max(0.0, suppressible * n_rows - spent) / max(1, counts.classes.rows)
        if not self.method.judges_release:
            fitted, counts = mend(
                fitted,
                counts,
                guarantees=fitted.guarantees,
                max_suppression_fraction=suppressible,
                people=self._placed(fitted.codings),
            )
        return self._written(fitted, counts), fitted, counts

    def plan_apart(self, fitted: Fitted) -> tuple[Plan, Fitted, CellCounts]:
        """Make the plan as `plan_counted` does, but merge no cells.

        Parameters
        ----------
        fitted
            The cells, without rows that were left out after they were grown.
        """
        fitted, counts = drop_failing(fitted, self.placed_people)
        return self._written(fitted, counts), fitted, counts

    def _written(self, fitted: Fitted, counts: CellCounts) -> Plan:
        """Return the plan, with what is written for each cell."""
        return Plan(
            codings=fitted.codings,
            partition=fitted.partition,
            written=tuple(write_cells(fitted, counts, self._recodings, self.schema)),
            guarantees=fitted.guarantees,
            method=self.method,
            recoding=self.recoding,
            column_recodings=self.column_recodings,
        )

    @property
    def _people(self) -> pl.DataFrame | None:
        """The population, if a guarantee needs it."""
        asked = any(guarantee.needs_population for guarantee in self.guarantees)
        return None if self.population is None or not asked else self.population.people

    def placed_people(self, fitted: Fitted | Plan) -> PlacedPeople | PeopleOfNode | None:
        """Return the population among what is written for cells, if a guarantee needs it.

        Parameters
        ----------
        fitted
            The cells.
        """
        if isinstance(fitted.partition, LatticePartition) and self._people is not None:
            people = LevelPeople.of(self._people, fitted.codings)
            return PeopleOfNode(people=people, partition=fitted.partition)
        return self._placed(fitted.codings)

    def _placed(self, codings: Sequence[Coding]) -> PlacedPeople | None:
        if self.population is None or self._people is None:
            return None
        return self.population.placed(codings, self._recodings)

    @property
    def _recodings(self) -> dict[str, Recoding]:
        """The recoding of each quasi-identifier."""
        names = self.schema.quasi_identifiers
        return {name: self.column_recodings.get(name, self.recoding) for name in names}


def _check_kept(fitted: Fitted, classes: Classes) -> None:
    """Raise if a released class misses a guarantee; a search that is right leaves none."""
    for guarantee in fitted.guarantees:
        judgement = guarantee.judge(classes)
        if not judgement.holds:
            raise GuaranteeNotMetError(
                f"{guarantee!r} doesn't hold for the classes that were found: "
                f"{len(judgement.failing)} of {judgement.classes} miss it.",
                hint="This is a fault of halfmask, not of yours: please report it.",
            )
