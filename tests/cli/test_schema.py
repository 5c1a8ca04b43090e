"""``halfmask schema`` prints the JSON schema of policies, and the published one is in step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from halfmask.crosstabs import TablesPolicy
from halfmask.microdata import Policy

PUBLISHED = Path(__file__).resolve().parents[2] / "docs" / "policy.schema.json"


@pytest.mark.slow
def test_it_prints_the_schema(run):
    answer = run("schema")

    assert answer.status == 0
    assert json.loads(answer.out) == Policy.json_schema()


def test_it_prints_the_schema_of_tables(run):
    answer = run("schema", "--tables")

    assert json.loads(answer.out) == TablesPolicy.json_schema()
    assert "halfmask-tables" in answer.out


def test_the_published_schema_is_what_it_prints(run):
    """Run ``make schema`` after a change of the policy."""
    assert run("schema").out == PUBLISHED.read_text(encoding="utf-8")
