"""The page of privacy models: a row for each model, method and recoding, and what it says holds."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from halfmask.anonymize import METHODS, RECODINGS
from halfmask.guarantees import GUARANTEES

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "models_page.py"


def loaded():
    """Return the script as a module."""
    spec = importlib.util.spec_from_file_location("models_page", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["models_page"] = module
    spec.loader.exec_module(module)
    return module


PAGE = loaded()
MODELS = sorted(GUARANTEES)


def rows():
    return PAGE.PAGE.read_text(encoding="utf-8").splitlines()


def test_each_model_has_its_line_and_no_other_has():
    assert set(PAGE.LINES) == set(MODELS), "add the model's line to tools/models_page.py"
    assert list(PAGE.LINES) == MODELS, "keep the lines in the order of the alphabet"


@pytest.mark.parametrize("name", MODELS)
def test_a_model_has_the_row_that_its_class_states(name):
    start = f"| {' | '.join(PAGE.model_row(name))} | "
    names = (f"`{name}`", f"`{GUARANTEES[name].__name__}`", PAGE.LINES[name].arx)

    assert any(row.startswith(start) for row in rows()), "run: python tools/models_page.py"
    assert f"| {' | '.join(PAGE.parameter_row(name))} |" in rows()
    assert any(row.startswith(f"| {' | '.join(names)} | ") for row in rows())


@pytest.mark.parametrize("name", MODELS)
def test_a_model_names_its_source_and_a_test_that_is_there(name):
    files = re.findall(r"`(tests/[\w/.]+)`", PAGE.LINES[name].oracle)

    assert PAGE.source(GUARANTEES[name]) != PAGE.NONE, 'write "Source: " into its docstring'
    assert files
    assert all((ROOT / file).is_file() for file in files)


def test_methods_and_recodings_have_their_rows():
    for row in (*map(PAGE.method_row, METHODS), *map(PAGE.recoding_row, RECODINGS)):
        assert f"| {' | '.join(row)} |" in rows(), "run: python tools/models_page.py"


def test_a_model_that_a_table_cannot_keep_is_kept_by_no_method(monkeypatch):
    """The trials can fail: ten thousand rows of 240 is what no release keeps."""
    line = PAGE.Line(example="k = 10_000", oracle="")
    monkeypatch.setattr(PAGE, "LINES", {"k-anonymity": line})

    assert PAGE.kept_by("k-anonymity") == PAGE.NONE


@pytest.mark.slow
def test_the_page_is_in_step():
    """The methods that keep each model are those whose releases the verifier confirms."""
    assert PAGE.PAGE.read_text(encoding="utf-8") == PAGE.page(), "run: python tools/models_page.py"
