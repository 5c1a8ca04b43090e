"""A section made from a dataclass: its fields are the keys, their metadata the bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import pytest
from pydantic import Field

from halfmask._errors import PolicyError
from halfmask._policy_files import WrittenPolicy
from halfmask._sections import Choice, OneOf, Section


@dataclass(frozen=True)
class _Blur:
    """Blurs."""

    scale: float = field(metadata={"gt": 0, "description": "How far."})
    low: float | None = None
    law: Literal["flat", "steep"] = "flat"
    weights: dict[str, float] = field(default_factory=dict)
    by: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Erase:
    """Erases."""

    by: tuple[str, ...] = ()
    times: int = field(default=1, metadata={"ge": 1})


KINDS = {"blur": _Blur, "erase": _Erase}
ONE = OneOf(kinds=KINDS, key="do", beyond="It does nothing.", elsewhere=({"wash": 0}, "Wash {}."))


class _Rule(Section):
    step: Annotated[Choice, ONE] | None = None


class _Made(WrittenPolicy):
    file_kind = "halfmask"

    halfmask: Literal[1]
    rules: dict[str, _Rule] = Field(default_factory=dict)
    steps: tuple[Annotated[Choice, ONE], ...] = ()


def made(text: str) -> _Made:
    return _Made.from_toml(f"halfmask = 1\n{text}")


def test_a_section_makes_the_value_that_it_describes():
    (step,) = made('[[steps]]\ndo = "blur"\nscale = 2\nby = ["a"]\nweights = { x = 1 }').steps

    assert step.made() == _Blur(scale=2.0, by=("a",), weights={"x": 1.0})
    assert type(step.made().scale) is float


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            '[[steps]]\ndo = "blur"',
            r"\[\[steps\]\] number 1 lacks the key 'scale'.\s+Hint: How far",
        ),
        ('[[steps]]\ndo = "blur"\nscale = 0', "number 1 scale must be above 0.*Got 0. It does not"),
        ('[[steps]]\ndo = "blur"\nscale = "2"', "number 1 scale must be a number. Got text"),
        ('[[steps]]\ndo = "blur"\nscale = true', "number 1 scale must be a number. Got true"),
        ('[[steps]]\ndo = "blur"\nscale = 9007199254740993', "scale: has more digits than a float"),
        ('[[steps]]\ndo = "blur"\nscale = 1\nlow = inf', "low must be a finite number"),
        ('[[steps]]\ndo = "blur"\nscale = 1\nlaw = "flot"', "Did you mean 'flat'"),
        ('[[steps]]\ndo = "erase"\nscale = 1', r"no key 'scale'.\s+Hint: It goes with blur"),
        ('[[steps]]\ndo = "erase"\ntimes = 1.0', "times must be a whole number. Got 1.0"),
        ('[[steps]]\ndo = "wash"', r"no do 'wash'.\s+Hint: Wash 'wash'."),
        ('[[steps]]\ndo = ["CANARY"]', r"has no such do.\s+Hint: There are 'blur', 'erase'."),
        ("[[steps]]\nscale = 1", "lacks the key 'do'"),
        ('[rules.CAN.step]\ndo = "erase"\ntimes = 0', r"\[rules.CAN\] step.times must be at least"),
        ('[rules."a b".step]\ndo = "eras"', r"\[rules.\"a b\"\] step has no do 'eras'"),
    ],
)
def test_a_fault_is_said_by_place(text, says):
    with pytest.raises(PolicyError, match=says) as caught:
        made(text)

    assert "CANARY" not in str(caught.value)


def test_keys_that_may_be_categories_are_no_part_of_a_place():
    with pytest.raises(PolicyError) as caught:
        made('[[steps]]\ndo = "blur"\nscale = 1\nweights = { CANARY = "x", erase = "y" }')

    assert "number 1 weights must be a number. Got text." in str(caught.value)
    assert "CANARY" not in str(caught.value)


def test_kinds_that_were_registered_later_are_known(monkeypatch):
    @dataclass(frozen=True)
    class Later:
        """Comes later."""

        sentence: ClassVar[str] = "Comes later."

    text = '[rules.x.step]\ndo = "later"'
    with pytest.raises(PolicyError, match="has no do 'later'"):
        made(text)
    monkeypatch.setitem(KINDS, "later", Later)

    step = made(text).rules["x"].step
    assert step is not None
    assert step.made() == Later()


def test_a_parameter_may_have_any_name(monkeypatch):
    @dataclass(frozen=True)
    class Odd:
        """Has names that sections use themselves."""

        key: str
        about: int = 1
        copy: bool = False
        model_name: str = "x"

    monkeypatch.setitem(KINDS, "odd", Odd)
    step = made('[rules.x.step]\ndo = "odd"\nkey = "k"\nabout = 2').rules["x"].step

    assert step is not None
    assert step.made() == Odd(key="k", about=2)
    assert step.parameters == {"key": "k", "about": 2, "copy": False, "model_name": "x"}
    with pytest.raises(PolicyError, match="step lacks the key 'key'"):
        made('[rules.x.step]\ndo = "odd"')
