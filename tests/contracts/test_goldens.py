"""What halfmask writes under fixed keys is what it wrote before: tests/goldens has it."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "goldens.py"


def loaded():
    """Return the script as a module."""
    spec = importlib.util.spec_from_file_location("goldens", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["goldens"] = module
    spec.loader.exec_module(module)
    return module


GOLDENS = loaded()


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDENS.CASES)
def test_what_is_written_is_what_was_written(name):
    """After a change on purpose: `python tools/goldens.py --write`, in a commit that says why."""
    assert list(GOLDENS.differences(GOLDENS.read_golden(name), GOLDENS.golden_of(name))) == []


def test_each_golden_is_one_of_a_case():
    assert {path.stem for path in GOLDENS.GOLDENS.glob("*.json")} == {*GOLDENS.CASES}


def test_no_case_records_a_failure_of_its_own():
    for name in GOLDENS.CASES:
        files = GOLDENS.read_golden(name)
        failed = [it for it in files if it.endswith("run.json") and files[it]["status"] != 0]
        assert not failed, name


def test_each_difference_is_seen():
    old = json.loads('{"a": {"b": [1, 2]}, "c": "x"}')
    assert not list(GOLDENS.differences(old, old))
    for new in ('{"a": {"b": [1, 3]}, "c": "x"}', '{"a": {"b": [1]}, "c": "x"}', '{"a": {}}'):
        assert list(GOLDENS.differences(old, json.loads(new)))
