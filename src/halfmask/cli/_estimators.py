"""Estimators by a word, or by a name in a Python file or module of the user's."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from halfmask._foreign import foreign
from halfmask.cli._failures import UsageError

if TYPE_CHECKING:
    import polars as pl

    from halfmask.data import Schema

#: Modules and names of scikit-learn, and settings that aren't its defaults.
WORDS: Final[dict[str, tuple[str, str, dict[str, int]]]] = {
    "logistic": ("linear_model", "LogisticRegression", {"max_iter": 1_000}),
    "tree": ("tree", "DecisionTreeClassifier", {"max_depth": 8}),
    "forest": ("ensemble", "RandomForestClassifier", {"max_depth": 12}),
    "boosting": ("ensemble", "HistGradientBoostingClassifier", {}),
}


def named_estimator(words: str) -> Any:  # noqa: ANN401 # scikit-learn ships no types
    """Return the estimator of MODULE:NAME, or what a function of that name makes."""
    where, _, name = words.rpartition(":")
    if not (where and name.isidentifier()):
        raise UsageError(
            "ESTIMATOR is neither a word nor MODULE:NAME.",
            hint=f"Give {', '.join(WORDS)}, or such as models.py:make_model.",
        )
    path = Path(where).resolve()
    is_file = path.suffix == ".py"
    if is_file and not path.is_file():
        raise UsageError("The file of ESTIMATOR isn't there.")
    # Last, so that no file there stands in for a library; it stays for processes that train.
    sys.path.append(str(path.parent if is_file else Path.cwd()))
    with foreign("ESTIMATOR couldn't be imported", hint="Import it in Python to see why."):
        module = importlib.import_module(path.stem if is_file else where)
        found = getattr(module, name)
        if isinstance(found, type) or not hasattr(found, "fit"):
            found = found()
    if is_file and path != Path(getattr(module, "__file__", None) or "").resolve():
        raise UsageError("Another module has the name of ESTIMATOR's file.", hint="Rename it.")
    if not (hasattr(found, "fit") and hasattr(found, "predict")):
        raise UsageError("ESTIMATOR has no fit and predict.", hint="Give one of scikit-learn's.")
    return found


def features_of(rows: pl.DataFrame, schema: Schema) -> list[str]:
    """Return the columns for `estimator_of`: numbers and categories, but no identifiers."""
    import polars as pl  # noqa: PLC0415 # half a second

    read = rows.select(pl.selectors.numeric(), pl.selectors.by_dtype(pl.Boolean, pl.String)).columns
    return [it for it in read if schema[it].role != "identifier" and schema[it].kind != "text"]


def estimator_of(word: str, rows: pl.DataFrame, *, is_regressor: bool, seed: int) -> Any:  # noqa: ANN401 # as above
    """Return scikit-learn's estimator after steps that fill in, scale and encode the columns."""
    from sklearn.compose import ColumnTransformer  # noqa: PLC0415 # half a second
    from sklearn.impute import SimpleImputer  # noqa: PLC0415 # the same
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415 # the same
    from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: PLC0415 # the same

    if is_regressor and word == "logistic":
        raise UsageError("logistic predicts classes.", hint="With --difference take another.")
    where, name, settings = WORDS[word]
    name = name.replace("Classifier", "Regressor") if is_regressor else name
    model = getattr(importlib.import_module(f"sklearn.{where}"), name)(**settings)
    texts = [it.name for it in rows if str(it.dtype) == "String"]
    numbers = [it for it in rows.columns if it not in texts]
    scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoder = ColumnTransformer([("numbers", scaled, numbers), ("texts", one_hot, texts)])
    return make_pipeline(encoder, model.set_params(random_state=seed))
