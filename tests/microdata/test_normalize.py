"""With normalize, classes, claims and what is written count one spelling."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask import GuaranteeNotMetError, Policy, protect
from halfmask.data import open_table
from halfmask.description import describe

N = 40
TABLE = pl.DataFrame(
    {
        "age": [20 + i % 4 for i in range(N)],
        "city": [("Rome", "rome ", "ROME", "Rome")[i % 4] for i in range(N)],
        # One value in truth, three spellings: no diversity at all.
        "ill": [("Flu", "flu ", "FLU", "flu")[i % 4] for i in range(N)],
    }
)
POLICY = """
halfmask = 1
[columns.age]
role = "quasi_identifier"
kind = "numeric"
[columns.city]
role = "quasi_identifier"
kind = "categorical"
{city}
[columns.ill]
role = "sensitive"
kind = "categorical"
{ill}
[[guarantees]]
model = "k-anonymity"
k = 5
[[guarantees]]
model = "distinct-l-diversity"
l = {l}
column = "ill"
[output]
format = "csv"
"""
STEPS = 'normalize = ["trim", "casefold"]'


def policy(*, city="", ill="", l=2):
    return Policy.from_toml(POLICY.format(city=city, ill=ill, l=l))


def test_spellings_are_no_diversity():
    assert protect(TABLE, policy()).claims[1].evidence.achieved >= 2

    with pytest.raises(GuaranteeNotMetError):
        protect(TABLE, policy(ill=STEPS))


@pytest.mark.parametrize("opened", [False, True])
def test_what_is_written_is_what_was_counted(tmp_path, opened):
    mixed = TABLE.with_columns(
        ill=pl.when(pl.col("age") < 22).then("ill").otherwise(pl.lit("Cold"))
    )
    table = open_table(mixed) if opened else mixed

    release = protect(table, policy(city=STEPS, ill=STEPS)).write(tmp_path / "out")

    written = pl.read_csv(*(tmp_path / "out").rglob("*.csv"))
    assert set(written["ill"]) == {"flu", "cold"}
    assert set(written["city"]) == {"rome"}
    assert release.verification is not None
    assert release.verification.holds
    classes = written.group_by("age", "city").agg(pl.col("ill").n_unique(), pl.len())
    assert release.claims[1].evidence.achieved == classes["ill"].min() == 2


def test_the_report_says_of_spellings(tmp_path):
    protect(TABLE, policy()).write(tmp_path / "as-it-is")
    protect(TABLE.with_columns(ill=pl.lit("x") + pl.col("age").cast(pl.String)),
            policy(city=STEPS)).write(tmp_path / "one")  # fmt: skip

    said = (tmp_path / "as-it-is" / "report.html").read_text()
    assert "2 values of the column &#39;city&#39; differ" in said
    assert "3 values of the column &#39;ill&#39; differ" in said
    assert "differ from others only in blanks" not in (tmp_path / "one" / "report.html").read_text()


@pytest.mark.parametrize(
    ("cells", "says"),
    [(["", None], True), ([" ", None], True), (["", "x"], False), ([None, "x"], False)],
)
def test_the_report_says_of_blank_texts_beside_missing_cells(tmp_path, cells, says):
    """They are two values for l; missing = [""] makes them one."""
    table = TABLE.with_columns(ill=pl.Series(cells * (TABLE.height // 2)))
    protect(table, policy(city=STEPS)).write(tmp_path / "out")
    said = "column &#39;ill&#39; has blank texts and missing cells"
    assert (said in (tmp_path / "out" / "report.html").read_text()) == says


def test_what_describe_proposes_is_a_policy_with_one_spelling():
    table = TABLE.with_columns(disease=pl.Series(["Flu", "flu", "cold", "ill"] * 10)).drop("ill")

    proposed = Policy.from_toml(describe(table).policy_toml())

    assert proposed.normalize == {"city": ("trim", "casefold"), "disease": ("casefold",)}
    assert protect(table, proposed).claims[0].evidence.achieved >= 10
