"""The registry: every attack by its name, with settings that anybody can leave alone."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import pytest

from halfmask._errors import ParameterError
from halfmask.assess.attacks import (
    ATTACKS,
    Attack,
    CrosstabTarget,
    EncodingTarget,
    EventsTarget,
    HashingTarget,
    ModelTarget,
    PlacesTarget,
    TableTarget,
    TrainerTarget,
    attributes,
    classes,
    crosstabs,
    encodings,
    evasion,
    events,
    hashing,
    membership,
    places,
    poisoning,
    releases,
    structure,
    tables,
)
from halfmask.assess.attacks._battery import find_attack

TARGETS = (
    *(ModelTarget, TableTarget, EncodingTarget, HashingTarget, TrainerTarget, EventsTarget),
    CrosstabTarget,
    PlacesTarget,
)
FAMILIES = {
    "membership": membership,
    "attributes": attributes,
    "structure": structure,
    "tables": tables,
    "classes": classes,
    "releases": releases,
    "encodings": encodings,
    "hashing": hashing,
    "events": events,
    "crosstabs": crosstabs,
    "places": places,
    "evasion": evasion,
    "poisoning": poisoning,
}


@pytest.mark.parametrize("name", list(ATTACKS))
def test_an_attack_is_made_without_settings_and_found_by_its_name(name):
    made = find_attack(name)
    assert isinstance(made, Attack)
    assert made.name == name
    assert made.attacks in TARGETS
    assert made == ATTACKS[name]()


@pytest.mark.parametrize("name", list(ATTACKS))
def test_an_attack_is_a_value_whose_settings_are_keywords(name):
    made = ATTACKS[name]()
    for field in dataclasses.fields(made):  # type: ignore[arg-type] # each is a dataclass
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, field.name, 1)
    kinds = {each.kind for each in inspect.signature(ATTACKS[name]).parameters.values()}
    assert kinds <= {inspect.Parameter.KEYWORD_ONLY}


def test_an_attack_is_named_after_its_family_and_stands_once():
    found = [each.name for family in FAMILIES.values() for each in family.ATTACKS]
    assert sorted(found) == sorted(set(found)) == sorted(ATTACKS)
    for family, module in FAMILIES.items():
        assert all(each.name.startswith(f"{family}/") for each in module.ATTACKS)
        assert {each.__name__ for each in module.ATTACKS} <= set(module.__all__)


def test_an_attack_itself_is_taken_as_it_is():
    made = structure.TreeStructure(k=25)
    assert find_attack(made) is made


def test_a_class_and_what_is_no_attack_are_told():
    wrong: Any = structure.TreeStructure
    with pytest.raises(ParameterError, match="TreeStructure is a class of attacks"):
        find_attack(wrong)
    wrong = 7
    with pytest.raises(ParameterError, match="Got a value of type int"):
        find_attack(wrong)


def test_a_misspelt_name_is_answered_with_the_nearest():
    with pytest.raises(ParameterError, match="Did you mean 'structure/trees'"):
        find_attack("structure/tree")
    with pytest.raises(ParameterError, match="There are"):
        find_attack("xyz")


OUTSIDE = [
    pytest.param(make, field.name, value, id=f"{name} {field.name}={value}")
    for name, make in ATTACKS.items()
    for field in dataclasses.fields(make)  # type: ignore[arg-type] # each is a dataclass
    for bound, step in (("ge", -1), ("gt", 0), ("le", 1), ("lt", 0))
    if bound in field.metadata
    for value in [field.metadata[bound] + step]
]


@pytest.mark.parametrize(("make", "setting", "value"), OUTSIDE)
def test_a_setting_outside_of_its_declared_bounds_is_refused(make, setting, value):
    listed = "of" in next(it for it in dataclasses.fields(make) if it.name == setting).metadata
    with pytest.raises(ParameterError, match=f"'{setting}' parameter of {make.__name__}"):
        make(**{setting: (value,) if listed else value})


def test_what_an_attack_needs_is_asked_in_the_order_of_its_declaration():
    class Target:
        labels = None
        train = None

    attack = hashing.WeightReading()
    target = Target()
    assert attack.missing_inputs(target) == "a way to train weights"
    target.train = "given"
    assert attack.missing_inputs(target) == "labels"
