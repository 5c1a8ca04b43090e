"""The models that are attacked, the same ones here and in the peer's venv: scikit-learn alone."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

LOGISTIC, TREE = "logistic regression", "tree of depth 8"
FOREST, BOOSTING = "forest of 100 trees", "histogram boosting"


def model_of(name: str) -> Any:  # noqa: ANN401 # scikit-learn's
    """Return a model that isn't fitted."""
    return {
        LOGISTIC: LogisticRegression(max_iter=1_000),
        TREE: DecisionTreeClassifier(max_depth=8, random_state=0),
        FOREST: RandomForestClassifier(100, random_state=0),
        BOOSTING: HistGradientBoostingClassifier(random_state=0),
    }[name]
