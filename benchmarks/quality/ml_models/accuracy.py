"""One cell of accuracy: anonymize, count the classes, train again, test on untouched rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ml_models.counting import classes_of
from ml_models.methods import METHODS
from ml_models.models import accuracy, trained
from ml_models.plan import RAW
from ml_models.private import private_probabilities
from ml_models.task import as_matrix

if TYPE_CHECKING:
    from ml_models.scene import Scene


def measure(scene: Scene, cells: list[tuple[str, int]]) -> Iterator[dict[str, Any]]:
    """Yield the numbers of each cell."""
    for method, k in cells:
        yield _measured(scene, method, k)


def _measured(scene: Scene, method: str, k: int) -> dict[str, Any]:
    y_test = scene.split.y_test
    if method == RAW:
        return {
            "test": accuracy(scene.raw, scene.test, y_test),
            "train": accuracy(scene.raw, scene.train, scene.split.y_train),
        }
    if method.startswith("dp "):
        train, _, test = private_probabilities(scene, method)
        pairs = {"train": (train, scene.split.y_train), "test": (test, y_test)}
        return {name: float((p.argmax(axis=1) == y).mean()) for name, (p, y) in pairs.items()}
    task = scene.task(k)
    start = time.perf_counter()
    done = METHODS[method](task)
    seconds = time.perf_counter() - start
    rows = as_matrix(done.rows, scene.encoder)
    labels = scene.split.y_train if done.labels is None else done.labels
    model = done.model or trained(scene.group.trains, rows, labels, scene.group.seed)
    classes = classes_of(done, task)
    transformed = None
    if done.transform is not None:
        written = as_matrix(done.transform(scene.split.test), scene.encoder)
        transformed = accuracy(model, written, y_test)
    return {
        "test": accuracy(model, scene.test, y_test),
        "train": accuracy(model, rows, labels),
        "test_transformed": transformed,
        "seconds": seconds,
        "classes": classes.n,
        "smallest_class": classes.smallest,
        "share_of_classes_below_k": classes.share_of_classes_below_k,
        "share_of_rows_below_k": classes.share_of_rows_below_k,
    }
