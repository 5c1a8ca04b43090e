"""What is claimed of released lines, and where in the output it can be recounted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from halfmask.claims import GuaranteeClaim
from halfmask.events.actions import Hash, Keep, Sequence, Token
from halfmask.events.block._path_tree import OutputShape
from halfmask.events.policy._policy_sections import place

if TYPE_CHECKING:
    from halfmask.events.policy._policy import EventPolicy
    from halfmask.events.policy._stage_sections import GuaranteeSection

#: With fewer bits values share a hash, and the verifier would count too few.
_TELLING_BITS: Final = 64


def guarantee_claim(
    policy: EventPolicy, section: GuaranteeSection, *, least: int | None
) -> GuaranteeClaim:
    """Return what is claimed by a guarantee."""
    steps = {
        where: tuple(step.removeprefix(".") for step in found)
        for where, found in output_steps(policy).items()
    }
    session = policy.stream.session
    by_event = session is None or section.kind == "distinct"
    return GuaranteeClaim(
        model=section.kind,
        k=section.k,
        m=section.m,
        fields=tuple(steps[place(path).place] for path in section.paths),
        unit="event" if by_event else "session",
        session=None if by_event else _released(policy, session, steps),
        entity=_released(policy, policy.stream.entity, steps),
        fails=section.fails,
        min_entities=least,
    )


def _released(
    policy: EventPolicy, path: str | None, steps: dict[str, tuple[str, ...]]
) -> tuple[str, ...] | None:
    """Return where a field stands in the output if it tells entities or sessions apart there."""
    if path is None:
        return None
    where = place(path).place
    changed = {place(it).place for section in policy.guarantees for it in section.paths}
    rules = [rule for rule in policy.rules if rule.place.matches(place(path)) and rule.steps]
    if len(rules) != 1 or where in changed or rules[0].place.place != where:
        return None
    rule = rules[0]
    if rule.when or len(rule.steps) != 1:
        return None
    action = rule.steps[0]
    whole = (isinstance(action, Sequence) and action.scope == "stream") or (
        isinstance(action, Hash) and action.bits >= _TELLING_BITS
    )
    return steps[where] if whole or isinstance(action, Keep | Token) else None


def output_steps(policy: EventPolicy) -> dict[str, tuple[str, ...]]:
    """Return where in the output each place of a policy stands: ``.name``, ``[]`` for elements."""
    shape = OutputShape(policy.names())
    found: dict[str, tuple[str, ...]] = {"": ()}
    # What is beneath a node was made after it.
    for node in shape.nodes:
        here = found[node.place]
        for child in node.fields.values():
            under = shape.nodes[child]
            found[under.place] = (*here, f".{json.loads(under.key[:-1])}")
        if node.element is not None:
            found[shape.nodes[node.element].place] = (*here, "[]")
    return found
