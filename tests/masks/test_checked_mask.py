"""What a field says of a parameter holds in Python and in a policy alike."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np
import pytest

from halfmask._errors import ParameterError, PolicyError
from halfmask.masks import MASKS, TABLE_MASKS, Microaggregation, RankSwapping, Rounding
from halfmask.masks._checked_mask import CheckedMask
from halfmask.microdata import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mask(CheckedMask):
    k: int = field(default=2, metadata={"ge": 2, "le": 5})
    rate: float = field(default=0.5, metadata={"gt": 0, "lt": 1})
    at: float | None = field(default=None, metadata={"ge": 0})
    how: Literal["add", "multiply"] = "add"
    by: tuple[str, ...] = ()
    order: tuple[str, ...] | None = None
    text: str = field(default="x", metadata={"min_length": 1})
    free: int = -1
    exact: bool = False
    person: str | None = None

    def _check_together(self) -> None:
        if self.k == 3 and self.how == "multiply":
            raise ParameterError("3 isn't multiplied.")


WRONG: list[dict[str, Any]] = [
    {"k": 1}, {"k": 6}, {"k": 2.0}, {"k": True}, {"k": None}, {"k": "2"}, {"k": 10**400},
    {"rate": 0}, {"rate": 1}, {"rate": float("nan")}, {"rate": "0.5"}, {"rate": None},
    {"at": -1}, {"at": float("inf")}, {"how": "divide"}, {"how": None}, {"how": ["add"]},
    {"by": "ab"}, {"by": (1,)}, {"by": None}, {"order": "ab"}, {"order": (1,)},
    {"exact": "yes"}, {"exact": np.array([True, False])}, {"person": np.array(["a", "b"])},
    {"person": ["a"]}, {"text": ""}, {"text": None}, {"text": b"x"}, {"k": 3, "how": "multiply"},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_what_a_field_excludes_is_refused(wrong):
    with pytest.raises(ParameterError, match=f"'{next(iter(wrong))}' parameter|multiplied"):
        _Mask(**wrong)


@pytest.mark.parametrize(
    "right",
    [{"k": 5}, {"k": np.int64(2)}, {"at": 0}, {"at": None}, {"by": ["a"]}, {"order": ()}, {"k": 3}],
)
def test_what_it_allows_is_taken(right):
    assert replace(_Mask(), **right).free == -1


def test_arrays_of_names_are_lists_of_them():
    given: dict[str, Any] = {"columns": np.array(["pay"]), "by": ["sex"]}
    mask = Microaggregation(**given, k=3)

    assert mask == Microaggregation(columns=("pay",), by=("sex",), k=3)
    assert [type(it) for it in mask.columns] == [str]


@pytest.mark.parametrize("known", [MASKS, TABLE_MASKS], ids=["columns", "tables"])
def test_all_masks_of_halfmask_are_checked_by_their_fields(known):
    """A bound that stands in metadata of another class would hold nowhere."""
    bounded = [it for it in known.values() if any(each.metadata for each in fields(it))]

    assert len(bounded) >= 4
    assert all(issubclass(it, CheckedMask) for it in bounded)


@pytest.mark.parametrize(
    ("make", "section", "bound"),
    [
        (lambda: Rounding(digits=16), {"name": "round", "digits": 16}, "at most 15"),
        (
            lambda: Microaggregation(columns=("a",), k=1),
            {"name": "microaggregation", "columns": ["a"], "k": 1},
            "at least 2",
        ),
        (
            lambda: RankSwapping(columns=("a",), max_rank_distance=0.0),
            {"name": "rank-swapping", "columns": ["a"], "max_rank_distance": 0.0},
            "above 0",
        ),
    ],
)
def test_a_bound_holds_in_python_and_in_a_policy(make, section, bound):
    alone = section["name"] in MASKS
    column = {"role": "insensitive", "kind": "numeric", **({"mask": section} if alone else {})}
    with pytest.raises(ParameterError):
        make()
    with pytest.raises(PolicyError, match=f"must be {bound}"):
        Policy(halfmask=1, columns={"a": column}, masks=() if alone else (section,))
