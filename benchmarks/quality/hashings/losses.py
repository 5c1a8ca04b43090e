"""Every loss and optimizer beside Vowpal Wabbit's, or beside what comes nearest to it."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bars import Bar, say
from halfmask.trainer.learner import OnlineLearner
from quality.hashings import vowpal
from quality.hashings.streams import Stream
from quality.hashings.subjects import BINARY, CLASSES, NUMBERS, present

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quality.hashings.subjects import Subject

__all__ = ["measure"]

BITS = 22
#: One weight vector lies in Vowpal Wabbit's table for each class: it gets room for all of them.
BITS_OF_CLASSES = 27
WORSE = 0.002
#: It cuts predictions off at the labels it has seen, and then counts a loss of another name.
FREE = "--min_prediction -1000 --max_prediction 1000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A loss, maybe an optimizer: what ours is told, what theirs is, and ours in their unit."""

    name: str
    said: dict[str, Any]
    told: str
    factor: float = 1.0


_FTRL = "--loss_function logistic --ftrl --ftrl_alpha 0.1 --ftrl_beta 1"
_SPARSE = {"optimizer": "ftrl", "l1": 1.0}
_SGD = "--loss_function logistic --normalized --invariant --power_t 0 -l 0.5"
#: What a file with labels 0 and 1 is learnt by; logistic by AdaGrad is the section of bits.
OF_TWO = (
    Loss(name="hinge", said={"loss": "hinge"}, told="--loss_function hinge"),
    Loss(name="logistic by FTRL", said={"optimizer": "ftrl"}, told=_FTRL),
    Loss(name="logistic by FTRL, L1 of 1", said=_SPARSE, told=f"{_FTRL} --l1 1"),
    Loss(name="logistic by SGD", said={"optimizer": "sgd"}, told=_SGD),
)
OF_NUMBERS = (
    Loss(name="squared", said={"loss": "squared"}, told="--loss_function squared", factor=2.0),
    *(
        Loss(name=f"quantile {tau}", said={"loss": "quantile", "tau": tau},
             told=f"--loss_function quantile --quantile_tau {tau}")
        for tau in (0.1, 0.5, 0.9)
    ),
)  # fmt: skip


#: Of each loss: ours, theirs with predictions free, and theirs as it comes; one for each order.
Found: TypeAlias = list[tuple[str, list[float], list[float], list[float]]]


def of_one_output(
    subject: Subject, losses: tuple[Loss, ...], orders: int, folder: Path | None
) -> Found:
    """Learn by each loss in each order; theirs with predictions free, and as it comes."""
    ours: dict[str, list[float]] = {loss.name: [] for loss in losses}
    free: dict[str, list[float]] = {loss.name: [] for loss in losses}
    cut: dict[str, list[float]] = {loss.name: [] for loss in losses}
    for order in range(orders):
        stream = Stream.of(subject, order)
        for loss in losses:
            progress = OnlineLearner(bits=BITS, **loss.said).learn(stream.at(BITS))
            ours[loss.name].append(loss.factor * progress.loss)
        if folder is None:
            continue
        text = folder / "rows.vw"
        stream.write_vw(text)
        runs = [f"-d {text} -b {BITS} --hash_seed {order} {loss.told}" for loss in losses]
        found = vowpal.losses_of([*(f"{run} {FREE}" for run in runs), *runs])
        for number, loss in enumerate(losses):
            free[loss.name].append(found[number])
            cut[loss.name].append(found[number + len(losses)])
    return [(loss.name, ours[loss.name], free[loss.name], cut[loss.name]) for loss in losses]


def lines_of(subject: Subject, found: Found) -> tuple[list[Bar], list[str]]:
    bars, lines = [], []
    for name, ours, free, cut in found:
        gaps = [one - other for one, other in zip(ours, free, strict=False)]
        if gaps:
            bars.append(Bar(name=f"{subject.name}, {name}: loss above Vowpal Wabbit's, worst",
                            value=max(gaps), goal=WORSE, side="at most"))  # fmt: skip
        told = (
            f"{mean(free):.5f} | {mean(gaps):+.5f} | {max(gaps):+.5f} | {mean(cut):.5f}"
            if gaps
            else " | | | "
        )
        lines.append(f"| {subject.name} | {name} | {mean(ours):.5f} | {told} |")
    return bars, lines


def of_classes(subject: Subject, orders: int, folder: Path | None) -> tuple[list[Bar], str]:
    """Softmax beside one logistic model for each class against all others."""
    ours, wrong, theirs, theirs_wrong = [], [], [], []
    for order in range(orders):
        stream = Stream.of(subject, order)
        learner = OnlineLearner(bits=BITS, loss="softmax", classes=subject.classes)
        progress = learner.learn(stream.at(BITS))
        ours.append(progress.loss)
        wrong.append(1.0 - (progress.accuracy or 0.0))
        if folder is not None:
            loss, error = _one_against_all(stream, folder)
            theirs.append(loss)
            theirs_wrong.append(error)
    bars, told = [], " | "
    if theirs:
        worst = max(one - other for one, other in zip(ours, theirs, strict=True))
        bars = [Bar(name=f"{subject.name}, softmax: log-loss above one against all's, worst",
                    value=worst, goal=WORSE, side="at most")]  # fmt: skip
        told = f"{mean(theirs):.4f} | {mean(theirs_wrong):.4f}"
    return bars, (
        f"| {subject.name} | {subject.classes} | {mean(ours):.4f} | {mean(wrong):.4f} | {told} |"
    )


def _one_against_all(stream: Stream, folder: Path) -> tuple[float, float]:
    """Return the log-loss and the error of Vowpal Wabbit's ``--oaa`` with probabilities."""
    text, predictions = folder / "rows.vw", folder / "predictions"
    stream.write_vw(text)
    classes, labels = stream.subject.classes, stream.subject.labels
    told = f"--oaa {classes} --loss_function logistic --probabilities -p {predictions}"
    vowpal.losses_of([f"-d {text} -b {BITS_OF_CLASSES} --hash_seed {stream.seed} {told}"])
    words = predictions.read_text(encoding="ascii").split()
    each: NDArray[np.float64] = np.array([float(word.partition(":")[2]) for word in words])
    chances = each.reshape(len(labels), classes)
    given = np.maximum(chances[np.arange(len(labels)), labels], 1e-6)
    return float(-np.log(given).mean()), float((chances.argmax(axis=1) != labels).mean())


def measure(*, quick: bool, orders: int) -> tuple[list[Bar], str]:
    """All losses but logistic by AdaGrad, which the section of bits has, and other optimizers."""
    bars = vowpal.missed("losses") if not quick else []
    lines = [
        f"{BITS} bits; numbers are in units of their standard deviation.\n",
        "| data | loss | ours | Vowpal Wabbit | above it | worst order | its predictions cut |",
        "|---|---|---|---|---|---|---|",
    ]
    of_more = [
        f"| data | classes | softmax | error | one against all, {BITS_OF_CLASSES} bits | error |",
        "|---|---|---|---|---|---|",
    ]
    groups = ((BINARY, OF_TWO), (NUMBERS, OF_NUMBERS))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if vowpal.there() and not quick else None
        for makers, losses in groups:
            for subject in present(makers)[0]:
                found, told = lines_of(subject, of_one_output(subject, losses, orders, folder))
                bars += found
                lines += told
                say("\n".join(told))
        for subject in present(CLASSES)[0]:
            found, line = of_classes(subject, orders, folder)
            bars += found
            of_more.append(line)
            say(line)
    return bars, "\n".join([*lines, "", *of_more])
