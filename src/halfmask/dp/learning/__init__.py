"""Learning under differential privacy: scikit-learn estimators with a budget.

Start with :class:`PrivateLogisticRegression`. Bounds and labels are declared, never taken from the
data. ``ledger=`` books what a training costs. All noise is discrete, on a grid.
:func:`release_model` writes a model with its claim, :func:`load_model` reads it.
"""

from __future__ import annotations

from halfmask.dp.learning._boosting import PrivateBoostingClassifier
from halfmask.dp.learning._load_model import load_model
from halfmask.dp.learning._logistic_regression import PrivateLogisticRegression
from halfmask.dp.learning._naive_bayes import PrivateGaussianNB, PrivateMultinomialNB
from halfmask.dp.learning._private_estimator import BudgetLedger, PrivateEstimator, TrainingPlan
from halfmask.dp.learning._release_model import release_model
from halfmask.dp.learning._sgd import PrivateSGDClassifier, PrivateSGDRegressor
from halfmask.dp.learning._torch_classifier import PrivateTorchClassifier

__all__ = [
    "BudgetLedger",
    "PrivateBoostingClassifier",
    "PrivateEstimator",
    "PrivateGaussianNB",
    "PrivateLogisticRegression",
    "PrivateMultinomialNB",
    "PrivateSGDClassifier",
    "PrivateSGDRegressor",
    "PrivateTorchClassifier",
    "TrainingPlan",
    "load_model",
    "release_model",
]
