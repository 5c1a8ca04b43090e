"""What tests of private estimators share: scikit-learn's contract, and a ledger of notes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.utils.estimator_checks import check_estimator

from halfmask import BudgetError

#: Checks that private estimators can't pass, with the reason.
NOT_PASSED = {
    "check_fit_idempotent": "two trainings have different noise",
    "check_supervised_y_2d": "the same",
    "check_regressors_int": "the same",
    "check_regressor_data_not_an_array": "the same",
    "check_classifier_data_not_an_array": "the same, and the fixture's own look at the labels",
    "check_classifiers_train": "noise on the few rows of the check",
    "check_classifiers_one_label": "the same",
    "check_estimators_pickle": "the fixture's own class is local to it",
}


def pytest_collection_modifyitems(items):
    """Few rows, so that tests are quick: noise may exceed what a model learned from them."""
    for each in items:
        if "dp/learning" in each.path.as_posix():
            each.add_marker(pytest.mark.filterwarnings("ignore::halfmask.NoiseWarning"))


class Notes:
    """A ledger that notes what is booked, up to a number of times, and states no unit."""

    unit = None

    def __init__(self, times=10):
        self.booked = []
        self.times = times

    def charge(self, events, *, purpose):
        if len(self.booked) == self.times:
            raise BudgetError("The budget is spent.")
        self.booked.append((tuple(events), purpose))

    def __deepcopy__(self, memo):
        return self


@pytest.fixture
def notes():
    return Notes


def declaring(kind):
    """Return a kind of classifier that declares the labels it is given: what checks call for."""

    class Declaring(kind):  # type: ignore[misc, valid-type]
        def fit(self, X, y=None):
            if y is not None and np.ndim(y) == 1 and is_classifier(self):
                found = np.unique(y)
                if found.dtype.kind in "iubUO" and 2 <= len(found) < 20:
                    self._declared = found.tolist()
            settings = getattr(self, "_declared", [0, 1])
            kept = self.get_params()["classes"]
            self.set_params(classes=settings)
            try:
                return super().fit(X, y)
            finally:
                self.set_params(classes=kept)

    Declaring.__name__ = kind.__name__
    Declaring.__init__ = kind.__init__  # type: ignore[method-assign] # for its parameters
    return Declaring


@pytest.fixture(name="declaring")
def _declaring():
    return declaring


@pytest.fixture
def failed_checks():
    def check(model):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = check_estimator(model, on_fail=None)
        assert len(results) > 30
        failed = {
            each["check_name"]: each["exception"] for each in results if each["status"] == "failed"
        }
        return {name: error for name, error in failed.items() if name not in NOT_PASSED}

    return check
