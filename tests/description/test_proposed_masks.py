"""Masks that describe proposes as comments."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask.description import describe
from halfmask.masks import MASKS
from halfmask.microdata import Policy


@pytest.fixture(scope="module")
def text():
    rng = np.random.default_rng(1)
    people = pl.DataFrame(
        {
            "patient_id": [f"P{i:05d}" for i in range(500)],
            "sex": rng.choice(["f", "m"], 500),
            "diagnosis": rng.choice(["flu", "asthma", "gout"], 500),
            "income": np.exp(rng.normal(10, 1, 500)).round(2),
            "lamps": rng.integers(0, 3, 500),
        }
    )
    return describe(people, roles={"income": "sensitive"}).policy_toml()


def section(text, column):
    return text.partition(f"[columns.{column}]")[2].partition("[columns.")[0]


def test_pseudonyms_and_coded_tails_are_proposed(text):
    """For an identifier that can join tables, and for numbers that are released."""
    assert '# role = "insensitive", with mask = { name = "token" }' in section(text, "patient_id")
    assert '# mask = { name = "tails", high_share = 0.01 }' in section(text, "income")
    assert "mask" not in section(text, "sex") + section(text, "lamps")


def test_what_is_proposed_is_a_mask(text):
    """Without its #, each line is valid."""
    said = text.replace("# mask =", "mask =")

    policy = Policy.from_toml(said)

    assert {each.name for each in policy.masks.values()} <= set(MASKS)
    assert policy.masks["income"].name == "tails"
