"""Domains: columns that refer to each other, so that they share one mask and one key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from halfmask._errors import PolicyError
from halfmask.masks import KeyedTokens
from halfmask.masks.integer_permutation import integer_bits
from halfmask.masks.pseudonym import Pseudonym

if TYPE_CHECKING:
    import polars as pl

    from halfmask.databases._policy import ColumnRule
    from halfmask.databases._schema import ForeignKey, TableColumn, TableSchema
    from halfmask.masks import Mask

#: A column of a table, by both names.
ColumnAt: TypeAlias = tuple[str, str]
#: SQL that writes texts as the numbers that they are compared as.
_AS_NUMBER: Final = "CAST(CAST({} AS NUMERIC) AS TEXT)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """Columns that foreign keys link: their equal values are written equal."""

    root: ColumnAt
    mask: Mask
    members: tuple[ColumnAt, ...]
    dtype: pl.DataType | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerTokens:
    """Masks, domains and tables of a plan after integers have integers as tokens."""

    masks: dict[ColumnAt, Mask]
    domains: dict[ColumnAt, Domain]
    sources: dict[str, TableSchema]


def integer_tokens(
    masks: Mapping[ColumnAt, Mask],
    domains: Mapping[ColumnAt, Domain],
    sources: Mapping[str, TableSchema],
) -> IntegerTokens:
    """Return masks whose tokens of integers are integers of the same width, so that types stay.

    Columns of one ``domain`` have integers only if all of them do. Columns that share tokens, by
    references, a ``domain`` or their name, have those of the widest that is no reference.
    """
    made = IntegerTokens(masks=dict(masks), domains=dict(domains), sources=dict(sources))
    columns = {(table.name, it.name): it for table in sources.values() for it in table.columns}
    shared: dict[object, set[ColumnAt]] = defaultdict(set)
    texts: set[object] = set()
    for at, mask in masks.items():
        if isinstance(mask, KeyedTokens):
            # Without a domain, equal names share tokens, and linked columns those of their root.
            own: object = domains[at].root if at in domains else at[1]
            group = own if mask.domain is None else (mask.domain,)
            if mask.integers or _width(columns[at]):
                shared[group].add(at)
            elif mask.domain is not None or at in domains:
                texts.add(group)
    for group in shared.keys() - texts:
        members = shared[group]
        roots = {domains[at].root if at in domains else at for at in members}
        widest = max((columns[at] for at in sorted(roots)), key=_width)
        for at in members:
            _count(at, columns[at], widest, made)
    return made


def with_folds(
    domains: Mapping[ColumnAt, Domain], sources: Mapping[str, TableSchema]
) -> dict[str, TableSchema]:
    """Return tables in which all linked columns are folded as each of them is.

    Texts that refer to a number are compared as numbers: ``05`` leads to 5.
    """
    columns = {(table.name, it.name): it for table in sources.values() for it in table.columns}
    folds: dict[ColumnAt, set[str]] = defaultdict(set)
    for at, domain in domains.items():
        folds[domain.root].update(columns[at].folds)

    def folded(at: ColumnAt) -> TableColumn:
        column = columns[at]
        if at not in domains:
            return replace(column, folds=())
        root = columns[domains[at].root]
        is_number = root.dtype is not None and root.dtype.is_numeric()
        as_number = is_number and str(column.dtype) == "String"
        found = sorted(folds[domains[at].root])
        return replace(column, folds=(*found, *([_AS_NUMBER] if as_number else [])))

    return {
        name: replace(table, columns=tuple(folded((name, it.name)) for it in table.columns))
        for name, table in sources.items()
    }


def _count(at: ColumnAt, column: TableColumn, widest: TableColumn, made: IntegerTokens) -> None:
    """Let the tokens of a column be integers of a width."""
    mask = made.masks[at]
    if isinstance(mask, KeyedTokens):
        mask = made.masks[at] = replace(mask, integers=True)
    if at in made.domains:
        made.domains[at] = replace(made.domains[at], mask=mask, dtype=widest.dtype)
    if _width(column) >= _width(widest):
        return
    wider = replace(
        column,
        type=widest.type,
        dtype=widest.dtype,
        lost=(*column.lost, f"type {column.type} (now {widest.type})"),
    )
    table = made.sources[at[0]]
    made.sources[at[0]] = replace(
        table, columns=tuple(wider if it.name == at[1] else it for it in table.columns)
    )


def _width(column: TableColumn) -> int:
    """Return the bits of a column of integers; 0 for other types."""
    return (integer_bits(column.dtype) or 0) if column.dtype is not None else 0


def domains_of(
    rules: Mapping[ColumnAt, ColumnRule], keys: Iterable[ForeignKey]
) -> dict[ColumnAt, Domain]:
    """Return the domain of each masked column that shares its values with others."""
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
    """Return for each column of a foreign key the one that decides on its rule."""
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
    mask = rule.mask
    if isinstance(mask, Pseudonym) and mask.domain is None:
        # So that another release, or the way back, can have the same.
        mask = replace(mask, domain=".".join(root))
    return Domain(root=root, mask=mask, members=tuple(members))


def _named(at: ColumnAt) -> str:
    return f"[tables.{at[0]}.columns] {at[1]!r}"
