"""What works without numba, scikit-learn and scipy: `pip install halfmask` brings none of them."""

from __future__ import annotations

import pytest

from halfmask.cli import main
from halfmask.vault import KeyFile, Vault

LIGHT = """
import sys
for name in ("numba", "llvmlite", "sklearn", "scipy", "threadpoolctl"):
    sys.modules[name] = None  # an import of it fails as if it weren't installed
from halfmask.cli import main
sys.exit(main())
"""
EVENTS = 'halfmask-events = 1\nrelease = "shop"\n[[rule]]\npath = "who"\ndo = "keep"\n'


@pytest.fixture
def light(start):
    """Run the command in a process that has no library of the extras."""

    def light(*words, code=LIGHT):
        return start(*words, code=code)

    return light


@pytest.fixture
def events(tmp_path):
    """An output of events, with its manifest."""
    lock = ["--vault", str(tmp_path / "vault"), "--key-file", str(tmp_path / "key")]
    Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    (tmp_path / "events.toml").write_text(EVENTS)
    (tmp_path / "in.jsonl").write_text('{"who": 1}\n{"who": 2}\n')
    words = [str(tmp_path / name) for name in ("events.toml", "in.jsonl", "out.jsonl")]
    assert main(["events", "run", *words, *lock]) == 0
    return tmp_path / "out.jsonl"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "csv", "arrow"])
def test_a_release_of_a_table_is_verified(desk, light, form):
    desk.policy.write_text(desk.policy.read_text() + f'[output]\nformat = "{form}"\n')
    assert main(desk.protect()) == 0

    said = light("verify", desk.out, "--json")

    assert said.status == 0, said.err
    assert said.json["holds"]
    manifest = desk.out / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"k": 4', '"k": 40'))
    assert light("verify", desk.out).status == 1


@pytest.mark.slow
def test_an_output_of_events_is_verified(events, light):
    assert light("verify", events).status == 0

    events.write_text('{"who": 3}\n')

    assert light("verify", events).status == 1


@pytest.mark.slow
def test_a_table_is_described_and_the_policy_read(desk, light):
    proposed = desk.folder / "proposed.toml"

    assert light("describe", desk.table, "--out", proposed).status == 0

    read = "import halfmask as hm, sys; hm.Policy.load(sys.argv[1])"
    assert light(proposed, code=LIGHT.replace("sys.exit(main())", read)).status == 0


@pytest.mark.slow
def test_what_needs_more_names_the_extra(desk, light):
    said = light(*desk.protect("--json"))

    assert said.status == 1
    assert said.json["code"] == "missing-dependency"
    assert "numba" in said.json["error"]
    assert "pip install 'halfmask[protect]'" in said.json["hint"]
    assert not desk.out.exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["AnonymizedEstimator", "KeyedHasher", "Minimizer", "Anonymizer"])
def test_so_does_a_class_of_python(light, name):
    said = light(code=LIGHT.replace("sys.exit(main())", f"import halfmask; halfmask.{name}"))

    assert "MissingDependencyError" in said.err
    assert "halfmask[protect]" in said.err
