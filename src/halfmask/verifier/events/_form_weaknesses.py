"""What the form of a field must say: the weaknesses of its action, and cells only of cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from halfmask.claims import CellsClaim
from halfmask.verifier.events._forms import OF_CELLS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.claims import ReleasedField
    from halfmask.claims.event_claims import EventClaim

_EQUAL: Final = ("equality-leaking", "frequency-leaking")
#: What each action leaves visible, whatever its options are.
LEAST_WEAKNESSES: Final[Mapping[str, tuple[str, ...]]] = {
    "keep": ("value-kept",),
    "recode": (*_EQUAL, "joinable"),
    "generalize": _EQUAL,
    "sequence": (*_EQUAL, "order-leaking"),
    "token": (*_EQUAL, "length-leaking"),
    "hash": _EQUAL,
    "mask": ("partly-kept", "equality-leaking"),
    "free-text": (*_EQUAL, "free-text"),
    "round": (*_EQUAL, "order-leaking"),
    "noise": ("outlier-visible",),
    "scale": ("ratios-kept", "zero-kept", "joinable"),
    "coarsen-time": ("order-leaking", "interval-leaking", "frequency-leaking"),
    "shift": ("interval-fingerprint", "known-date", "order-leaking"),
}


def form_problems(fields: Sequence[ReleasedField], claims: Sequence[EventClaim]) -> Iterator[str]:
    """Yield a sentence for each field whose form, weaknesses and rule contradict each other."""
    cells = [each for each in claims if isinstance(each, CellsClaim)]
    rules = {(it.steps, it.rule) for it in fields if it.form.get("do") != "generalize"}
    for number, each in enumerate(fields, start=1):
        do = each.form.get("do")
        is_cell = do in OF_CELLS
        if is_cell != (each.rule == 0) or (is_cell and not _may_be_cell(each, cells)):
            yield f"Field {number} of the manifest has the form of another kind of field."
        # The labels of a guarantee's hierarchy have the weaknesses of the rule before them.
        is_label = do == "generalize" and (each.steps, each.rule) in rules
        least = LEAST_WEAKNESSES.get(str(do), ())
        if do == "mask" and "length" not in each.form:
            least = (*least, "length-leaking")
        if not is_label and not set(least) <= set(each.weaknesses):
            yield f"Field {number} of the manifest lacks a weakness of its action."


def _may_be_cell(field: ReleasedField, cells: Sequence[CellsClaim]) -> bool:
    """Return whether an aggregate writes this field; a measure may have any name but a key's."""
    if not cells or len(field.steps) != 1:
        return False
    name = field.steps[0].removeprefix(".")
    if all(name in each.by for each in cells):
        return False  # keys have the form of the rule that released them
    names = {
        "window": {each.window for each in cells},
        "aggregate": {"aggregate"},
        "mark": {"update", "total"},
    }
    return name in names.get(str(field.form["do"]), {name})
