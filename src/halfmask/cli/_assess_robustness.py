"""``halfmask assess robustness``: what hostile rows and changed cells do to a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from halfmask._errors import ColumnNotFoundError, PolicyError, ReleaseError
from halfmask.cli import _rooms as rooms
from halfmask.cli._console import printable
from halfmask.cli._estimators import WORDS, estimator_of, features_of, named_estimator
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, flag, option, required, spreads_groups
from halfmask.cli._options import REPORT, TABLE, SayingOptions
from halfmask.cli._tables import Reading

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.assess.hardening import RobustnessAssessment
    from halfmask.assess.robustness import AttackerBudget
    from halfmask.data import Schema

#: What changes of a row may cost by default.
MOST: Final = 0.1
#: More numbers than these are hardly classes, and each would be trained as one for minutes.
MOST_CLASSES: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackerOptions:
    """What the attacker may change of a row."""

    heading: ClassVar = "Attacker"

    budget: str | None = option(
        "--budget FILE: What the attacker may change of a row, a TOML file. By default it is "
        "proposed from TABLE: identifiers and dates can't change, ages only go up."
    )
    most: float | None = option(
        "--most COST: What changes of a row may cost: what FILE states, or 0.1, a tenth of the "
        "range of each number."
    )
    write_budget: str | None = option(
        "--write-budget FILE: Write the budget to this file, and stop. It has values of TABLE: "
        "keep it confidential."
    )

    def read(self, rows: pl.DataFrame, schema: Schema) -> AttackerBudget:
        """Return the budget that was given, or one that is proposed."""
        kind = rooms.assess.robustness.AttackerBudget
        if self.budget is None:
            return kind.of_table(rows, schema, most=MOST if self.most is None else self.most)
        try:
            text = Path(self.budget).read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError):
            raise PolicyError("The file of the budget can't be read as UTF-8.") from None
        budget = kind.from_toml(text)
        given = budget if self.most is None else replace(budget, most=self.most)
        return given.for_rows(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class DefenceOptions:
    """Which models are compared with the plain one."""

    heading: ClassVar = "Defences"

    partitions: int = option(
        "--partitions NUMBER: Compare a vote of so many models, each trained on a part of the "
        "rows; 0 leaves it out.",
        101,
        min=0,
    )
    harden: bool = flag("--harden: Compare a model that is also trained on changed rows.")
    k: int | None = option(
        "-k ROWS: Compare a model of classes of at least k rows, by quasi-identifiers.", min=2
    )


@spreads_groups
def robustness(
    estimator: str = argument(
        f"ESTIMATOR: {', '.join(WORDS)}, or MODULE:NAME: an estimator of scikit-learn, or a "
        "function that makes one, in a Python file or module of yours. Its code is run."
    ),
    table: str = TABLE,
    *,
    label: str = required("--label COLUMN: The column that the model predicts."),
    difference: float | None = option(
        "--difference NUMBER: Predict a number: a prediction flips if it changes by that much."
    ),
    group: str | None = option("--group COLUMN: Also compare rows by the groups of this column."),
    attacker: AttackerOptions,
    defences: DefenceOptions,
    policy: str | None = option(
        "--policy POLICY: A policy: the roles of columns, and how TABLE is read."
    ),
    seed: int = option("--seed N: The seed of the random draws.", 0, min=0),
    out: str | None = option("--out -o FOLDER: Write the page and the results to this folder."),
    overwrite: bool = flag("--overwrite: Replace the page and the results in FOLDER."),
    reading: Reading,
    saying: SayingOptions,
) -> int:
    """Attack a model of TABLE: change cells of its rows, and hostile training rows.

    The model is trained on three quarters of TABLE, with and without defences, and attacked on the
    rest. Rows are named by their numbers, from 0. Files are written only if you name them. The exit
    code is 0, whatever the attacks find.
    """
    if out is not None and not overwrite and Path(out).exists():
        raise ReleaseError("FOLDER exists already.", hint="Name another one, or --overwrite it.")
    model: Any = None if estimator in WORDS else named_estimator(estimator)
    with saying.stages() as stages:
        stages("reading")
        rows, labels, schema = _read(reading, table, policy, label)
        if model is None:
            if difference is None:
                _check_classes(labels)
            rows = rows.select(features_of(rows, schema))
            model = estimator_of(estimator, rows, is_regressor=difference is not None, seed=seed)
        budget = attacker.read(rows, schema)
        if attacker.write_budget is not None:
            with rooms.data.atomic_file(attacker.write_budget) as file:
                file.write(budget.to_toml().encode())
            next_ = "Edit the budget, then give it by --budget."
            return saying.say({"budget": attacker.write_budget}, next_)
        found = rooms.assess.hardening.assess_robustness(
            model,
            rows,
            labels,
            budget=budget,
            difference=difference,
            partitions=defences.partitions or None,
            hardened=defences.harden,
            k=defences.k,
            quasi_identifiers=[it for it in schema.quasi_identifiers if it in rows.columns],
            groups=group,
            random_state=seed,
            progress=stages,
        )
    sentences = _sentences(found, verbose=saying.verbose)
    if out is not None:
        found.write(Path(out), overwrite=overwrite)
        sentences.append(f"Report   {Path(out) / REPORT}")
    return saying.say(found.to_dict(), *map(printable, sentences))


def _sentences(found: RobustnessAssessment, *, verbose: bool) -> list[str]:
    """Return what is shown of an assessment; verbose: with every finding."""
    sentences = [*found.sentences]
    for each in found.models:
        if n := len([it for it in each.attacks.findings if it.why_invalid]):
            of = len(each.attacks.findings)
            sentences.append(f"{each.name}: {n} of {of} findings are INVALID and prove nothing.")
        sentences += str(each.attacks).splitlines() if verbose else []
    return sentences


def _check_classes(labels: NDArray[Any]) -> None:
    """Refuse labels that are numbers rather than classes."""
    if labels.dtype.kind == "f" and (labels % 1).any():
        raise UsageError("The label is no class, but a number.", hint="Give --difference.")
    if labels.dtype.kind in "iuf" and len(set(labels)) > MOST_CLASSES:
        raise UsageError(
            f"The label has more than {MOST_CLASSES} different numbers.",
            hint="Give --difference. If they are classes, read them by --dtype as texts.",
        )


def _read(
    reading: Reading, where: str, policy: str | None, label: str
) -> tuple[pl.DataFrame, NDArray[Any], Schema]:
    """Return the columns that a model may learn from, the labels, and what is stated of both."""
    reading.check_alone(policy)
    stated = None if policy is None else rooms.microdata.Policy.load(policy)
    table = reading.read(where, stated)
    schema = rooms.description.describe(table).schema if stated is None else stated.schema()
    schema.check(table.columns)
    if label not in table.columns:
        raise ColumnNotFoundError.of([label], table.columns, where="the table")
    return table.drop(label), table[label].to_numpy(), schema
