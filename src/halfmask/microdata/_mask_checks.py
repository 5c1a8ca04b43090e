"""What a policy's masks must agree with: its columns, its roles and its guarantees."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from halfmask._errors import ColumnNotFoundError, ParameterError, PolicyError
from halfmask.masks import TableMask, check_claimed_once, traits_of
from halfmask.microdata._hierarchy_section import built

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.data import Schema
    from halfmask.masks import AnyTableMask, Mask
    from halfmask.microdata._policy_sections import ColumnSection


def check_masks(
    columns: Mapping[str, ColumnSection], table_masks: Sequence[AnyTableMask], *, is_alone: bool
) -> None:
    """Raise unless the masks of a policy agree with its columns and roles."""
    for number, mask in enumerate(table_masks, start=1):
        _check_columns(f"[[masks]] number {number}", mask, columns)
    own = {name: it.mask for name, it in columns.items() if it.mask is not None}
    try:
        check_claimed_once(own, table_masks)
    except ParameterError as error:
        raise PolicyError(error.what, hint=error.hint) from None
    if is_alone:
        _check_alone(columns, table_masks)
        return
    for mask in table_masks:
        if traits_of(mask).alone:
            raise PolicyError(
                f"The mask {mask.name!r} goes with no [[guarantees]]: rows that classes suppress "
                "would be missing in its counts.",
                hint="Make a release of masks alone.",
            )
    for name, column in columns.items():
        if column.role == "quasi_identifier":
            check_not_randomised("The policy", name, masks_of(name, columns, table_masks))


def masks_of(
    column: str, columns: Mapping[str, ColumnSection], table_masks: Sequence[AnyTableMask]
) -> tuple[Mask | TableMask, ...]:
    """Return all masks that change a column, in order."""
    own = columns[column].mask if column in columns else None
    more = [it for it in table_masks if isinstance(it, TableMask) and column in it.columns]
    return (*([] if own is None else [own]), *more)


def _check_columns(where: str, mask: AnyTableMask, columns: Mapping[str, ColumnSection]) -> None:
    changed = mask.columns if isinstance(mask, TableMask) else ()
    missing = [name for name in (*changed, *mask.reads) if name not in columns]
    if missing:
        found = ColumnNotFoundError.of(missing, columns, where="the policy's [columns]")
        raise PolicyError(f"{where}: {found.what}", hint=found.hint)
    suppresses = isinstance(mask, TableMask) and mask.suppresses
    for name in changed:
        if columns[name].role == "identifier":
            raise PolicyError(
                f"{where} changes the column {name!r}, an identifier; identifiers are dropped.",
                hint="A released column of pseudonyms has the role 'insensitive'.",
            )
        if columns[name].hierarchy is not None and not suppresses:
            raise PolicyError(
                f"{where} changes the column {name!r}, whose hierarchy is about raw values.",
                hint="Leave the hierarchy or the mask out.",
            )


def check_not_randomised(where: str, column: str, masks: Sequence[Mask | TableMask]) -> None:
    """Raise if a guarantee is about a column that a mask randomises."""
    for mask in masks:
        if not mask.coarsens:
            raise PolicyError(
                f"{where} has a guarantee about column {column!r}, whose values are randomised by "
                f"the mask {mask.name!r}: what is counted of them would be true of nobody.",
                hint="Drop the guarantee or the mask, or take a mask that coarsens.",
            )


def check_not_split(where: str, column: str, masks: Sequence[Mask | TableMask]) -> None:
    """Raise if a guarantee is about values of a column of which a mask makes several from one."""
    for mask in masks:
        if traits_of(mask).splits_values:
            raise PolicyError(
                f"{where} has a guarantee about column {column!r}. The mask {mask.name!r} can "
                "write different values for equal cells, so more values would be counted than "
                "people have.",
                hint="Drop the guarantee, or mask the column otherwise.",
            )


def _check_alone(columns: Mapping[str, ColumnSection], table_masks: Sequence[AnyTableMask]) -> None:
    """Refuse what only guarantees use: it would be without any effect."""
    for name, column in columns.items():
        masks = masks_of(name, columns, table_masks)
        unused = column.of_classes
        if any(traits_of(mask).generalizes for mask in masks):
            unused = [it for it in unused if it != "hierarchy"]
        if unused:
            raise PolicyError(
                f"[columns.{name}] has a {unused[0]}, and the policy has no [[guarantees]].",
                hint="Add a guarantee, or leave it out.",
            )


def with_hierarchies(
    table_masks: Sequence[AnyTableMask], schema: Schema
) -> tuple[AnyTableMask, ...]:
    """Return masks that know the hierarchies of their columns, where they generalize."""
    return tuple(_with_hierarchy(mask, schema) for mask in table_masks)


def _with_hierarchy(mask: AnyTableMask, schema: Schema) -> AnyTableMask:
    if not isinstance(mask, TableMask) or not traits_of(mask).generalizes:
        return mask
    column = schema[mask.columns[0]]
    if column.hierarchy is None:
        return mask
    if getattr(mask, "hierarchy", None) is not None:
        raise PolicyError(
            f"Both the mask {mask.name!r} and the column {column.name!r} have a hierarchy.",
            hint="Leave one of them out.",
        )
    tree = built(column)
    rows = zip(*(tree.labels(level) for level in range(tree.height)), strict=True)
    return replace(mask, hierarchy=tuple(rows))  # type: ignore[type-var] # as its trait says
