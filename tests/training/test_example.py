"""The example runs as it stands: on a few people here, on all of them by hand."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "anonymized_model" / "run.py"


@pytest.mark.slow
def test_the_whole_way(tmp_path, capsys):
    """Two models, their attacks, a picture and three numbers, in under 60 lines."""
    picture = tmp_path / "out" / "attacks.svg"

    runpy.run_path(os.fspath(EXAMPLE))["main"](n_rows=1500, out=os.fspath(picture))

    said = capsys.readouterr().out.splitlines()
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) < 60
    assert [line.partition(":")[0] for line in said[-3:]] == [
        "accuracy of the forest of raw people",
        "accuracy of the forest of classes of 100",
        "membership, at most above guessing",
    ]
    raw, protected = (float(line.split()[-1].rstrip("%")) for line in said[-3:-1])
    assert protected > raw - 6
    assert ET.parse(picture).getroot().tag.endswith("svg")  # noqa: S314 # our own picture
