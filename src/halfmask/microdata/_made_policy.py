"""A policy made from a few words about a table: what `describe` proposes, on the strict side."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmask._errors import ColumnNotFoundError, ColumnWarning, ParameterError
from halfmask._validation import integer_at_least, number_between, one_of
from halfmask.anonymize import METHODS
from halfmask.description.policy_text import Wanted, policy_text, proposed_diversity
from halfmask.description.tables import propose_columns
from halfmask.description.thresholds import FEW_ROWS, NEARLY_UNIQUE
from halfmask.microdata._given_hierarchies import (
    Hierarchies,
    checked_hierarchies,
    hierarchy_sections,
)
from halfmask.microdata._policy import Policy

if TYPE_CHECKING:
    from halfmask.data import Role
    from halfmask.description import Proposal
    from halfmask.release.release import ReleasePolicy

UNSURE = "You didn't name it, and it is unsure what it is: as an identifier it is dropped."
OWN_VALUES = (
    "You didn't name it, and nearly every row has a value of its own: as an identifier it is "
    "dropped, whatever its name says."
)
#: Of columns that are named as sensitive, where `describe` proposes none.
LEAST_L = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class MadePolicy:
    """A policy that was made, and what was decided of columns that nobody named.

    Parameters
    ----------
    text
        The policy as commented TOML.
    generalized, unchanged, diverse
        Columns that nobody named and that are released: as quasi-identifiers, or unchanged; those
        of them that get l-diversity.
    identifying, unlike, unsure
        Columns that are dropped: they identify people, nearly every row has a value of its own, or
        it is unsure what they are.
    folder
        Where the text looks for files of hierarchies.
    """

    text: str
    generalized: tuple[str, ...]
    unchanged: tuple[str, ...]
    diverse: tuple[str, ...]
    identifying: tuple[str, ...]
    unlike: tuple[str, ...]
    unsure: tuple[str, ...]
    folder: Path = field(default_factory=Path.cwd)

    @property
    def policy(self) -> Policy:
        """The policy as a value."""
        return Policy.from_toml(self.text, folder=self.folder)

    def with_text(self, text: str) -> MadePolicy:
        """Return the same with another text, such as one that says how the table is read.

        Parameters
        ----------
        text
            The text of a policy, in TOML.
        """
        return replace(self, text=text)

    @property
    def decisions(self) -> dict[str, tuple[str, ...]]:
        """The columns that nobody named, by what happens to them."""
        named = {
            "generalized": self.generalized,
            "released unchanged": self.unchanged,
            "given l-diversity, as sensitive": self.diverse,
            "dropped, since they identify": self.identifying,
            "dropped, since nearly all their values differ": self.unlike,
            "dropped, since it is unsure what they are": self.unsure,
        }
        return {what: names for what, names in named.items() if names}


def make_policy(  # noqa: PLR0913 # as of protect
    table: object,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str] = (),
    label: str | None = None,
    k: int | None,
    l: int | None = None,
    person: str | None = None,
    hierarchies: Hierarchies | None = None,
    method: str | None = None,
    suppression: float | None = None,
    folder: str | Path | None = None,
) -> MadePolicy:
    """Make a policy of the named columns, and of what `describe` proposes for others.

    Parameters
    ----------
    table
        What `describe` takes.
    quasi_identifiers
        Columns that others may know of a person; at least one.
    sensitive
        Columns that nobody may learn of a person.
    label
        The column that a model is to predict.
    k
        The k of k-anonymity, 2 or more.
    l
        The l of distinct l-diversity of each column in `sensitive`; ``None``: as `describe`
        proposes, and 2 where it proposes none.
    person
        The column that says whose row it is, if people may have several rows; it is dropped.
    hierarchies
        A path or a `Hierarchy` for quasi-identifiers, by name; or a folder with files such as
        ``age.csv``, called as the columns are, with ``%2F`` for a slash. Files of other columns in
        the folder aren't read.
    method
        The name of a method, such as ``"full-domain"``; by default ``"mondrian"``, and
        ``"guided"`` with a label.
    suppression
        The share of rows, 0 to 1, that may be left out; by default 0.02.
    folder
        Where the policy will be, since it names files relative to it; by default the current one.

    Raises
    ------
    ColumnNotFoundError
        If a column that is named, or that a file of the folder is called by, isn't there.
    ParameterError
        If k is missing, a column is named twice, the label or a sensitive column identifies people,
        a sensitive column has one value, or hierarchies are of no quasi-identifier.

    Notes
    -----
    **Guarantees.** A column that nobody named is dropped if it identifies people or if it is
    unsure what it is. It is generalized if it surely is a quasi-identifier, and released unchanged
    only if it surely is sensitive and rows share its values. Each column in `sensitive` gets
    l-diversity; others that are sensitive get it where `describe` proposes it.
    """
    quasi_identifiers = _listed(quasi_identifiers, "quasi_identifiers")
    sensitive = _listed(sensitive, "sensitive")
    roles = _roles(quasi_identifiers, sensitive)
    if person is not None:
        roles = _with_person(roles, person, label)
    k = _checked_k(k, l, method, suppression)
    given = None if hierarchies is None else checked_hierarchies(hierarchies)
    found = propose_columns(table, roles)
    if label is not None:
        _check_label(label, found)
    _check_sensitive(sensitive, found)
    _warn_of_identifiers(quasi_identifiers, found)
    named = {*roles, label}
    others = [each for each in found.values() if each.name not in named]
    unsure = {each.name for each in others if not each.certain and each.role != "identifier"}
    own = {each.name for each in others if _singles_out(each)} - unsure
    why = dict.fromkeys(unsure, UNSURE) | dict.fromkeys(own, OWN_VALUES)
    kept = tuple(
        _dropped(each, why[each.name]) if each.name in why else each for each in found.values()
    )

    def of(*wanted: Role) -> tuple[str, ...]:
        return tuple(e.name for e in others if e.role in wanted and e.name not in why)

    where = Path.cwd() if folder is None else Path(folder)
    kept_roles = {each.name: each.role for each in kept}
    trees = {} if given is None else hierarchy_sections(given, kept_roles, where)
    wanted = Wanted(
        k=k,
        diversity={name: l or proposed_diversity(found[name], k) or LEAST_L for name in sensitive},
        label=label,
        hierarchies=trees,
        person=person,
        method=method,
        suppression=suppression,
    )
    return MadePolicy(
        text=policy_text(kept, wanted),
        generalized=of("quasi_identifier"),
        unchanged=of("sensitive", "insensitive"),
        diverse=tuple(it for it in of("sensitive") if proposed_diversity(found[it], k)),
        identifying=of("identifier"),
        unlike=tuple(each.name for each in others if each.name in own),
        unsure=tuple(each.name for each in others if each.name in unsure),
        folder=where,
    )


def _checked_k(k: int | None, l: int | None, method: str | None, suppression: float | None) -> int:
    """Return k, after a check of what may be left out."""
    if k is None:
        raise ParameterError(
            "protect without a policy needs k, which has no default.",
            hint="Choose k: 5 to 10 for a partner under a contract, 10 to 50 for the public.",
        )
    integer_at_least(2, owner="protect", k=k)
    if l is not None:
        integer_at_least(2, owner="protect", l=l)
    if method is not None:
        one_of(METHODS, owner="protect", method=method)
    if suppression is not None:
        number_between(0.0, 1.0, owner="protect", high_open=True, suppression=suppression)
    return k


def _listed(names: object, parameter: str) -> tuple[str, ...]:
    """Return names as a tuple: what can be read once, such as a generator, is read here."""
    listed = tuple(names) if isinstance(names, Iterable) else (names,)
    found = tuple(name for name in listed if isinstance(name, str))
    if isinstance(names, str) or len(found) < len(listed):
        raise ParameterError(f"The {parameter!r} parameter of protect must be a list of names.")
    return found


def _roles(quasi_identifiers: Sequence[str], sensitive: Sequence[str]) -> dict[str, Role]:
    if not quasi_identifiers:
        raise ParameterError(
            "The 'quasi_identifiers' parameter of protect names no column.",
            hint="List every column that an attacker could know of a person.",
        )
    both = [name for name in quasi_identifiers if name in sensitive]
    if both:
        raise ParameterError(
            f"Column {both[0]!r} is named as a quasi-identifier and as sensitive.",
            hint="A column has one role. If others may know it, it is a quasi-identifier.",
        )
    roles: dict[str, Role] = dict.fromkeys(quasi_identifiers, "quasi_identifier")
    return roles | dict.fromkeys(sensitive, "sensitive")


def _with_person(roles: dict[str, Role], person: str, label: str | None) -> dict[str, Role]:
    if person in {*roles, label}:
        raise ParameterError(
            f"Column {person!r} says whose row it is, and is named for something else too.",
            hint="The column is dropped; name others as quasi-identifiers, sensitive or label.",
        )
    return {**roles, person: "identifier"}


def _check_label(label: str, found: Mapping[str, Proposal]) -> None:
    """Refuse a label that isn't there, or that would be dropped."""
    if label not in found:
        raise ColumnNotFoundError.of([label], list(found), where="the table")
    if found[label].role == "identifier":
        raise ParameterError(
            f"Column {label!r} is the label and seems to identify people: {found[label].brief}.",
            hint="Name it in sensitive too if it doesn't.",
        )


def _check_sensitive(sensitive: Sequence[str], found: Mapping[str, Proposal]) -> None:
    """Refuse columns that surely identify people, and warn of those that may: both would stay.

    A column with one value is refused, too: no class has two, and all rows would reveal it.
    """
    for name in sensitive:
        evidence = found[name].evidence
        if evidence["distinct"] + (evidence["missing_share"] > 0) < LEAST_L:
            raise ParameterError(
                f"Column {name!r} is named as sensitive, and has fewer than {LEAST_L} values: no "
                "class can have l-diversity.",
                hint="Leave it out of sensitive.",
            )
        objection = found[name].objection
        if objection is None:
            continue
        if objection.certain:
            raise ParameterError(
                f"Column {name!r} is named as sensitive, would be released unchanged, and "
                f"identifies people: {objection.brief}.",
                hint="Leave it out: then it is dropped. To release it, give it its role in a "
                "policy file; halfmask describe proposes one.",
            )
        warnings.warn(
            ColumnWarning(
                f"Column {name!r} is named as sensitive, is released unchanged, and may identify "
                f"people: {objection.brief}."
            ),
            stacklevel=3,
        )


def _warn_of_identifiers(quasi_identifiers: Sequence[str], found: Mapping[str, Proposal]) -> None:
    """Warn of quasi-identifiers that seem to identify people: a class lists their values."""
    for name in quasi_identifiers:
        objection = found[name].objection
        if objection is not None:
            warnings.warn(
                ColumnWarning(
                    f"Column {name!r} is named as a quasi-identifier and seems to identify people: "
                    f"{objection.brief}. Its values may be released, as sets or ranges of a class. "
                    "Leave it out, and it is dropped."
                ),
                stacklevel=3,
            )


def _singles_out(proposal: Proposal) -> bool:
    """Return whether a column that would leave unchanged has a value of its own in most rows."""
    evidence = proposal.evidence
    many = evidence["distinct"] >= FEW_ROWS and evidence["uniqueness"] >= NEARLY_UNIQUE
    return proposal.role == "sensitive" and many


def _dropped(proposal: Proposal, why: str) -> Proposal:
    return replace(
        proposal,
        column=replace(proposal.column, role="identifier"),
        reasons=(why, *proposal.reasons),
        form=None,
        normalize=(),
    )


def policy_of(
    table: object,
    policy: ReleasePolicy | None,
    quasi_identifiers: Sequence[str] | None,
    asked: Mapping[str, Any],
) -> ReleasePolicy:
    """Return the policy, or make one and warn of what becomes of columns that nobody named."""
    if policy is not None:
        if quasi_identifiers is not None or any(
            it is not None and it != () for it in asked.values()
        ):
            raise ParameterError(
                "protect takes a policy or columns and k, not both.",
                hint="Write the columns into the policy.",
            )
        return policy
    if quasi_identifiers is None:
        raise ParameterError(
            "protect needs a policy, or the columns that are quasi_identifiers.",
            hint="[[halfmask.describe(table).policy_toml()|halfmask describe]] proposes a policy.",
        )
    made = make_policy(table, quasi_identifiers=quasi_identifiers, **asked)
    decided = [f"{what}: {', '.join(map(repr, names))}" for what, names in made.decisions.items()]
    if decided:
        text = f"protect decided about columns that nobody named. {'; '.join(decided)}."
        warnings.warn(ColumnWarning(text), stacklevel=3)
    return made.policy
