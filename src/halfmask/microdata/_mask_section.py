"""``mask`` of a column in a policy: the masks of `halfmask.masks`, by name."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_type_hints

from pydantic import (
    BeforeValidator,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
)

from halfmask._errors import PolicyError
from halfmask.masks import MASKS, Mask

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic_core import CoreSchema

__all__ = ["MaskSection", "mask_from", "mask_parameters", "stated_parameters"]


def mask_from(mask: object) -> Mask:
    """Return the mask that a table of a policy names.

    Raises
    ------
    PolicyError
        If there is no such mask, or a parameter is missing, unknown or can't be.

    Examples
    --------
    >>> mask_from({"name": "round", "base": 100.0})
    Rounding(base=100.0)
    """
    if not isinstance(mask, Mapping):
        if getattr(mask, "name", None) in MASKS:
            return mask  # type: ignore[return-value] # a Mask by its name
        raise PolicyError(
            "must be a table with a name.", hint='Such as { name = "round", base = 10 }.'
        )
    name = mask.get("name")
    if not isinstance(name, str) or name not in MASKS:
        near = difflib.get_close_matches(str(name), MASKS, n=1)
        raise PolicyError(
            "lacks the key 'name'." if name is None else "has no such name.",
            hint=f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(sorted(MASKS))}.",
        )
    given = {key: value for key, value in mask.items() if key != "name"}
    fields = dataclasses.fields(MASKS[name])  # type: ignore[arg-type] # each is one
    known = [field.name for field in fields]
    unknown = [key for key in given if key not in known]
    if unknown:
        raise PolicyError(
            f"has {len(unknown)} keys that the mask {name!r} doesn't have.",
            hint=f"It has {', '.join(map(repr, known)) or 'none'}.",
        )
    types = get_type_hints(MASKS[name])
    values = {key: _parameter(key, value, types[key], name) for key, value in given.items()}
    required = [it.name for it in fields if it.default is dataclasses.MISSING]
    lacking = [key for key in required if key not in values]
    if lacking:
        raise PolicyError(f"lacks the key {lacking[0]!r} of the mask {name!r}.")
    return MASKS[name](**values)


def _parameter(key: str, value: object, kind: Any, mask: str) -> object:  # noqa: ANN401 # a type
    """Return a parameter of its type; its error doesn't quote the value, as pydantic's does."""
    try:
        found: object = TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        expected = error.errors(include_url=False)[0].get("ctx", {}).get("expected")
        hint = f"It may be {expected}." if expected else None
        raise PolicyError(f"has a {key!r} that the mask {mask!r} can't have.", hint=hint) from None
    if isinstance(found, float) and not math.isfinite(found):
        raise PolicyError(f"has a {key!r} that is no finite number.")
    if isinstance(value, int) and isinstance(found, float) and found != value:
        raise PolicyError(
            f"has a {key!r} of more digits than a float64 holds.",
            hint="Choose a whole number below 2**53.",
        )
    return found


def mask_parameters(mask: Mask) -> dict[str, Any]:
    """Return a mask as a policy writes it, without what is the default.

    Examples
    --------
    >>> mask_parameters(MASKS["tails"](high=100.0))
    {'name': 'tails', 'high': 100.0}
    """
    fields = dataclasses.fields(mask)  # type: ignore[arg-type] # each is one
    values = {field.name: getattr(mask, field.name) for field in fields}
    defaults = {field.name: field.default for field in fields}
    kept = {key: value for key, value in values.items() if value != defaults[key]}
    return {"name": mask.name, **kept}


def stated_parameters(mask: Mask) -> dict[str, Any]:
    """Return the published parameters of a mask, which hold nothing of the data.

    Bounds that `TailCoding` finds by share are numbers of the column. They aren't parameters.

    Examples
    --------
    >>> stated_parameters(MASKS["noise"](law="laplace", scale=2.0, decimals=0))
    {'law': 'laplace', 'scale': 2.0, 'decimals': 0, 'how': 'add'}
    """
    fields = dataclasses.fields(mask)  # type: ignore[arg-type] # each is one
    values = {field.name: getattr(mask, field.name) for field in fields}
    return {key: value for key, value in values.items() if value is not None}


def _schema_of(name: str, mask: type[Mask]) -> dict[str, Any]:
    types = get_type_hints(mask)
    fields = dataclasses.fields(mask)  # type: ignore[arg-type] # each is one
    return {
        "type": "object",
        "description": (mask.__doc__ or "").split("\n", maxsplit=1)[0],
        "properties": {"name": {"const": name}}
        | {it.name: TypeAdapter(types[it.name]).json_schema() for it in fields},
        "required": ["name", *(it.name for it in fields if it.default is dataclasses.MISSING)],
        "additionalProperties": False,
    }


class _SchemaOfMasks:
    """The JSON schema of all masks that are known when it is asked for."""

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"oneOf": [_schema_of(name, each) for name, each in MASKS.items()]}


MaskSection: TypeAlias = Annotated[
    Any, BeforeValidator(mask_from), PlainSerializer(mask_parameters), _SchemaOfMasks()
]
