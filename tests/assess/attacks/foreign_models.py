"""Models that attacks meet: one gives fixed answers, one fails and quotes a cell."""

from __future__ import annotations

import numpy as np

__all__ = ["CANARY", "Model", "failing"]

CANARY = "Mrs Rosebud"


class Model:
    """Answers with what it was given, in its own order of classes."""

    def __init__(self, given, classes):
        self.given = given
        self.classes_ = np.asarray(classes)

    def predict_proba(self, _rows):
        return self.given


def failing(_rows):
    raise KeyError(CANARY)
