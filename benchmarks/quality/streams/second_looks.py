"""What a second look tells: shifted dates by their intervals, noise by means, two releases."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bars import Bar, say
from halfmask.assess.attacks.events import Averaging, IntervalFingerprint, JoinedReleases
from quality.streams import sources

if TYPE_CHECKING:
    from halfmask.assess.attacks import EventsTarget

ERROR = 0.05
RESISTED, BROKEN = 0.1, 0.5
WHO = {"path": "customer.id", "name": "who", "do": "token"}
KEPT = {"path": "products[].id", "do": "keep"}
SHIFT = {
    "path": "time", "do": "shift", "within": "30 days", "by": "customer.id", "zone": "UTC",
    "zoneless": "UTC",
}  # fmt: skip
GRID = {"do": "coarsen-time", "every": "13 weeks", "zone": "UTC", "zoneless": "UTC"}
NOISE = {
    "path": "products[].price", "do": "noise", "how": "add", "law": "gaussian", "scale": 1.0,
    "decimals": 2,
}  # fmt: skip


def measure(*, quick: bool, seed: int) -> tuple[list[Bar], str]:
    """Attack what policies make of Online Retail."""
    stream = sources.retail(seed)
    if stream is None:
        why = "the data set is absent"
        return [Bar(name="Retail: second looks", value=None, goal=0.1, side="at most", why=why)], ""
    known = [event for event in stream.events if event["customer"]["id"] is not None]
    some = known[: 6000 if quick else len(known)]
    stream = replace(stream, events=some)
    lines = ["| attack | form | success | control | excess, 95 % bounds |", "|---|---|---|---|---|"]
    bars: list[Bar] = []
    for attack, form, target, number, goal in _cases(stream):
        outcomes = attack.run(target, random_state=seed)
        outcome = outcomes[min(number, len(outcomes) - 1)]
        low, high = outcome.excess.bounds(ERROR)
        lines.append(
            f"| {outcome.measure} | {form} | {outcome.success.value:.3f} | "
            f"{outcome.reference.value:.4f} | {low:.3f} to {high:.3f} |"
        )
        say(lines[-1])
        name = f"Retail, {form}: {outcome.measure}, excess (95 % bound)"
        if goal == "at most":
            bars.append(Bar(name=name, value=high, goal=RESISTED, side="at most"))
        elif goal == "at least":
            bars.append(Bar(name=name, value=low, goal=BROKEN, side="at least"))
    return bars, "\n".join(lines)


def _cases(stream: sources.Stream) -> list[tuple[Any, str, EventsTarget, int, str]]:
    """Return an attack, a form, what left, which measure is told, and its bar."""
    shifted = stream.released([WHO, SHIFT], pseudonym="customer.who")
    coarse = stream.released([WHO, {**SHIFT, "then": [GRID]}], pseudonym="customer.who")
    drawn = stream.released([WHO, KEPT, {**NOISE, "per": "event"}], pseudonym="customer.who")
    keyed = stream.released(
        [WHO, KEPT, {**NOISE, "per": "entity", "by": "customer.id"}], pseudonym="customer.who"
    )
    by_product = stream.released(
        [WHO, KEPT, {**NOISE, "per": "entity", "by": "products[].id"}], pseudonym="customer.who"
    )
    gaps = IntervalFingerprint(intervals=(2, 7))
    return [
        (gaps, "dates shifted by up to 30 days", shifted, 0, "at least"),
        (gaps, "dates shifted by up to 30 days", shifted, 1, "at least"),
        (gaps, "shifted, then quarters of a year", coarse, 0, "at most"),
        (gaps, "shifted, then quarters of a year", coarse, 1, ""),
        (Averaging(), "noise of each event", drawn, 1, "at least"),
        (Averaging(), "noise of each customer", keyed, 1, ""),
        (Averaging(), "noise of each product", by_product, 1, "at most"),
        (JoinedReleases(), "one key for two releases", _twice(stream, "r", "r"), 0, "at least"),
        (JoinedReleases(), "a key for each", _twice(stream, "r", "s"), 0, "at most"),
        (JoinedReleases(), "a key for each, products kept", _twice(stream, "r", "s", KEPT), 0, ""),
    ]  # fmt: skip


def _twice(
    stream: sources.Stream, first: str, second: str, products: sources.Rule | None = None
) -> EventsTarget:
    """Return every other order in each of two releases, under their words."""
    rules = [WHO, products or {**KEPT, "do": "token"}]
    made = []
    for place, word in enumerate((first, second)):
        part = replace(stream, events=stream.events[place::2])
        made.append(part.released(rules, word=word, pseudonym="customer.who"))
    one, other = made
    height = one.original.height
    n_first = int(one.original["_EVENT"].max()) + 1  # type: ignore[arg-type, operator] # a number
    both = one.original.vstack(other.original.with_columns(other.original["_EVENT"] + n_first))
    return replace(
        one,
        original=both,
        owners=one.owner_of_row,
        later=(other.released, np.asarray(other.owner_of_row) + height),
        control=None,
    )
