"""Masks in a policy: in front of classes, claims, risk and verifier, or refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import halfmask as hm
from halfmask._errors import (
    GuaranteeNotMetError,
    ParameterError,
    PolicyError,
    VerificationError,
)
from halfmask.masks import MASKS, Rounding
from halfmask.verifier import CheckedRelease

KEY = bytes(range(32))
POLICY = """
halfmask = 1
[columns]
age = { role = "quasi_identifier", kind = "numeric" }
name = { role = "insensitive", kind = "text", mask = { name = "token", digits = 16 } }
pay = { role = "sensitive", kind = "numeric", mask = { name = "round", base = 100 } }
debt = { role = "sensitive", kind = "numeric", mask = NOISE }
job = { role = "insensitive", kind = "categorical", mask = { name = "pram", keep = 0.5 } }
[[guarantees]]
model = "k-anonymity"
k = 5
[[guarantees]]
model = "distinct-l-diversity"
l = 2
column = "pay"
""".replace("NOISE", '{ name = "noise", law = "laplace", scale = 50, decimals = 0 }')


@pytest.fixture
def people():
    """Two hundred made-up people."""
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 80, 200),
            "name": [f"canary-{i}" for i in range(200)],
            "pay": rng.integers(1000, 5000, 200),
            "debt": rng.integers(0, 900, 200),
            "job": rng.choice(["cook", "nurse", "judge"], 200),
        }
    )


def policy(**columns):
    """Return the policy with other sections for some columns."""
    text = POLICY
    for name, section in columns.items():
        start = text.index(f"{name} = {{")
        text = text[:start] + f"{name} = {section}" + text[text.index("\n", start) :]
    return hm.Policy.from_toml(text)


def _weaknesses(folder):
    found = hm.verify(folder)
    assert isinstance(found, CheckedRelease)
    return found.weaknesses


def test_decimals_stay_decimals_and_are_verified(people, tmp_path):
    """Money with cents is rounded digit by digit, and l-diversity is about what is written."""
    cents = people.with_columns(pl.col("pay").cast(pl.Decimal(12, 2)) + pl.lit(Decimal("0.01")))

    hm.protect(cents, policy(), key=KEY).write(tmp_path / "out")
    written = pl.read_parquet(tmp_path / "out" / "data" / "*.parquet")

    assert hm.verify(tmp_path / "out").holds
    assert written["pay"].dtype == pl.Decimal(38, 2)
    assert set(written["pay"]) <= {Decimal(it) for it in range(1000, 5001, 100)}


def test_what_is_written_is_behind_its_masks_and_verified(people, tmp_path):
    """Tokens, rounded pay, moved debts; claims are counted on what is written."""
    release = hm.protect(people, policy(), key=KEY).write(tmp_path / "out")
    written = pl.read_parquet(tmp_path / "out" / "data" / "*.parquet")

    assert hm.verify(tmp_path / "out").holds
    assert written["pay"].to_list() == [round(it / 100) * 100 for it in written["pay"]]
    assert written["name"].str.contains("^[0-9a-f]{16}$").all()
    assert sorted(written["debt"]) != sorted(people["debt"])
    assert set(written["job"]) <= set(people["job"])
    assert release.data.equals(written)
    texts = [path.read_text(errors="replace") for path in (tmp_path / "out").glob("*.*")]
    assert not any("canary-1" in text for text in texts)
    assert any("masked: round, base = 100" in text for text in texts)


def test_the_same_key_masks_alike_and_another_one_otherwise(people):
    """In any pass, and of batches of any size."""
    first, again, other = (
        hm.protect(people, policy(), key=key).data.sort("name") for key in (KEY, KEY, bytes(32))
    )

    assert first.equals(again)
    assert not first["name"].equals(other["name"])


def test_weaknesses_and_risk_name_what_a_mask_leaves(people, tmp_path):
    """Who knows a value may know what is written for it; of a token nobody does."""
    release = hm.protect(people, policy()).write(tmp_path / "out")

    said = json.loads((tmp_path / "out" / "manifest.json").read_text())["weaknesses"]
    for word in ("equality-leaking", "outlier-visible", "mostly-true", "order-leaking"):
        assert any(line.startswith(f"{word}:") for line in said)
    assert release.risk.columns.unchanged is not None
    assert release.risk.columns.unchanged.columns == ("pay", "debt", "job")
    assert "released unchanged or masked" in (tmp_path / "out" / "report.html").read_text()
    assert any("'name'" in line and "mask" in line for line in _weaknesses(tmp_path / "out"))


def test_a_mask_that_changes_between_passes_gets_no_release_out(people, tmp_path, monkeypatch):
    """The claims are of one pass, the file of another: the verifier sees the difference."""
    mask = type(Rounding(base=1).fit("pay", pl.Int64(), None, KEY))
    apply, passes = mask.apply, []

    def fickle(self, column, first_row):
        passes.append(first_row)
        found = apply(self, column, first_row)
        return found if len(passes) < 3 else found * 0

    monkeypatch.setattr(mask, "apply", fickle)
    release = hm.protect(people, policy())
    assert len(passes) >= 2

    with pytest.raises(VerificationError):
        release.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_no_guarantee_is_about_values_that_are_nobodys():
    """Randomised values would make any diversity true."""
    noisy = '{ role = "sensitive", kind = "numeric", mask = { name = "pram", keep = 0.9 } }'

    with pytest.raises(PolicyError, match=r"number 2 .* column 'pay', whose values are rand"):
        policy(pay=noisy)


MASK_FAULTS = {
    '{ name = "rounds", base = 5 }': "no name 'rounds'(.|\n)*Did you mean 'round'",
    "{ base = 5 }": "lacks the key 'name'",
    '{ name = "round" }': "either a 'base' or 'digits'",
    '{ name = "random-rounding" }': "lacks the key 'base'",
    '{ name = "round", base = -5 }': "must be a number above 0",
    '{ name = "round", base = "canary" }': "mask.base must be a number. Got text",
    '{ name = "round", base = "5" }': "mask.base must be a number. Got text",
    '{ name = "round", base = nan }': "mask.base must be a finite number",
    '{ name = "tails", low = -inf }': "mask.low must be a finite number",
    '{ name = "round", base = 5, c = 1 }': "mask has no key 'c'(.|\n)*'base', 'digits'",
    '{ name = "noise", law = "laplac", scale = 1, decimals = 0 }': "mask.law must be 'laplace'",
    '{ name = ["canary"] }': "mask has no such name",
    '"canary"': "must be a table",
}
SECTION_FAULTS = {
    '{ role = "identifier", mask = { name = "token" } }': "identifier and has a mask",
    '{ role = "sensitive", kind = "text", mask = {name = "token"}, hierarchy = {prefix = [1]} }': (
        "hierarchy"
    ),
}


@pytest.mark.parametrize(
    ("section", "what"),
    [
        *SECTION_FAULTS.items(),
        *(
            (f'{{ role = "insensitive", kind = "numeric", mask = {mask} }}', what)
            for mask, what in MASK_FAULTS.items()
        ),
    ],
)
def test_masks_that_can_not_be_are_refused_without_what_was_given(section, what):
    """By the place and the key."""
    with pytest.raises(PolicyError, match=what) as refused:
        policy(debt=section)
    assert "canary" not in str(refused.value)
    assert "[columns.debt]" in str(refused.value)


def test_a_policy_with_masks_is_written_and_read_back():
    """As TOML, and its hash is of what it says."""
    said = policy()

    assert hm.Policy.from_toml(said.to_toml()) == said
    other = policy(
        pay='{ role = "sensitive", kind = "numeric", mask = { name = "round", base = 10 } }'
    )
    assert other.sha256 != said.sha256


@pytest.mark.slow
def test_a_model_learns_from_masked_rows_and_is_tested_on_raw_ones():
    """Noise in the label costs the learner of the release, not that of the raw rows."""
    rng = np.random.default_rng(5)
    table = pl.DataFrame({"age": rng.integers(18, 80, 4000), "ill": rng.integers(0, 2, 4000)})
    table = table.with_columns(mark=pl.col("ill") * 10 + pl.Series(rng.integers(0, 3, 4000)))
    text = """
    halfmask = 1
    [columns]
    age = { role = "quasi_identifier", kind = "numeric" }
    ill = { role = "insensitive", kind = "categorical", label = true }
    mark = { role = "insensitive", kind = "numeric" MASK }
    [[guarantees]]
    model = "k-anonymity"
    k = 5
    """
    blurred = ', mask = { name = "noise", law = "uniform", scale = 1000, decimals = 0 }'

    plain, masked = (
        hm.protect(table, hm.Policy.from_toml(text.replace("MASK", mask)), key=KEY).utility.model
        for mask in ("", blurred)
    )

    accuracies = [(it.raw.accuracy, it.released.accuracy) for it in (plain, masked) if it]
    (_, of_plain), (of_raw, of_masked) = accuracies
    assert of_plain is not None
    assert of_plain > 0.99
    assert of_raw is not None
    assert of_raw > 0.99
    assert of_masked is not None
    assert of_masked < 0.9


def test_a_mask_that_changes_hardly_anything_hides_nobody_from_strict():
    """What is nearly as it was is knowledge of an attacker, whatever the mask is called."""
    table = pl.DataFrame({"age": [30, 40] * 50, "number": [f"id-{i}" for i in range(100)]})
    text = """
    halfmask = 1
    [columns]
    age = { role = "quasi_identifier", kind = "numeric" }
    number = { role = "insensitive", kind = "text", mask = { name = "pram", keep = 0.999 } }
    [[guarantees]]
    model = "k-anonymity"
    k = 5
    """

    with pytest.raises(GuaranteeNotMetError):
        hm.protect(table, hm.Policy.from_toml(text), strict=True)


def test_the_manifest_states_the_parameters_of_masks(people, tmp_path):
    """So that recipients can account for them; a bound that was found in the data isn't one."""
    tails = (
        '{ role = "insensitive", kind = "numeric", mask = { name = "tails", high_share = 0.1 } }'
    )
    release = hm.protect(people, policy(debt=tails)).write(tmp_path / "out")
    assert release.manifest is not None

    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    stated = {it["name"]: it.get("mask_parameters") for it in manifest["details"]["columns"]}
    assert stated == {
        "age": None,
        "name": {"scope": "release", "digits": 16, "integers": False},
        "pay": {"base": 100.0},
        "debt": {"high_share": 0.1},
        "job": {"keep": 0.5, "invariant": False},
    }
    assert release.manifest.details["columns"] == manifest["details"]["columns"]


def test_the_json_schema_has_masks_that_were_registered_later(monkeypatch):
    @dataclass(frozen=True)
    class Later(Rounding):
        name: ClassVar[str] = "later"

    assert "later" not in json.dumps(hm.Policy.json_schema())
    monkeypatch.setitem(MASKS, "later", Later)

    assert '"const": "later"' in json.dumps(hm.Policy.json_schema())


@pytest.mark.parametrize("tampered", ["quasi_identifier", "v1"])
def test_a_manifest_can_not_hide_a_column_behind_a_mask(people, tmp_path, tampered):
    """A masked quasi-identifier is counted; and a column that isn't counted is named."""
    out = tmp_path / "out"
    hm.protect(people, policy()).write(out)
    manifest = json.loads((out / "manifest.json").read_text())
    columns = {it["name"]: it for it in manifest["details"]["columns"]}
    risk = manifest["details"]["risk"]["released_columns"]
    if tampered == "quasi_identifier":
        columns["age"]["mask"] = "token"
        risk["every"]["columns"].remove("age")
    else:
        columns["pay"]["mask"] = "token"
        for each in (risk["every"], risk["unchanged"]):
            each["columns"] = [name for name in each["columns"] if name != "pay"]
        risk["few"] = []
    (out / "manifest.json").write_text(json.dumps(manifest))

    if tampered == "quasi_identifier":
        found = hm.verify(out)
        assert isinstance(found, CheckedRelease)
        assert any("over other columns" in line for line in found.problems)
    else:
        assert any("'pay'" in line and "mask" in line for line in _weaknesses(out))


def test_a_label_of_tokens_is_learnt_as_well_as_before():
    """New names for labels change nothing of what can be learnt."""
    rng = np.random.default_rng(6)
    table = pl.DataFrame({"age": [30, 40] * 500, "ill": rng.choice(["yes", "no"], 1000)})
    table = table.with_columns(mark=pl.col("ill").replace_strict({"yes": 1, "no": 2}))
    said = hm.Policy.from_toml("""
    halfmask = 1
    [columns]
    age = { role = "quasi_identifier", kind = "numeric" }
    ill = { role = "insensitive", kind = "categorical", label = true, mask = { name = "token" } }
    mark = { role = "insensitive", kind = "numeric" }
    [[guarantees]]
    model = "k-anonymity"
    k = 5
    """)

    found = hm.protect(table, said).utility.model

    assert found is not None
    assert found.released.accuracy is not None
    assert found.released.accuracy > 0.99


@pytest.mark.parametrize("key", [b"", bytes(31), "x" * 32])
def test_a_key_that_is_none_is_refused_at_once(people, key):
    """Before anything is read."""
    with pytest.raises(ParameterError, match="key"):
        hm.protect(people, policy(), key=key)


@dataclass(frozen=True)
class Constant:
    """A mask from outside: one word for every value."""

    name: ClassVar[str] = "constant"
    coarsens: ClassVar[bool] = True
    is_matchable: ClassVar[bool] = True
    needs_counts: ClassVar[bool] = False
    weaknesses: ClassVar[tuple[str, ...]] = ()

    word: str

    def written(self, column, dtype):  # noqa: ARG002 # a Mask's
        return pl.String()

    def fit(self, column, dtype, counts, key):  # noqa: ARG002 # a Mask's
        return self

    def apply(self, column, first_row):  # noqa: ARG002 # a Mask's
        return pl.Series(column.name, [self.word] * column.len(), dtype=pl.String)


def test_a_mask_is_added_from_outside_by_one_line(people, monkeypatch, tmp_path):
    """As docs/how-to/add-a-mask.md says."""
    monkeypatch.setitem(MASKS, Constant.name, Constant)
    said = policy(
        job='{ role = "insensitive", kind = "text", mask = { name = "constant", word = "x" } }'
    )

    release = hm.protect(people, said).write(tmp_path / "out")

    assert hm.verify(tmp_path / "out").holds
    assert set(release.data["job"]) == {"x"}
