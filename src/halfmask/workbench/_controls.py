"""Controls of a section of the policy: sliders, selects and boxes, made of its JSON schema."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil, floor, isclose
from typing import TYPE_CHECKING, Any, Final, Literal

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic import BaseModel

    from halfmask.workbench._page import Fields

Form = Literal["slider", "number", "select", "box", "columns"]

#: Sensible ends of sliders, by parameter: least, greatest, step. The policy's own bounds are wider.
RANGES: Final = {
    "k": (2, 200, 1),
    "l": (2, 20, 1),
    "m": (1, 5, 1),
    "t": (0.01, 1, 0.01),
    "c": (0.1, 10, 0.1),
    "delta": (0.1, 5, 0.1),
    "beta": (0.1, 5, 0.1),
    "risk": (0.005, 0.5, 0.005),
    "share": (0, 0.5, 0.005),
    "epsilon": (0.1, 10, 0.1),
    "search_epsilon": (0, 5, 0.1),
    "max_fraction": (0, 0.2, 0.005),
    "min_leaf": (1, 100, 1),
    "rounds": (1, 20, 1),
    "copies": (1, 20, 1),
}
#: What keys are called, where their own name says little.
LABELS: Final = {"max_fraction": "Share of rows that may be suppressed"}
#: Shares that have both bounds are sliders between them.
_SHARE_STEP: Final = 0.01
#: A number below this is typed: no slider reaches it.
_LEAST_SLID: Final = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A control of one key: what it shows, and between which bounds."""

    name: str
    form: Form
    value: Any
    label: str
    about: str = ""
    whole: bool = False
    optional: bool = False
    ends: tuple[float, float, float] = (0, 1, _SHARE_STEP)
    options: tuple[str, ...] = ()

    @property
    def slid(self) -> float:
        """Where the slider stands: browsers move it to the nearest step between its ends."""
        least, most, step = self.ends
        steps = min(floor((self.value - least) / step + 0.5), floor((most - least) / step + 1e-9))
        return float(round(least + steps * step, 6))

    def read(self, fields: Fields) -> Any:  # noqa: ANN401 # what a section holds
        """Return what was posted; of a slider and its number the one that was changed."""
        if self.form == "box":
            return fields.has(self.name)
        texts = [text.strip() for text in fields.all(self.name)]
        if self.form == "columns":
            return [text for text in texts if text]
        if self.form == "select":
            return texts[0] or None
        stood = [self.slid, self.value] if self.form == "slider" else [self.value]
        for text, before in zip(texts, stood, strict=False):
            found = self._parsed(text)
            if found != before and not (
                found is not None and before is not None and isclose(found, before)
            ):
                return found
        return self.value

    def _parsed(self, text: str) -> float | int | None:
        if text == "" and self.optional:
            return None
        try:
            found = float(text)
            return (
                int(text)
                if self.whole and found.is_integer() and text.lstrip("-").isdigit()
                else found
            )
        except ValueError:
            raise ParameterError(f"The field {self.label!r} wants a number.") from None


def controls_of(
    section: BaseModel, columns: Sequence[str], *, but: Sequence[str] = ()
) -> list[Control]:
    """Return a control for each key of a section that a form can change."""
    made = (
        _control(name, schema, getattr(section, _attribute(section, name), None), columns)
        for name, schema in _properties(type(section)).items()
        if name not in but
    )
    return [each for each in made if each is not None]


def changes_of(controls: Sequence[Control], fields: Fields) -> dict[str, Any]:
    """Return the keys that a form changes; empty boxes count only where the form has all keys."""
    whole = fields.has("whole")
    boxes = ("box", "columns") if whole else ()
    posted = [it for it in controls if it.form in boxes or fields.has(it.name)]
    read = {it.name: (it.value, it.read(fields)) for it in posted}
    return {name: new for name, (old, new) in read.items() if new != old}


@cache
def _properties(section: type[BaseModel]) -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = section.model_json_schema(by_alias=True)["properties"]
    return found


def _attribute(section: BaseModel, name: str) -> str:
    """Return what a key is called in its section: it may have an alias."""
    named = type(section).model_fields.items()
    return next(own for own, it in named if name in (own, it.alias))


def _control(
    name: str,
    schema: Mapping[str, Any],
    value: Any,  # noqa: ANN401 # any key's
    columns: Sequence[str],
) -> Control | None:
    kinds = list(_kinds(schema))
    optional = any(each.get("type") == "null" for each in kinds)
    kind = next((each for each in kinds if each.get("type") != "null"), {})
    label = LABELS.get(name, name.replace("_", " ").capitalize() if len(name) > 1 else name)
    about = "" if name in LABELS else schema.get("description", "")
    common: dict[str, Any] = {"name": name, "label": label, "about": about}
    common |= {"value": value, "optional": optional}
    if "enum" in kind:
        common["value"] = value if value is None or isinstance(value, str) else value.named
        return Control(form="select", options=tuple(kind["enum"]), **common)
    if kind.get("type") == "boolean":
        return Control(form="box", **common)
    if kind.get("type") == "array" and kind.get("items", {}).get("type") == "string":
        return Control(form="columns", **{**common, "value": list(value)}, options=tuple(columns))
    if kind.get("type") in ("integer", "number"):
        return _number(kind, **common)
    return None


def _number(kind: Mapping[str, Any], **common: Any) -> Control:  # noqa: ANN401 # as above
    name, value, whole = common["name"], common["value"], kind["type"] == "integer"
    least = _first(kind, "minimum", "exclusiveMinimum", "ge", "gt")
    most = _first(kind, "maximum", "exclusiveMaximum", "le", "lt")
    common["whole"] = whole
    ends = RANGES.get(name)
    if ends is None and least is not None and most is not None:
        step = 1 if whole else _SHARE_STEP
        ends = (ceil(least / step - 1e-9) * step, most, step)
    if ends is None or value is None or 0 < value < _LEAST_SLID or name == "seed":
        return Control(form="number", **common)
    low, high, step = ends
    low = max(low, low if least is None else least)
    high = min(high, high if most is None else most)
    # An end that is excluded is a step away.
    low += step if low == kind.get("exclusiveMinimum") else 0
    high -= step if high == kind.get("exclusiveMaximum") else 0
    ends = (min(low, value), max(high, value), step)
    return Control(form="slider", ends=ends, **common)


def _first(kind: Mapping[str, Any], *keys: str) -> float | None:
    return next((kind[key] for key in keys if key in kind), None)


def _kinds(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the types that a key may have."""
    if "anyOf" not in schema:
        yield schema
    for each in schema.get("anyOf", ()):
        yield from _kinds(each)
