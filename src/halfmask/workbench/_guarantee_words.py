"""What a guarantee means, in a sentence with its numbers, and the numbers it begins with."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from math import ceil, exp, inf
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Larger exponents are no different in words.
_MOST: Final = 700
_HALF: Final = 0.5
#: Parameters that are words of any sentence.
_ENGLISH: Final = ("risk", "share")
#: Parameters of a guarantee that is added.
_STARTS: Final = {
    "k": 5, "l": 2, "m": 2, "t": 0.3, "c": 3, "alpha": 0.5, "delta": 1, "beta": 1,
    "risk": 0.1, "share": 0.05, "sampling_fraction": 0.1, "significance": 0.05,
    "delta_min": 0, "delta_max": 0.5, "publisher_benefit": 1_200, "publisher_loss": 300,
    "adversary_gain": 300, "adversary_cost": 30,
}  # fmt: skip


def in_numbers(model: type[Any], parameters: Mapping[str, Any], column: str | None) -> str:
    """Return what a guarantee says, with numbers in the place of its letters."""
    numbers = {key: it for key, it in parameters.items() if isinstance(it, int | float)}
    if getattr(model, "meaning", ""):
        words = {"column": column or ""}
        for key, it in numbers.items():
            words |= {
                key: f"{it:g}",
                f"{key}_share": f"{100 * it:.3g} %",
                f"{key}_rows": f"{ceil(1 / it - 1e-9):,}" if it else "",
                f"{key}_high": f"{exp(min(it, _MOST)):.3g}",
            }
        return str(model.meaning).format_map(words)
    said, left = str(model.sentence), []
    for key, it in numbers.items():
        found = 0
        if key not in _ENGLISH:
            said, less = re.subn(rf"\b{key} - 1\b", f"{it - 1:g}", said)
            said, found = re.subn(rf"\b{key}\b", f"{it:g}", said)
            found += less
        if not found:
            left.append(f"{key} = {it:g}")
    said = said.replace("the column", column or "the column")
    return f"{said} ({', '.join(left)})" if left else said


def start_parameters(model: type[Any]) -> dict[str, float | int | str]:
    """Return parameters that a guarantee begins with: usual ones, within its bounds."""
    hints = get_type_hints(model)
    found: dict[str, float | int | str] = {}
    for it in fields(model):
        words = get_args(hints[it.name])
        if it.name in _STARTS:
            usual = _STARTS[it.name]
            found[it.name] = usual if usual < it.metadata.get("lt", inf) else _HALF
        elif it.init and it.default is MISSING and it.name != "column":
            found[it.name] = words[0]
    return found
