"""The forms of released fields: whether a value has one, and what a form must say of itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from halfmask.claims import CellsClaim
from halfmask.verifier.events._moments import is_moment
from halfmask.verifier.events._reading import Number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.claims import ReleasedField
    from halfmask.claims.event_claims import EventClaim


Form: TypeAlias = Mapping[str, Any]

#: AES-SIV: 16 bytes, and at least one block of 16.
_BLOCK: Final = 16
_SHORTEST_TOKEN: Final = 32
_BASE64: Final = re.compile(r"[A-Za-z0-9_-]+")
#: Narrower than what the action finds: what is found here was left in.
_LEFT: Final = {
    "email": re.compile(r"[A-Za-z0-9._%+-]{1,32}@[A-Za-z0-9-]{1,63}\.[A-Za-z]{2,24}(?![\w@])"),
    "url": re.compile(r"(?<!\w)https?://[A-Za-z0-9]"),
}


def has_form(value: object, form: Form, *, exact: bool = True) -> bool:
    """Return whether a scalar or empty container is a result of an action."""
    if form["do"] == "erase":
        return False
    if value is None:
        # What was null stays null, but what an aggregate writes never was.
        return form["do"] not in OF_CELLS
    return _FORMS[form["do"]](value, {**form, "exact": exact})


def knows(form: object) -> bool:
    """Return whether a form of a manifest is one that can be checked."""
    return isinstance(form, dict) and (form.get("do") in _FORMS or form.get("do") == "erase")


def _is_scalar(value: object, form: Form) -> bool:  # noqa: ARG001 # as every form
    return isinstance(value, str | bool)


def _is_kept(value: object, form: Form) -> bool:
    return _is_scalar(value, form) or value in ({}, [])


def _is_text(value: object, form: Form) -> bool:  # noqa: ARG001 # as every form
    return isinstance(value, str) and not isinstance(value, Number)


def _is_sequence(value: object, form: Form) -> bool:
    return _is_count(value, form) and value not in {"0", "0.0"}


def _is_count(value: object, form: Form) -> bool:
    if not isinstance(value, Number):
        return False
    return value.isdigit() or (not form["exact"] and _is_whole(value))


def _is_whole(value: str) -> bool:
    number = _decimal(value)
    return number is not None and number >= 0 and number == number.to_integral_value()


def _is_token(value: object, form: Form) -> bool:
    if not _is_text(value, form) or not _BASE64.fullmatch(str(value)):
        return False
    size = len(str(value)) * 6 // 8
    return size >= _SHORTEST_TOKEN and size % _BLOCK == 0


def _is_hash(value: object, form: Form) -> bool:
    bits = int(form["bits"])
    if form["form"] == "number":
        whole = isinstance(value, Number) and value.isdigit()
        return whole and int(str(value)) < 1 << bits
    digits = -(-bits // 4)
    found = _is_text(value, form) and re.fullmatch(f"[0-9a-f]{{{digits}}}", str(value))
    return bool(found) and int(str(value), 16) < 1 << bits


def _is_masked(value: object, form: Form) -> bool:
    if not _is_text(value, form):
        return False
    text, first, last = str(value), int(form["first"]), int(form["last"])
    length, mark = form.get("length"), form["mark"]
    middle = text[first : len(text) - last] if len(text) >= first + last else None
    marked = middle is not None and middle == mark * len(middle)
    if length is not None:
        return text == mark * length or (marked and middle is not None and len(middle) == length)
    whole = text == mark * len(text) and len(text) <= first + last
    return whole or (marked and bool(middle))


def _is_clean(value: object, form: Form) -> bool:
    if not _is_text(value, form):
        return False
    looked = [_LEFT[what] for what in form["find"] if what in _LEFT]
    return not any(pattern.search(str(value)) for pattern in looked)


def _number_of(value: object, form: Form) -> Decimal | None:
    """Return the number of a value that is one, or of an amount in one of the form's units."""
    if isinstance(value, Number):
        return _decimal(value)
    if _is_text(value, form):
        for unit in form.get("units", ()):
            if str(value).endswith(unit):
                return _decimal(str(value).removesuffix(unit))
    return None


def _decimal(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _places(number: Decimal) -> int:
    return max(-int(number.as_tuple().exponent), 0)


def _is_rounded(value: object, form: Form) -> bool:
    number = _number_of(value, form)
    if number is None:
        return False
    if "significant" in form:
        return len(number.normalize().as_tuple().digits) <= int(form["significant"])
    if "decimals" in form:
        return _has_places(number, int(form["decimals"]), form)
    step = Decimal(str(form["step"])).normalize()
    return _has_places(number, _places(step), form) and number % step == 0


def _has_places(number: Decimal, places: int, form: Form) -> bool:
    if form["exact"]:
        return _places(number) == places
    return _places(number.normalize()) <= places


def _is_noisy(value: object, form: Form) -> bool:
    number = _number_of(value, form)
    if number is None or not _has_places(number, int(form["decimals"]), form):
        return False
    half = Decimal(1).scaleb(-int(form["decimals"])) / 2
    low, high = form.get("low"), form.get("high")
    above = low is None or number >= Decimal(str(low)) - half
    return above and (high is None or number <= Decimal(str(high)) + half)


def _is_scaled(value: object, form: Form) -> bool:
    number = _number_of(value, form)
    decimals = form.get("decimals")
    return number is not None and (decimals is None or _places(number.normalize()) <= decimals)


def _is_mark(value: object, form: Form) -> bool:  # noqa: ARG001 # as every form
    return value is True


def _is_measure(value: object, form: Form) -> bool:  # noqa: ARG001 # as every form
    return isinstance(value, Number)


#: Forms of what aggregates write.
OF_CELLS: Final = {"window", "mark", "aggregate", "count", "measure"}
_FORMS: Final[dict[str, Callable[[object, Form], bool]]] = {
    "keep": _is_kept,
    "recode": _is_scalar,
    "generalize": _is_text,
    "sequence": _is_sequence,
    "token": _is_token,
    "hash": _is_hash,
    "mask": _is_masked,
    "free-text": _is_clean,
    "round": _is_rounded,
    "noise": _is_noisy,
    "scale": _is_scaled,
    "coarsen-time": is_moment,
    "shift": is_moment,
    "window": _is_text,
    "aggregate": _is_text,
    "mark": _is_mark,
    "count": _is_count,
    "measure": _is_measure,
}


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
