"""Lists of columns, strata and words of masks: one text is no list of its letters."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from halfmask._errors import ParameterError
from halfmask.masks import TABLE_MASKS, OrdinalTailCoding, ShiftedDates

NEEDED: dict[str, dict[str, Any]] = {
    "microaggregation": {"k": 2},
    "rank-swapping": {"max_rank_distance": 0.1},
    "shifted-dates": {"person": "id", "max_days": 9},
    "stratified-pram": {"by": ("g",), "keep": 0.5},
    "record-swapping": {"risk": ("r",), "k": 2, "swap_rate": 0.1},
    "free-text": {},
    "data-shuffling": {},
    "correlated-noise": {"variance_ratio": 0.1, "decimals": 0},
    "local-suppression": {"k": 2},
    "stratified-sampling": {"by": ("g",), "n": 1},
    "donut": {"radius": (1, 2)},
    "gaussian": {"sigma": 9},
    "planar-laplace": {"epsilon": 1, "metres": 200},
    "affine": {"centre": (5, 52), "rotation": 9, "scale": (1, 1), "shift": 9},
    "grid": {"width": 500},
    "location-swap": {"radius": (1, 2)},
    "voronoi": {},
    "street-nodes": {"nodes": "streets"},
    "trimmed-ends": {"trip": "t", "time": "at", "metres": 9},
}
LISTS = [
    (name, each.name)
    for name, mask in TABLE_MASKS.items()
    for each in fields(mask)  # type: ignore[arg-type] # all masks are dataclasses
    if each.type == "tuple[str, ...]"
]


def test_all_masks_with_columns_are_here():
    assert {name for name, _ in LISTS} == set(NEEDED)


@pytest.mark.parametrize("text", ["ab", b"ab", None, 7, ("a", 1)])
@pytest.mark.parametrize(("name", "parameter"), LISTS)
def test_a_text_is_no_list_of_its_letters(name, parameter, text):
    columns = {} if name == "stratified-sampling" else {"columns": ("a", "b")}
    with pytest.raises(ParameterError, match=f"'{parameter}' .* must be a list of texts. Got a"):
        TABLE_MASKS[name](**{**columns, **NEEDED[name], parameter: text})


def test_neither_is_it_an_order():
    with pytest.raises(ParameterError, match="must be a list of texts"):
        OrdinalTailCoding(low="b", order="abc")  # type: ignore[arg-type] # what is tested


def test_the_person_of_shifted_dates_is_another_column():
    with pytest.raises(ParameterError, match="'came' both in 'columns' and in 'person'"):
        ShiftedDates(columns=("came",), person="came", max_days=9)
    with pytest.raises(ParameterError, match="has no columns"):
        ShiftedDates(columns=(), person="id", max_days=9)
