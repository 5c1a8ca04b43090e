"""Raw, k-anonymous, masked, partial, hybrid and full synthetic rows of Adult: one frontier.

    python benchmarks/quality/synthesis_frontier.py            # 2,000 rows and as many held back
    python benchmarks/quality/synthesis_frontier.py --quick    # four releases of 1,000 rows

Every release is of the same rows. The same attacks are tried on each, with everything in the rows
known to the attacker: linking two halves of a person's columns, inferring the occupation, finding
members. Each is compared with its control, the same attack on people who aren't in the table. A
learner is trained on each release and tested on rows that are held back. The picture and the
numbers go to `--out`; the last line of stdout is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

from synthetic_tables import REPOSITORY, halves

import halfmask as hm
from bars import Bar, report, say
from halfmask.assess.attacks._targets import UNKNOWN, TableTarget
from halfmask.assess.attacks.tables import DensityMembership, Inference, Linkability
from halfmask.assess.masking.pairs import column_pairs
from halfmask.assess.synthesis.quality import trained_models
from halfmask.plots import svg
from halfmask.synth import blend_rows, rotate_groups

if TYPE_CHECKING:
    import polars as pl

OUT = REPOSITORY / "build" / "synthesis_frontier"
KEY = bytes(range(32))
ROWS, QUICK_ROWS = 4_000, 2_000
#: What `--quick` makes.
QUICK = ("raw", "k-anonymous, k = 5", "hybrid, k = 10", "full")
NUMBERS = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
SECRET, LABEL = "occupation", "income"
ATTACKS = {
    "linked": Linkability(),
    "inferred": Inference(),
    "members": DensityMembership(),
}
#: Each bound is wrong with this probability.
ERROR = 0.025


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A release: what attacks find beyond their control, and the learner's AUC.

    Parameters
    ----------
    name
        The release.
    auc
        Of boosting trained on it, on held-back rows.
    excess
        For each attack its success less that of its control, with both bounds.
    """

    name: str
    auc: float
    excess: dict[str, tuple[float, float, float]]

    @property
    def worst(self) -> tuple[float, float, float]:
        """The greatest excess, with its bounds."""
        return max(self.excess.values())


def releases(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return each release of the rows."""
    rng = np.random.default_rng(0)
    model = hm.Synthesizer(random_state=0).fit(rows)
    drawn = model.sample(rows.height)
    some = ["occupation", "income", "hours-per-week", "capital-gain", "capital-loss"]
    partial = hm.Synthesizer(columns=some, random_state=0).fit(rows)
    return {
        "raw": rows,
        "k-anonymous, k = 5": protected(rows, 'model = "k-anonymity"\nk = 5'),
        "k-anonymous, k = 20": protected(rows, 'model = "k-anonymity"\nk = 20'),
        "masked, noise and PRAM 10%": masked(rows, 0.1, 0.9),
        "masked, noise and PRAM 30%": masked(rows, 0.3, 0.7),
        "partial, five columns": partial.redraw(rows),
        "hybrid, half original": blended(rows, drawn, 0.5, rng),
        "hybrid, k = 10": rotate_groups(rows, k=10, numbers=NUMBERS, rng=rng).rows,
        "full": drawn,
        "full, leaves of 20": hm.Synthesizer(min_leaf=20, random_state=0)
        .fit(rows)
        .sample(rows.height),
    }


def blended(
    rows: pl.DataFrame, drawn: pl.DataFrame, share: float, rng: np.random.Generator
) -> pl.DataFrame:
    return blend_rows(rows, drawn, original_share=share, numbers=NUMBERS, rng=rng)


def policy(rows: pl.DataFrame, masks: dict[str, str], more: str) -> hm.Policy:
    """Return a policy: all columns but the secret and the label are quasi-identifiers."""
    parts = ["halfmask = 1"]
    for name in rows.columns:
        role = {SECRET: "sensitive", LABEL: "insensitive"}.get(name, "quasi_identifier")
        kind = "numeric" if name in NUMBERS else "categorical"
        parts.append(f'[columns.{name}]\nrole = "{role}"\nkind = "{kind}"')
        if name in masks:
            parts.append(f"mask = {masks[name]}")
    return hm.Policy.from_toml("\n".join([*parts, more]))


def protected(rows: pl.DataFrame, guarantee: str) -> pl.DataFrame:
    chosen = policy(rows, {}, f"[[guarantees]]\n{guarantee}")
    return hm.protect(rows, chosen, key=KEY).data


def masked(rows: pl.DataFrame, noise: float, keep: float) -> pl.DataFrame:
    """Return rows with noise on numbers, and other categories for some cells."""
    masks = {}
    for name in rows.columns:
        spread = noise * float(rows[name].std() or 0) if name in NUMBERS else 0.0
        masks[name] = (
            f'{{ name = "noise", law = "gaussian", scale = {spread:.4f}, decimals = 0 }}'
            if name in NUMBERS
            else f'{{ name = "pram", keep = {keep} }}'
        )
    return hm.mask(rows, policy(rows, masks, ""), key=KEY).data


def point(name: str, released: pl.DataFrame, rows: pl.DataFrame, held_back: pl.DataFrame) -> Point:
    """Attack a release, and train on it."""
    released = released.select(rows.columns)
    known = tuple(each for each in rows.columns if each not in (SECRET, LABEL))
    target = TableTarget(
        released=released,
        original=rows,
        control=held_back,
        quasi_identifiers=known,
        secrets=(SECRET,),
        hierarchies={},
        owners=UNKNOWN,
    )
    excess = {}
    for what, attack in ATTACKS.items():
        found = attack.run(target, random_state=0)[0].excess
        low, high = found.bounds(ERROR)
        excess[what] = (float(found.value), float(low), float(high))
    pairs, others = (column_pairs(rows, each, rows.columns) for each in (released, held_back))
    scores = trained_models(pairs, others, LABEL, random_state=0)
    auc = next((each.synthetic for each in scores if each.learner == "boosting"), 0.5)
    return Point(name=name, auc=auc, excess=excess)


def picture(points: list[Point], rows: int) -> str:
    """Draw attack success against accuracy as SVG, and a table."""
    left, right, top, bottom, table = 96.0, 600.0, 128.0, 420.0, 520.0
    low = min(0.5 if min(each.auc for each in points) < 0.8 else 0.8, 0.95)
    high = max(each.auc for each in points) + 0.005

    def across(share: float) -> float:
        return left + (right - left) * min(max(share, 0.0), 1.0)

    def up(auc: float) -> float:
        return bottom - (bottom - top) * (auc - low) / (high - low)

    parts = [
        svg.text(svg.MARGIN, 34, "benchmarks/quality/synthesis_frontier.py", "soft"),
        svg.text(svg.MARGIN, 64, "What attackers find, and what a model learns: Adult", "title"),
        svg.text(svg.MARGIN, 86, f"{rows:,} rows are released, as many held back", "soft"),
        svg.card(top - 26, bottom - top + 80),
    ]
    levels = [low + (high - low) * step / 4 for step in range(5)]
    parts += svg.grid(
        (left, right, top, bottom),
        [(across(step / 4), f"{step / 4:g}") for step in range(5)],
        [(up(auc), f"{auc:.3f}") for auc in levels],
    )
    parts += [
        svg.text(left, bottom + 38, "success of the best attack beyond its control", "soft"),
        svg.text(svg.MARGIN + svg.INSET, top - 8, "AUC of a model", "soft"),
    ]
    lowest = top - 14
    for number, each in sorted(enumerate(points, 1), key=lambda pair: up(pair[1].auc)):
        value, least, most = each.worst
        x, y = across(value), up(each.auc)
        lowest = max(y, lowest + 17)
        parts += [
            svg.line(across(least), y, across(most), y, svg.BEFORE, 2),
            svg.line(x + 7, y, right + 12, lowest, svg.TRACK),
            svg.circle(x, y, 5.5, svg.AFTER),
            svg.text(right + 16, lowest + 4, f"{number}  {each.name}", "small"),
        ]
    parts.append(svg.card(table - 26, 50 + 24 * len(points)))
    heads = [("AUC", 330.0), *((what, 480.0 + 160 * place) for place, what in enumerate(ATTACKS))]
    parts += [svg.text(x, table, words, "small", end=True) for words, x in heads]
    for place, each in enumerate(points):
        y = table + 26 + 24 * place
        parts.append(svg.text(svg.MARGIN + svg.INSET, y, f"{place + 1}  {each.name}", "small"))
        parts.append(svg.text(330, y, f"{each.auc:.3f}", end=True))
        for column, (value, least, most) in enumerate(each.excess.values()):
            words = f"{value:.3f}  [{least:.3f}, {most:.3f}]"
            parts.append(svg.text(480 + 160 * column, y, words, "small", end=True))
    return svg.drawing("frontier", "Synthesis", parts, height=table + 60 + 24 * len(points))


def bars_of(points: list[Point]) -> list[Bar]:
    """Return what must hold for the picture to say anything, and what it says."""
    found = {each.name: each for each in points}
    raw, full = found["raw"], found["full"]
    return [
        Bar(name="members found in raw rows beyond control (power)", value=raw.excess["members"][0],
            goal=0.5, side="at least"),
        Bar(name="best attack on full rows beyond control", value=full.worst[0], goal=0.1,
            side="at most"),
        Bar(name="AUC lost on full rows", value=raw.auc - full.auc, goal=0.03, side="at most"),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute")
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    table = halves("adult", 1, rows=QUICK_ROWS if arguments.quick else ROWS)
    # fnlwgt is a survey weight of nearly as many values as rows: no release by classes keeps it.
    rows, held_back = table.learnt.drop("fnlwgt"), table.held_back.drop("fnlwgt")
    points = []
    made = releases(rows)
    for name in QUICK if arguments.quick else made:
        released = made[name]
        started = time.perf_counter()
        points.append(point(name, released, rows, held_back))
        found = ", ".join(f"{what} {each[0]:+.3f}" for what, each in points[-1].excess.items())
        took = time.perf_counter() - started
        say(f"{name:28} AUC {points[-1].auc:.4f}  {found}  ({took:.0f} s)")
    said = [asdict(each) for each in points]
    (arguments.out / "frontier.json").write_text(json.dumps(said, indent=1), encoding="utf-8")
    (arguments.out / "frontier.svg").write_text(picture(points, rows.height), encoding="utf-8")
    report(bars_of(points))


if __name__ == "__main__":
    main()
