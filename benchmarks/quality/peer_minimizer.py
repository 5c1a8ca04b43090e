"""ai-privacy-toolkit's GeneralizeToRepresentative on the job that the command line names.

Runs inside the peer's venv. Prints one JSON line: seconds of `fit`, the generalized fresh rows'
file, and of the fresh rows the normalized certainty penalty of their cells and of the partitions
that its `generalizations` give for each feature. It imports torch at the top for a data set of
torch's that isn't used here: an empty module stands in for it.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import types
from pathlib import Path

import art.estimators.classification  # noqa: F401 # looks for torch: before its stand-in is there
import numpy as np
import pandas as pd
from plain_forest import PlainForest

sys.modules["torch"] = types.ModuleType("torch")
sys.modules["torch"].Tensor = type("Tensor", (), {})  # type: ignore[attr-defined]

from apt.minimization import GeneralizeToRepresentative  # noqa: E402 # after the stand-in
from apt.utils.datasets import ArrayDataset  # noqa: E402 # the same
from apt.utils.models import BlackboxClassifierPredictFunction, ModelOutputType  # noqa: E402


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    model = PlainForest.read(job["forest"])
    categories = list(model.categories)
    rows = pd.read_csv(job["rows"], keep_default_na=False)[model.columns]
    fresh = pd.read_csv(job["fresh"], keep_default_na=False)[model.columns]
    width = (len(model.columns),)
    wrapped = BlackboxClassifierPredictFunction(
        lambda coded: np.eye(2)[model.classify(coded)],
        ModelOutputType.CLASSIFIER_PROBABILITIES,
        width,
        2,
    )
    # Without this it dies of a KeyError here: a cell that has one value of a categorical feature
    # loses the feature, whose penalty is asked for next. It is 0 either way.
    GeneralizeToRepresentative._remove_categorical_untouched = staticmethod(lambda said: None)  # noqa: ARG005, SLF001 # its own name
    minimizer = GeneralizeToRepresentative(
        wrapped,
        target_accuracy=job["target"],
        categorical_features=categories,
        encoder=model,
    )
    with contextlib.redirect_stdout(sys.stderr):
        start = time.perf_counter()
        labels = model.predict(rows)
        minimizer.fit(dataset=ArrayDataset(rows.copy(), labels, model.columns))
        seconds = time.perf_counter() - start
        written = minimizer._inner_transform(dataset=ArrayDataset(fresh, None, model.columns))  # noqa: SLF001 # transform would count its NCP once more, for minutes
    pd.DataFrame(written, columns=model.columns).to_csv(job["out"], index=False)
    by_cell, placed = cell_ncp(minimizer, rows, fresh, categories)
    by_feature, dropped = feature_ncp(minimizer.generalizations, rows, fresh, categories)
    said = {
        "seconds": seconds,
        "ncp_of_cells": by_cell,
        "placed": placed,
        "ncp_of_features": by_feature,
        "dropped": dropped,
        "cells": len(minimizer.cells),
        "its_own_ncp": float(minimizer.ncp.fit_score),
    }
    print(json.dumps(said))


def cell_ncp(
    minimizer: GeneralizeToRepresentative,
    rows: pd.DataFrame,
    fresh: pd.DataFrame,
    categories: list,
) -> tuple[float, float]:
    """Return the mean penalty of the fresh rows' cells, and the share of rows that have one."""
    found = np.full(len(fresh), np.nan)
    for cell in minimizer.cells:
        inside = np.isnan(found)
        lost = 0.0
        for name in rows.columns:
            if name in cell.get("untouched", []):
                continue
            if name in categories:
                values = cell["categories"][name]
                inside &= fresh[name].isin(values).to_numpy()
                lost += len(values) / rows[name].nunique() if len(values) > 1 else 0.0
                continue
            low, high = cell["ranges"][name]["start"], cell["ranges"][name]["end"]
            least, most = rows[name].min(), rows[name].max()
            if low is not None:
                inside &= (fresh[name] > low).to_numpy()
            if high is not None:
                inside &= (fresh[name] <= high).to_numpy()
            wide = (most if high is None else high) - (least if low is None else low)
            lost += max(wide, 0.0) / (most - least)
        found[inside] = lost / len(rows.columns)
    return float(np.nanmean(found)), float(np.mean(~np.isnan(found)))


def feature_ncp(
    said: dict, rows: pd.DataFrame, fresh: pd.DataFrame, categories: list
) -> tuple[float, list]:
    """Return the mean penalty of one partition a feature, and the features that have one part."""
    lost, dropped = 0.0, []
    for name in rows.columns:
        if name in said["untouched"]:
            continue
        if name in categories:
            groups = said["categories"][name]
            size = {value: len(group) for group in groups for value in group}
            sizes = fresh[name].map(size).fillna(1)
            lost += float((sizes.where(sizes > 1, 0) / rows[name].nunique()).mean())
            if len(groups) == 1:
                dropped.append(name)
            continue
        cuts = said["ranges"][name]
        if not cuts:
            dropped.append(name)
        edges = np.array([rows[name].min(), *cuts, rows[name].max()], dtype=float)
        place = np.searchsorted(edges[1:-1], fresh[name].to_numpy(), side="left")
        lost += float((np.diff(edges)[place] / (edges[-1] - edges[0])).mean())
    return lost / len(rows.columns), dropped


if __name__ == "__main__":
    main()
