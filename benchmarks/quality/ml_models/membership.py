"""Membership inference on a group's models, by the library's battery: table 1.

Members are the training rows as they were before protection, and in the groups beyond table 1 as
they were after, too; non-members are the held-back 40 % and, where there are no shadow models, the
test rows too: the true positive rate at 0.1 % needs 10,000 non-members from whom nothing was
learned. Every row carries its number in a last column that models don't see: shadow models
anonymize the very rows that they get, and a model of another process is asked by number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from halfmask.assess.attacks import ATTACKS, ModelTarget, attack
from ml_models.methods import METHODS
from ml_models.models import trained
from ml_models.plan import RAW
from ml_models.private import private_probabilities
from ml_models.remembered import Remembered
from ml_models.task import as_matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks import Attack
    from ml_models.datasets import Labels
    from ml_models.encoding import Matrix
    from ml_models.models import Model
    from ml_models.scene import Scene
    from ml_models.task import Task

#: For each kind of group its attacks; those with shadow models share 16 of them.
TABLE_1 = ("membership/black_box", "membership/yeom", "membership/gap")
KINDS = {
    "membership": TABLE_1,
    "strangers": TABLE_1,
    "shadows": ("membership/lira", "membership/rmia"),
}


@dataclass(frozen=True, slots=True)
class Numbered:
    """A model that doesn't look at the last column."""

    model: Model

    @property
    def classes_(self) -> NDArray[np.int64]:
        return self.model.classes_

    def predict_proba(self, rows: Matrix) -> NDArray[np.float64]:
        return self.model.predict_proba(rows[:, :-1])


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A model of another process, by what it said of every row."""

    classes_: NDArray[np.int64]
    said: NDArray[np.float64]

    def predict_proba(self, rows: Matrix) -> NDArray[np.float64]:
        return self.said[rows[:, -1].astype(np.int64)]


@dataclass(slots=True)
class Others:
    """Raw models of other people: the last is kept, for strangers of every k begin with it."""

    name: str
    last: dict[tuple[int, bytes], Model] = field(default_factory=dict)

    def trained(self, given: Matrix, labels: Labels, seed: int) -> Model:
        """Train on numbered rows."""
        key = (seed, given[:, -1].tobytes())
        if key not in self.last:
            self.last.clear()
            self.last[key] = trained(self.name, given[:, :-1], labels, seed)
        return self.last[key]


def absent() -> list[str]:
    """Name the attacks that the library doesn't have."""
    return [name for names in KINDS.values() for name in names if name not in ATTACKS]


def measure(scene: Scene, cells: list[tuple[str, int]]) -> Iterator[dict[str, Any]]:
    """Yield for each cell what the attacks reach, with the raw model's power beside."""
    names = [name for name in KINDS[scene.group.kind] if name in ATTACKS]
    attacks = [Remembered.of(ATTACKS[name]()) for name in names]
    people = _people(scene)
    raw = _raw_target(scene, people)
    others = Others(scene.group.trains)
    for method, k in cells:
        target, rows = _target(scene, people, raw, others, method, k)
        able = [each for each in attacks if not each.missing_inputs(target)]
        # an Attack in all but that its name is an instance's, which the protocol can't say
        asked = cast("list[Attack]", able)
        report = attack(target, unprotected=raw, attacks=asked, random_state=scene.group.seed)
        yield {
            "findings": [finding.to_dict() for finding in report.findings],
            "test": _accuracy(target, people[-len(scene.test) :], scene.split.y_test),
            "train": _accuracy(target, rows, target.member_labels),
        }


def _people(scene: Scene) -> Matrix:
    """Return all rows as the models see them, with their number in the last column."""
    encoded = [scene.train, scene.encoder.encode(scene.split.held_back), scene.test]
    rows = np.vstack(encoded)
    return np.column_stack([rows, np.arange(len(rows), dtype=np.float32)]).astype(np.float32)


def _raw_target(scene: Scene, people: Matrix) -> ModelTarget:
    n = len(scene.train)
    parts = scene.split
    # shadow models cost by the person, and measure on all of them; the others on half
    end = len(people) if scene.group.kind != "shadows" else n + parts.held_back.height
    return ModelTarget(
        model=Numbered(scene.raw),
        members=people[:n],
        member_labels=parts.y_train,
        non_members=people[n:end],
        non_member_labels=np.concatenate([parts.y_held_back, parts.y_test])[: end - n],
        train=lambda rows, labels, seed: Numbered(
            trained(scene.group.trains, rows[:, :-1], labels, seed)
        ),
    )


def _target(
    scene: Scene, people: Matrix, raw: ModelTarget, others: Others, method: str, k: int
) -> tuple[ModelTarget, Matrix]:
    """Return the model that is attacked, and the rows that it learned."""
    n = len(scene.train)
    if method == RAW:
        return raw, people[:n]
    if method.startswith("dp "):
        said = np.vstack(private_probabilities(scene, method))
        model = Elsewhere(np.arange(said.shape[1]), said)
        return replace(raw, model=model, train=None), people[:n]
    written, own = _protected(scene, scene.task(k), method)
    rows = np.column_stack([written, people[:n, -1]])
    target = replace(raw, model=Numbered(own), train=None)
    if scene.group.kind == "membership":
        return target, rows
    everyone = pl.concat([scene.split.train, scene.split.held_back, scene.split.test])

    def train(given: Matrix, labels: Labels, seed: int) -> Numbered:
        """Do all that the owner does: a raw model, the anonymization that it leads, a second."""
        first = others.trained(given, labels, seed)
        table = everyone[given[:, -1].astype(np.int64)]
        task = replace(
            scene.task(k),
            seed=seed,
            split=replace(scene.split, train=table, y_train=labels),
            encoded=given[:, :-1],
            model=first,
            probabilities=first.predict_proba(given[:, :-1]),
        )
        return Numbered(_protected(scene, task, method)[1])

    return replace(target, trained_rows=rows, train=train), rows


def _protected(scene: Scene, task: Task, method: str) -> tuple[Matrix, Model]:
    """Return rows as they are after protection, and the model of them."""
    done = METHODS[method](task)
    rows = as_matrix(done.rows, scene.encoder)
    if done.model is not None:
        return rows, done.model
    labels = task.labels if done.labels is None else done.labels
    return rows, trained(scene.group.trains, rows, labels, task.seed)


def _accuracy(target: ModelTarget, rows: Matrix, labels: Labels) -> float:
    said = target.model.classes_[target.model.predict_proba(rows).argmax(axis=1)]
    return float((said == labels).mean())
