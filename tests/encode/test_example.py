"""The example of a rented machine runs as it stands: on a few people here, on all by hand."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from threadpoolctl import threadpool_limits

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "rented_cloud"


@pytest.fixture(scope="module")
def rented(tmp_path_factory):
    """What the example says, and the folder in which it worked, once for all tests."""
    out = tmp_path_factory.mktemp("rented")
    with threadpool_limits(1), pytest.MonkeyPatch.context() as patch:
        said: list[str] = []
        patch.setenv("OMP_NUM_THREADS", "1")  # models this small wait for threads
        module = runpy.run_path(os.fspath(EXAMPLE / "run.py"))
        patch.setitem(module["main"].__globals__, "print", said.append)
        module["main"](n_rows=1500, out=os.fspath(out))
    return said, out


@pytest.mark.slow
def test_answers_from_elsewhere_are_those_of_plain_training(rented):
    """Equal labels of boosting; scores of a network and of a kernel to 1e-9."""
    said, _ = rented

    assert [line.partition(":")[0] for line in said] == ["boosting", "network", "kernel"]
    assert "0 of 500 labels are others" in said[0]
    for line in said[1:]:
        apart = re.search(r"within (\S+) of", line)
        assert apart is not None
        assert float(apart[1]) < 1e-9
    # Always the most frequent class is right on 76 % of all people.
    assert all(float(line.split()[1].rstrip("%")) > 78 for line in said)


@pytest.mark.slow
def test_nothing_that_left_names_what_it_is_about(rented, adult_csv):
    """No column's name and no category is in any byte of what was sent or answered."""
    _, out = rented
    people = pl.read_csv(adult_csv, n_rows=1500).drop("fnlwgt", "split")
    words = set(people.columns)
    for column in people.select(pl.col(pl.String)):
        words |= set(column.unique())

    files = [path for path in out.rglob("*") if path.parent.parent == out and path.is_file()]
    sent = b"".join(path.read_bytes() for path in files if path.parent.name != "packages")

    assert {"train.parquet", "asked.parquet", "task.json", "answer.parquet"} <= {
        path.name for path in files
    }
    assert not [word for word in words if len(word) > 3 and word.encode() in sent]


@pytest.mark.slow
def test_the_machine_elsewhere_refuses_to_have_halfmask(rented):
    """Else nothing would be proved; and without it the same command succeeds."""
    _, out = rented
    command = [sys.executable, "-P", os.fspath(EXAMPLE / "cloud.py"), os.fspath(out / "kernel")]
    source = os.fspath(Path(__file__).resolve().parents[2] / "src")

    with_it = subprocess.run(
        command, env={"PYTHONPATH": source}, capture_output=True, check=False, timeout=60
    )

    assert with_it.returncode == 1
    assert b"must not have halfmask" in with_it.stderr


def test_the_locked_environment_has_nothing_of_ours():
    packages = (EXAMPLE / "requirements.txt").read_text(encoding="utf-8")
    names = set(re.findall(r"^([a-z][\w-]*)==", packages, re.MULTILINE))

    assert {"numpy", "pyarrow", "scikit-learn"} <= names
    assert not names & {"halfmask", "polars", "numba"}
    assert packages.count("--hash=sha256:") > len(names)
