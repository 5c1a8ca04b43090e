"""The rules of a policy made ready: with keys, tables and state, for each path that there is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError
from halfmask.events.actions._sequence import SequenceApplier
from halfmask.events.actions._token import TokenApplier
from halfmask.events.block._levels import absent, merged, only
from halfmask.events.block._paths import Path, Step
from halfmask.events.block._values import Kind
from halfmask.events.running._context import Context

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from halfmask.events.actions import Resources
    from halfmask.events.block._values import Values
    from halfmask.events.policy._policy_sections import RuleSection
    from halfmask.events.running._context import Applier, BlockView, Condition

#: What a path that goes to all that is beneath goes through; other paths mean what is there.
_BETWEEN = frozenset({Kind.OBJECT, Kind.ARRAY})
#: What knows something of earlier blocks.
_KNOWING = (SequenceApplier, TokenApplier)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RuleAt:
    """A rule at one path."""

    number: int
    kinds: frozenset[Kind]
    when: Sequence[Condition]
    appliers: Sequence[Applier]

    @classmethod
    def of(cls, number: int, rule: RuleSection, resources: Resources) -> RuleAt:
        """Make a rule ready."""
        appliers = [
            action.bind(replace(resources, is_last=not rule.timed(step)))
            for step, action in enumerate(rule.steps)
        ]
        kinds = rule.place.kinds
        if rule.place.steps[-1:] == (Step.BENEATH,) and rule.place.type is None:
            kinds -= _BETWEEN
        return cls(number=number, kinds=kinds, when=rule.when, appliers=appliers)

    @property
    def is_local(self) -> bool:
        """Whether what it does with a block depends on that block alone."""
        return all(getattr(applier, "is_local", False) for applier in self.appliers)

    @property
    def picks(self) -> bool:
        """Whether it is for some values alone."""
        return bool(self.when) or len(self.kinds) < len(Kind) - 1

    def state(self) -> list[Any]:
        """Return what its actions know, as JSON can hold it."""
        return [it.state() if isinstance(it, _KNOWING) else None for it in self.appliers]

    def restore(self, state: Any) -> None:  # noqa: ANN401 # what JSON held
        """Go on from what `state` returned."""
        if not isinstance(state, list) or len(state) != len(self.appliers):
            raise DataError("The state of a transform is damaged.")
        for applier, saved in zip(self.appliers, state, strict=True):
            # Tokens tell nothing where all values were texts.
            if isinstance(applier, SequenceApplier) or (saved and isinstance(applier, _KNOWING)):
                applier.restore(saved)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PathRules:
    """All rules at one path, in the order of the policy."""

    path: str
    rules: Sequence[RuleAt]

    @property
    def is_local(self) -> bool:
        """Whether what they do with a block depends on that block alone."""
        return all(rule.is_local for rule in self.rules)

    @property
    def is_lasting(self) -> bool:
        """Whether they know something of earlier blocks."""
        appliers = (applier for rule in self.rules for applier in rule.appliers)
        return any(isinstance(applier, SequenceApplier) for applier in appliers)

    def apply(
        self, values: Values, view: BlockView, done: Callable[[int, Context], None]
    ) -> Values:
        """Return what becomes of the values of the path."""
        if len(self.rules) == 1 and not self.rules[0].picks:
            return self._by(self.rules[0], values, view, done)
        left = values.kinds != int(Kind.MISSING)
        made: list[Values] = []
        for rule in self.rules:
            context = Context(view=view, path=self.path)
            here = left & np.isin(values.kinds, np.array(sorted(rule.kinds), np.uint8))
            for condition in rule.when:
                here = here & condition.holds(context.values(condition.path, values.level))
            left = left & ~here
            made.append(self._by(rule, only(values, here), view, done))
        return merged(made) if made else absent(values.level)

    def _by(
        self, rule: RuleAt, values: Values, view: BlockView, done: Callable[[int, Context], None]
    ) -> Values:
        context = Context(view=view, path=self.path)
        for applier in rule.appliers:
            values = applier.apply(values, context)
        done(rule.number, context)
        return values


def find_rules(rules: Sequence[RuleSection], path: str, skipped: frozenset[int]) -> list[int]:
    """Return the numbers of the rules with actions that mean a place."""
    place = Path.parse(path)
    return [
        number
        for number, rule in enumerate(rules)
        if rule.steps and number not in skipped and rule.place.matches(place)
    ]
