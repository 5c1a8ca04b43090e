"""``halfmask assess risk``: the risk of a table, before a method and its parameters are chosen."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from halfmask.cli._console import WARNED, console, listing, printable
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import items_of, option, required, spreads_groups
from halfmask.cli._options import TABLE, EngineOptions, SayingOptions
from halfmask.cli._policy_file import COLUMNS
from halfmask.cli._tables import Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from rich.console import Console

    from halfmask.assess.risk import CountedRisk, RiskAssessment, SeparationRisk, SpecialUniques

#: So many sets of columns are shown.
SHOWN_SETS = 5
#: The files that the risk of each row can be written to.
TABLES = (".csv", ".parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationOptions:
    """What is known of the population that the table was drawn from."""

    heading: ClassVar = "Population"

    weights: str | None = option(
        "--weights COLUMN: The column of sampling weights: how many people of the population a "
        "row stands for."
    )
    sampling_fraction: float | None = option(
        "--sampling-fraction SHARE: The share of the population that the table holds, such as 0.05."
    )
    population: str | None = option(
        "--population TABLE: The population, with the rows of TABLE and the same values."
    )
    household: str | None = option(
        "--household COLUMN: The column that says which rows are of one household."
    )

    def read(self, reading: Reading, names: Sequence[str]) -> pl.DataFrame | None:
        """Return the population, where it was given, read as the table is."""
        if self.population is None:
            return None
        # Its own name says its format, and it may lack the table's other columns.
        form = replace(reading.form, format=None) if Path(self.population).suffix else reading.form
        columns = reading.columns.of(names)
        return _read(
            Reading(mark=reading.mark, form=form, columns=columns, called="The population"),
            self.population,
        )

    def check_counted(self, *, max_global_risk: float | None, per_row: str | None) -> None:
        """Refuse what can't be counted where the table lies."""
        rows = {
            "--weights": self.weights,
            "--population": self.population,
            "--household": self.household,
            "--max-global-risk": max_global_risk,
            "--per-row": per_row,
        }
        named = [name for name, value in rows.items() if value is not None]
        if named:
            raise UsageError(
                f"{named[0]} takes the rows of the table, which an engine doesn't send.",
                hint="Leave it out, or leave out --engine.",
            )

    def check(self) -> None:
        """Refuse more than one way to say what the population is."""
        ways = (self.weights, self.sampling_fraction, self.population)
        if sum(each is not None for each in ways) > 1:
            raise UsageError(
                "The population is described in several ways.",
                hint="Give one of --weights, --sampling-fraction and --population.",
            )


@spreads_groups
def risk(  # each is an option
    table: str = TABLE,
    *,
    quasi_identifiers: str = required(
        f"--quasi-identifiers {COLUMNS}: Every column that an attacker could know of a person."
    ),
    people: PopulationOptions,
    largest_set: int = option(
        "--largest-set COLUMNS: The most columns of a set on which unique rows are searched.",
        3,
        min=1,
    ),
    max_global_risk: float | None = option(
        "--max-global-risk SHARE: The mean risk that is accepted: then the threshold for single "
        "rows is shown."
    ),
    out: str | None = option("--out -o FILE: Write the results to this file, as JSON."),
    per_row: str | None = option(
        "--per-row FILE: Write the risk of each row to this file (.csv or .parquet), by its "
        "number from 1. It says who is at risk: don't release it."
    ),
    reading: Reading,
    where_run: EngineOptions,
    saying: SayingOptions,
) -> int:
    """Measure the re-identification risk of TABLE, before you choose how to protect it.

    Missing cells are read as a value and as a wildcard. What is shown is the worse of both, which
    is named; --json has both. Files are written only if you name them. No cell of TABLE is shown.

    With --engine only risks that are counts of rows with equal quasi-identifiers are measured:
    uniqueness, prosecutor, marketer, separation, and with --sampling-fraction population
    uniqueness. TABLE may then be larger than memory.
    """
    people.check()
    if where_run.engine is not None:
        people.check_counted(max_global_risk=max_global_risk, per_row=per_row)
    _check_table(per_row)
    from halfmask.assess.risk import assess_risk, counted_risk  # noqa: PLC0415 # half a second

    names = items_of(quasi_identifiers, "A name of --quasi-identifiers")
    found: RiskAssessment | CountedRisk
    with where_run.connected() as engine, saying.stages() as stages:
        if engine is not None:
            found = counted_risk(
                reading.open(table),
                quasi_identifiers=names,
                sampling_fraction=people.sampling_fraction,
                largest=largest_set,
                engine=engine,
                progress=stages,
            )
        else:
            stages("reading")
            population = people.read(reading, names)
            rows = _read(reading, table)
            stages("measuring")
            found = assess_risk(
                rows,
                quasi_identifiers=names,
                weights=people.weights,
                sampling_fraction=people.sampling_fraction,
                population=population,
                household=people.household,
                largest=largest_set,
                max_global_risk=max_global_risk,
            )
    _write(found, out, per_row)
    return saying.say(found.to_dict(), lambda: _show(found))


def _read(reading: Reading, table: str) -> pl.DataFrame:
    import polars as pl  # noqa: PLC0415 # half a second

    return pl.concat(list(reading.open(table).batches()))


def _check_table(per_row: str | None) -> None:
    if per_row is not None and Path(per_row).suffix not in TABLES:
        raise UsageError(
            "The file for the risk of each row has another format.",
            hint="Give a name that ends in .csv or .parquet.",
        )


def _write(found: RiskAssessment | CountedRisk, out: str | None, per_row: str | None) -> None:
    from halfmask.data import atomic_file  # noqa: PLC0415 # half a second

    if out is not None:
        with atomic_file(out) as file:
            file.write(json.dumps(found.to_dict(), indent=2, allow_nan=False).encode() + b"\n")
    from halfmask.assess.risk import RiskAssessment  # noqa: PLC0415 # the same

    if per_row is not None and isinstance(found, RiskAssessment):
        with atomic_file(per_row) as file:
            if per_row.endswith(".csv"):
                found.per_row.write_csv(file)
            else:
                found.per_row.write_parquet(file)


def _show(found: RiskAssessment | CountedRisk) -> None:
    from halfmask.assess.risk import RiskAssessment  # noqa: PLC0415 # half a second

    screen = console()
    for sentence in found.sentences:
        screen.print(printable(sentence), soft_wrap=True)
    if isinstance(found, RiskAssessment):
        _show_estimates(found, screen)
    if found.separation is not None:
        _show_sets(found.separation)


def _show_estimates(found: RiskAssessment, screen: Console) -> None:
    for warning in found.warnings:
        screen.print(printable(warning), style=WARNED, soft_wrap=True)
    estimate = None if found.individual is None else found.individual.worse
    if estimate is not None and estimate.threshold is not None:
        screen.print(
            f"The mean risk is as low as asked for once no row has a risk above "
            f"{estimate.threshold:.4g}.",
            soft_wrap=True,
        )
    _show_columns(found.suda.worse)


def _show_columns(found: SpecialUniques) -> None:
    from halfmask.assess.risk import percent  # noqa: PLC0415 # half a second

    if not found.special:
        return
    table = listing("column", "weight in unique sets", right=("weight in unique sets",))
    for each in found.columns:
        table.add_row(printable(each.column), percent(each.share))
    console().print()
    console().print(table)


def _show_sets(found: SeparationRisk) -> None:
    from halfmask.assess.risk import percent  # noqa: PLC0415 # half a second

    numbers = ("unique rows", "distinct", "pairs apart")
    table = listing("nearest to a key", *numbers, right=numbers)
    for each in found.sets[:SHOWN_SETS]:
        table.add_row(
            printable(", ".join(each.columns)),
            f"{each.unique:,}",
            percent(each.distinction),
            percent(each.separation),
        )
    console().print()
    console().print(table)
