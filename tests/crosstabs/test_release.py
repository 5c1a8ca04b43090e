"""Releases of tables on disk: verified, refused when changed, and without hidden values."""

from __future__ import annotations

import json
import shutil
import stat

import polars as pl
import pytest

import halfmask as hm
from halfmask import VerificationError
from halfmask.crosstabs import TablesPolicy
from halfmask.crosstabs._claims import _rounded_down, stated_rule
from halfmask.crosstabs._rules import PPercent

#: Contributions that no published cell shows: what is made of them must not be seen, either.
CANARY = 70707.25
FIRMS = pl.DataFrame(
    {
        "region": ["north"] * 5 + ["=south"] * 5 + ["west"] * 5,
        "sector": ["NA", "NA", "NA", "NA", "c.d e"] * 3,
        "company": [f"company {at}" for at in range(15)],
        "turnover": [20, 21, 22, 23, CANARY, 30, 31, 32, 33, 61000.5, 25, 26, 27, 28, 80000.125],
    },
    strict=False,
)
POLICY = """
halfmask-tables = 1
owner = "company"
[output]
format = "FORMAT"
[[tables]]
name = "turnover by region"
dimensions = ["region", "sector"]
value = "turnover"
derived = ["mean", "share"]
[[tables]]
name = "companies"
dimensions = ["sector"]
[[rules]]
rule = "p-percent"
p = 10.0
[[rules]]
rule = "minimum-frequency"
n = 3
margin = 10.0
"""


def policy(form="csv", more=""):
    """Return the policy of turnover and companies."""
    text = POLICY.replace("FORMAT", form)
    return TablesPolicy.from_toml(text.replace("[output]", f"{more}\n[output]"))


@pytest.fixture(scope="module")
def release():
    return hm.protect(FIRMS, policy())


@pytest.fixture(scope="module")
def once(release, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables") / "out"
    release.write(folder)
    return folder


@pytest.fixture
def written(once, tmp_path):
    """Return a copy of the release, which a test may change."""
    return shutil.copytree(once, tmp_path / "out")


def test_it_is_verified_on_disk(written):
    found = hm.verify(written, originals=FIRMS)

    assert found.holds, found.sentences()
    assert {it.model for it in found.claims} == {
        "true-values",
        "additive",
        "hidden-intervals",
        "protected-cells",
    }


def test_a_receiver_checks_what_the_files_show(written):
    found = hm.verify(written)

    assert not found.is_broken
    checked = {it.model for it in found.claims if it.checked}
    assert checked == {"additive", "hidden-intervals"}


def test_the_files(written):
    names = {str(it.relative_to(written)) for it in written.rglob("*") if it.is_file()}

    assert names == {
        "data/companies.csv",
        "data/turnover_by_region-crossed.csv",
        "data/turnover_by_region.csv",
        "data/turnover_by_region-counts-crossed.csv",
        "data/turnover_by_region-counts.csv",
        "manifest.json",
        "report.html",
    }


def test_no_hidden_value_and_no_reason_is_in_the_folder(written, release):
    """The canaries: each hidden value, the cost, and the names of rules of single cells."""
    hidden = {
        float(value)
        for table in release.facts.tables
        for value, secret in zip(
            table.published.cells.value[table.cells], table.hidden, strict=True
        )
        if secret and table.measure is not None
    }
    cost = next(it.published.pattern.cost for it in release.facts.tables if it.published.pattern)

    assert CANARY in hidden
    for path in written.rglob("*"):
        if path.is_file():
            text = path.read_text()
            for secret in (*hidden, cost):
                assert f"{secret:g}" not in text or secret < 1000, path.name
                assert str(secret) not in text, path.name
    report = (written / "report.html").read_text()
    assert "p-percent" not in report.partition("<h2>Weaknesses")[2]


def test_the_owners_page_is_beside_it_for_the_owner_alone(once):
    page = once.with_name("out.owner.html")

    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert "70707.25" in page.read_text()


def test_the_same_table_is_the_same_release(written, tmp_path):
    hm.protect(FIRMS, policy()).write(tmp_path / "again")

    def content(folder):
        return {
            str(it.relative_to(folder)): it.read_bytes()
            for it in folder.rglob("*")
            if it.is_file() and it.name not in {"manifest.json", "report.html"}  # have the time
        }

    assert content(tmp_path / "again") == content(written)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "excel"])
def test_other_formats_are_verified(form, tmp_path):
    hm.protect(FIRMS, policy(form)).write(tmp_path / "out")

    assert hm.verify(tmp_path / "out", originals=FIRMS).holds


@pytest.mark.slow
def test_a_file_as_input_is_verified(tmp_path):
    FIRMS.write_csv(tmp_path / "firms.csv")
    hm.protect(tmp_path / "firms.csv", policy()).write(tmp_path / "out")

    assert hm.verify(tmp_path / "out", originals=tmp_path / "firms.csv").holds


@pytest.mark.parametrize(
    ("old", "new"),
    [("Total,Total,212025.875,", "Total,Total,212026.875,"), (",hidden", ",published")],
)
def test_a_changed_table_doesnt_verify(written, old, new):
    path = written / "data/turnover_by_region.csv"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))

    assert not hm.verify(written, originals=FIRMS).holds


def test_a_wider_interval_than_there_is_is_no_release(written):
    path = written / "manifest.json"
    stated = json.loads(path.read_text())
    (claim,) = (it for it in stated["claims"] if "least_share" in it["parameters"])
    claim["parameters"]["least_share"] = claim["evidence"]["narrowest"] = 1.5
    path.write_text(json.dumps(stated))

    assert hm.verify(written, originals=FIRMS).is_broken


def test_an_interrupt_leaves_nothing(release, tmp_path):
    def interrupt(stage, _share=None):
        if stage == "verifying on disk":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        release.write(tmp_path / "out", progress=interrupt)

    assert list(tmp_path.iterdir()) == []


def test_a_table_that_doesnt_verify_leaves_nothing(tmp_path):
    other = FIRMS.with_columns(pl.col("turnover") + 1)
    changed = hm.protect(FIRMS, policy())
    object.__setattr__(changed.facts, "given", other)

    with pytest.raises(VerificationError):
        changed.write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_progress_says_what_is_done(tmp_path):
    stages = []
    hm.protect(FIRMS, policy(), progress=lambda stage, _share=None: stages.append(stage)).write(
        tmp_path / "out", progress=lambda stage, _share=None: stages.append(stage)
    )

    assert "protecting sums of 'turnover'" in stages
    assert stages[-1] == "done"


@pytest.mark.parametrize(
    ("protection", "given"),
    [
        ('method = "rounding"\nbase = 5.0', {"key": bytes(32)}),
        ('method = "rounding"\nbase = 5.0\nway = "random"', {"key": bytes(32)}),
        ('method = "rounding"\nbase = 5.0\nway = "conventional"', {}),
        ('method = "small-counts"\nbase = 3', {"key": bytes(32)}),
        (
            'method = "cell-key"\nmax_deviation = 3\nvariance = 1.5\nrecord = "company"',
            {"key": bytes(32)},
        ),
        ('method = "differential-privacy"\nepsilon = 1.0', {}),
    ],
)
def test_other_protections_are_verified(protection, given, tmp_path):
    asked = TablesPolicy.from_toml(
        f"""
        halfmask-tables = 1
        dimensions.region.codes = ["north", "=south", "west"]
        dimensions.sector.codes = ["NA", "c.d e"]
        [[tables]]
        name = "companies"
        dimensions = ["region", "sector"]
        [protection]
        {protection}
        """
    )
    hm.protect(FIRMS, asked, **given).write(tmp_path / "out")

    found = hm.verify(tmp_path / "out", originals=None if "diff" in protection else FIRMS)
    assert found.holds, found.sentences()


def test_no_sum_is_protected_by_a_cell_that_all_can_compute(tmp_path):
    # two cells of n1 have what owners add to one and take from the other: their sum is sensitive
    inner = {
        ("n1", "a"): [("o", 50), ("p", 30), ("q", 30)],
        ("n1", "b"): [("o", 50), ("p", -30), ("q", -30)],
        ("n2", "a"): [("s", 90), ("t", 5)],
        ("n2", "b"): [("u", 40), ("v", 40), ("w", 40)],
        **{(region, "c"): [(f"{region}{at}", 40) for at in range(10)] for region in ("n1", "n2")},
    }
    rows = [(*codes, *of) for codes, each in inner.items() for of in each]
    table = pl.DataFrame(rows, schema=["region", "sector", "owner", "turnover"], orient="row")
    policy = TablesPolicy.from_toml("""
halfmask-tables = 1
owner = "owner"
[[tables]]
name = "t"
dimensions = ["region", "sector"]
value = "turnover"
negative = true
[[rules]]
rule = "dominance"
n = 1
k = 50
""")
    hm.protect(table, policy).write(tmp_path / "out")  # the verifier judges the sums, too


def test_widths_are_claimed_rounded_down_but_for_noise():
    assert [_rounded_down(each) for each in (2.99999999999, 0.123456)] == [3.0, 0.1234]
    assert stated_rule(PPercent(p=10.0)) == {"rule": "p-percent", "p": 10.0}
