"""The extra that a message names installs the library that is missing."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from halfmask._errors import MissingDependencyError
from halfmask._foreign import OPTIONAL, missing, need

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
EXTRAS = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def installed_by(extra):
    """Return the packages of an extra and of those that it names."""
    found = set()
    for each in EXTRAS[extra]:
        inner = re.fullmatch(r"halfmask\[(.*)\]", each)
        found |= set().union(*map(installed_by, inner[1].split(","))) if inner else set()
        found.add(re.split(r"[\[<>=]", each)[0])
    return found


@pytest.mark.parametrize("module", OPTIONAL)
def test_the_extra_has_the_package(module):
    package, extra = OPTIONAL[module]

    # spaCy comes with presidio-analyzer.
    assert {"spacy": "presidio-analyzer"}.get(package, package) in installed_by(extra)
    said = missing(ModuleNotFoundError(name=f"{module}.inner"))
    assert said is not None
    assert said.hint == f"Install the extra that has it: pip install 'halfmask[{extra}]'."


def test_several_are_named_once(monkeypatch):
    monkeypatch.setattr("halfmask._foreign.find_spec", lambda name: None)  # noqa: ARG005 # as it

    with pytest.raises(MissingDependencyError) as refused:
        need("torch", "opacus", "numba", "llvmlite", "scipy")

    assert refused.value.what == "This needs torch, opacus, numba, scipy, which aren't installed."
    assert "'halfmask[dp-torch,protect]'" in str(refused.value.hint)


def test_other_modules_have_no_extra():
    assert missing(ModuleNotFoundError(name="json")) is None
