"""Read lines and claims, and recount."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from halfmask._errors import VerificationError
from halfmask.claims import CellsClaim, GuaranteeClaim
from halfmask.verifier.events._cells import recount_cells
from halfmask.verifier.events._guarantees import SHARED, GuaranteeRecount
from halfmask.verifier.events._verdict import EventsVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from halfmask.claims import EventClaims


def verify_events(lines: Iterable[bytes], claims: EventClaims) -> EventsVerdict:
    r"""Recount what is claimed of lines of events.

    Parameters
    ----------
    lines
        Of the output, such as an open file: JSON, one event or cell each.
    claims
        What a run says of them: what `claims` of its stage gives.

    Returns
    -------
    EventsVerdict
        Of each claim whether it holds, and what could be counted.

    Raises
    ------
    VerificationError
        If a line is no JSON object, the claims guarantee nothing (k below 2, no field, no claim),
        or there are more or fewer lines than they say.

    Notes
    -----
    **Guarantees.** It shares no code that counts with what made the lines. A claim that is
    recounted in ``entities`` or ``cells`` holds of these lines, whatever made them.

    **Edge cases.** The lines alone don't say which entity an event is of, unless the policy
    released that. See `Check.counted`. Nothing is claimed about what windows together reveal.

    Examples
    --------
    >>> from halfmask.claims import EventClaims, GuaranteeClaim
    >>> lines = [b'{"page": "a", "who": 1}\n', b'{"page": "a", "who": 1}\n']
    >>> claim = GuaranteeClaim(
    ...     model="distinct", k=2, fields=(("page",),), unit="event", entity=("who",), fails="field"
    ... )
    >>> found = verify_events(lines, EventClaims(claims=(claim,), panes=(2,))).checks[0]
    >>> found.guarantee, found.holds, found.counted, found.least
    ('k = 2 of page', False, 'entities', 1)
    """
    guarantees = [each for each in claims.claims if isinstance(each, GuaranteeClaim)]
    cells = [each for each in claims.claims if isinstance(each, CellsClaim)]
    named = {each.name for each in cells}
    if bool(guarantees) == bool(cells) or len(named) < len(cells):
        raise VerificationError("The claims guarantee nothing, or contradict each other.")
    if not all(map(_bounds_something, guarantees)) or not all(map(_bounds_cells, cells)):
        raise VerificationError("The claims guarantee nothing, or less than any policy can.")
    if cells:
        return recount_cells(_read(lines), cells)
    return _recount(_read(lines), guarantees, claims.panes)


def _bounds_something(claim: GuaranteeClaim) -> bool:
    """Return whether a claim is of a model that is counted, and doesn't hold of any lines."""
    return claim.model in SHARED and claim.k > 1 and bool(claim.fields) and claim.m != 0


def _bounds_cells(claim: CellsClaim) -> bool:
    least = [it for it in (claim.min_events, claim.min_entities) if it is not None]
    return bool(least) and all(it > 0 for it in least)


def _read(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        try:
            # Numbers keep their digits, and are no texts.
            event = json.loads(line, parse_float=_number, parse_int=_number)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            raise VerificationError(f"Line {number} isn't an event as JSON.")
        yield event


def _number(text: str) -> tuple[str, str]:
    return "number", text


def _recount(
    events: Iterator[dict[str, Any]], claims: Sequence[GuaranteeClaim], panes: Sequence[int]
) -> EventsVerdict:
    recounts = [GuaranteeRecount(number, claim) for number, claim in enumerate(claims, start=1)]
    lines = 0
    for size in panes:
        pane = list(islice(events, size))
        lines += len(pane)
        if len(pane) < size:
            raise VerificationError("There are fewer lines than the claims say.")
        for recount in recounts:
            recount.add(pane)
    if next(events, None) is not None:
        raise VerificationError("There are more lines than the claims say.")
    return EventsVerdict(checks=tuple(recount.check() for recount in recounts), lines=lines)
