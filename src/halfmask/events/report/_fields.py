"""Which fields a policy writes, and what their values look like: what a verifier goes by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from halfmask.claims import ReleasedField
from halfmask.events.actions import Hash, Keep, Sequence, Token
from halfmask.events.block._paths import Path, Step
from halfmask.events.running._claims import output_steps

if TYPE_CHECKING:
    from halfmask.events.actions import Action
    from halfmask.events.policy._policy import EventPolicy
    from halfmask.events.policy._policy_sections import RuleSection

#: Options that say what a written value looks like. Names of tables, paths and conditions don't.
_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "coarsen-time": ("every", "zone", "write", "jitter"),
    "shift": ("zone", "write"),
    "sequence": ("scope",),
    "hash": ("bits", "form"),
    "round": ("decimals", "step", "significant", "units"),
    "noise": ("decimals", "low", "high", "units"),
    "scale": ("decimals", "units"),
    "mask": ("first", "last", "length", "mark"),
    "free-text": ("find",),
}
#: Fewer bits let values share a hash.
_TELLING_BITS: Final = 64
_STARS: Final = (Step.FIELD, Step.BENEATH)


def field_name(steps: tuple[str, ...]) -> str:
    """Return steps of the output as a path that people read.

    Examples
    --------
    >>> field_name((".group", "[]", ".ref"))
    'group[].ref'
    """
    words = {"[]": Step.ELEMENT, "*": Step.FIELD, "#": Step.FIELD}
    beneath = {"**": Step.BENEATH, "##": Step.BENEATH}
    known = {**words, **beneath}
    return str(Path(steps=tuple(known.get(step) or step[1:] for step in steps)))


def released_fields(policy: EventPolicy) -> tuple[ReleasedField, ...]:
    """Return the fields that a policy writes, one for each rule that may write them."""
    fields = tuple(_fields_of_events(policy))
    if not policy.aggregates:
        return fields
    return tuple(_fields_of_cells(policy, fields))


def telling_steps(policy: EventPolicy, path: str | None) -> tuple[str, ...] | None:
    """Return where in the output a field of the stream stands, if it still tells people apart."""
    if path is None or policy.aggregates:
        return None
    place = Path.parse(path)
    rules = [rule for rule in policy.rules if rule.steps and rule.place.matches(place)]
    changed = {Path.parse(it) for section in policy.guarantees for it in section.paths}
    if len(rules) != 1 or rules[0].place != place or rules[0].when or place in changed:
        return None
    last = rules[0].steps[-1]
    tells = (
        isinstance(last, Keep | Token)
        or (isinstance(last, Sequence) and last.scope == "stream")
        or (isinstance(last, Hash) and last.bits >= _TELLING_BITS)
    )
    single = len(rules[0].steps) == 1
    return output_steps(policy).get(place.place) if tells and single else None


def _fields_of_events(policy: EventPolicy) -> Iterator[ReleasedField]:
    names, whole = output_steps(policy), policy.containers()
    working = [
        (number, rule)
        for number, rule in enumerate(policy.rules)
        if rule.steps and number not in whole
    ]
    coarser = {Path.parse(path) for it in policy.guarantees for path in it.hierarchies}
    for number, rule in working:
        form, weak = _form(rule.steps[-1]), rule.weaknesses
        if rule.names is None:
            places = [rule.place]
        else:
            # What a star finds at a place with a rule of its own has that rule's name.
            others = [it.place for _, it in working if it.names is None]
            places = [it for it in others if rule.place.matches(Path(steps=it.steps))]
            mixed = len({it.names for it in policy.rules} - {None}) > 1
            steps = _starred(rule, names, mixed=mixed)
            yield ReleasedField(steps=steps, rule=number + 1, form=form, weaknesses=weak)
        for place in places:
            steps = names[place.place]
            yield ReleasedField(steps=steps, rule=number + 1, form=form, weaknesses=weak)
            if Path(steps=place.steps) in coarser:
                label = {"do": "generalize"}
                yield ReleasedField(steps=steps, rule=number + 1, form=label, weaknesses=weak)


def _starred(
    rule: RuleSection, names: Mapping[str, tuple[str, ...]], *, mixed: bool
) -> tuple[str, ...]:
    """Return where a star's finds are; of `mixed` rules, another may say what they are called."""
    steps = rule.place.steps
    literal = next(i for i, step in enumerate(steps) if step in _STARS)
    above = Path(steps=steps[:literal]).place
    found = list(names.get(above) or _plain(steps[:literal]))
    hashed = rule.names == "hash" and not mixed
    for step in steps[literal:]:
        if step is Step.ELEMENT:
            found.append("[]")
        elif step is Step.BENEATH:
            found.append("##" if hashed else "**")
        else:
            is_open = mixed or step is Step.FIELD
            found.append("#" if hashed else "*" if is_open else f".{step}")
    return tuple(found)


def _plain(steps: tuple[str | Step, ...]) -> tuple[str, ...]:
    return tuple("[]" if step is Step.ELEMENT else f".{step}" for step in steps)


def _form(action: Action) -> dict[str, Any]:
    options = action.model_dump(mode="json", exclude_none=True)
    wanted = _OPTIONS.get(action.do, ())
    return {
        "do": action.do,
        **{name: options[name] for name in wanted if options.get(name, []) != []},
    }


def _fields_of_cells(
    policy: EventPolicy, events: tuple[ReleasedField, ...]
) -> Iterator[ReleasedField]:
    """Yield the fields of aggregates: keys have the forms of the rules that released them."""
    names = output_steps(policy)
    for section in policy.aggregates:
        marks = ["update", *(["total"] if section.totals else [])]
        own: list[tuple[str, dict[str, Any]]] = [(section.window, {"do": "window"})]
        own += [(name, {"do": "mark"}) for name in marks]
        own += [("aggregate", {"do": "aggregate"})] if section.name is not None else []
        own += [(section.count, {"do": "count"})] if section.count is not None else []
        for measure in section.measures:
            counted = measure.do in {"count", "distinct"}
            own.append((measure.name, {"do": "count" if counted else "measure"}))
        for name, form in own:
            yield ReleasedField(steps=(f".{name}",), rule=0, form=form)
        for name, path in section.by.items():
            steps = names[Path.parse(path).place]
            for it in events:
                if it.steps == steps:
                    yield ReleasedField(
                        steps=(f".{name}",), rule=it.rule, form=it.form, weaknesses=it.weaknesses
                    )
