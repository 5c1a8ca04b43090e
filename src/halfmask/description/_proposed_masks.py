"""Masks that are proposed for a column, as comments of a policy file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from halfmask.description._proposal import Proposal

#: Fewer different numbers have no tails.
_MANY_NUMBERS: Final = 50
#: Of an identifier that joins tables nearly each row has its own value, or a person has several.
_FEWEST_OF_KEYS: Final = 0.05


def proposed_mask(proposal: Proposal) -> str | None:
    """Return the mask that an owner may want for a column, as a line of TOML; else ``None``.

    Notes
    -----
    Proposed are pseudonyms for identifiers that can join tables, coding of the tails of numbers
    that are released, and coarsened dates. Quasi-identifiers get a hierarchy.
    """
    if proposal.role == "identifier":
        return _pseudonym(proposal)
    if proposal.role == "quasi_identifier":
        return None
    if proposal.kind == "datetime":
        return 'mask = { name = "coarsened-dates", to = "month" }'
    if proposal.kind == "numeric" and proposal.evidence["distinct"] >= _MANY_NUMBERS:
        return 'mask = { name = "tails", high_share = 0.01 }'
    return None


def _pseudonym(proposal: Proposal) -> str | None:
    rows = proposal.evidence["rows"] * (1 - proposal.evidence["missing_share"])
    if proposal.kind == "datetime" or proposal.evidence["distinct"] < _FEWEST_OF_KEYS * rows:
        return None
    return 'role = "insensitive", with mask = { name = "token" }: equal values stay equal'
