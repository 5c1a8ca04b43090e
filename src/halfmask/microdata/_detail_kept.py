"""How much detail a release keeps, and what each guarantee costs of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from halfmask._errors import GuaranteeNotMetError
from halfmask.assess.risk import listed, percent
from halfmask.assess.utility import information_loss
from halfmask.guarantees import size_asked
from halfmask.microdata._class_measures import leaving_extents

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from halfmask.anonymize import Protection
    from halfmask.assess.utility import InformationLoss
    from halfmask.guarantees import Classes, Guarantee

#: A column that keeps less than this has lost nearly all of its detail.
NEARLY_NOTHING = 0.05
#: Guarantees are tried alone where less detail is kept, or classes are so many times k on average.
LITTLE, LARGE = 0.5, 5
#: A guarantee costs most of the detail if it keeps less than this share of it, or of the classes.
LEAST_KEPT, FEWEST_CLASSES = 0.5, 0.1
#: A guarantee that some class just keeps may be what stopped the cuts; this much may be to spare.
SLACK = 0.5
#: Cells of quasi-identifiers that a trial looks at.
TRIAL_CELLS = 400_000
#: So many columns are named in one sentence.
NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeCost:
    """What one guarantee costs of the detail."""

    model: str
    parameters: Mapping[str, float | int | str]
    column: str
    kept: float
    kept_without: float
    classes: int
    classes_without: int
    rows: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    @property
    def sentence(self) -> str:
        """What it costs, and what can be done about it."""
        numbers = ", ".join(f"{name} = {value}" for name, value in self.parameters.items())
        return (
            f"{self.model} of {self.column} ({numbers}) costs most of the detail: "
            f"{self.classes:,} classes and {percent(self.kept)} of the detail are left with it, "
            f"{self.classes_without:,} and {percent(self.kept_without)} without it (tried on "
            f"{self.rows:,} rows). Remove it, or ask for less."
        )

    def to_dict(self) -> dict[str, object]:
        """Return the numbers under their names, for JSON."""
        return {
            "model": self.model,
            "parameters": dict(self.parameters),
            "column": self.column,
            "kept": self.kept,
            "kept_without": self.kept_without,
            "classes": self.classes,
            "classes_without": self.classes_without,
            "rows": self.rows,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailKept:
    """How much detail of the quasi-identifiers a release keeps.

    Detail kept is 1 - granularity loss: 1 where each cell says one value, 0 where each covers all
    values of its column.
    """

    average: float
    columns: Mapping[str, float]
    costs: tuple[GuaranteeCost, ...]

    @property
    def nearly_lost(self) -> tuple[str, ...]:
        """The columns that keep less than 5 % of their detail."""
        return tuple(name for name, kept in self.columns.items() if kept < NEARLY_NOTHING)

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for the columns that lost nearly all, and one for each costly guarantee."""
        lost = self.nearly_lost
        sentences = [each.sentence for each in self.costs]
        if lost:
            more = len(lost) - NAMED
            named = listed([*lost[:NAMED], *([f"{more} more columns"] if more > 0 else [])])
            them = "keeps" if len(lost) == 1 else "keep"
            sentences.insert(
                0, f"{named} {them} less than {percent(NEARLY_NOTHING)} of the detail."
            )
        return tuple(sentences)

    def to_dict(self) -> dict[str, object]:
        """Return the numbers under their names, for JSON."""
        return {
            "average": self.average,
            "columns": dict(self.columns),
            "costs": [each.to_dict() for each in self.costs],
        }


def detail_kept(
    loss: InformationLoss, protection: Protection, released: Classes, *, sample: pl.DataFrame
) -> DetailKept:
    """Say what is kept, and find the guarantees that alone cost most of it."""
    average = 1 - weighed_loss(loss, protection)
    k = size_asked(protection.guarantees, least=2)
    little = average < LITTLE or released.rows > LARGE * k * released.n_classes
    return DetailKept(
        average=average,
        columns=MappingProxyType({name: 1 - each.loss for name, each in loss.columns.items()}),
        costs=tuple(_costs(protection, released, sample)) if little else (),
    )


def weighed_loss(loss: InformationLoss, protection: Protection) -> float:
    """Return the mean of the columns' losses, each by its weight."""
    weights = {name: protection.schema[name].weight for name in loss.columns}
    total = sum(weights[name] * each.loss for name, each in loss.columns.items())
    return total / sum(weights.values()) if weights else 0.0


def _costs(
    protection: Protection, released: Classes, sample: pl.DataFrame
) -> Iterator[GuaranteeCost]:
    """Yield the guarantees that keep little of what k-anonymity alone keeps."""
    alone = tuple(each for each in protection.guarantees if each.column is None)
    judging = [
        each
        for each in protection.guarantees
        if each.column is not None and _is_tight(each, released)
    ]
    if not alone or not judging:
        return
    most = TRIAL_CELLS // len(protection.schema.quasi_identifiers)
    few = sample.gather_every(max(-(-sample.height // most), 1))
    base = {few.height: _tried(protection, alone, few)}
    for guarantee in judging:
        rows, found = few, _tried(protection, (*alone, guarantee), few)
        if found is None and few.height < sample.height:  # too few rows to keep it
            rows, found = sample, _tried(protection, (*alone, guarantee), sample)
        if rows.height not in base:
            base[rows.height] = _tried(protection, alone, rows)
        without = base[rows.height]
        if found is not None and without is not None and _costs_most(found, without):
            yield GuaranteeCost(
                model=guarantee.model,
                parameters=guarantee.parameters,
                column=str(guarantee.column),
                kept=found.kept,
                kept_without=without.kept,
                classes=found.classes,
                classes_without=without.classes,
                rows=rows.height,
            )


def _is_tight(guarantee: Guarantee, released: Classes) -> bool:
    """Return whether some class keeps a guarantee without much to spare."""
    spare = abs(guarantee.judge(released).achieved - guarantee.required)
    return spare <= SLACK * guarantee.required


@dataclass(frozen=True, slots=True)
class _Trial:
    """The share of the detail that is kept, and how many classes there are."""

    kept: float
    classes: int


def _costs_most(found: _Trial, without: _Trial) -> bool:
    return (
        found.kept < LEAST_KEPT * without.kept or found.classes < FEWEST_CLASSES * without.classes
    )


def _tried(
    protection: Protection, guarantees: Sequence[Guarantee], rows: pl.DataFrame
) -> _Trial | None:
    """Return what a release of the rows would keep; ``None`` where there can't be one."""
    wanted = replace(protection, guarantees=tuple(guarantees))
    try:
        plan, _, counts = wanted.plan_counted(wanted.fit(wanted.summarize(rows)))
    except GuaranteeNotMetError:
        return None
    suppressed = rows.height - counts.classes.rows
    loss = information_loss(leaving_extents(plan, counts), suppressed=suppressed)
    return _Trial(1 - weighed_loss(loss, wanted), counts.classes.n_classes)
