"""What the sections of a policy must agree on: roles, guarantees, split targets, the person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask._errors import ColumnNotFoundError, PolicyError
from halfmask.microdata._mask_checks import check_not_randomised, check_not_split
from halfmask.microdata._synthesis_section import check_synthesis

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from halfmask._sections import Choice
    from halfmask.masks import Mask, TableMask
    from halfmask.microdata._policy_sections import ColumnSection
    from halfmask.microdata._synthesis_section import SynthesisSection


def check_sections(
    columns: Mapping[str, ColumnSection],
    guarantees: Sequence[Choice],
    *,
    has_masks: bool,
    synthesis: SynthesisSection | None,
    person: str | None,
    given: AbstractSet[str],
) -> None:
    """Raise unless a policy has sections that go together."""
    if "" in columns:
        raise PolicyError("A column must have a name that is not empty.")
    for name, column in columns.items():
        if column.normalize and column.role == "identifier" and name != person:
            raise PolicyError(
                f"[columns.{name}] is an identifier and has normalize; identifiers aren't read.",
                hint="Leave it out. Only the person's spellings are unified.",
            )
    if synthesis is not None:
        _check_synthesis(synthesis, columns, has_masks=has_masks, given=given)
        check_synthesis(synthesis, {name: it.role for name, it in columns.items()}, person)
        return
    if not guarantees and not has_masks:
        raise PolicyError(
            "The policy has no [[guarantees]] and no masks: one is required.",
            hint='Add one, such as model = "k-anonymity" with the k that you want.',
        )
    for section in ("method", "recoding", "suppression"):
        if not guarantees and section in given:
            raise PolicyError(
                f"[{section}] is about classes, and the policy has no [[guarantees]].",
                hint="Add a guarantee, or leave the section out.",
            )
    known = any(each.role == "quasi_identifier" for each in columns.values())
    if guarantees and not known:
        raise PolicyError(
            "No column is a quasi_identifier, so there are no classes.",
            hint="Give that role to columns that point at a person together with others.",
        )


def _check_synthesis(
    section: SynthesisSection,
    columns: Mapping[str, ColumnSection],
    *,
    has_masks: bool,
    given: AbstractSet[str],
) -> None:
    if has_masks or given & {
        "guarantee_sections",
        "table_masks",
        "method",
        "recoding",
        "suppression",
    }:
        raise PolicyError(
            "[synthesis] goes with no guarantees, masks, method, recoding or suppression.",
            hint="Make a policy of its own for each release.",
        )
    _check_named("[synthesis]", section.named, columns)
    for name, column in columns.items():
        if column.of_classes:
            raise PolicyError(
                f"[columns.{name}] has a {column.of_classes[0]}, which is about classes; "
                "[synthesis] makes none.",
                hint="Leave it out.",
            )


def check_guarantee(
    where: str,
    section: Choice,
    columns: Mapping[str, ColumnSection],
    *,
    masks: Sequence[Mask | TableMask],
) -> None:
    """Raise unless the column that a guarantee is about can have it."""
    if section.about is None:
        return
    _check_named(where, [section.about], columns)
    column = columns[section.about]
    if column.role != "sensitive":
        raise PolicyError(
            f"{where} is about column {section.about!r}, whose role isn't 'sensitive'. "
            f"Got {column.role!r}.",
            hint="Guarantees about a column bound what is learnt of a sensitive one.",
        )
    check_not_randomised(where, section.about, masks)
    check_not_split(where, section.about, masks)
    # The type of an ordinal column can say its order; that is seen when there is a table.
    may_say = column.kind == "ordinal" and not section.made_type.needs_hierarchy(
        section.parameters, "numeric"
    )
    if asks_for_tree(section, columns) and column.hierarchy is None and not may_say:
        raise PolicyError(
            f"{where} asks for an order or tree of column {section.about!r}, which has no "
            "hierarchy.",
            hint='Give the column a hierarchy, or choose distance = "equal".',
        )


def asks_for_tree(section: Choice, columns: Mapping[str, ColumnSection]) -> bool:
    """Return whether a guarantee is counted along a hierarchy."""
    kind = None if section.about is None else columns[section.about].kind
    return bool(section.made_type.needs_hierarchy(section.parameters, kind))


def check_split_targets(
    method: str, split_targets: Sequence[str], columns: Mapping[str, ColumnSection]
) -> None:
    """Raise unless a method that predicts columns has columns to predict."""
    if not split_targets:
        raise PolicyError(
            f"[method] {method} has no split targets: it names no columns and no column is a "
            "label.",
            hint='Write split_targets = ["..."], or label = true in a column.',
        )
    _check_named("[method] split_targets", split_targets, columns)
    dropped = [name for name in split_targets if columns[name].role == "identifier"]
    if dropped:
        raise PolicyError(
            f"[method] split_targets names {dropped[0]!r}, an identifier; identifiers are dropped."
        )


def check_person(
    person: str,
    columns: Mapping[str, ColumnSection],
    guarantees: Sequence[Choice],
    *,
    is_masks_alone: bool,
) -> None:
    """Raise unless guarantees can count the persons of a column."""
    _check_named("person", [person], columns)
    if is_masks_alone:
        raise PolicyError(
            "person says what guarantees count, and the policy has no [[guarantees]].",
            hint="Add a guarantee, or leave it out.",
        )
    role = columns[person].role
    if role != "identifier":
        raise PolicyError(
            f"person names column {person!r}, whose role isn't 'identifier'. Got {role!r}.",
            hint="A column that says whose row it is must be dropped.",
        )
    undefined = [each.named for each in guarantees if not each.made_type.counts_persons]
    if undefined:
        raise PolicyError(
            f"The guarantee {undefined[0]!r} isn't defined where a person is the unit.",
            hint="Leave person out: then it counts rows. Or ask for another model.",
        )


def _check_named(where: str, names: Sequence[str], columns: Mapping[str, ColumnSection]) -> None:
    missing = [name for name in names if name not in columns]
    if missing:
        found = ColumnNotFoundError.of(missing, columns, where="the policy's [columns]")
        raise PolicyError(f"{where}: {found.what.written}", hint=found.hint)
