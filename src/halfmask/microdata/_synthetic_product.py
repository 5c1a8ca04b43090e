"""Synthetic rows as a product: their files, claims, and what was measured."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

from halfmask._progress import Progress, silent
from halfmask.assess.masking._pairs import column_pairs
from halfmask.assess.synthesis import associations, column_pictures
from halfmask.assess.synthesis._marginals import binned
from halfmask.claims._synthetic_manifest import SYNTHETIC, synthetic_details
from halfmask.claims._weaknesses import weakness_sentence
from halfmask.microdata._evaluation import LEAST_COUNT
from halfmask.microdata._finite_numbers import finite
from halfmask.microdata._report_charts import association_chart, distribution_chart, percent
from halfmask.microdata._writing import write_parts
from halfmask.release import PicturesBlock, Product, TableBlock, TextBlock, publish_verified
from halfmask.synth._chance_copies import MOST_EQUAL

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from halfmask.assess.synthesis import SynthesisAssessment
    from halfmask.assess.utility import Distribution
    from halfmask.claims import Claim, DataFile, Manifest
    from halfmask.microdata._private_synthesis import PaidBudget
    from halfmask.microdata._synthetic_rows import SyntheticRows
    from halfmask.release._page import AnyBlock
    from halfmask.verifier import CheckedRelease

#: More pictures make a page that nobody reads.
MOST_PICTURES = 30
EXTENTS = {
    "full": "All cells are synthetic.",
    "partial": "Some columns are synthetic; the other cells are those of people.",
    "hybrid": "Each row lies between an original row and a synthetic one.",
}


def write_synthetic(  # what a release consists of
    rows: SyntheticRows,
    claims: Sequence[Claim],
    measured: SynthesisAssessment | None,
    out: str | Path,
    *,
    overwrite: bool,
    progress: Progress | None,
) -> tuple[Manifest, CheckedRelease]:
    """Write synthetic rows; see :meth:`halfmask.microdata.SyntheticRelease.write`."""
    product = _product(rows, claims, measured, progress or silent)
    manifest, verification = publish_verified(product, out, overwrite=overwrite, progress=progress)
    return manifest, cast("CheckedRelease", verification)


def _product(
    rows: SyntheticRows,
    claims: Sequence[Claim],
    measured: SynthesisAssessment | None,
    progress: Progress,
) -> Product:
    def write(folder: Path) -> Sequence[DataFile]:
        files: list[DataFile] = []
        for number in range(len(rows.copies)):
            prefix = "part" if len(rows.copies) == 1 else f"copy-{number + 1:03d}-part"
            files += write_parts(rows.of_copy(number), folder, progress, prefix=prefix)
        return files

    blocks = [_drawing_block(rows), *_copies_block(rows, claims)]
    if measured is not None:
        blocks += [*_pictures(rows), *measured.blocks()]
    return Product(
        kind=SYNTHETIC,
        policy_sha256=rows.policy.sha256,
        write=write,
        claims=lambda _files: claims,
        weaknesses=[weakness_sentence(name) for name in _weaknesses(rows)],
        blocks=blocks,
        details=synthetic_details(
            rows=rows.counts,
            columns=rows.columns(),
            extent=rows.section.kind,
            parameters=rows.parameters(),
            risk={} if measured is None else finite(_risk(rows, measured)),
            utility={} if measured is None else finite(measured.utility()),
        ),
        software={name: version(name) for name in ("polars", "numpy", "scikit-learn")}
        | {"python": platform.python_version()},
        evidence=None if rows.paid else lambda _files: {"originals": rows.originals},
    )


def _weaknesses(rows: SyntheticRows) -> list[str]:
    if rows.paid is not None:
        named = ["rows-not-persons"] if rows.paid.rows_of_person is None else []
        return [*named, "one-release"]
    named = ["no-privacy-model", "learnt-from-people", "background-knowledge"]
    if rows.section.kind == "partial":
        named.append("unchanged-cells")
    if rows.section.original_share is not None:
        named.append("near-original-rows")
    return named


def _drawing_block(rows: SyntheticRows) -> AnyBlock:
    section = rows.section
    sentences = [EXTENTS[section.kind]]
    if rows.paid is not None:
        return TextBlock(
            title="How rows were drawn", sentences=[*sentences, *_budget_sentences(rows.paid)]
        )
    if section.k is not None:
        common = "means, variances, correlations, and how often each category occurs"
        sentences = [f"Groups of {section.k} or more rows are drawn from their {common}."]
    else:
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
    least = max(rows.section.k or rows.section.min_leaf, LEAST_COUNT)
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
        if len(shown) > len(charts):
            sentence += f" {len(shown) - len(charts)} more columns aren't pictured."
        blocks.append(
            PicturesBlock(title="Columns", sentence=sentence, pictures=charts, outlined=True)
        )
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
