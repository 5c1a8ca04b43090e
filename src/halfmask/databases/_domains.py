"""Domains: columns that refer to each other, so that they share one mask and one key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from halfmask._errors import PolicyError

if TYPE_CHECKING:
    from halfmask.databases._policy import ColumnRule
    from halfmask.databases._schema import ForeignKey
    from halfmask.masks import Mask

__all__ = ["ColumnAt", "Domain", "domains_of", "linked_columns"]

#: A column of a table, by both names.
ColumnAt: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """Columns that foreign keys link: their equal values are written equal.

    Attributes
    ----------
    root
        The column whose rule it is, and whose name its key is derived from.
    mask
        The mask of all its columns.
    members
        Its columns.
    """

    root: ColumnAt
    mask: Mask
    members: tuple[ColumnAt, ...]


def domains_of(
    rules: Mapping[ColumnAt, ColumnRule], keys: Iterable[ForeignKey]
) -> dict[ColumnAt, Domain]:
    """Return the domain of each masked column that shares its values with others.

    Parameters
    ----------
    rules
        The rule of each column that is copied.
    keys
        The foreign keys that are made again.

    Raises
    ------
    PolicyError
        If columns that refer to each other have different rules, one that refers to none is a
        reference, or a mask of them doesn't follow from the value alone.
    """
    pairs = _pairs(keys)
    children = {mine for mine, _ in pairs}
    for at, rule in rules.items():
        if rule.word == "reference" and at not in children:
            raise PolicyError(
                f"{_named(at)} is 'reference', and no foreign key of the copy begins there.",
                hint="Write keep, drop or a mask.",
            )
    found: dict[ColumnAt, Domain] = {}
    for members in _groups(pairs):
        domain = _domain(members, rules, children)
        if domain is not None:
            found |= dict.fromkeys(members, domain)
    return found


def linked_columns(keys: Iterable[ForeignKey]) -> dict[ColumnAt, ColumnAt]:
    """Return for each column of a foreign key the one that decides on its rule.

    Parameters
    ----------
    keys
        The foreign keys of a schema.
    """
    pairs = _pairs(keys)
    children = {mine for mine, _ in pairs}
    found: dict[ColumnAt, ColumnAt] = {}
    for members in _groups(pairs):
        root = next((at for at in members if at not in children), members[0])
        found |= dict.fromkeys(members, root)
    return found


def _pairs(keys: Iterable[ForeignKey]) -> list[tuple[ColumnAt, ColumnAt]]:
    return [
        ((key.table, mine), (key.parent, other))
        for key in keys
        for mine, other in zip(key.columns, key.parent_columns, strict=True)
    ]


def _groups(pairs: Iterable[tuple[ColumnAt, ColumnAt]]) -> list[list[ColumnAt]]:
    """Return the columns that are linked by references."""
    groups: dict[ColumnAt, set[ColumnAt]] = {}
    for one, other in pairs:
        joined = groups.get(one, {one}) | groups.get(other, {other})
        for at in joined:
            groups[at] = joined
    return [sorted(group) for group in {id(group): group for group in groups.values()}.values()]


def _domain(
    members: list[ColumnAt], rules: Mapping[ColumnAt, ColumnRule], children: set[ColumnAt]
) -> Domain | None:
    stated = [at for at in members if rules[at].word != "reference"]
    if not stated:
        raise PolicyError(
            f"{_named(members[0])} and the columns that it is linked with are all 'reference'.",
            hint="Give one of them a mask, or keep it.",
        )
    # Whoever is referred to and refers to nobody gives the rule, and the key its name.
    root = next((at for at in stated if at not in children), stated[0])
    rule = rules[root]
    for at in stated:
        if rules[at].word != rule.word or rules[at].mask != rule.mask:
            raise PolicyError(
                f"{_named(at)} and {_named(root)} are linked and have different rules: "
                "references between them would lead nowhere.",
                hint=f'Write "reference" for {_named(at)}, or the same mask for both.',
            )
    if rule.mask is None:
        return None
    if not rule.mask.coarsens or rule.mask.needs_counts:
        raise PolicyError(
            f"{_named(root)} is linked with other columns; its mask {rule.mask.name!r} doesn't "
            "follow from the value alone.",
            hint='Take a mask such as { name = "token" }.',
        )
    return Domain(root=root, mask=rule.mask, members=tuple(members))


def _named(at: ColumnAt) -> str:
    return f"[tables.{at[0]}.columns] {at[1]!r}"
