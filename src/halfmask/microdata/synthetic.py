"""The kind `synthetic`: rows that are drawn from a model of a table, or from noisy counts."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from halfmask._errors import ParameterError, ReleaseError
from halfmask._foreign import need
from halfmask._random import key_or_fresh
from halfmask.assess.masking.pairs import column_pairs
from halfmask.assess.synthesis import (
    SynthesisAssessment,
    assess_synthetic,
    associations,
    column_pictures,
)
from halfmask.assess.synthesis.quality import binned
from halfmask.claims import LearntRows, Synthesis, SyntheticDetails
from halfmask.claims.claim import weakness_sentence
from halfmask.claims.manifest import SYNTHETIC
from halfmask.data import frame_given, open_table, orders_of
from halfmask.microdata._claims import drop_infinite
from halfmask.microdata._synthesis_section import (
    BlendedSection,
    GroupsSection,
    LearntSection,
    PrivateSection,
)
from halfmask.microdata._synthetic_claims import synthetic_claims
from halfmask.microdata._synthetic_rows import SyntheticRows, draw_rows
from halfmask.microdata._writing import write_parts
from halfmask.microdata.charts import association_chart, distribution_chart
from halfmask.microdata.evaluation import LEAST_COUNT
from halfmask.microdata.opening import ledger_view, opened_as_texts
from halfmask.release import PicturesBlock, Release, ReleaseKind, RowFiles, TableBlock, TextBlock
from halfmask.release.briefing import Briefing
from halfmask.release.meanings import meanings
from halfmask.release.page import percent
from halfmask.synth.chance_copies import MOST_EQUAL
from halfmask.verifier import VerifyInputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from halfmask.assess.utility import Distribution
    from halfmask.claims import Claim, DataFile
    from halfmask.claims.claim import Json
    from halfmask.data import ReadOptions
    from halfmask.dp.ledger import PrivacyLedger
    from halfmask.microdata._policy import Policy
    from halfmask.microdata._private_synthesis import PaidBudget
    from halfmask.release import Inputs, WriteJob
    from halfmask.release.page import AnyBlock
    from halfmask.release.release import ShownTable

#: The seed of attacks and models: the same rows have the same numbers.
SEED = 0
#: More pictures make a page that nobody reads.
MOST_PICTURES = 30
MANY = f"The first {MOST_PICTURES} columns are pictured."
EXTENTS = {
    "full": "All cells are synthetic.",
    "partial": "Some columns are synthetic; the other cells are those of people.",
    "hybrid": "Each row lies between an original row and a synthetic one.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisFacts:
    """What was measured; ``None`` for rows under an epsilon, where it would cost more."""

    measured: SynthesisAssessment | None

    @property
    def assessment(self) -> SynthesisAssessment:
        """Measured risk and quality."""
        if self.measured is None:
            raise ReleaseError(
                "Rows under an epsilon aren't measured against the table.",
                hint="Measure on rows that were never in the table.",
            )
        return self.measured


def make(table: object, policy: Policy, inputs: Inputs) -> Release[SynthesisFacts]:
    """Learn from a table, draw rows, and measure risk and quality."""
    need("numba", "scipy", "sklearn", "threadpoolctl")
    progress, key = inputs.progress, key_or_fresh(inputs.key)
    options = policy.read_options()
    as_texts = _person_as_text(policy, options)
    source = (
        opened_as_texts(table, options, as_texts)
        if as_texts
        else open_table(table, options=options)
    )
    policy.schema().check(source.columns)
    progress("reading", 0.0)
    if inputs.ledger is not None:
        _check_ledger(inputs.ledger, table, policy)
    wanted = [
        name
        for name in source.columns
        if policy.columns[name].role != "identifier" or name == policy.person
    ]
    rows = source.read(columns=wanted)
    original = frame_given(table)
    progress("drawing rows", 0.1)
    drawn = draw_rows(rows, policy, key=key, ledger=inputs.ledger, engine=inputs.engine)
    if original is not None:
        drawn = replace(drawn, orders=orders_of(original))
    progress("measuring risk and quality", 0.5)
    is_measured = not (drawn.paid or inputs.unmeasured)
    return Release(
        kind=KIND,
        policy=policy,
        claims=synthetic_claims(drawn),
        rows=drawn.counts,
        facts=SynthesisFacts(measured=_assess(drawn) if is_measured else None),
        source=drawn,
        copies=len(drawn.copies),
        original=original,
    )


def _person_as_text(policy: Policy, options: ReadOptions) -> dict[str, str]:
    """Return the type of the person's column: whose row it is depends on no other row."""
    person = policy.person
    return {} if person is None or person in options.declarations() else {person: "string"}


def _check_ledger(ledger: PrivacyLedger, table: object, policy: Policy) -> None:
    if not isinstance(policy.synthesis, PrivateSection):
        raise ParameterError(
            "The 'ledger' parameter of protect and synthesize goes with epsilon, which [synthesis] "
            "lacks.",
            hint="Leave it out: without epsilon nothing is guaranteed that a ledger could add up.",
        )
    ledger.terms.check_person(policy.person)
    ledger.check_table(ledger_view(table, policy.read_options()))


def _assess(drawn: SyntheticRows) -> SynthesisAssessment:
    """Measure risk and quality on the first copy."""
    policy, names = drawn.policy, drawn.learnt.columns
    return assess_synthetic(
        drawn.learnt,
        drawn.copies[0],
        control=drawn.control,
        secrets=[name for name in names if policy.columns[name].role == "sensitive"],
        quasi_identifiers=[
            name for name in names if policy.columns[name].role == "quasi_identifier"
        ],
        label=next((name for name in policy.schema().label if name in names), None),
        random_state=SEED,
    )


@contextmanager
def files(release: Release[SynthesisFacts], job: WriteJob) -> Iterator[RowFiles]:
    """Yield how the files of each copy are written, and the original rows for the verifier."""
    rows: SyntheticRows = release.source

    def write(folder: Path) -> Sequence[DataFile]:
        files: list[DataFile] = []
        for number in range(len(rows.copies)):
            prefix = "part" if len(rows.copies) == 1 else f"copy-{number + 1:03d}-part"
            files += write_parts(rows.shuffled(number), folder, job.progress, prefix=prefix)
        return files

    yield RowFiles(
        write=write,
        evidence=None if rows.paid else lambda _files: VerifyInputs(originals=rows.originals),
    )


def details(release: Release[SynthesisFacts]) -> Mapping[str, Json]:
    """Return rows, columns, how they were drawn, risk and utility."""
    rows: SyntheticRows = release.source
    measured = release.facts.measured
    return SyntheticDetails(
        rows=LearntRows(**{f"n_{name}": count for name, count in rows.counts.items()}),
        columns=tuple(rows.columns()),
        synthesis=Synthesis(extent=rows.section.kind, parameters=rows.parameters()),
        risk={} if measured is None else drop_infinite(_risk(rows, measured)),
        utility={} if measured is None else drop_infinite(measured.utility()),
    ).to_details()


def briefing(release: Release[SynthesisFacts]) -> Briefing:
    """Say what rows were drawn from, and what attacks found, for the officer who signs."""
    measured = release.facts.measured
    ran = "" if measured is None else _verdicts([it.verdict for it in measured.findings])
    costs = "would compare with the table, which costs more than the budget."
    return Briefing(
        protected=[EXTENTS[release.source.section.kind], *meanings(release.claims)],
        lost=["What the model doesn't learn of columns together is lost: see below."],
        attacked=(measured.not_attacked or ran) if measured else f"No attack was run: it {costs}",
        unpictured=f"A picture {costs}" if measured is None else "",
    )


def _verdicts(verdicts: Sequence[str]) -> str:
    """Return how attacks ended, in a sentence."""
    n_broken, n_resisted = verdicts.count("broken"), verdicts.count("resisted")
    rest = len(verdicts) - n_broken - n_resisted
    return (
        f"Attacks ran when it was made, {len(verdicts):,} in all: {n_broken:,} succeeded, "
        f"{n_resisted:,} failed, {rest:,} couldn't be judged. See Attacks, below."
    )


def blocks(release: Release[SynthesisFacts]) -> list[AnyBlock]:
    """Return how rows were drawn, and what was measured of them."""
    rows: SyntheticRows = release.source
    measured = release.facts.measured
    found = [_drawing_block(rows), *_copies_block(rows, release.claims)]
    return found if measured is None else [*found, *_pictures(rows), *measured.blocks()]


def shown(release: Release[SynthesisFacts]) -> ShownTable:
    """Return each claim, and how many rows were learnt from."""
    rows = release.rows
    learnt = f"Rows: {rows['learnt']:,} learnt from, {rows['control']:,} set aside."
    return ("claim",), [(each.sentence(),) for each in release.claims], (learnt,)


def weaknesses(release: Release[SynthesisFacts]) -> list[str]:
    """Name what synthetic rows don't protect from."""
    return [weakness_sentence(name) for name in _weakness_names(release.source)]


def _weakness_names(rows: SyntheticRows) -> list[str]:
    if rows.paid is not None:
        named = ["rows-not-persons"] if rows.paid.rows_of_person is None else []
        return [*named, "one-release"]
    named = ["no-privacy-model", "learnt-from-people", "background-knowledge"]
    if rows.section.kind == "partial":
        named.append("unchanged-cells")
    if isinstance(rows.section, BlendedSection):
        named.append("near-original-rows")
    return named


def _drawing_block(rows: SyntheticRows) -> AnyBlock:
    section = rows.section
    sentences = [EXTENTS[section.kind]]
    if rows.paid is not None:
        return TextBlock(
            title="How rows were drawn", sentences=[*sentences, *_budget_sentences(rows.paid)]
        )
    if isinstance(section, GroupsSection):
        common = "means, variances, correlations, and how often each category occurs"
        sentences = [f"Groups of {section.k} or more rows are drawn from their {common}."]
    elif isinstance(section, LearntSection):
        sentences.append(
            f"A column is drawn given those before it, by {section.model}, from {section.min_leaf} "
            "rows at least. A category of fewer rows isn't drawn."
        )
    sentences.append(rows.unchanged_sentence)
    aside = f"{rows.learnt.height:,} rows were learnt from. {rows.control.height:,} were set aside"
    compared = ", and attacks are compared on them." if rows.control.height else "."
    sentences.append(aside + compared)
    if len(rows.copies) > 1:
        sentences.append("Attacks and quality are measured on the first copy.")
    return TextBlock(title="How rows were drawn", sentences=[it for it in sentences if it])


def _risk(rows: SyntheticRows, measured: SynthesisAssessment) -> dict[str, Any]:
    """Return the measured risk, and of partial rows how many their unchanged cells single out."""
    unique = rows.unique_unchanged
    return measured.risk() | ({} if unique is None else {"unique_unchanged": unique})


def _copies_block(rows: SyntheticRows, claims: Sequence[Claim]) -> list[AnyBlock]:
    """Return for each copy how many of its rows equal original rows, and how many by chance."""
    counted = [it.evidence for it in claims if it.model == "copied-rows"]
    if not counted:
        return []
    names = ("rows", "copied", "copied_of_few", "repeated_of_few", "original_rows", "moved_of_few")
    lines = []
    each = zip(counted, rows.left_out, rows.leaves, strict=True)
    for number, (evidence, left_out, leaf) in enumerate(each, 1):
        drawn, equal, of_few, repeated, originals, moved = (int(str(evidence[it])) for it in names)
        chance = max(round(repeated * drawn / max(1, originals)), moved)
        lines.append([f"{it:,}" for it in (number, drawn, equal, of_few, chance, left_out, leaf)])
    counts = ("rows", "equal an original", "of few people", "by chance", "left out", "least leaf")
    columns = ("copy", *counts)
    caption = (
        f"Rows that equal an original row; of these, rows that at most {MOST_EQUAL} people have, "
        "and as many as equal one by chance. Drawn rows that equal them too often were left out. "
        "Where that were more than half, cells were drawn from more rows: the least leaf."
    )
    return [TableBlock(title="Copied rows", columns=columns, rows=lines, caption=caption)]


def _pictures(rows: SyntheticRows) -> list[AnyBlock]:
    """Return both tables side by side; no bar shows fewer rows than a category may have."""
    least = max(rows.section.least_rows, LEAST_COUNT)
    learnt, drawn = rows.learnt, rows.copies[0]
    pairs = column_pairs(learnt, drawn, learnt.columns)
    shown = column_pictures(learnt, drawn, pairs, min_count=least)
    charts = [
        (name, distribution_chart(name, it, name=f"picture-{place}"), _apart(it))
        for place, (name, it) in enumerate(list(shown.items())[:MOST_PICTURES])
    ]
    blocks: list[AnyBlock] = []
    if charts:
        sentence = (
            f"No bar shows fewer than {least} original rows, and counts are rounded: bars of fewer "
            "are joined with others or left out."
        )
        blocks.append(
            PicturesBlock(title="Columns", sentence=sentence, pictures=charts, outlined=True)
        )
    pictured = {name for name, *_ in charts}
    without = [
        (name, MANY if name in shown else "Too few rows share a value, or a range, for two bars.")
        for name in learnt.columns
        if name not in pictured
    ]
    if without:
        blocks.append(TableBlock("Columns without a picture", ("Column", "Why"), without))
    found = associations([binned(pair) for pair in pairs], learnt.columns)
    if found is not None:
        chart = association_chart(found, name="associations")
        sentence = (
            "The larger a square, the more two columns say of each other. Squares below the "
            "diagonal are of the original rows, their mirror images above it of the released ones."
        )
        blocks.append(
            PicturesBlock(
                title="Between columns",
                sentence=sentence,
                pictures=[("", chart, found.sentence)],
            )
        )
    return blocks


def _apart(picture: Distribution) -> str:
    return f"{percent(picture.distance)} of the rows would have to change bars to match."


def _budget_sentences(paid: PaidBudget) -> list[str]:
    n = sum(it.mechanism == "gaussian" for it in paid.events)
    budget = f"epsilon {paid.epsilon:g} and delta {paid.delta:g}"
    drawn = f"Rows are drawn from a model of {n} tables of counts with Gaussian noise."
    rows = f"By the noisy counts there are about {paid.n_rows:,} original rows."
    unit = "Each row is protected."
    if paid.rows_of_person is not None:
        unit = (
            f"All rows of a person are protected; at most {paid.rows_of_person:,} of each were "
            "counted."
        )
    return [
        f"{drawn} Together they cost {budget}.",
        "The policy declares what a column may hold.",
        "Numbers beyond it count as the nearest that are declared, and other values as missing.",
        unit,
        f"{rows} Nothing was measured against them: that would cost more than the budget.",
    ]


_UNUSED = "Rows are drawn from a model of the whole table: leave it out."
KIND = ReleaseKind(
    name=SYNTHETIC,
    make=make,
    files=files,
    weaknesses=weaknesses,
    details=details,
    briefing=briefing,
    blocks=blocks,
    shown=shown,
    about="[synthesis]",
    refuses=dict.fromkeys(("vault", "population", "strict", "persons"), _UNUSED),
    software=("polars", "numpy", "scikit-learn", "python"),
)
