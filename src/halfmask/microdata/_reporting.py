"""What a report shows: values that were counted elsewhere, put together for one page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from halfmask._validation import fraction, integer_at_least
from halfmask.anonymize import LatticePartition, RoundsPartition
from halfmask.data import spellings, steps_needed
from halfmask.microdata.mask_section import mask_parameters
from halfmask.verifier.tables import ClaimCheck

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from halfmask.anonymize import Plan
    from halfmask.assess.risk import Reidentification, ReleasedColumnsRisk
    from halfmask.assess.utility import (
        ClassSizeUtility,
        ColumnLoss,
        Distribution,
        InformationLoss,
        ModelUtility,
    )
    from halfmask.claims import DataFile, Manifest
    from halfmask.guarantees import Guarantee
    from halfmask.masks import Mask, TableMask
    from halfmask.microdata._class_measures import ClassMeasures
    from halfmask.microdata._classed_rows import ClassedRows
    from halfmask.microdata._detail_kept import DetailKept
    from halfmask.microdata.evaluation import ClassFacts, ReleaseUtility
    from halfmask.release import Release
    from halfmask.verifier import CheckedRelease


_SIZES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeFact:
    """One guarantee: the level that is required, and what the verifier counted on disk."""

    model: str
    parameters: Mapping[str, float | int | str]
    column: str | None
    quasi_identifiers: tuple[str, ...]
    sentence: str
    required: float
    bound: Literal["at least", "at most"]
    achieved: float
    achieved_wildcard: float | None
    holds: bool
    classes: int
    rows: int

    @property
    def worst(self) -> float:
        """The worse of the two counts."""
        counts = [self.achieved]
        if self.achieved_wildcard is not None:
            counts.append(self.achieved_wildcard)
        return min(counts) if self.bound == "at least" else max(counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskFact:
    """How likely an attacker with the quasi-identifiers finds a row. Fractions in [0, 1]."""

    prosecutor_highest: float
    prosecutor_average: float
    marketer: float
    unique_fraction: float
    journalist_highest: float | None = None
    journalist_average: float | None = None

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if getattr(self, name) is not None:
                fraction(owner="RiskFact", **{name: getattr(self, name)})


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeShare:
    """Which share of the rows lives in classes of some size."""

    label: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFact:
    """One column of the release: its role and what happened to it.

    A column that was dropped has no such fact: the report counts those and never names them.
    """

    name: str
    role: str
    kind: str
    treatment: str
    loss: ColumnLoss | None = None
    distribution: Distribution | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFacts:
    """Everything that the report shows."""

    title: str
    created: str
    software: Mapping[str, str]
    policy_sha256: str | None
    guarantees: tuple[GuaranteeFact, ...]
    rows_in: int
    rows_out: int
    method: str
    recoding: str
    risk_before: RiskFact
    risk_after: RiskFact
    released_columns: ReleasedColumnsRisk
    detail: DetailKept
    class_sizes: tuple[SizeShare, ...]
    columns: tuple[ColumnFact, ...]
    n_dropped: int
    information_loss: InformationLoss
    class_sizes_utility: ClassSizeUtility
    measures: ClassMeasures
    model_utility: ModelUtility | None = None
    label: str | None = None
    population: int | None = None
    weaknesses: tuple[str, ...] = ()
    unprotected: tuple[str, ...] = ()
    of_persons: bool = False
    files: tuple[DataFile, ...] = ()

    def __post_init__(self) -> None:
        integer_at_least(0, owner="ReportFacts", rows_in=self.rows_in, rows_out=self.rows_out)
        integer_at_least(0, owner="ReportFacts", n_dropped=self.n_dropped)

    @property
    def suppressed(self) -> int:
        """How many rows were left out."""
        return self.rows_in - self.rows_out

    @property
    def confirmed(self) -> int:
        """How many guarantees the verifier confirmed."""
        return sum(guarantee.holds for guarantee in self.guarantees)


def class_size_shares(before: NDArray[np.int64], after: NDArray[np.int64]) -> tuple[SizeShare, ...]:
    """Return the share of the rows that lives in classes of each size, before and after.

    Examples
    --------
    >>> import numpy as np
    >>> for share in class_size_shares(np.array([1, 1, 2]), np.array([4])):
    ...     print(share.label, share.before, share.after)
    1 0.5 0.0
    2 0.5 0.0
    3 to 4 0.0 1.0
    """
    shares = []
    for sizes in (before, after):
        places = np.searchsorted(_SIZES, sizes, side="right") - 1
        rows = np.bincount(places, weights=sizes, minlength=len(_SIZES))
        shares.append(rows / max(rows.sum(), 1.0))
    used = np.flatnonzero(shares[0] + shares[1])
    first, last = (int(used[0]), int(used[-1])) if used.size else (0, -1)
    return tuple(
        SizeShare(
            label=_sizes(place), before=float(shares[0][place]), after=float(shares[1][place])
        )
        for place in range(first, last + 1)
    )


def _sizes(place: int) -> str:
    low = _SIZES[place]
    if place + 1 == len(_SIZES):
        return f"{low:,} or more"
    high = _SIZES[place + 1] - 1
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


# Spellings are compared in so many rows.
_SPELLED_ROWS = 100_000
TREATMENTS = {
    "ranges": "written as ranges and sets",
    "level": "written as nodes of its hierarchy",
    "centroid": "written as the middle of its class",
    "representative": "written as one row of its class has it",
}
METHODS = {
    "mondrian": "Mondrian: classes are cut at the median of their widest column",
    "guided": "Guided: classes are cut where the label to predict parts most",
    "mdav": "MDAV: classes are groups of k to 2k - 1 rows that are near each other",
    "full-domain": "Full domain: each column is at one level of its hierarchy in all rows",
}


def report_facts(
    release: Release[ClassFacts], manifest: Manifest, verification: CheckedRelease
) -> ReportFacts:
    """Gather the facts of a written release and its verification."""
    prepared, risk, utility = release.source, release.facts.risk, release.facts.utility
    checks = [each for each in verification.claims if isinstance(each, ClaimCheck)]
    return ReportFacts(
        title="Release report",
        created=manifest.created,
        software=manifest.software,
        policy_sha256=manifest.policy_sha256,
        guarantees=tuple(
            _guarantee_fact(check, guarantee, verification.rows or 0)
            for check, guarantee in zip(checks, prepared.guarantees, strict=True)
        ),
        rows_in=prepared.n_in,
        rows_out=prepared.n_out,
        method=_method(prepared.plan),
        recoding=TREATMENTS[prepared.plan.recoding.name],
        risk_before=_risk(risk.before),
        risk_after=_risk(risk.after),
        released_columns=risk.columns,
        detail=utility.detail,
        class_sizes=class_size_shares(risk.before_sizes, risk.after_sizes),
        columns=tuple(_columns(prepared, utility)),
        n_dropped=len(prepared.schema.identifiers),
        information_loss=utility.loss,
        class_sizes_utility=utility.class_sizes,
        measures=utility.measures,
        model_utility=utility.model,
        label=utility.label,
        population=risk.population_rows,
        weaknesses=manifest.weaknesses,
        unprotected=(*_unprotected(prepared), *_respelled(prepared)),
        of_persons=prepared.persons is not None,
        files=tuple(manifest.files),
    )


def _method(plan: Plan) -> str:
    """Return how classes were found; of a search, how far it went."""
    words = METHODS[plan.method.name]
    partition = plan.partition
    if isinstance(partition, RoundsPartition):
        return (
            "Full domain in rounds: rows that one round suppresses have levels of their own in the "
            f"next; {len(partition.rounds)} rounds"
        )
    if not isinstance(partition, LatticePartition):
        return words
    facts = partition.facts
    least = "no other loses less" if facts.optimal else "others may lose less"
    return (
        f"{words}; {facts.judged:,} of {facts.nodes:,} combinations of levels were judged, "
        f"and {least}"
    )


def _guarantee_fact(check: ClaimCheck, guarantee: Guarantee, rows: int) -> GuaranteeFact:
    return GuaranteeFact(
        model=check.model,
        parameters=check.stated.parameters,
        column=check.stated.column,
        quasi_identifiers=check.stated.quasi_identifiers,
        sentence=check.sentence,
        required=guarantee.required,
        bound=guarantee.bound,
        achieved=check.counted if check.counted is not None else float("nan"),
        achieved_wildcard=check.counted_wildcard,
        holds=bool(check.holds),
        classes=check.classes or 0,
        rows=rows,
    )


def _risk(counted: Reidentification) -> RiskFact:
    journalist = counted.journalist
    return RiskFact(
        prosecutor_highest=counted.prosecutor.highest.value,
        prosecutor_average=counted.prosecutor.average.value,
        marketer=counted.marketer.linked.value,
        unique_fraction=counted.uniqueness.share.value,
        journalist_highest=None if journalist is None else journalist.highest.value,
        journalist_average=None if journalist is None else journalist.average.value,
    )


def _columns(prepared: ClassedRows, utility: ReleaseUtility) -> list[ColumnFact]:
    facts = []
    for name in prepared.columns:
        column = prepared.schema[name]
        facts.append(
            ColumnFact(
                name=name,
                role=column.role,
                kind=column.kind,
                treatment=_treatment(prepared, name),
                loss=utility.loss.columns.get(name),
                distribution=utility.distributions.get(name),
            )
        )
    return facts


def _treatment(prepared: ClassedRows, name: str) -> str:
    steps = [f"masked: {_in_words(mask)}" for mask in prepared.policy.masks_of(name)]
    if name in prepared.mask_counts:
        steps.append(counted_in_words(prepared.mask_counts[name]))
    if name in prepared.plan.quasi_identifiers:
        plan = prepared.plan
        steps.append(TREATMENTS[plan.recoding_of(name).name])
        partition, place = plan.partition, plan.quasi_identifiers.index(name)
        if isinstance(partition, LatticePartition | RoundsPartition):
            levels = ", then ".join(str(each.levels[place]) for each in partition.rounds)
            steps.append(f"level {levels} of {partition.rounds[0].heights[place]}")
        released = plan.released_columns([name])
        if len(released) > 1:
            steps[-1] = f"written as ranges, in the columns {' and '.join(released)}"
        grid = plan.codings[place].grid
        if grid is not None:
            temporal = prepared.source.dtypes[name].is_temporal()
            ends = f"at the start of a {grid.unit}" if temporal else f"at multiples of {grid.step}"
            steps.append(f"ranges end {ends}, their upper end isn't included")
    return "; ".join(steps) or "released unchanged"


def counted_in_words(counts: Mapping[str, int]) -> str:
    """Return how many details of each type a mask found.

    Examples
    --------
    >>> counted_in_words({"card": 1_200, "name": 3}), counted_in_words({})
    ('found: 1,200 card, 3 name', 'found: none')
    """
    found = ", ".join(f"{n:,} {each}" for each, n in counts.items())
    return f"found: {found or 'none'}"


def _in_words(mask: Mask | TableMask) -> str:
    parameters = {key: it for key, it in mask_parameters(mask).items() if key != "columns"}
    stated = [f"{key} = {value}" for key, value in parameters.items()]
    return ", ".join([mask.name, *stated[1:]])


def _unprotected(prepared: ClassedRows) -> list[str]:
    judged = {guarantee.column for guarantee in prepared.guarantees if guarantee.column}
    return [
        f"No guarantee covers the sensitive column {name!r}: all rows of a class may share "
        "its value."
        for name in prepared.schema.sensitive
        if name not in judged
    ]


def _respelled(prepared: ClassedRows) -> Iterator[str]:
    """Yield a sentence for each column whose values have several spellings, in its first rows."""
    judged = [*prepared.schema.quasi_identifiers, *prepared.schema.sensitive]
    names = [name for name in judged if prepared.source.dtypes[name] == pl.String]
    if not names:
        return
    first = next(iter(prepared.source.batches(_SPELLED_ROWS, columns=names)))
    for name in names:
        if first[name].null_count() and (first[name].str.strip_chars() == "").any():
            yield (
                f"The column {name!r} has blank texts and missing cells. Classes and guarantees "
                'count them as different values. missing = [""] in [input] of the policy makes '
                "empty texts missing."
            )
        if found := spellings(first[name]):
            steps = ", ".join(f'"{step}"' for step in steps_needed(first[name]))
            yield (
                f"{found:,} values of the column {name!r} differ from others only in blanks, "
                "capitals or Unicode form. Classes and guarantees count them as different values. "
                f"normalize = [{steps}] in the policy makes them one."
            )
