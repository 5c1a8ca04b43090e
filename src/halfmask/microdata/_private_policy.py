"""What goes with differential privacy in a policy: columns, levels, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask._errors import PolicyError
from halfmask.microdata._differential_privacy import DifferentialPrivacy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from halfmask._sections import Choice
    from halfmask.masks import TableMask
    from halfmask.microdata._policy_sections import ColumnSection


def check_private_policy(
    columns: Mapping[str, ColumnSection],
    guarantees: Sequence[Choice],
    masks: Sequence[TableMask],
    given: AbstractSet[str],
) -> None:
    """Raise unless all sections of a policy go with differential privacy, if it has that."""
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
    masked += [f"the mask {each.name!r}" for each in masks]
    if masked:
        raise _without(masked[0], "Give the column a hierarchy: epsilon covers its levels.")
    for section in ("method", "recoding", "suppression"):
        if section in given:
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
