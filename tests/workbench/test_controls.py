"""Controls of sections: made of their schema, read back as what the file holds."""

from __future__ import annotations

import pytest

from halfmask._errors import ParameterError
from halfmask.microdata import Policy
from halfmask.workbench._controls import changes_of, controls_of
from halfmask.workbench._page import Fields

POLICY = """
halfmask = 1
[columns]
age = { role = "quasi_identifier", kind = "numeric" }
ill = { role = "sensitive", kind = "categorical" }
[[guarantees]]
model = "k-anonymity"
k = 300
[[guarantees]]
model = "t-closeness"
t = 0.125
column = "ill"
[method]
name = "full-domain"
"""


@pytest.fixture
def policy():
    return Policy.from_toml(POLICY)


def _by_name(section, columns=()):
    return {it.name: it for it in controls_of(section, columns, but=("name", "model", "column"))}


def test_each_key_has_the_control_of_its_type(policy):
    found = _by_name(policy.method, ["age", "ill"])

    assert {name: it.form for name, it in found.items()} == {
        "split_targets": "columns",
        "objective": "select",
        "search": "select",
        "steps": "number",
        "seconds": "number",
        "seed": "number",
        "rounds": "slider",
    }
    assert (found["objective"].value, found["split_targets"].options) == ("loss", ("age", "ill"))
    assert found["steps"].optional
    assert not found["rounds"].optional


def test_a_slider_reaches_the_value_and_stands_on_a_step(policy):
    k = _by_name(policy.guarantee_sections[0])["k"]
    t = _by_name(policy.guarantee_sections[1])["t"]

    assert (k.ends, k.slid, k.whole) == ((2, 300, 1), 300, True)
    assert t.ends == (0.01, pytest.approx(0.99), 0.01)
    assert (t.value, t.slid) == (0.125, 0.13)  # as browsers round


@pytest.mark.parametrize(
    ("posted", "changes"),
    [
        ({"t": ["0.13", "0.125"]}, {}),
        ({"t": ["0.2", "0.125"]}, {"t": 0.2}),
        ({"t": ["0.13", "0.1"]}, {"t": 0.1}),
        ({}, {}),
    ],
)
def test_only_what_was_moved_is_a_change(policy, posted, changes):
    assert changes_of(controls_of(policy.guarantee_sections[1], ()), Fields(posted)) == changes


@pytest.mark.parametrize("text", ["", "many", "1e999x"])
def test_what_is_no_number_is_refused(policy, text):
    with pytest.raises(ParameterError, match="wants a number"):
        changes_of(controls_of(policy.guarantee_sections[0], ()), Fields({"k": ["300", text]}))


def test_empty_boxes_count_only_in_a_form_that_has_all(policy):
    method = policy.changed(method={"name": "mondrian"}).method

    assert changes_of(controls_of(method, ()), Fields({})) == {}
    assert changes_of(controls_of(method, ()), Fields({"whole": ["1"]})) == {"strict": False}
    assert changes_of(controls_of(policy.method, ()), Fields({"steps": ["50"]})) == {"steps": 50}
    limited = policy.changed(method={"name": "full-domain", "steps": 50}).method
    assert changes_of(controls_of(limited, ()), Fields({"steps": [""]})) == {"steps": None}


def test_a_slider_between_bounds_stands_on_round_numbers():
    text = """
halfmask = 1
[columns]
age = { role = "quasi_identifier", kind = "numeric" }
[[guarantees]]
model = "differential-privacy"
epsilon = 1.0
delta = 1e-6
sampling_fraction = 0.1
search_epsilon = 0.1
"""
    (section,) = Policy.from_toml(text).guarantee_sections
    assert _by_name(section)["sampling_fraction"].slid == pytest.approx(0.1)
