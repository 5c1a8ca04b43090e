"""What a policy says of events together, held against its rules: what is lacking, what can't be."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from halfmask._errors import PolicyError
from halfmask.events.policy._policy_sections import place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halfmask.events.policy._policy import EventPolicy
    from halfmask.events.policy._stage_sections import AggregateSection


def original_paths(policy: EventPolicy) -> tuple[str, ...]:
    """Return the paths whose original values windows, aggregates and guarantees read."""
    if policy.window is None:
        return ()
    stream = policy.stream
    named = [stream.time, stream.entity, *([stream.session] if policy.guarantees else [])]
    measures = [measure for section in policy.aggregates for measure in section.measures]
    named += [measure.path for measure in measures if measure.of == "original"]
    return tuple(dict.fromkeys(path for path in named if path is not None))


def check_together(policy: EventPolicy) -> None:
    """Check that windows, aggregates and guarantees go with each other and with the rules."""
    if policy.window is None:
        if policy.aggregates or policy.guarantees:
            raise PolicyError(
                "[window] is lacking: aggregates and guarantees are of windows.",
                hint='Write [window] with every = "1 day" and zone = "UTC", say.',
            )
        return
    if policy.aggregates and policy.guarantees:
        raise PolicyError(
            "[[aggregate]] and [[guarantee]] can't stand in one policy: aggregates have minimum "
            "counts of their own, and no event is released."
        )
    if not policy.aggregates and not policy.guarantees:
        raise PolicyError("[window] is there, and neither [[aggregate]] nor [[guarantee]].")
    _check_stream(policy)
    released = {rule.place.place for rule in policy.rules if rule.steps and rule.names is None}
    for number, section in enumerate(policy.aggregates, start=1):
        wanted = [*section.by.values()]
        wanted += [measure.path for measure in section.measures if measure.of == "released"]
        _check_released(wanted, released, f"[[aggregate]] number {number}: ")
        _check_aggregate(policy, section, f"[[aggregate]] number {number}: ")
    for number, guarantee in enumerate(policy.guarantees, start=1):
        _check_released(guarantee.paths, released, f"[[guarantee]] number {number}: ")
    _check_several(policy.aggregates)


def _check_stream(policy: EventPolicy) -> None:
    places = policy.stream.paths()
    by_entity = [it for it in policy.aggregates if it.min_entities is not None]
    needed = ["time", *(["entity"] if by_entity or policy.guarantees else [])]
    for need in needed:
        if need not in places:
            raise PolicyError(
                f"the path of the {need} is needed for windows and minimum counts.",
                hint=f'Write {need} = "..." in [stream].',
            )
    for need in {"time", "entity", "session"} & places.keys():
        if place(places[need]).level:
            raise PolicyError(
                f"[stream]: the {need} must be a field of the event, not of an array's elements, "
                "where there are windows."
            )


def _check_released(paths: Iterable[str], released: set[str], where: str) -> None:
    for path in paths:
        if place(path).place not in released:
            raise PolicyError(
                f"{where}no rule says what becomes of {path!r}, whose released values it needs."
            )


def _check_aggregate(policy: EventPolicy, section: AggregateSection, where: str) -> None:
    try:
        section.level()
    except PolicyError as error:
        raise PolicyError(where + error.what, hint=error.hint) from None
    regrown = {policy.rules[number].place.place for number in policy.containers()}
    for measure in section.measures:
        level = place(measure.path).level
        if measure.of == "original" and any(level.startswith(path) for path in regrown):
            raise PolicyError(
                f"{where}the measure {measure.name!r} is of original elements of an array whose "
                "elements a rule leaves out or makes several.",
                hint="Measure released values, or keep the array unchanged.",
            )


def _check_several(sections: Iterable[AggregateSection]) -> None:
    sections = list(sections)
    names = [section.name for section in sections]
    if len(sections) > 1 and (None in names or len(set(names)) < len(names)):
        raise PolicyError("several [[aggregate]] need a 'name' each, no two the same.")
    for one, other in combinations(sections, 2):
        keys = [{place(path).place for path in it.by.values()} for it in (one, other)]
        if keys[0] <= keys[1] or keys[1] <= keys[0]:
            raise PolicyError(
                f"cells of the aggregates {one.name!r} and {other.name!r} are sums of each other: "
                "one that isn't written could be computed.",
                hint="Write totals = true in the finer one instead.",
            )
