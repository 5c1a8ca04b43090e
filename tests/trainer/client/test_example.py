"""The example of two companies runs as it stands: on a few people here, on all by hand."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import polars as pl
import pytest

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "two_companies" / "run.py"


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """What the example says, and the folder in which it worked."""
    out = tmp_path_factory.mktemp("two")
    found: list[str] = []
    module = runpy.run_path(os.fspath(EXAMPLE))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(module["main"].__globals__, "print", found.append)
        module["main"](n_rows=2_000, out=os.fspath(out))
    return found, out


@pytest.mark.slow
def test_answers_come_home(played):
    found, out = played

    answers = pl.read_csv(out / "company_a" / "answers.csv")
    assert found[0].startswith("B learned from 1,600 rows")
    assert found[1].startswith("A decoded 400 answers")
    assert set(answers["prediction"]) <= {"<=50K", ">50K"}
    assert answers["probability"].min() >= 0.5  # type: ignore[operator] # there are answers
    # Always the most frequent class is right on 76 % of all people.
    assert float(found[1].split()[-3].rstrip("%")) > 76


@pytest.mark.slow
def test_the_other_company_has_no_word_of_the_table(played, adult_csv):
    """Neither in its log, nor in its snapshots, nor in its lists."""
    _, out = played
    people = pl.read_csv(adult_csv, n_rows=2_000).drop("fnlwgt", "split")
    words = set(people.columns)
    for column in people.select(pl.col(pl.String)):
        words |= set(column.unique())

    files = [path for path in (out / "company_b").rglob("*") if path.is_file()]
    held = b"".join(path.read_bytes() for path in files)

    assert len(held) > 1_600 * 14 * 4
    assert not [word for word in words if len(word) > 3 and word.encode() in held]


def test_it_is_as_short_as_it_says():
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) < 80
