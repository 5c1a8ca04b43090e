"""What the sections of a policy must agree on: roles, guarantees, masks, levels, the person."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from halfmask._errors import ColumnNotFoundError, ParameterError, PolicyError
from halfmask._policy_files import near
from halfmask.book.section import check_unused
from halfmask.claims.manifest import MASKED, MICRODATA
from halfmask.data import ReadOptions
from halfmask.masks import TableMask, check_claimed_once, map_names, traits_of
from halfmask.microdata._differential_privacy import DifferentialPrivacy
from halfmask.microdata._hierarchy_section import build_listed
from halfmask.microdata._synthesis_section import check_synthesis

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask._sections import Choice
    from halfmask.book.section import BookSection
    from halfmask.data import Schema
    from halfmask.masks import AnyTableMask
    from halfmask.microdata._policy_sections import ColumnSection, PolicySections

_OF_CLASSES = ("method", "recoding", "suppression")


def check_policy(policy: PolicySections) -> None:
    """Raise unless all sections of a policy go together."""
    _check_sections(policy)
    ReadOptions(**dict(policy.input), normalize=policy.normalize)  # raises where they can't be
    _check_places(policy)
    _check_masks(policy)
    _check_private(policy)
    for number, section in enumerate(policy.guarantee_sections, start=1):
        _check_guarantee(f"[[guarantees]] number {number}", section, policy)
    if policy.method.made().needs_guide and not policy.is_masks_alone:
        _check_split_targets(policy)
    if policy.person is not None:
        _check_person(policy.person, policy)
    if policy.sampling_weights is not None:
        _check_weights(policy.sampling_weights, policy)
    if policy.kind != MICRODATA:
        check_unused(policy.book, has_people=policy.kind == MASKED)
    if policy.book is not None and policy.kind in {MASKED, MICRODATA}:
        whose_columns(policy, policy.book)
        is_judged = any(each.role == "sensitive" for each in policy.columns.values())
        if not is_judged and not (policy.book.min_l is None and policy.book.max_t is None):
            raise PolicyError(
                "[book] has min_l or max_t, and no column is sensitive.",
                hint="They are about sensitive columns: leave them out, or give a column the role.",
            )


def _check_sections(policy: PolicySections) -> None:
    columns, guarantees = policy.columns, policy.guarantee_sections
    if "" in columns:
        raise PolicyError("A column must have a name that is not empty.")
    for name, column in columns.items():
        if column.normalize and column.role == "identifier" and name not in policy.read_identifiers:
            raise PolicyError(
                f"[columns.{name}] is an identifier and has normalize; identifiers aren't read.",
                hint="Leave it out. Only the person's spellings are unified.",
            )
    if policy.synthesis is not None:
        _check_synthesis(policy)
        roles = {name: it.role for name, it in columns.items()}
        check_synthesis(policy.synthesis, roles, policy.person)
        return
    if not guarantees and not policy.masks and not policy.table_masks:
        raise PolicyError(
            "The policy has no [[guarantees]] and no masks: one is required.",
            hint='Add one, such as model = "k-anonymity" with the k that you want.',
        )
    for section in _OF_CLASSES:
        if not guarantees and section in policy.model_fields_set:
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


def _check_places(policy: PolicySections) -> None:
    """Raise unless places and maps go with the other sections."""
    for name, column in policy.columns.items():
        own = [each for each in column.points or () if each in policy.columns]
        twice = [each for each in own if policy.columns[each].role != "identifier"]
        if twice:
            raise PolicyError(
                f"[columns.{name}] is made of {twice[0]!r}, which has a section of its own.",
                hint="Leave that section out: only the place is a column of the release. For a "
                "mask that reads it, give it the role 'identifier'.",
            )
        if column.hierarchy is not None:
            _check_maps(f"[columns.{name}] hierarchy", column.hierarchy.maps, policy)
    for number, mask in enumerate(policy.table_masks, start=1):
        _check_maps(f"[[masks]] number {number}", map_names(mask), policy)


def _check_maps(where: str, maps: Sequence[str], policy: PolicySections) -> None:
    missing = [each for each in maps if each not in policy.maps]
    if missing:
        raise PolicyError(
            f"{where} names the map {missing[0]!r}, which isn't in [maps].",
            hint=near(missing[0], list(policy.maps)),
        )


def _check_synthesis(policy: PolicySections) -> None:
    refused = {"guarantee_sections", "table_masks", *_OF_CLASSES}
    if policy.masks or policy.model_fields_set & refused:
        raise PolicyError(
            "[synthesis] goes with no guarantees, masks, method, recoding or suppression.",
            hint="Make a policy of its own for each release.",
        )
    _check_named("[synthesis]", [] if policy.synthesis is None else policy.synthesis.named, policy)
    for name, column in policy.columns.items():
        if column.of_classes:
            raise PolicyError(
                f"[columns.{name}] has a {column.of_classes[0]}, which is about classes; "
                "[synthesis] makes none.",
                hint="Leave it out.",
            )


def _check_masks(policy: PolicySections) -> None:
    for number, mask in enumerate(policy.table_masks, start=1):
        _check_columns(f"[[masks]] number {number}", mask, policy.columns)
    try:
        if policy.masks or policy.table_masks:
            check_claimed_once(policy.masks, policy.table_masks)
    except ParameterError as error:
        raise PolicyError(error.what, hint=error.hint) from None
    if policy.is_masks_alone:
        _check_alone(policy)
        return
    for mask in policy.table_masks:
        if traits_of(mask).alone:
            raise PolicyError(
                f"The mask {mask.name!r} goes with no [[guarantees]]: rows that classes suppress "
                "would be missing in its counts.",
                hint="Make a release of masks alone.",
            )
    for name, column in policy.columns.items():
        if column.role == "quasi_identifier":
            _check_not_randomised("The policy", name, policy)


def _check_columns(where: str, mask: AnyTableMask, columns: Mapping[str, ColumnSection]) -> None:
    changed = mask.columns if isinstance(mask, TableMask) else ()
    missing = [name for name in (*changed, *mask.reads) if name not in columns]
    if missing:
        found = ColumnNotFoundError.of(missing, columns, where="the policy's [columns]")
        raise PolicyError(f"{where}: {found.what.written}", hint=found.hint)
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


def _check_not_randomised(where: str, column: str, policy: PolicySections) -> None:
    for mask in policy.masks_of(column):
        if not mask.coarsens:
            raise PolicyError(
                f"{where} has a guarantee about column {column!r}, whose values are randomised by "
                f"the mask {mask.name!r}: what is counted of them would be true of nobody.",
                hint="Drop the guarantee or the mask, or take a mask that coarsens.",
            )


def _check_not_split(where: str, column: str, policy: PolicySections) -> None:
    for mask in policy.masks_of(column):
        if traits_of(mask).splits_values:
            raise PolicyError(
                f"{where} has a guarantee about column {column!r}. The mask {mask.name!r} can "
                "write different values for equal cells, so more values would be counted than "
                "people have.",
                hint="Drop the guarantee, or mask the column otherwise.",
            )


def _check_alone(policy: PolicySections) -> None:
    """Refuse what only guarantees use: it would be without any effect."""
    for name, column in policy.columns.items():
        unused = column.of_classes
        if any(traits_of(mask).generalizes for mask in policy.masks_of(name)):
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
    tree = build_listed(column)
    rows = zip(*(tree.labels(level) for level in range(tree.height)), strict=True)
    return replace(mask, hierarchy=tuple(rows))  # type: ignore[type-var] # as its trait says


def _check_private(policy: PolicySections) -> None:
    """Raise unless all sections of a policy go with differential privacy, if it has that."""
    columns, guarantees = policy.columns, policy.guarantee_sections
    private = [each for each in guarantees if each.made_type is DifferentialPrivacy]
    if not private:
        return
    others = [each.named for each in guarantees if each is not private[0]]
    if others:
        raise _without(
            f"the guarantee {others[0]!r}",
            "The size of the classes follows from epsilon, delta and sampling_fraction.",
        )
    masked = [f"the mask of [columns.{name}]" for name, it in columns.items() if it.mask]
    masked += [f"the mask {each.name!r}" for each in policy.table_masks]
    if masked:
        raise _without(masked[0], "Give the column a hierarchy: epsilon covers its levels.")
    for section in _OF_CLASSES:
        if section in policy.model_fields_set:
            raise _without(f"[{section}]", "Each column is written at one level of its hierarchy.")
    for name, column in columns.items():
        if column.role != "identifier":
            _check_column(name, column)
    _check_levels(columns, search=bool(private[0].parameters["search_epsilon"]))


def _check_column(name: str, column: ColumnSection) -> None:
    where = f"[columns.{name}]"
    if column.role != "quasi_identifier":
        raise _without(
            f"{where} role = {column.role!r}",
            "A column that is released unchanged reveals rows. Give it the role "
            "'quasi_identifier', or 'identifier' to drop it.",
        )
    if column.place:
        raise _without(
            f"{where} hierarchy by {column.place!r}",
            "Write the areas into the table, and give the column groups or a hierarchy file.",
        )
    if column.missing != "value":
        raise _without(
            f"{where} missing = {column.missing!r}", "Missing cells are a value of their own."
        )
    if column.recoding is not None or column.weight != 1:
        key = "weight" if column.recoding is None else "recoding"
        raise _without(f"{where} {key}", "Each column is written at one level of its hierarchy.")
    tree = column.hierarchy
    if tree is not None and tree.prefix is not None and tree.length is None:
        raise PolicyError(
            f"{where} hierarchy lacks the key 'length', which 'differential-privacy' needs.",
            hint="Without it, labels are as long as the longest value of the table.",
        )


def _check_levels(columns: Mapping[str, ColumnSection], *, search: bool) -> None:
    """Raise unless levels are given, or paid for."""
    chosen = [
        name
        for name, it in columns.items()
        if it.role != "identifier"
        and (it.least_level is None or it.least_level != it.greatest_level)
    ]
    if chosen and not search:
        raise PolicyError(
            f"[columns.{chosen[0]}] leaves its level open, and 'differential-privacy' has no "
            "search_epsilon to choose it.",
            hint="Give least_level and greatest_level the same number, known without the rows; or "
            "give search_epsilon a part of epsilon.",
        )
    if search and not chosen:
        raise PolicyError(
            "'differential-privacy' has a search_epsilon, and no level is open.",
            hint="Leave search_epsilon out.",
        )


def _without(what: str, hint: str) -> PolicyError:
    return PolicyError(f"The guarantee 'differential-privacy' doesn't go with {what}.", hint=hint)


def _check_guarantee(where: str, section: Choice, policy: PolicySections) -> None:
    """Raise unless the column that a guarantee is about can have it."""
    if section.about is None:
        return
    _check_named(where, [section.about], policy)
    column = policy.columns[section.about]
    if column.role != "sensitive":
        raise PolicyError(
            f"{where} is about column {section.about!r}, whose role isn't 'sensitive'. "
            f"Got {column.role!r}.",
            hint="Guarantees about a column bound what is learnt of a sensitive one.",
        )
    _check_not_randomised(where, section.about, policy)
    _check_not_split(where, section.about, policy)
    # The type of an ordinal column can say its order; that is seen when there is a table.
    may_say = column.kind == "ordinal" and not section.made_type.needs_hierarchy(
        section.parameters, "numeric"
    )
    if asks_for_tree(section, policy.columns) and column.hierarchy is None and not may_say:
        raise PolicyError(
            f"{where} asks for an order or tree of column {section.about!r}, which has no "
            "hierarchy.",
            hint='Give the column a hierarchy, or choose distance = "equal".',
        )


def asks_for_tree(section: Choice, columns: Mapping[str, ColumnSection]) -> bool:
    """Return whether a guarantee is counted along a hierarchy."""
    kind = None if section.about is None else columns[section.about].kind
    return bool(section.made_type.needs_hierarchy(section.parameters, kind))


def _check_split_targets(policy: PolicySections) -> None:
    split_targets = policy.split_targets
    if not split_targets:
        raise PolicyError(
            f"[method] {policy.method.named} has no split targets: it names no columns and no "
            "column is a label.",
            hint='Write split_targets = ["..."], or label = true in a column.',
        )
    _check_named("[method] split_targets", split_targets, policy)
    dropped = [name for name in split_targets if policy.columns[name].role == "identifier"]
    if dropped:
        raise PolicyError(
            f"[method] split_targets names {dropped[0]!r}, an identifier; identifiers are dropped."
        )


def _check_weights(weights: str, policy: PolicySections) -> None:
    """Raise unless the report weighs by a column, which is released unchanged."""
    _check_named("sampling_weights", [weights], policy)
    if policy.kind != MASKED:
        raise PolicyError(
            "sampling_weights is for the report of masks alone: no other report weighs rows.",
            hint="Leave it out, and give the weights to halfmask assess regression.",
        )
    section = policy.columns[weights]
    if section.role == "identifier" or section.kind != "numeric" or policy.masks_of(weights):
        raise PolicyError(
            f"sampling_weights names column {weights!r}, which must be numeric, without a mask, "
            "and no identifier.",
        )


def _check_person(person: str, policy: PolicySections) -> None:
    """Raise unless guarantees can count the persons of a column."""
    _check_named("person", [person], policy)
    if policy.is_masks_alone:
        raise PolicyError(
            "person says what guarantees count, and the policy has no [[guarantees]].",
            hint="Add a guarantee, or leave it out.",
        )
    role = policy.columns[person].role
    if role != "identifier":
        raise PolicyError(
            f"person names column {person!r}, whose role isn't 'identifier'. Got {role!r}.",
            hint="A column that says whose row it is must be dropped.",
        )
    undefined = [
        each.named for each in policy.guarantee_sections if not each.made_type.counts_persons
    ]
    if undefined:
        raise PolicyError(
            f"The guarantee {undefined[0]!r} isn't defined where a person is the unit.",
            hint="Leave person out: then it counts rows. Or ask for another model.",
        )


def whose_columns(policy: PolicySections, section: BookSection | None) -> tuple[list[str], bool]:
    """Return the columns that say whose row it is, and whether they only match people."""
    match = () if section is None else section.match
    person = (section and section.person) or (None if match else policy.person)
    known = [name for name, it in policy.columns.items() if it.role == "quasi_identifier"]
    names = [person] if person is not None else list(match or known)
    _check_named("[book]", names, policy)
    if not names:
        raise PolicyError(
            "[book] names no person, and there is no quasi-identifier to match people by.",
            hint="Name the column that says whose row it is as person.",
        )
    is_dropped = person is None or policy.columns[person].role == "identifier"
    if not is_dropped and not policy.is_masks_alone:
        raise PolicyError(
            f"[book] has the person {person!r}, whose role isn't 'identifier'. "
            f"Got {policy.columns[str(person)].role!r}.",
            hint="A column that says whose row it is must be dropped.",
        )
    return names, person is None


def _check_named(where: str, names: Sequence[str], policy: PolicySections) -> None:
    missing = [name for name in names if name not in policy.columns]
    if missing:
        found = ColumnNotFoundError.of(missing, policy.columns, where="the policy's [columns]")
        raise PolicyError(f"{where}: {found.what.written}", hint=found.hint)
