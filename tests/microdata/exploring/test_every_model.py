"""Each privacy model in an exploration: a point's numbers are those of a release."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from halfmask.guarantees import GUARANTEES
from halfmask.microdata import explore, protect

SCRIPT = Path(__file__).resolve().parents[3] / "tools" / "models_page.py"


@pytest.fixture(scope="module")
def trials() -> Any:  # a script as a module
    """`tools/models_page.py`, which has a small table and an example of each model."""
    spec = importlib.util.spec_from_file_location("models_page_of_trials", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["models_page_of_trials"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(GUARANTEES))
def test_a_point_has_the_numbers_of_its_release(trials, name):
    table = trials.people()
    everybody = pl.concat([table] * 5) if GUARANTEES[name].needs_population else None
    policy = trials.policy_of(name, "full-domain")

    found = explore(table, policy, max_points=12, k=None, population=everybody)

    assert found.points, found.reasons
    for point in found.points:
        release = protect(table, point.asked.policy, population=everybody)
        assert point.measures.classes == release.utility.class_sizes.classes
        assert point.measures.suppressed == release.utility.class_sizes.suppressed
        assert point.measures.loss == pytest.approx(release.utility.loss.loss)
        assert point.measures.highest == release.risk.after.prosecutor.highest.value
        assert point.measures.average == release.risk.after.prosecutor.average.value
