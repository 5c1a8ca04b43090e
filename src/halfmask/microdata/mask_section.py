"""``mask`` of a column and ``[[masks]]`` in a policy: the masks of `halfmask.masks`, by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from pydantic import AfterValidator, BeforeValidator, PlainSerializer

from halfmask._sections import Choice, OneOf
from halfmask.masks import MASKS, TABLE_MASKS, Mask, traits_of

if TYPE_CHECKING:
    from halfmask.masks import AnyTableMask, TableMask

MASK: Final = OneOf(
    kinds=MASKS,
    key="name",
    elsewhere=(TABLE_MASKS, "{} is a mask of several columns or of rows: write it in [[masks]]."),
)
TABLE_MASK: Final = OneOf(
    kinds=TABLE_MASKS,
    key="name",
    without=frozenset({"maps"}),  # of [maps.NAME]
    elsewhere=(MASKS, "{} is a mask of one column: write it as the 'mask' of the column."),
)


def mask_parameters(mask: Mask | AnyTableMask) -> dict[str, Any]:
    """Return a mask as a policy writes it, without what is the default.

    Examples
    --------
    >>> mask_parameters(MASKS["tails"](high=100.0))
    {'name': 'tails', 'high': 100.0}
    """
    fields = dataclasses.fields(mask)  # type: ignore[arg-type] # each is one
    values = {field.name: getattr(mask, field.name) for field in fields}
    # A field that isn't compared is no parameter, such as the opened maps of a geomask.
    kept = {it.name: values[it.name] for it in fields if it.compare and not _is_default(it, values)}
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
    if len(masks) == 1:
        return masks[0].name, stated_parameters(masks[0])
    every = {mask.name: stated_parameters(mask) for mask in masks}
    return "+".join(every), every


def _in_keys(mask: Any) -> object:  # noqa: ANN401 # whatever is given for a mask
    """Return a mask that is a value already in the words of a policy."""
    return (
        mask_parameters(mask) if getattr(mask, "name", None) in {**MASKS, **TABLE_MASKS} else mask
    )


MaskSection: TypeAlias = Annotated[
    Any,
    MASK,
    BeforeValidator(_in_keys),
    AfterValidator(Choice.made),
    PlainSerializer(mask_parameters),
]
TableMaskSection: TypeAlias = Annotated[
    Any,
    TABLE_MASK,
    BeforeValidator(_in_keys),
    AfterValidator(Choice.made),
    PlainSerializer(mask_parameters),
]
