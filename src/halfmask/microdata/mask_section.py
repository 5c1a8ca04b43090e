"""``mask`` of a column and ``[[masks]]`` in a policy: the masks of `halfmask.masks`, by name."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_type_hints

from pydantic import (
    BeforeValidator,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
)

from halfmask._errors import PolicyError
from halfmask.masks import MASKS, TABLE_MASKS, Mask, traits_of

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic_core import CoreSchema

    from halfmask.masks import AnyTableMask, TableMask


def mask_from(mask: object) -> Mask:
    """Return the mask that a table of a policy names.

    Examples
    --------
    >>> mask_from({"name": "round", "base": 100.0}).base
    100.0
    """
    return _made(mask, MASKS, 'Such as { name = "round", base = 10 }.')  # type: ignore[return-value]


def table_mask_from(mask: object) -> AnyTableMask:
    """Return the mask of several columns, or of rows, that a table of a policy names."""
    return _made(mask, TABLE_MASKS, 'Such as { name = "sampling", fraction = 0.1 }.')  # type: ignore[return-value]


def _made(mask: object, known: Mapping[str, type[Any]], example: str) -> object:
    """Return the mask that a section names, from those that are known."""
    if not isinstance(mask, Mapping):
        if getattr(mask, "name", None) in known:
            return mask
        raise PolicyError("must be a table with a name.", hint=example)
    name = mask.get("name")
    if not isinstance(name, str) or name not in known:
        raise PolicyError(
            "lacks the key 'name'." if name is None else "has no such name.",
            hint=_other_place(name, known) or _nearest(str(name), known),
        )
    given = {key: value for key, value in mask.items() if key != "name"}
    fields = dataclasses.fields(known[name])
    keys = [field.name for field in fields]
    unknown = [key for key in given if key not in keys]
    if unknown:
        raise PolicyError(
            f"has {len(unknown)} keys that the mask {name!r} doesn't have.",
            hint=f"It has {', '.join(map(repr, keys)) or 'none'}.",
        )
    types = get_type_hints(known[name])
    values = {key: _parameter(key, value, types[key], name) for key, value in given.items()}
    lacking = [it.name for it in fields if _is_required(it) and it.name not in values]
    if lacking:
        raise PolicyError(f"lacks the key {lacking[0]!r} of the mask {name!r}.")
    return known[name](**values)


def _other_place(name: object, known: Mapping[str, object]) -> str | None:
    """Return where a mask of the other kind is written."""
    if not isinstance(name, str):
        return None
    if known is not MASKS and name in MASKS:
        return f"{name!r} is a mask of one column: write it as the 'mask' of the column."
    if known is MASKS and name in TABLE_MASKS:
        return f"{name!r} is a mask of several columns or of rows: write it under [[masks]]."
    return None


def _nearest(name: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(sorted(known))}."


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _parameter(key: str, value: object, kind: Any, mask: str) -> object:  # noqa: ANN401 # a type
    """Return a parameter of its type; its error doesn't quote the value, as pydantic's does."""
    try:
        found: object = TypeAdapter(kind).validate_python(_as_tuples(value), strict=True)
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


def _as_tuples(value: object) -> object:
    """Return a value of a file with tuples for lists: parameters are hashable values."""
    if isinstance(value, list | tuple):
        return tuple(map(_as_tuples, value))
    if isinstance(value, Mapping):
        return {str(key): _as_tuples(each) for key, each in value.items()}
    return value


def mask_parameters(mask: Mask | AnyTableMask) -> dict[str, Any]:
    """Return a mask as a policy writes it, without what is the default.

    Examples
    --------
    >>> mask_parameters(MASKS["tails"](high=100.0))
    {'name': 'tails', 'high': 100.0}
    """
    fields = dataclasses.fields(mask)  # type: ignore[arg-type] # each is one
    values = {field.name: getattr(mask, field.name) for field in fields}
    kept = {field.name: values[field.name] for field in fields if not _is_default(field, values)}
    return {"name": mask.name, **kept}


def _is_default(field: dataclasses.Field[Any], values: Mapping[str, object]) -> bool:
    made = field.default_factory
    default = field.default if made is dataclasses.MISSING else made()
    return bool(values[field.name] == default)


def stated_parameters(mask: Mask | AnyTableMask) -> dict[str, Any]:
    """Return the published parameters of a mask, which hold nothing of the data.

    Bounds that `TailCoding` finds by share are numbers of the column. They aren't parameters. Where
    a parameter names categories, such as the matrix of PRAM, it is left out.

    Examples
    --------
    >>> stated_parameters(MASKS["noise"](law="laplace", scale=2.0, decimals=0))
    {'law': 'laplace', 'scale': 2.0, 'decimals': 0, 'how': 'add', 'unit': 'column'}
    """
    fields = dataclasses.fields(mask)  # type: ignore[arg-type] # each is one
    values = {field.name: getattr(mask, field.name) for field in fields}
    hidden = traits_of(mask).unstated
    return {
        key: value
        for key, value in values.items()
        if value is not None and (key not in hidden or isinstance(value, float))
    }


def stated_masks(
    masks: Sequence[Mask | TableMask],
) -> tuple[str | None, dict[str, Any] | None]:
    """Return the names of a column's masks and their parameters, as the manifest has them.

    Examples
    --------
    >>> stated_masks([MASKS["round"](base=10.0)])
    ('round', {'base': 10.0})
    """
    if not masks:
        return None, None
    if len(masks) == 1:
        return masks[0].name, stated_parameters(masks[0])
    every = {mask.name: stated_parameters(mask) for mask in masks}
    return "+".join(every), every


def _schema_of(name: str, mask: type[Any]) -> dict[str, Any]:
    types = get_type_hints(mask)
    fields = dataclasses.fields(mask)
    return {
        "type": "object",
        "description": (mask.__doc__ or "").split("\n", maxsplit=1)[0],
        "properties": {"name": {"const": name}}
        | {it.name: TypeAdapter(types[it.name]).json_schema() for it in fields},
        "required": ["name", *(it.name for it in fields if _is_required(it))],
        "additionalProperties": False,
    }


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _SchemaOfMasks:
    """The JSON schema of all masks of a registry that are known when it is asked for."""

    known: Mapping[str, type[Any]]

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"oneOf": [_schema_of(name, each) for name, each in self.known.items()]}


MaskSection: TypeAlias = Annotated[
    Any, BeforeValidator(mask_from), PlainSerializer(mask_parameters), _SchemaOfMasks(MASKS)
]
TableMaskSection: TypeAlias = Annotated[
    Any,
    BeforeValidator(table_mask_from),
    PlainSerializer(mask_parameters),
    _SchemaOfMasks(TABLE_MASKS),
]
