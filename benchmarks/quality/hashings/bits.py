"""What a model loses where values share an index: loss by bits, beside Vowpal Wabbit."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import roc_auc_score

from bars import Bar, say
from halfmask.trainer.learner import OnlineLearner
from quality.hashings import subjects, vowpal
from quality.hashings.streams import Stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quality.hashings.subjects import Subject

__all__ = ["measure"]

BITS, BITS_QUICK = (10, 12, 14, 16, 18, 20, 22, 24), (10, 18, 22)
#: From here on ours may not be worse than theirs by more than so much.
ENOUGH, WORSE = 18, 0.002
#: Where rows are predicted one by one, for the area under the curve.
ONE_BY_ONE = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What was measured at a number of bits: one number for each order of the rows."""

    shared: list[float]
    ours: list[float]
    right: list[float]
    theirs: list[float]

    @property
    def gaps(self) -> list[float]:
        return [ours - theirs for ours, theirs in zip(self.ours, self.theirs, strict=False)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """All of a subject: by bits, and the areas under the curve of both, of each order."""

    subject: Subject
    values: int
    points: dict[int, Point]
    areas: list[tuple[float, float]]


def measured(subject: Subject, chosen: tuple[int, ...], orders: int, peer: Path | None) -> Measured:
    """Learn a subject in each order at each number of bits, and let the peer do so."""
    points = {bits: Point(shared=[], ours=[], right=[], theirs=[]) for bits in chosen}
    curves: list[tuple[float, float]] = []
    values = 0
    for order in range(orders):
        stream = Stream.of(subject, order)
        values = stream.values
        for bits, point in points.items():
            progress = OnlineLearner(bits=bits).learn(stream.at(bits))
            point.shared.append(stream.shared(bits))
            point.ours.append(progress.loss)
            point.right.append(progress.accuracy or 0.0)
        if peer is not None:
            losses, area = _of_the_peer(stream, chosen, peer)
            for bits, loss in zip(chosen, losses, strict=True):
                points[bits].theirs.append(loss)
            curves.append((_area(stream), area))
    return Measured(subject=subject, values=values, points=points, areas=curves)


def _area(stream: Stream) -> float:
    """Return the area under the curve of predictions, each made before its row was learnt."""
    rows = stream.at(ONE_BY_ONE)
    learner = OnlineLearner(bits=ONE_BY_ONE)
    before = np.empty(len(rows), np.float32)
    for number in range(len(rows)):
        row = rows.slice(number, number + 1)
        before[number] = learner.predict(row)[0]
        learner.learn(row)
    return float(roc_auc_score(stream.subject.labels, before))


def _of_the_peer(
    stream: Stream, chosen: tuple[int, ...], folder: Path
) -> tuple[list[float], float]:
    """Return Vowpal Wabbit's loss at each number of bits, and its area under the curve."""
    text, predictions = folder / "rows.vw", folder / "predictions"
    stream.write_vw(text)
    told = f"-d {text} --loss_function logistic --hash_seed {stream.seed}"
    runs = [f"{told} -b {bits}" for bits in chosen]
    losses = vowpal.losses_of([*runs, f"{told} -b {ONE_BY_ONE} -p {predictions}"])
    before: NDArray[np.float64] = np.loadtxt(predictions, ndmin=1)
    return losses[:-1], float(roc_auc_score(stream.subject.labels, before))


def bars_of(found: Measured) -> list[Bar]:
    """Ours beside theirs where there are enough bits."""
    enough = [point for bits, point in found.points.items() if bits >= ENOUGH]
    worst = max((gap for point in enough for gap in point.gaps), default=None)
    name = f"{found.subject.name}, {ENOUGH} bits and more: log-loss above Vowpal Wabbit's, worst"
    why = "" if worst is not None else vowpal.ABSENT
    return [Bar(name=name, value=worst, goal=WORSE, side="at most", why=why)]


def table_of(found: Measured) -> str:
    """A line for each number of bits: means over the orders."""
    subject = found.subject
    head = (
        f"**{subject.name}**, {len(subject.labels):,} rows, {subject.table.width} columns, "
        f"{found.values:,} values; {subject.labels.mean():.1%} are positive."
    )
    lines = [
        head,
        "",
        "| bits | share an index | log-loss | Vowpal Wabbit | above it | worst order | accuracy |",
        "|---|---|---|---|---|---|---|",
    ]
    for bits, point in found.points.items():
        theirs = f"{mean(point.theirs):.5f}" if point.theirs else ""
        gap = f"{mean(point.gaps):+.5f}" if point.gaps else ""
        worst = f"{max(point.gaps):+.5f}" if point.gaps else ""
        spread = f" ± {stdev(point.ours):.5f}" if len(point.ours) > 1 else ""
        lines.append(
            f"| {bits} | {mean(point.shared):.1%} | {mean(point.ours):.5f}{spread} | {theirs} "
            f"| {gap} | {worst} | {mean(point.right):.4f} |"
        )
    if found.areas:
        ours, theirs = (mean(each) for each in zip(*found.areas, strict=True))
        said = (
            f"Area under the curve at {ONE_BY_ONE} bits: {ours:.4f}, Vowpal Wabbit's {theirs:.4f}."
        )
        lines += ["", said]
    return "\n".join(lines)


def overview(found: list[Measured]) -> str:
    """One table of all: our mean loss, and the share of values that share their index."""
    lines = [
        "| bits | " + " | ".join(each.subject.name for each in found) + " |",
        "|---|" + "---|" * len(found),
    ]
    for bits in found[0].points if found else ():
        points = [each.points[bits] for each in found]
        cells = (f"{mean(point.ours):.4f} ({mean(point.shared):.0%})" for point in points)
        lines.append(f"| {bits} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def measure(*, quick: bool, orders: int) -> tuple[list[Bar], str]:
    """All four tables by bits; without the peer where it isn't asked for or isn't there."""
    chosen = BITS_QUICK if quick else BITS
    there, gone = subjects.present(subjects.BINARY)
    bars = [
        Bar(name=f"{name}: log-loss", value=None, goal=WORSE, side="at most", why="no such file")
        for name in gone
    ]
    all_found = []
    with tempfile.TemporaryDirectory() as folder:
        peer = Path(folder) if vowpal.there() and not quick else None
        for subject in there:
            found = measured(subject, chosen, orders, peer)
            bars += bars_of(found) if not quick else []
            all_found.append(found)
            say(table_of(found))
    return bars, "\n\n".join([overview(all_found), *map(table_of, all_found)])
