"""What it costs to import a room: nothing heavy comes before it is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {
    "altair", "cryptography", "jinja2", "matplotlib", "numba", "numpy", "pandas", "polars",
    "pyarrow", "pydantic", "rich", "scipy", "sklearn", "tomlkit", "typer", "vl_convert",
}  # fmt: skip
TABLES = {"numpy", "polars"}


def _loaded(statement):
    """Return the heavy libraries that a fresh interpreter has loaded after a statement."""
    code = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, encoding="utf-8"
    )
    return HEAVY & set(done.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ("import halfmask", set()),
        ("import halfmask; dir(halfmask); halfmask.GuaranteeNotMetError", set()),
        ("import halfmask.kernels.partition.records", set()),
        ("import halfmask.microdata", set()),
        ("from halfmask.verifier import verify", TABLES),
        ("from halfmask.guarantees import KAnonymity", {*TABLES, "tomlkit"}),
        ("from halfmask.microdata import Policy", {*TABLES, "tomlkit", "pydantic"}),
    ],
)
def test_an_import_loads_no_more_than_it_needs(statement, allowed):
    assert _loaded(statement) <= allowed


def test_naming_protect_loads_no_kind_of_release():
    """What a policy doesn't ask for isn't loaded: no ledger, no vault, no attack."""
    code = "import halfmask; halfmask.protect\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, encoding="utf-8"
    )
    ours = {name for name in done.stdout.split() if name.startswith("halfmask")}
    assert len(ours) <= 150
    rooms = {name.split(".")[1] for name in ours if "." in name}
    assert not rooms & {"dp", "vault", "assess", "masks", "anonymize", "guarantees", "synth"}


def test_the_check_sees_what_is_loaded():
    assert "numpy" in _loaded("import numpy")
