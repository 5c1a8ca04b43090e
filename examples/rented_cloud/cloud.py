"""The cloud: it learns from the numbers that it gets, and predicts, without halfmask.

python cloud.py FOLDER, where FOLDER holds train.parquet, asked.parquet and task.json.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_ridge import KernelRidge

Rows = NDArray[np.float64]
EPOCHS, BATCH, SPEED, MOMENTUM, DECAY = 10, 100, 0.05, 0.9, 1e-4


def boosting(train: Rows, labels: NDArray[Any], asked: Rows, task: dict[str, Any]) -> NDArray[Any]:
    """Grow trees; the columns of codes are declared categorical. Answers are labels."""
    model = HistGradientBoostingClassifier(early_stopping=False, categorical_features=task["codes"])
    return np.asarray(model.fit(train, labels).predict(asked))


def kernel(train: Rows, labels: NDArray[Any], asked: Rows, task: dict[str, Any]) -> NDArray[Any]:
    """Fit a Gaussian kernel to a column for each label. Answers are scores."""
    rows, others = one_hot(train, asked, task["codes"])
    model = KernelRidge(kernel="rbf", gamma=0.05, alpha=1.0)
    return np.asarray(model.fit(rows, np.eye(labels.max() + 1)[labels]).predict(others))


def network(train: Rows, labels: NDArray[Any], asked: Rows, task: dict[str, Any]) -> NDArray[Any]:
    """Descend on mini-batches, with momentum and decay, from the first weights that were sent."""
    rows, others = one_hot(train, asked, task["codes"])
    wanted = np.eye(labels.max() + 1)[labels]
    weights = [np.array(weight) for weight in task["weights"]]
    momenta = [np.zeros_like(weight) for weight in weights]
    for start in list(range(0, len(rows), BATCH)) * EPOCHS:
        x, y = rows[start : start + BATCH], wanted[start : start + BATCH]
        hidden = np.tanh(x @ weights[0])
        error = (softmax(hidden @ weights[1]) - y) / len(x)
        slopes = x.T @ ((error @ weights[1].T) * (1 - hidden**2)), hidden.T @ error
        for layer, slope in enumerate(slopes):
            momenta[layer] = MOMENTUM * momenta[layer] - SPEED * (slope + DECAY * weights[layer])
            weights[layer] = weights[layer] + momenta[layer]
    return softmax(np.tanh(others @ weights[0]) @ weights[1])


LEARNERS = {"boosting": boosting, "kernel": kernel, "network": network}


def one_hot(train: Rows, asked: Rows, codes: list[int]) -> tuple[Rows, Rows]:
    """Return the columns of numbers, then one for each code that a column has in training."""
    seen = [np.unique(train[:, at]) for at in codes]
    both = [
        [np.delete(rows, codes, axis=1)]
        + [rows[:, [at]] == values for at, values in zip(codes, seen, strict=True)]
        for rows in (train, asked)
    ]
    return np.column_stack(both[0]), np.column_stack(both[1])


def softmax(scores: Rows) -> Rows:
    """Return shares that add up to 1 in each row."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def main(folder: Path) -> None:
    """Learn from encoded rows, predict others, and write the predictions."""
    if importlib.util.find_spec("halfmask") is not None:
        sys.exit("This machine must not have halfmask: it would prove nothing.")
    task = json.loads((folder / "task.json").read_text())
    train, asked = (read(folder / f"{name}.parquet") for name in ("train", "asked"))
    answer = LEARNERS[task["learner"]](train[:, :-1], train[:, -1].astype(int), asked, task)
    columns = {str(i): column for i, column in enumerate(answer.reshape(len(asked), -1).T)}
    pq.write_table(pa.table(columns), folder / "answer.parquet")


def read(file: Path) -> Rows:
    """Return the columns of a Parquet file as floats."""
    return np.column_stack([column.to_numpy() for column in pq.read_table(file).columns]).astype(
        np.float64
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
