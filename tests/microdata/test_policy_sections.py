"""Each section of a policy becomes the value that it means."""

from __future__ import annotations

import pytest

from halfmask._errors import PolicyError
from halfmask.anonymize import Mondrian
from halfmask.data import Intervals, ReadOptions
from halfmask.guarantees import DistinctLDiversity, KAnonymity, TCloseness
from halfmask.microdata import Policy
from microdata.policies import (  # type: ignore[import-not-found] # beside, not in a package
    TEXT,
)


def test_each_section_becomes_the_value_that_it_means(tmp_path):
    policy = Policy.from_toml(TEXT)

    schema = policy.schema(tmp_path)

    assert schema.names == ("age", "job", "income", "ssn")
    assert schema.identifiers == ("ssn",)
    assert schema.label == ("income",)
    assert schema["age"].hierarchy == Intervals((5, 10, 20))
    assert schema["ssn"].kind == "text"
    assert policy.read_options() == ReadOptions(missing=("?", ""))
    assert (policy.method.name, policy.split_targets) == ("guided", ("income",))
    assert (policy.recoding.name, policy.output.format) == ("ranges", "csv")
    assert policy.suppression.max_fraction == 0.02


def test_guarantees_take_the_order_of_their_column():
    k, t = Policy.from_toml(TEXT).guarantees()

    assert k == KAnonymity(k=10)
    assert isinstance(t, TCloseness)
    assert t.order == ("trainee", "CANARY", "boss")


def test_numbers_keep_their_own_order():
    text = TEXT.replace(
        'kind = "ordinal"\nhierarchy = { order = [["trainee", "CANARY"], ["boss"]] }',
        'kind = "numeric"',
    )

    assert Policy.from_toml(text).guarantees()[1].order is None


def test_a_changed_default_keeps_its_name():
    policy = Policy(
        halfmask=1,
        columns={"age": {"role": "quasi_identifier", "kind": "numeric"}},
        guarantees=[{"model": "k-anonymity", "k": 2}],
        method={"name": "mondrian", "strict": False},
    )

    assert Policy.from_toml(policy.to_toml()) == policy
    assert policy.method.made() == Mondrian(strict=False)


def test_defaults_are_those_of_the_documentation():
    policy = Policy(
        halfmask=1,
        columns={
            "age": {"role": "quasi_identifier", "kind": "numeric"},
            "ill": {"role": "sensitive", "kind": "categorical"},
        },
        guarantees=[{"model": "distinct-l-diversity", "l": 2, "column": "ill"}],
    )

    assert policy.guarantees() == (DistinctLDiversity(l=2, column="ill"),)
    assert (policy.method.made(), policy.split_targets) == (Mondrian(strict=True), ())
    assert policy.recoding.name == "ranges"
    assert policy.suppression.max_fraction == 0
    assert policy.output.format == "parquet"
    assert policy.read_options() == ReadOptions()


def test_a_weight_reaches_the_schema_and_goes_with_quasi_identifiers():
    text = TEXT.replace("[columns.age]\n", "[columns.age]\nweight = 2.5\n")

    policy = Policy.from_toml(text)

    assert policy.columns["age"].weight == 2.5
    assert policy.columns["job"].weight == 1
    assert Policy.from_toml(policy.to_toml()) == policy
    assert Policy.from_toml(text).sha256 != Policy.from_toml(TEXT).sha256
    with pytest.raises(PolicyError, match=r"\[columns.job\].*weight"):
        Policy.from_toml(TEXT.replace("[columns.job]\n", "[columns.job]\nweight = 2\n"))
    for weight in ("0", "-1", '"2"', "inf"):
        with pytest.raises(PolicyError, match="weight"):
            Policy.from_toml(text.replace("weight = 2.5", f"weight = {weight}"))


def test_roles_may_be_spelt_as_reports_spell_them():
    """The terminal and the report say quasi-identifier; a policy may, too."""
    spelt = TEXT.replace('"quasi_identifier"', '"quasi-identifier"')

    assert spelt != TEXT
    assert Policy.from_toml(spelt).sha256 == Policy.from_toml(TEXT).sha256


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ('missing = "reject"', r"\[columns.ssn\]: is an identifier and has missing = 'reject'"),
        ('normalize = ["trim"]', r"\[columns.ssn\] is an identifier and has normalize"),
    ],
)
def test_identifiers_have_no_settings_that_would_be_ignored(key, named):
    with pytest.raises(PolicyError, match=named):
        Policy.from_toml(TEXT.replace("[columns.ssn]\n", f"[columns.ssn]\n{key}\n"))


@pytest.mark.parametrize(
    "more",
    [
        {"columns": {"age": {"mask": {"name": "redact", "text": "x"}}}},
        {"synthesis": {"kind": "full"}},
    ],
)
@pytest.mark.parametrize(
    ("key", "value"),
    [("missing", "suppress"), ("missing", "reject"), ("weight", 2.0), ("least_level", 1)],
)
def test_what_only_classes_use_goes_with_guarantees(more, key, value):
    """Rows with missing cells would stay although they were to be left out."""
    columns = {"age": {"role": "quasi_identifier", "kind": "numeric", key: value}}
    columns["age"] |= more.get("columns", {}).get("age", {})

    with pytest.raises(PolicyError, match=rf"\[columns.age\] has a {key}"):
        Policy(halfmask=1, **{**more, "columns": columns})


WEIGHED = """
halfmask = 1
sampling_weights = "w"
[columns]
pay = { role = "sensitive", kind = "numeric", mask = { name = "round", base = 10 } }
w = { role = "insensitive", kind = "numeric" }
"""


MASKED_W = 'kind = "numeric", mask = { name = "round", base = 2 } }\n'
CLASSED = """[[guarantees]]
model = "k-anonymity"
k = 2
[columns]
age = { role = "quasi_identifier", kind = "numeric" }"""


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('= "w"', '= "v"', "sampling_weights: "),
        ('kind = "numeric" }\n', 'kind = "categorical" }\n', "must be numeric"),
        ('kind = "numeric" }\n', MASKED_W, "without a mask"),
        ("[columns]", CLASSED, "report of masks alone"),
    ],
)
def test_weights_that_no_report_would_use_are_refused(before, after, said):
    assert Policy.from_toml(WEIGHED).sampling_weights == "w"
    with pytest.raises(PolicyError, match=said):
        Policy.from_toml(WEIGHED.replace(before, after))
