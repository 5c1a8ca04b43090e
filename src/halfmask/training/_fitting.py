"""Fitting and calling users' models, whose own errors may hold cells and labels."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone, is_classifier

from halfmask._foreign import foreign
from halfmask._progress import silent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from halfmask._progress import Progress

CAUSE = "Its own error is the cause of this one. "
LABELS_HINT = (
    "Some classifiers, such as XGBoost's, take the labels 0, 1, 2, ... only: turn y into these by "
    "LabelEncoder. "
)
ROWS_HINT = (
    "It sees rows as numbers, without names of columns: preprocessing by name belongs into "
    "encoder=."
)
#: With verbose=1 a model in training is printed every so many seconds at most.
SECONDS = 5.0

_PROGRESS: ContextVar[Progress] = ContextVar("_PROGRESS", default=silent)


def fitted(
    estimator: Any,  # noqa: ANN401 # scikit-learn's
    rows: Any,  # noqa: ANN401 # the same
    y: NDArray[Any],
    weights: NDArray[np.float64] | None = None,
) -> Any:  # noqa: ANN401 # the same
    """Return a copy of an estimator, fitted."""
    failed = f"{type(estimator).__name__} couldn't be fitted to {len(y)} rows"
    tell(f"training {type(estimator).__name__} on {len(y):,} rows")
    labels = LABELS_HINT if is_classifier(estimator) and not _are_places(y) else ""
    with foreign(failed, hint=CAUSE + labels + ROWS_HINT, keep_cause=True):
        weighed = {} if weights is None else {"sample_weight": weights}
        return clone(estimator).fit(rows, y, **weighed)


def _are_places(y: NDArray[Any]) -> bool:
    """Whether labels are 0, 1, 2, ..., each of them there."""
    labels = np.unique(y) if y.dtype.kind in "iub" else y[:0]
    return bool(len(labels)) and np.array_equal(labels, np.arange(len(labels)))


def tell(stage: str) -> None:
    """Print a stage of a fit, if it prints progress."""
    _PROGRESS.get()(stage)


@contextmanager
def progress_printed(owner: str, verbose: int) -> Iterator[None]:
    """Print the stages of this block: with 1 some of the models in training, with 2 all."""
    if not verbose:
        yield
        return
    started = last = time.monotonic()
    trained = 0

    def said(stage: str, share: float | None = None) -> None:  # noqa: ARG001 # a Progress's
        nonlocal last, trained
        now = time.monotonic()
        is_training = stage.startswith("training ")
        trained += is_training
        if is_training and verbose < 2 and now - last < SECONDS:
            return
        last = now
        what = f"model {trained}: {stage}" if is_training else stage
        sys.stdout.write(f"[{owner}] {what} ({now - started:.1f} s)\n")
        sys.stdout.flush()

    token = _PROGRESS.set(said)
    try:
        yield
        said(f"done, {trained} models were trained")
    finally:
        _PROGRESS.reset(token)


def asking(model: Any, what: str, rows: Any) -> AbstractContextManager[None]:  # noqa: ANN401 # the same
    """Return a block in which a model is called, such as to predict rows."""
    return foreign(
        f"{type(model).__name__} couldn't {what} {len(rows)} rows",
        hint="Call it on encoded rows, and labels of the type of the fit, to see why.",
    )
