"""One policy with ten techniques on real tables: released, verified, measured."""

from __future__ import annotations

import polars as pl
import pytest

import halfmask as hm
from halfmask.microdata import Policy

KEY = bytes(range(32))

ADULT = """
halfmask = 1
[columns]
fnlwgt = { role = "insensitive", kind = "numeric", mask = { name = "token" } }
age = { role = "quasi_identifier", kind = "numeric", mask = { name = "round", base = 5 } }
workclass = { role = "quasi_identifier", kind = "categorical" }
education = { role = "insensitive", kind = "categorical", mask = { name = "redact", text = "-" } }
marital-status = { role = "quasi_identifier", kind = "categorical" }
occupation = { role = "sensitive", kind = "categorical" }
relationship = { role = "insensitive", kind = "categorical", mask = { name = "reversible-token" } }
race = { role = "insensitive", kind = "categorical", mask = { name = "pram", keep = 0.8 } }
sex = { role = "quasi_identifier", kind = "categorical" }
capital-gain = { role = "insensitive", kind = "numeric", mask = { name = "tails", high = 20000 } }
capital-loss = { role = "insensitive", kind = "numeric" }
native-country = { role = "identifier" }
income = { role = "insensitive", kind = "categorical", label = true }
split = { role = "identifier" }
[columns.education-num]
role = "insensitive"
kind = "numeric"
mask = { name = "random-rounding", base = 3 }
[columns.hours-per-week]
role = "insensitive"
kind = "numeric"
mask = { name = "noise", law = "laplace", scale = 3.0, decimals = 0 }
[[masks]]
name = "sampling"
fraction = 0.1
[[masks]]
name = "rank-swapping"
columns = ["capital-loss"]
max_rank_distance = 0.05
[[masks]]
name = "stratified-pram"
columns = ["occupation"]
by = ["sex"]
keep = 0.9
[[masks]]
name = "local-suppression"
columns = ["age", "workclass", "marital-status", "sex"]
k = 3
"""


def of_numbers(table: pl.DataFrame) -> str:
    """Return a policy of ten techniques for a table of thirteen columns of numbers."""
    own = [
        'mask = { name = "round", digits = 2 }',
        'mask = { name = "tails", high_share = 0.02, low_share = 0.02 }',
        'mask = { name = "noise", law = "gaussian", scale = 0.1, unit = "sd", decimals = 0 }',
        'mask = { name = "random-rounding", base = 50 }',
        'mask = { name = "token" }',
        'mask = { name = "redact", text = "-" }',
    ]
    lines = ["halfmask = 1", "[columns]"]
    for number, name in enumerate(table.columns):
        mask = f", {own[number]}" if number < len(own) else ""
        lines.append(f'"{name}" = {{ role = "insensitive", kind = "numeric"{mask} }}')
    rest = [f'"{name}"' for name in table.columns[len(own) :]]
    lines += [
        f'[[masks]]\nname = "microaggregation"\ncolumns = [{rest[0]}, {rest[1]}]\nk = 5',
        f'[[masks]]\nname = "rank-swapping"\ncolumns = [{rest[2]}]\nmax_rank_distance = 0.1',
        f'[[masks]]\nname = "correlated-noise"\ncolumns = [{rest[3]}, {rest[4]}]',
        "variance_ratio = 0.1\ndecimals = 0",
        f'[[masks]]\nname = "data-shuffling"\ncolumns = [{rest[5]}]\ngiven = [{rest[6]}]',
    ]
    return "\n".join(lines)


def release(table: pl.DataFrame, text: str, folder):
    policy = Policy.from_toml(text)
    names = [each.name for each in (*policy.masks.values(), *policy.table_masks)]
    assert len(set(names)) >= 10
    made = hm.mask(table, policy, key=KEY).write(folder)
    assert hm.verify(folder).holds
    assert made.assessment is not None
    assert made.assessment.worst_linkage is not None
    return made


@pytest.mark.slow
@pytest.mark.real_data
def test_adult(shared_data, tmp_path):
    table = pl.read_csv(shared_data / "adult.csv", null_values=["?"])

    found = release(table, ADULT, tmp_path / "out")

    assert found.rows["out"] == round(0.1 * table.height)
    claimed = {claim.model for claim in found.claims}
    assert {"k-anonymity-with-suppression", "multiples", "bounded", "token-format"} <= claimed
    page = (tmp_path / "out" / "report.html").read_text()
    assert "local-suppression" in page
    assert "IL1s" in page


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("file", ["CASCrefmicrodata.csv", "Tarragona.csv"])
def test_tables_of_statisticians(shared_data, tmp_path, file):
    table = pl.read_csv(shared_data / "sdc" / file, infer_schema_length=None)

    found = release(table, of_numbers(table), tmp_path / "out")

    assert "groups-of-k" in {claim.model for claim in found.claims}
    assert found.assessment is not None
    assert found.assessment.il1s is not None
