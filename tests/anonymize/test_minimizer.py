"""The Minimizer: what it finds, what it promises, and what it refuses."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from halfmask._errors import (
    ColumnNotFoundError,
    DataError,
    GuaranteeNotMetError,
    ParameterError,
    SchemaError,
)
from halfmask.anonymize import Minimizer
from halfmask.data import Groups


def waves(rows):
    """Answer 0 and 1 to whatever tables the checks of scikit-learn come up with."""
    first = np.nan_to_num(np.asarray(rows, dtype=float)[:, 0])
    return (np.sin(first * 1000) > 0).astype(int)


@parametrize_with_checks(
    [
        Minimizer(waves, target_accuracy=0.9, seed=0),
        Minimizer(waves, target_accuracy=0.0, scoring="accuracy", confidence=0.5, seed=0),
    ]
)
def test_scikit_learn_takes_it_for_an_estimator(estimator, check):
    check(estimator)
