"""The house's source, as the contracts look at it."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "halfmask"


@pytest.fixture(scope="session")
def source():
    """The folder of the package's source."""
    return SOURCE


@pytest.fixture(scope="session")
def modules():
    """For each file of the package, by its name inside of it, the syntax tree."""
    return {
        path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(SOURCE.rglob("*.py"))
    }


@pytest.fixture(scope="session")
def sizes():
    """`tools/sizes.py` as a module."""
    path = SOURCE.parents[1] / "tools" / "sizes.py"
    spec = importlib.util.spec_from_file_location("sizes", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
