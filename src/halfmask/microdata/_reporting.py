"""What a report shows: values that were counted elsewhere, put together for one page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from halfmask.anonymize import LatticePartition, RoundsPartition
from halfmask.claims.table_claims import AREAS_OF_PLACES
from halfmask.data import spellings, steps_needed
from halfmask.microdata.mask_section import mask_parameters
from halfmask.verifier.tables import ClaimCheck

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halfmask.anonymize import Plan
    from halfmask.claims import Manifest
    from halfmask.guarantees import Guarantee
    from halfmask.masks import Mask, TableMask
    from halfmask.microdata._classed_rows import ClassedRows
    from halfmask.microdata._writing import Support
    from halfmask.microdata.evaluation import ClassFacts, ReleaseRisk, ReleaseUtility
    from halfmask.release import Release
    from halfmask.release.page import AnyBlock
    from halfmask.verifier import CheckedRelease


@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeFact:
    """One guarantee: the level that is required, and what the verifier counted on disk."""

    model: str
    parameters: Mapping[str, float | int | str]
    column: str | None
    sentence: str
    required: float
    bound: Literal["at least", "at most"]
    achieved: float
    achieved_wildcard: float | None
    holds: bool
    classes: int

    @property
    def worst(self) -> float:
        """The worse of the two counts."""
        counts = [self.achieved]
        if self.achieved_wildcard is not None:
            counts.append(self.achieved_wildcard)
        return min(counts) if self.bound == "at least" else max(counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFact:
    """One column of the release: its role and what happened to it.

    A column that was dropped has no such fact: the report counts those and never names them.
    """

    name: str
    role: str
    kind: str
    treatment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFacts:
    """Everything that the report shows."""

    manifest: Manifest
    guarantees: tuple[GuaranteeFact, ...]
    rows_in: int
    rows_out: int
    method: str
    recoding: str
    risk: ReleaseRisk
    utility: ReleaseUtility
    columns: tuple[ColumnFact, ...]
    n_dropped: int
    unprotected: tuple[str, ...] = ()
    of_persons: bool = False
    checked: tuple[str, ...] = ()
    n_waiting: int = 0
    places: tuple[Support, ...] = ()
    areas: tuple[str, ...] = ()
    attack: str = ""
    summary: tuple[AnyBlock, ...] = ()
    record: tuple[AnyBlock, ...] = ()

    @property
    def left_out_sentence(self) -> str:
        """How many rows are left out, and how many of these wait for a later release."""
        waiting = f" {self.n_waiting:,} of them wait for a later release." if self.n_waiting else ""
        return f"{self.utility.class_sizes.suppressed_sentence}{waiting}"


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
    prepared = release.source
    checks = [each for each in verification.claims if isinstance(each, ClaimCheck)]
    summary, record = release.opening(manifest)
    return ReportFacts(
        attack=release.briefing.attack_sentence,
        summary=tuple(summary),
        record=tuple(record),
        manifest=manifest,
        guarantees=tuple(map(_guarantee_fact, checks, prepared.guarantees)),
        rows_in=prepared.n_in,
        rows_out=verification.rows or 0,
        method=_method(prepared.plan),
        recoding=TREATMENTS[prepared.plan.recoding.name],
        risk=release.facts.risk,
        utility=release.facts.utility,
        columns=tuple(
            ColumnFact(
                name=name,
                role=prepared.schema[name].role,
                kind=prepared.schema[name].kind,
                treatment=_treatment(prepared, name),
            )
            for name in prepared.columns
        ),
        n_dropped=len(prepared.schema.identifiers),
        unprotected=(*_unprotected(prepared), *_respelled(prepared)),
        of_persons=prepared.persons is not None,
        checked=release.checked,
        n_waiting=prepared.n_waiting,
        places=prepared.places,
        areas=tuple(each.sentence for each in checks if each.model == AREAS_OF_PLACES),
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


def _guarantee_fact(check: ClaimCheck, guarantee: Guarantee) -> GuaranteeFact:
    return GuaranteeFact(
        model=check.model,
        parameters=check.stated.parameters,
        column=check.stated.column,
        sentence=check.sentence,
        required=guarantee.required,
        bound=guarantee.bound,
        achieved=check.counted if check.counted is not None else float("nan"),
        achieved_wildcard=check.counted_wildcard,
        holds=bool(check.holds),
        classes=check.classes or 0,
    )


def _treatment(prepared: ClassedRows, name: str) -> str:
    steps = [f"masked: {_in_words(mask)}" for mask in prepared.policy.masks_of(name)]
    if name in prepared.mask_counts:
        steps.append(counted_in_words(prepared.mask_counts[name]))
    if name in prepared.suppressed:
        steps.append(f"{prepared.suppressed[name]:,} cells made missing")
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


def suppressed_in_words(cells: Mapping[str, int], n_rows: int) -> str:
    """Return how many cells of each column were made missing, for a line of the terminal.

    Examples
    --------
    >>> suppressed_in_words({"age": 1_200, "sex": 0}, 10_000)
    'Suppressed cells: 1,200; age 1,200 (12.0%), sex 0 (0.0%).'
    """
    by_column = ", ".join(f"{name} {n:,} ({n / n_rows:.1%})" for name, n in cells.items())
    return f"Suppressed cells: {sum(cells.values()):,}; {by_column}."


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
