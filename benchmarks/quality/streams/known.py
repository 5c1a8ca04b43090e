"""Who is found by known events and by points: pseudonyms, the source's steps, 20 people alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bars import Bar, say
from halfmask.assess.attacks.events import KnownEvents, TrajectoryUniqueness
from quality.streams import sources

if TYPE_CHECKING:
    from halfmask.assess.attacks import EventsTarget, Outcome

#: What is promised, and how many people are alike: no bound of 1/k can be shown of exactly k.
K, ALIKE = 10, 20
CLAIMS = 200
ERROR = 0.05
#: What pseudonyms alone must give away, or the attack proves nothing.
POWER = 0.5
MINUTE = {"do": "coarsen-time", "every": "1 minute", "zone": "UTC", "zoneless": "UTC"}
WEEK = {**MINUTE, "every": "1 week"}
HOUR = {**MINUTE, "every": "1 hour"}

RETAIL_STEPS = [
    {"path": "time", "name": "date", **MINUTE},
    {"path": "products[]", "name": "group"},
    {"path": "products[].id", "name": "ref", "do": "sequence", "scope": "event"},
    {"path": "products[].quantity", "name": "delta", "do": "keep"},
]
RETAIL_ALIKE = [
    {"path": "time", "name": "date", **WEEK},
    {"path": "products[]", "name": "group"},
    {"path": "products[].id", "name": "ref", "do": "sequence", "scope": "event"},
    {"path": "products[].quantity", "name": "delta", "do": "round", "significant": 1},
]
RETAIL_NAMES = {
    "time": "date", "products[].id": "group[].ref", "products[].quantity": "group[].delta",
}  # fmt: skip
WIKIPEDIA_STEPS = [
    {"path": "time", **MINUTE},
    {"path": "user", "name": "nr", "do": "sequence", "scope": "stream"},
    {"path": "page", "do": "sequence", "scope": "stream"},
    {"path": "channel", "do": "keep"},
    {"path": "delta", "do": "keep"},
]
WIKIPEDIA_ALIKE = [
    {"path": "time", **HOUR},
    {"path": "channel", "do": "keep"},
    {"path": "namespace", "do": "keep"},
]


def measure(*, quick: bool, seed: int) -> tuple[list[Bar], str]:
    """Attack both streams, each in three forms."""
    bars: list[Bar] = []
    lines = [
        "| stream | form | known | claimed | right of these | right among claims | unique match |",
        "|---|---|---|---|---|---|---|",
    ]
    points = ["| stream | form | 1 point | 2 points | 4 points |", "|---|---|---|---|---|"]
    n = 400 if quick else 1000
    for name, make in (("Wikipedia", sources.wikipedia), ("Retail", sources.retail)):
        stream = make(seed)
        if stream is None:
            why = "the data set is absent"
            bars.append(Bar(name=f"{name}: known events", value=None, goal=0.1, side="at most",
                            why=why))  # fmt: skip
            continue
        for form, target in _forms(stream).items():
            settings: dict[str, Any] = {
                "n_attacks": n,
                "fewest": CLAIMS,
                "known": (2, 8) if quick else (2, 4, 8),
            }
            found = KnownEvents(**settings).run(target, random_state=seed)
            lines += _lines(name, form, found)
            bars += _bars(name, form, found)
            if form == "20 alike" and name == "Retail":
                whole = KnownEvents(rows=None, **settings).run(target, random_state=seed)
                lines += _lines(name, "20 alike, whole orders known", whole)
            unique = TrajectoryUniqueness(n_traces=n).run(target, random_state=seed)
            shares = " | ".join(f"{each.success.value:.3f}" for each in unique)
            points.append(f"| {name} | {form} | {shares} |")
            say(f"{name}, {form}: {found[0].measure} {found[0].success.value:.3f}")
    return bars, "\n".join([*lines, "", *points])


def _forms(stream: sources.Stream) -> dict[str, EventsTarget]:
    if stream.name == "Wikipedia":
        steps = stream.released(WIKIPEDIA_STEPS, pseudonym="nr")
        alike = sources.held_back(
            stream.released(WIKIPEDIA_ALIKE), ["time", "channel", "namespace"], ALIKE
        )
    else:
        steps = stream.released(RETAIL_STEPS, names=RETAIL_NAMES)
        alike = sources.held_back(
            stream.released(RETAIL_ALIKE, names=RETAIL_NAMES), ["date", "group[].delta"], ALIKE
        )
    return {"pseudonyms": steps.unprotected(), "the source's steps": steps, "20 alike": alike}


def _lines(name: str, form: str, found: tuple[Outcome, ...]) -> list[str]:
    lines = []
    for claims, unique in zip(found[::2], found[1::2], strict=True):
        known = claims.measure.removeprefix("right among claims, ")
        share = claims.details["claimed"]
        right = claims.details["claimed and right"] / share if share else float("nan")
        lines.append(
            f"| {name} | {form} | {known} | {share:.3f} | {right:.3f} | "
            f"{claims.success.value:.3f} | {unique.success.value:.3f} |"
        )
    return lines


def _bars(name: str, form: str, found: tuple[Outcome, ...]) -> list[Bar]:
    """Return the bound of the excess where k people are alike, and the power of pseudonyms."""
    claims = found[::2]
    if form == "20 alike":
        return [
            Bar(name=f"{name}, {form}: excess of {each.measure} (95 % bound)",
                value=each.excess.bounds(ERROR)[1], goal=1 / K, side="at most")
            for each in claims
        ]  # fmt: skip
    if form == "pseudonyms":
        return [
            Bar(name=f"{name}, {form}: excess of {each.measure} (95 % bound)",
                value=each.excess.bounds(ERROR)[0], goal=POWER, side="at least")
            for each in claims
        ]  # fmt: skip
    return []
