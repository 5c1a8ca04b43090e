"""examples/synthetic runs as it stands: three releases, each with a page."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import pytest

import halfmask
from halfmask import Policy
from halfmask.cli import main

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "synthetic"
KINDS = ("full", "partial", "hybrid")


def test_the_policies_differ_in_their_kind_alone():
    policies = [Policy.load(EXAMPLE / f"{kind}.toml") for kind in KINDS]
    assert [it.synthesis.kind for it in policies if it.synthesis] == list(KINDS)
    assert policies[0].columns == policies[1].columns == policies[2].columns


@pytest.mark.slow
def test_it_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(os.fspath(EXAMPLE / "run.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["kind", *KINDS]
    members = [float(line.split()[2].rstrip("%")) for line in lines[1:]]
    assert members[0] < 18 < members[1]  # 12.5 and 24.5, give or take 1; of a guess, 10
    assert all(float(line.split()[4]) > 0.85 for line in lines[1:])  # 0.91, give or take 0.01
    for kind in KINDS:
        page = (tmp_path / "out" / f"synthetic-{kind}" / "report.html").read_text()
        assert page.count('<svg class="chart"') == 14
    table, policy = (os.fspath(ROOT / "examples" / it) for it in NAMES)
    words = ["verify", "out/synthetic-full", "--originals", table, "--policy", policy]
    assert main(words) == 0
    assert halfmask.verify("out/synthetic-partial").holds


NAMES = ("adult/adult.csv", "synthetic/full.toml")
