"""Attribute inference on Nursery's `social`: table 2.

The attack is Fredrikson's white box on the tree with marginal priors, as the paper names it, by
all rows on a path; the same by the rows of the label, the black box and the queries stand beside.
Members are the training rows as they were before protection, non-members the held-back 40 %. Both
are parts in the file's order, so they are people of different kinds: how much more is inferred of
members than of non-members isn't the model's doing alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from sklearn.pipeline import Pipeline

from halfmask.assess.attacks import ModelTarget, attack
from halfmask.assess.attacks.attributes import (
    BlackBoxInference,
    QueryInference,
    WhiteBoxTreeInference,
)
from ml_models.encoding import FittedEncoding
from ml_models.methods import METHODS
from ml_models.models import accuracy, trained
from ml_models.plan import RAW
from ml_models.remembered import Remembered
from ml_models.task import as_matrix

if TYPE_CHECKING:
    from halfmask.assess.attacks import Attack
    from ml_models.models import Model
    from ml_models.scene import Scene

WANTED = "social"
POSITIVE = "problematic"
#: The paper's attack, by the name that table 2 looks for.
PAPERS = "attributes/white_box_tree, all rows"


def measure(scene: Scene, cells: list[tuple[str, int]]) -> Iterator[dict[str, Any]]:
    """Yield for each cell what the attacks reach, beside imputation and the raw model."""
    attacks = _attacks()
    raw = _target(scene, scene.raw)
    for method, k in cells:
        rows, labels, model = scene.train, scene.split.y_train, scene.raw
        target = raw
        if method != RAW:
            done = METHODS[method](scene.task(k))
            rows = as_matrix(done.rows, scene.encoder)
            labels = labels if done.labels is None else done.labels
            model = done.model or trained(scene.group.trains, rows, labels, scene.group.seed)
            target = _target(scene, model)
        # Attacks in all but that their names are instances', which the protocol can't say
        asked = cast("list[Attack]", attacks)
        report = attack(target, unprotected=raw, attacks=asked, seed=scene.group.seed)
        yield {
            "findings": [finding.to_dict() for finding in report.findings],
            "test": accuracy(model, scene.test, scene.split.y_test),
            "train": accuracy(model, rows, labels),
        }


def _attacks() -> list[Remembered]:
    settings: dict[str, Any] = {"column": WANTED, "positive": POSITIVE}
    by_label = WhiteBoxTreeInference(prior="marginal", **settings)
    return [
        Remembered.of(replace(by_label, counts="all"), PAPERS),
        Remembered.of(by_label),
        Remembered.of(BlackBoxInference(**settings)),
        Remembered.of(QueryInference(**settings)),
    ]


def _target(scene: Scene, model: Model) -> ModelTarget:
    return ModelTarget(
        model=Pipeline([("encoding", FittedEncoding(scene.encoder)), ("tree", model)]),
        members=scene.split.train,
        member_labels=scene.split.y_train,
        non_members=scene.split.held_back,
        non_member_labels=scene.split.y_held_back,
    )
