"""Kinds of release: which sections of a policy make which kind, and how one becomes another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import PolicyError
from halfmask.workbench._policy_edits import remove_section

if TYPE_CHECKING:
    from halfmask.microdata import Policy

#: Sections that only classes have.
_OF_CLASSES: Final = ("guarantees", "method", "recoding", "suppression", "person")
_K: Final = 10
#: Differential privacy to begin with: rows are drawn with this probability, levels cost a tenth.
_EPSILON, _DRAWN, _SEARCH = 1.0, 0.1, 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class KindChoice:
    """A kind of release that the page offers."""

    name: str
    #: What the policy calls it.
    kind: str
    title: str
    sentence: str
    change: Callable[[MutableMapping[str, Any], Policy, int], list[str]]


def change_kind(document: MutableMapping[str, Any], policy: Policy, name: str, rows: int) -> str:
    """Make a policy one of another kind, and say what was left out of it."""
    choice = next((it for it in KINDS if it.name == name), None)
    if choice is None:
        raise PolicyError("There is no such kind of release.")
    left_out = Counter(choice.change(document, policy, rows))
    if not left_out:
        return f"The release has {choice.title.lower()} now."
    named = ", ".join(f"{what} ({n})" if n > 1 else what for what, n in left_out.items())
    return f"The release has {choice.title.lower()} now. Left out: {named}. Undo brings it back."


def _to_classes(document: MutableMapping[str, Any], policy: Policy, rows: int) -> list[str]:
    del rows
    removed = _without(document, ("synthesis",))
    if policy.is_private:
        removed += _without(document, ("guarantees",))
    if "guarantees" not in document:
        add_guarantee(document, {"model": "k-anonymity", "k": _K})
    return removed


def _to_masks(document: MutableMapping[str, Any], policy: Policy, rows: int) -> list[str]:
    del rows
    columns = document["columns"].values()
    if not policy.table_masks and not any("mask" in each for each in columns):
        raise PolicyError(
            "No column has a mask, so a release of masks would change nothing.",
            hint="Choose masks on the page Columns. Then choose this kind again.",
        )
    return _without(document, (*_OF_CLASSES, "synthesis")) + _without_classes(document, policy)


def _to_synthetic(document: MutableMapping[str, Any], policy: Policy, rows: int) -> list[str]:
    del rows
    removed = _without(document, (*_OF_CLASSES, "masks", "book"))
    removed += _without_masks(document) + _without_classes(document, policy, generalizes=False)
    document.setdefault("synthesis", {"kind": "full"})
    return removed


def _to_private(document: MutableMapping[str, Any], policy: Policy, rows: int) -> list[str]:
    removed = _without(document, ("synthesis", "masks", "book", *_OF_CLASSES[:-1]))
    removed += _without_masks(document)
    is_open = False
    for name, column in policy.columns.items():
        section = document["columns"][name]
        if column.role == "identifier":
            continue
        if column.role != "quasi_identifier":
            section["role"] = "quasi_identifier"
            removed.append(f"role {column.role!r}")
        removed += _without(section, ("missing", "recoding", "weight"))
        is_open |= column.least_level is None or column.least_level != column.greatest_level
    terms = {"epsilon": _EPSILON, "delta": 10.0 ** -(len(str(rows)) + 2)}
    terms |= {"sampling_fraction": _DRAWN} | ({"search_epsilon": _SEARCH} if is_open else {})
    add_guarantee(document, {"model": "differential-privacy", **terms})
    return removed


def _without(section: MutableMapping[str, Any], keys: tuple[str, ...]) -> list[str]:
    """Remove keys, and name those that were there."""
    there = [key for key in keys if key in section]
    for key in there:
        remove_section(section, key)
    return there


def _without_masks(document: MutableMapping[str, Any]) -> list[str]:
    found = (_without(section, ("mask",)) for section in document["columns"].values())
    return [name for names in found for name in names]


def _without_classes(
    document: MutableMapping[str, Any], policy: Policy, *, generalizes: bool = True
) -> list[str]:
    """Remove what only classes use of columns; masks that generalize keep their hierarchies."""
    from halfmask.masks import traits_of  # noqa: PLC0415 # the page must be ready within a second

    removed = []
    for name, column in policy.columns.items():
        used = any(traits_of(mask).generalizes for mask in policy.masks_of(name))
        kept = {"hierarchy"} if generalizes and used else set()
        keys = tuple(key for key in column.of_classes if key not in kept)
        removed += _without(document["columns"][name], keys)
    return removed


def add_guarantee(document: MutableMapping[str, Any], section: dict[str, Any]) -> None:
    """Append a guarantee to a policy."""
    import tomlkit  # noqa: PLC0415 # as above

    added = tomlkit.table()
    added.update(section)
    if "guarantees" not in document:
        document["guarantees"] = tomlkit.aot()
    document["guarantees"].append(added)


KINDS: Final = (
    KindChoice(
        name="classes",
        kind="microdata",
        title="Classes",
        sentence="Rows of people, generalized until they share their quasi-identifiers with "
        "others. Guarantees such as k-anonymity hold.",
        change=_to_classes,
    ),
    KindChoice(
        name="masks",
        kind="masked",
        title="Masks",
        sentence="Rows of people, whose columns are rounded, tokenized, swapped or moved. No "
        "privacy model holds; the risk is measured.",
        change=_to_masks,
    ),
    KindChoice(
        name="synthetic",
        kind="synthetic",
        title="Synthetic rows",
        sentence="Rows drawn from a model of the table; by chance one can equal a person's. No "
        "privacy model holds; attacks are measured.",
        change=_to_synthetic,
    ),
    KindChoice(
        name="private",
        kind="private-microdata",
        title="Private rows",
        sentence="Rows drawn and generalized at random, under differential privacy: what they "
        "show of one person is bounded, whatever an attacker knows.",
        change=_to_private,
    ),
)
