"""Read lines and claims, and recount."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import VerificationError
from halfmask.verifier.events._cells import recount_cells
from halfmask.verifier.events._guarantees import GuaranteeRecount
from halfmask.verifier.events._verdict import Check, EventsVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Check", "EventsVerdict", "verify_events"]

_KINDS: Final = ("session-k", "k-m", "distinct")


def verify_events(lines: Iterable[bytes], claims: Mapping[str, Any]) -> EventsVerdict:
    r"""Recount what is claimed of lines of events.

    Parameters
    ----------
    lines
        Of the output, such as an open file: JSON, one event or cell each.
    claims
        What a run says of them: what `claims` of its stage gives, as JSON reads it back.

    Returns
    -------
    EventsVerdict
        Of each claim whether it holds, and what could be counted.

    Raises
    ------
    VerificationError
        If a line is no JSON object, the claims aren't such or promise nothing (k below 2, no field,
        no guarantee), or there are more or fewer lines than they say.

    **Guarantees** - It shares no code that counts with what made the lines. A claim that is
    recounted in ``entities`` or ``cells`` holds of these lines, whatever made them.

    **Edge cases** - The lines alone don't say which entity an event is of, unless the policy
    released that. See `Check.counted`. Nothing is said of what windows together tell.

    Examples
    --------
    >>> lines = [b'{"page": "a", "who": 1}\n', b'{"page": "a", "who": 1}\n']
    >>> claim = {
    ...     "kind": "distinct", "k": 2, "m": None, "fields": [["page"]], "unit": "event",
    ...     "session": None, "entity": ["who"],
    ... }
    >>> told = {
    ...     "format": "halfmask events claims", "version": 1, "panes": [2], "guarantees": [claim],
    ... }
    >>> found = verify_events(lines, told).checks[0]
    >>> found.promise, found.holds, found.counted, found.least
    ('k = 2 of page', False, 'entities', 1)
    """
    try:
        if (claims["format"], claims["version"]) != ("halfmask events claims", 1):
            raise VerificationError("The claims are of a version that this halfmask doesn't read.")
        _check_promise(claims)
        if "aggregates" in claims:
            return recount_cells(_read(lines), claims["aggregates"])
        return _recount(_read(lines), claims)
    except (KeyError, TypeError, AttributeError):
        raise VerificationError("The claims of the lines are damaged.") from None


def _check_promise(claims: Mapping[str, Any]) -> None:
    """Raise where claims hold of any lines: no policy can make such."""
    if "aggregates" in claims:
        found, fewest = claims["aggregates"], 1
        least = [(it["least-events"], it["least-entities"]) for it in found]
        kept = all(any(number is not None for number in pair) for pair in least)
        bounds = [number for pair in least for number in pair if number is not None]
    else:
        found, fewest = claims["guarantees"], 2
        bounds = [it["k"] for it in found]
        kept = all(it["kind"] in _KINDS and it["fields"] for it in found)
    if not (found and kept) or any(type(it) is not int or it < fewest for it in bounds):
        raise VerificationError("The claims promise nothing, or less than any policy can.")


def _read(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        try:
            # Numbers stay as they are written, and are no texts.
            event = json.loads(line, parse_float=_number, parse_int=_number)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            raise VerificationError(f"Line {number} isn't an event as JSON.")
        yield event


def _number(text: str) -> tuple[str, str]:
    return "number", text


def _recount(events: Iterator[dict[str, Any]], claims: Mapping[str, Any]) -> EventsVerdict:
    recounts = [
        GuaranteeRecount(number, claim)
        for number, claim in enumerate(claims["guarantees"], start=1)
    ]
    lines = 0
    for size in claims["panes"]:
        pane = list(islice(events, size))
        lines += len(pane)
        if len(pane) < size:
            raise VerificationError("There are fewer lines than the claims say.")
        for recount in recounts:
            recount.add(pane)
    if next(events, None) is not None:
        raise VerificationError("There are more lines than the claims say.")
    return EventsVerdict(checks=tuple(recount.check() for recount in recounts), lines=lines)
